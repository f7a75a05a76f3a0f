"""tagmix learns tags from loosely captioned pictures, for whole pictures and for their regions."""

from tagmix.lazy import attach

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)  # the names are listed in __init__.pyi
