"""Checks of a learner's settings, before any computation: they may come from an untrusted file."""

import inspect
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from tagmix.errors import ParameterError

# name → (smallest, largest, whether it must be whole)
Bounds = Mapping[str, tuple[float, float, bool]]


def is_number(value: Any, smallest: float, largest: float, whole: bool = False) -> bool:
    """Return whether the value is a number in the range, not a bool.

    >>> is_number(0.5, 0, 1), is_number(0.5, 0, 1, whole=True), is_number(True, 0, 1)
    (True, False, False)
    """
    numeric = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    return numeric and bool(smallest <= value <= largest)


def check_number(
    name: str, value: Any, smallest: float, largest: float, whole: bool = False, way_out: str = ""
) -> None:
    """Raise ParameterError unless the value is a number in the range; ``way_out`` ends the message."""
    if not is_number(value, smallest, largest, whole):
        raise ParameterError(
            f"{name} must be a {'whole ' if whole else ''}number from {smallest:g} to {largest:g}, got "
            f"{value!r:.60}: {way_out or 'omit it for the default.'}"
        )


def check_numbers(learner: Any, bounds: Bounds) -> None:
    """Raise ParameterError for settings of the learner outside their bounds."""
    settings = inspect.signature(type(learner)).parameters
    for name, limits in bounds.items():
        check_number(
            name, getattr(learner, name), *limits, way_out=f"the default is {settings[name].default!r}."
        )


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Raise ParameterError unless the value is one of ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r:.60}: choose one.")
