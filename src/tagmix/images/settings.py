"""Settings as data: default, paper's value, limits and command-line option of each, in one place."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Any, NamedTuple

from tagmix.errors import ParameterError

KEY = "tagmix"


class Setting(NamedTuple):
    """The properties of a setting besides its default: the paper's value, the limits, the option.

    ``low`` and ``high`` bound a whole number, ``choices`` are the names allowed, ``option`` is the option of
    the command line (None: it has none) and ``help`` its text. Numbers with ``share`` are above 0 and at
    most 1. ``several`` is what the command line calls one value of an option that may be repeated; the class
    itself checks these.
    """

    paper: Any
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    share: bool = False
    several: str = ""
    option: str | None = None
    help: str = ""


def setting(default: Any, *, paper: Any = MISSING, **about: Any) -> Any:
    """Return a dataclass field that carries a ``Setting``; the paper's value is the default if left out."""
    known = Setting(default if paper is MISSING else paper, **about)
    return field(default=default, metadata={KEY: known})


def settings_of(kind: Any) -> dict[str, Field[Any]]:
    """Return the fields of a dataclass that are settings, by name."""
    return {own.name: own for own in fields(kind) if KEY in own.metadata}


def about(own: Field[Any]) -> Setting:
    """Return the ``Setting`` of a field."""
    return own.metadata[KEY]


def paper_values(kind: Any) -> dict[str, Any]:
    """Return the paper's value of every setting of a dataclass."""
    return {name: about(own).paper for name, own in settings_of(kind).items()}


def plain_values(thing: Any) -> dict[str, Any]:
    """Return the settings of an instance as plain values, for a file."""
    return {name: getattr(thing, name) for name in settings_of(thing)}


def check_settings(thing: Any) -> None:
    """Raise ParameterError for a value that is not allowed; a file may hold any."""
    for name, own in settings_of(thing).items():
        if not about(own).several:
            _check(name, getattr(thing, name), own.default, about(own))


def _check(name: str, value: Any, default: Any, known: Setting) -> None:
    if known.choices:
        if value not in known.choices:
            listed = ", ".join(known.choices)
            raise ParameterError(f"{name} must be one of {listed}, got {value!r:.60}: pick one.")
    elif known.share:
        if not isinstance(value, float | int) or isinstance(value, bool) or not 0 < value <= 1:
            raise ParameterError(
                f"{name} must be a share above 0 and up to 1, got {value!r:.60}: {known.paper:g} is the "
                f"paper's, {default:g} the default."
            )
    elif isinstance(default, bool):
        if not isinstance(value, bool):
            raise ParameterError(f"{name} must be True or False, got {value!r:.60}: choose one.")
    else:
        _check_whole(name, value, known)


def _check_whole(name: str, value: Any, known: Setting) -> None:
    low = known.low or 0
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= low
    if not fits or (known.high is not None and value > known.high):
        limits = f"from {low:,} up" if known.high is None else f"from {low:,} to {known.high:,}"
        raise ParameterError(f"{name} must be a whole number {limits}, got {value!r:.60}: change it.")


def refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raise ParameterError for a setting that does not exist."""
    for name in given:
        if name not in known:
            raise ParameterError(f"the settings are {', '.join(known)}, got {name!r:.60}: use one of them.")
