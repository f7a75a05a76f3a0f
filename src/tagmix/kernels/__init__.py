"""The few hot loops, twice: ``reference`` (NumPy, the definition) and ``compiled`` (numba, same names)."""

import os
from importlib import import_module
from types import ModuleType

from tagmix.errors import ParameterError

KERNELS = ("compiled", "reference")
# For debugging: TAGMIX_KERNELS=reference runs the definition, hundreds of times slower.
VARIABLE = "TAGMIX_KERNELS"


def active() -> ModuleType:
    """Return the kernels that new models compute with: compiled, unless the environment says otherwise."""
    name = os.environ.get(VARIABLE, KERNELS[0])
    if name not in KERNELS:
        raise ParameterError(f"{VARIABLE} must be one of {', '.join(KERNELS)}, got {name!r:.60}: unset it.")
    return import_module(f"tagmix.kernels.{name}")
