"""Checks of what a learner is told, before any work is done: settings may come from a stranger's file."""

import inspect
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from tagmix.errors import ParameterError

# name → (smallest, largest, whether it must be whole)
Bounds = Mapping[str, tuple[float, float, bool]]


def is_number(value: Any, smallest: float, largest: float, whole: bool = False) -> bool:
    """Return whether this is a number in the range, and no truth value.

    >>> is_number(0.5, 0, 1), is_number(0.5, 0, 1, whole=True), is_number(True, 0, 1)
    (True, False, False)
    """
    kind = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    return kind and bool(smallest <= value <= largest)


def check_number(
    name: str, value: Any, smallest: float, largest: float, whole: bool = False, way_out: str = ""
) -> None:
    """Refuse what is no number between these; ``way_out`` ends the message."""
    if not is_number(value, smallest, largest, whole):
        raise ParameterError(
            f"{name} must be a {'whole ' if whole else ''}number from {smallest:g} to {largest:g}, got "
            f"{value!r:.60}: {way_out or 'leave it out for the default.'}"
        )


def check_numbers(learner: Any, bounds: Bounds) -> None:
    """Refuse settings of the learner outside their bounds."""
    settings = inspect.signature(type(learner)).parameters
    for name, limits in bounds.items():
        check_number(
            name, getattr(learner, name), *limits, way_out=f"the default is {settings[name].default!r}."
        )


def check_choice(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse a word that is no choice."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r:.60}: choose one.")
