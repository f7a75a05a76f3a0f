"""Fitted learners on disk: parameters as plain values, fitted attributes by the learner's ``SCHEMA``.

The container (``tagmix.storage``) vouches for bytes; here the parts are checked against each other, because a
file with a right checksum may still have been made by somebody hostile.
"""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tagmix import storage
from tagmix.bag_checks import checked_names
from tagmix.errors import ModelFileError, ParameterError, TagmixError
from tagmix.kernels import active
from tagmix.learners.schema import Arrays, Dimensions

# They belong to a run, not to what was learnt; memory is this machine's, not the file's.
NOT_STORED = {"n_jobs", "verbose", "memory_mb"}
FIELDS = {"parameters", "tag_names", "views", "learnt"}
# Parameters of prediction: they may change after a fit.
PREDICTING = ("inference", "ranking")
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)


def save(learner: Any, path: Path) -> None:
    """Write a fitted learner."""
    storage.write(path, type(learner).__name__, *pack(learner))


def load(kind: type, contents: storage.Contents, file: str) -> Any:
    """Return the learner that ``save`` wrote, every part checked."""
    active()  # what is wrong with the environment is not the file's fault
    try:
        return unpack(kind, contents.fields, contents.arrays)
    except DAMAGE as error:
        raise unfit(file, error, "save the model again") from error


def unfit(file: str, error: Exception, way_out: str) -> ModelFileError:
    """Return the error of a file whose bytes are right and whose parts are not."""
    reason = str(error) if isinstance(error, TagmixError) else f"{type(error).__name__}: {error}"
    return ModelFileError(
        f"{file} is a tagmix file whose parts do not fit together ({reason:.200}): {way_out}"
    )


def pack(learner: Any, path: str = "") -> tuple[dict[str, Any], Arrays]:
    """Return the fields and arrays that a fitted learner is stored as, arrays named from ``path`` on."""
    arrays: Arrays = {}
    # As fitted: a parameter that was changed since belongs to the next fit, except how predictions are made.
    now = learner.get_params(deep=False)
    parameters = {**now, **getattr(learner, "fitted_with_", {})}
    parameters |= {name: now[name] for name in PREDICTING if name in now}
    fields = {
        "parameters": {k: plain(v) for k, v in parameters.items() if k not in NOT_STORED},
        "tag_names": list(learner.tag_names_),
        # a list: the container sorts names, and views have an order
        "views": [[name, int(width)] for name, width in learner.widths_.items()],
        "learnt": {
            name: field.pack(getattr(learner, name), f"{path}{name}", arrays)
            for name, field in learner.SCHEMA.items()
        },
    }
    return fields, arrays


def unpack(kind: type, fields: Any, arrays: Mapping[str, Any], path: str = "") -> Any:
    """Return the learner that ``pack`` took apart; raise what a wrong part leads to."""
    schema: Mapping[str, Any] = kind.SCHEMA  # type: ignore[attr-defined]
    if not FIELDS <= set(fields) <= {*FIELDS, "kind"}:
        raise ValueError(f"{kind.__name__} must have the fields {sorted(FIELDS)}")
    learner = kind(**read_parameters(kind, fields["parameters"]))
    names = fields["tag_names"]
    learner.tag_names_ = tuple(checked_names("tag_names", names, len(names)) or ())
    learner.widths_ = _widths(fields["views"])
    if len(learner.tag_names_) < 2 or set(fields["learnt"]) != set(schema):
        raise ValueError(f"{kind.__name__} must have two tags or more, and learnt {sorted(schema)}")
    sizes: Dimensions = {f"width {view}": width for view, width in learner.widths_.items()}
    n_tags = len(learner.tag_names_)
    sizes |= {"tags": n_tags, "all words": sum(learner.widths_.values())}
    sizes["components"] = n_tags + (getattr(learner, "background", False) is True)
    for name, field in schema.items():
        setattr(learner, name, field.unpack(fields["learnt"][name], f"{path}{name}", arrays, sizes))
    learner._check_state()
    undeclared = {name for name in arrays if name.startswith(path)} - set(pack(learner, path)[1])
    if undeclared:
        raise ValueError(f"{kind.__name__} has no array {min(undeclared)!r:.60}")
    return learner


def _widths(views: Any) -> dict[str, int]:
    widths = {}
    for name, width in views:
        if not isinstance(name, str) or type(width) is not int or width < 1:
            raise ValueError(
                f"a view must have a name and a width of 1 or more, got {name!r:.60}, {width!r:.60}"
            )
        widths[name] = width
    if len(widths) != len(views):
        raise ValueError("views must have different names")
    return widths


def plain(value: Any) -> Any:
    """Return a parameter as plain values: tuples as lists, an inner learner by its name and parameters."""
    if hasattr(value, "get_params"):
        return {"kind": expert_kind(value), "parameters": _own_parameters(value)}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {"mapping": [[str(name), plain(one)] for name, one in value.items()]}
    if hasattr(value, "item"):  # a number of NumPy, as a grid search sets them
        return value.item()
    return value if isinstance(value, str | int | float | bool | None) else None  # a RandomState is not kept


def _own_parameters(learner: Any) -> dict[str, Any]:
    return {k: plain(v) for k, v in learner.get_params(deep=False).items() if k not in NOT_STORED}


def expert_kind(learner: Any) -> str:
    """Return the name of a learner that files may hold inside another one."""
    name = type(learner).__name__
    if not getattr(learner, "storable_as_expert", False):
        raise ParameterError(
            f"a context of {name} cannot be kept in a file that is safe to open: use one of tagmix's own "
            "learners of whole pictures, or pickle the model for yourself."
        )
    return name


def read_parameters(kind: type, parameters: Any) -> dict[str, Any]:
    """Return constructor parameters from a file; raise ValueError at one that the learner does not have."""
    unknown = sorted(set(parameters) - (set(inspect.signature(kind).parameters) - NOT_STORED))
    if unknown:
        raise ValueError(f"unknown parameter {unknown[0]!r:.60}, perhaps of a newer tagmix")
    if not isinstance(parameters.get("random_state"), int | None):
        raise TypeError("random_state must be a whole number or null")
    inner: Mapping[str, type] = getattr(kind, "EXPERT_KINDS", {})
    return {name: _read(value, inner) for name, value in parameters.items()}


def _read(value: Any, inner: Mapping[str, type]) -> Any:
    if isinstance(value, list):
        return tuple(_read(one, inner) for one in value)
    if isinstance(value, dict) and set(value) == {"mapping"}:
        return {str(name): _read(one, inner) for name, one in value["mapping"]}
    if isinstance(value, dict):
        kind = inner[value["kind"]]
        return kind(**read_parameters(kind, value["parameters"]))
    return value


class Learner(NamedTuple):
    """The field of a schema that holds another learner, such as an expert, of one of these kinds."""

    kinds: Mapping[str, type]

    def pack(self, value: Any, path: str, arrays: Arrays) -> dict[str, Any]:
        """Return its name and fields; its arrays go under ``path``."""
        fields, own = pack(value, f"{path}.")
        arrays |= own
        return {"kind": expert_kind(value), **fields}

    def unpack(self, plain: Any, path: str, arrays: Mapping[str, Any], sizes: Dimensions) -> Any:
        """Return the learner; it must know as many tags as the outer one."""
        learner = unpack(self.kinds[plain["kind"]], plain, arrays, f"{path}.")
        if len(learner.tag_names_) != sizes["tags"]:
            raise ValueError("experts must know the model's tags")
        return learner
