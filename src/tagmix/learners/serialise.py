"""Fitted learners on disk: parameters as plain values, what was learnt as arrays, checked when it returns."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagmix import storage
from tagmix.errors import ModelFileError

if TYPE_CHECKING:
    from tagmix.learners.base import TagLearner

# They belong to a run, not to what was learnt. A file that names memory is not believed: it is ours.
NOT_STORED = {"n_jobs", "verbose", "memory_mb"}
IGNORED = {"memory_mb"}
# Fitted attributes, and parts of a gallery, that are whole numbers; all others are float64 up to LARGEST.
WHOLE = ("tag_columns_", "tag_starts_", "gallery_.columns ", "gallery_.starts ")
LARGEST = 1e60


def save(learner: "TagLearner", path: Path) -> None:
    """Write a learner whose fitted attributes are arrays, numbers, names, or dicts of arrays by name."""
    storage.write(path, type(learner).__name__, *parts(learner))


def parts(learner: "TagLearner") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and arrays that a fitted learner is stored as."""
    fields: dict[str, Any] = {
        "settings": plain_settings(learner),
        "tag_names": list(learner.tag_names_),
        "views": [{"name": name, "width": width} for name, width in learner.widths_.items()],
        "numbers": {},
        "groups": {},
    }
    arrays: dict[str, Any] = {}
    for name, value in vars(learner).items():
        if not name.endswith("_") or name in {"tag_names_", "widths_", "n_features_in_"}:
            continue
        if isinstance(value, dict):
            fields["groups"][name] = list(value)
            arrays |= {f"{name}.{i}": np.asarray(one) for i, one in enumerate(value.values())}
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            fields["numbers"][name] = _plain(value)
    return fields, arrays


def plain_settings(learner: "TagLearner") -> dict[str, Any]:
    """Return the parameters that belong to a learner and not to a run."""
    return {k: _plain(v) for k, v in learner.get_params(deep=False).items() if k not in NOT_STORED}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return list(value) if isinstance(value, tuple) else value


def load(kind: "type[TagLearner]", contents: storage.Contents, file: str) -> "TagLearner":
    """Return the learner that ``save`` wrote; arrays must be finite and settings known."""
    try:
        return restored(kind, contents.fields, contents.arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(
            f"{file} is a tagmix file whose parts do not fit together ({error!s:.200}): save it again"
        ) from error


def restored(kind: "type[TagLearner]", fields: Any, arrays: dict[str, Any]) -> "TagLearner":
    """Return the learner that ``parts`` took apart; raise what a wrong part leads to."""
    learner = kind(**known_settings(kind, fields["settings"]))
    learner.tag_names_ = tuple(str(name) for name in fields["tag_names"])
    learner.widths_ = {str(view["name"]): int(view["width"]) for view in fields["views"]}
    _restore(learner, fields, arrays)
    learner._check_state()
    return learner


def known_settings(kind: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings from a file for a learner of this kind; raise ValueError at one that it has not."""
    own = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items() if k not in IGNORED}
    unknown = sorted(set(own) - (set(inspect.signature(kind).parameters) - NOT_STORED))
    if unknown:
        raise ValueError(f"unknown setting {unknown[0]!r:.60}")
    return own


def _restore(learner: "TagLearner", fields: Any, arrays: dict[str, Any]) -> None:
    for group, names in fields["groups"].items():
        _checked_name(group)
        parts = {str(name): arrays[f"{group}.{i}"] for i, name in enumerate(names)}
        checked = {name: _checked_array(f"{group}.{name}", array) for name, array in parts.items()}
        setattr(learner, group, checked)
    for name, array in arrays.items():
        if "." not in name:
            setattr(learner, _checked_name(name), _checked_array(name, array))
    for name, number in fields["numbers"].items():
        setattr(learner, _checked_name(name), tuple(number) if isinstance(number, list) else number)


def _checked_array(name: str, array: Any) -> Any:
    if name.startswith(WHOLE):
        if array.dtype.kind not in "iu" or array.itemsize < 4 or array.ndim != 1:
            raise ValueError(f"{name:.60} must be whole numbers of four or eight bytes")
    elif array.dtype != np.float64 or not np.all(np.abs(array) <= LARGEST):  # nan is not
        raise ValueError(f"{name:.60} must be float64 up to {LARGEST:g}")
    return array


def _checked_name(name: str) -> str:
    if not name.endswith("_") or name.startswith("_") or not name.isidentifier():
        raise ValueError(f"{name!r:.60} is no fitted attribute")
    return name
