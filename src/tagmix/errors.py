"""The errors tagmix raises: each says what was expected, what came and the way out."""


class TagmixError(Exception):
    """Anything tagmix refuses to do; catch this to catch them all."""


class BagsError(TagmixError, ValueError):
    """The bags (instances, offsets, tags, ids) do not fit together."""


class ParameterError(TagmixError, ValueError):
    """A setting is outside what the model allows."""


class ModelFileError(TagmixError, ValueError):
    """A file is not one of ours, is damaged, or was written by a newer tagmix."""
