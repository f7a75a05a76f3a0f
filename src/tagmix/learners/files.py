"""Models and bags on disk: what is stored of each, and the checks when it comes back.

The container (``tagmix.storage``) vouches for bytes; here we check that the arrays fit each other,
because a file with a right checksum may still have been made by somebody hostile.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tagmix import storage
from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import ModelFileError, TagmixError
from tagmix.learners.calibration import Calibration
from tagmix.learners.fitting import check_parameters, settings_of_views
from tagmix.model.instance import Words
from tagmix.model.params import Params

if TYPE_CHECKING:
    from tagmix.learners.emm import EMM

NOT_STORED = {"callback", "verbose", "n_jobs"}  # they belong to a run, not to the model


def save_emm(emm: "EMM", path: Path) -> None:
    """Write a fitted EMM."""
    own = {k: v for k, v in emm.get_params(deep=False).items() if k not in NOT_STORED}
    if not isinstance(own["random_state"], int):
        own["random_state"] = None
    own["evidence"] = dict(emm.settings_.evidence)
    fields = {
        "settings": own,
        "tag_names": list(emm.tag_names_),
        "widths": emm.widths_,
        "bound_history": emm.bound_history_,
        "converged": bool(emm.converged_),
    }
    arrays: dict[str, Any] = {"rates": emm.params_.rates, "weights": emm.params_.weights}
    for view, model in emm.params_.instances.items():
        arrays |= {f"instances.{emm_index(emm, view)}.{name}": a for name, a in model.arrays().items()}
    if emm.calibration_ is not None:
        arrays |= {f"calibration.{k}": np.asarray(v) for k, v in emm.calibration_._asdict().items()}
    storage.write(path, "EMM", fields, arrays)


def emm_index(emm: "EMM", view: str) -> int:
    """Return the number of a view: its name may be anything, an array's name may not."""
    return list(emm.widths_).index(view)


def load_emm(make: "Callable[..., EMM]", contents: storage.Contents, file: str) -> "EMM":
    """Return the EMM that ``save_emm`` wrote."""
    fields: Any = contents.fields
    try:
        known = inspect.signature(make).parameters
        emm = make(**{k: _plain(v) for k, v in fields["settings"].items() if k in known})
        check_parameters(emm)
        emm.tag_names_ = tuple(str(name) for name in fields["tag_names"])
        emm.widths_ = {str(view): int(width) for view, width in fields["widths"].items()}
        emm.bound_history_ = [float(bound) for bound in fields["bound_history"]]
        emm.n_iter_, emm.converged_, emm.margin_ = len(emm.bound_history_), bool(fields["converged"]), None
        emm.settings_ = settings_of_views(emm, dict.fromkeys(emm.widths_, True))
        emm.params_ = _params(contents.arrays, emm)
        emm.calibration_ = _calibration(contents.arrays, len(emm.tag_names_))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = str(error) if isinstance(error, TagmixError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(
            f"{file} is a tagmix file whose parts do not fit together ({reason}): save the model again"
        ) from error
    if list(emm.widths_) == ["words"]:
        emm.n_features_in_ = emm.widths_["words"]
    return emm


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _params(arrays: Mapping[str, Any], emm: "EMM") -> Params:
    n_tags = len(emm.tag_names_)
    instances = {
        view: Words(
            _array(arrays, f"instances.{i}.mu", (n_tags, width), positive=True),
            float(_array(arrays, f"instances.{i}.eta", (), positive=True)),
            emm.settings_.kernels,
            emm.settings_.n_threads,
        )
        for i, (view, width) in enumerate(emm.widths_.items())
    }
    rates = _array(arrays, "rates", (n_tags,), positive=True)
    return Params(rates, instances, _array(arrays, "weights", (n_tags,)))


def _calibration(arrays: Mapping[str, Any], n_tags: int) -> Calibration | None:
    if "calibration.slope" not in arrays:
        return None
    n_knots = len(arrays["calibration.knots"])
    shapes = {"slope": (), "bias": (), "knots": (n_knots,), "levels": (n_knots,)}
    parts = {
        k: _array(arrays, f"calibration.{k}", shapes.get(k, (n_tags,)), None) for k in Calibration._fields
    }
    return Calibration(float(parts.pop("slope")), float(parts.pop("bias")), **parts)


def _array(
    arrays: Mapping[str, Any], name: str, shape: tuple[int, ...], positive: bool | None = False
) -> Floats:
    """Return a float64 array of this shape; finite, and positive or (False) not negative."""
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"{name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
    low = -np.inf if positive is None else 0.0
    if not np.all(np.isfinite(array)) or np.any(array <= low if positive else array < low):
        raise ValueError(f"{name} must be finite and {'> 0' if positive else '>= 0'}")
    return array


def save_bags(bags: Bags, path: Path) -> None:
    """Write bags into one file; ``tagmix.load`` reads it."""
    kinds: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {"offsets": bags.offsets}
    for i, (name, view) in enumerate(bags.views.items()):
        kinds.append({"name": name, "sparse": bool(issparse(view)), "width": view.shape[1]})
        arrays |= _view_arrays(f"views.{i}", view)
    if bags.tags is not None:
        arrays |= _view_arrays("tags", bags.tags)
    for i, view in enumerate(bags.pictures.values()):
        arrays[f"pictures.{i}"] = view
    arrays["ids"] = _packed(bags.ids)
    arrays["tag_names"] = _packed(bags.tag_names or ())
    fields: dict[str, Any] = {
        "views": kinds,
        "tagged": bags.tags is not None,
        "pictures": list(bags.pictures),
    }
    storage.write(path, "Bags", fields, arrays)


def _packed(names: Sequence[str]) -> Any:
    """Return names as bytes of JSON: a million of them are data, not manifest."""
    return np.frombuffer(json.dumps(list(names)).encode(), dtype=np.uint8)


def _unpacked(array: Any) -> list[str]:
    names = json.loads(array.tobytes().decode())
    if not isinstance(names, list):
        raise TypeError("names must be a list")
    return [str(name) for name in names]


def _view_arrays(name: str, view: Any) -> dict[str, Any]:
    if not issparse(view):
        return {name: view}
    parts: Any = view
    return {f"{name}.data": parts.data, f"{name}.indices": parts.indices, f"{name}.indptr": parts.indptr}


def load_bags(contents: storage.Contents, file: str) -> Bags:
    """Return the bags that ``save_bags`` wrote, checked again as if they were new."""
    fields: Any = contents.fields
    arrays = contents.arrays
    try:
        n_regions, n_images = int(arrays["offsets"][-1]), len(arrays["offsets"]) - 1
        views = {
            str(kind["name"]): _csr(arrays, f"views.{i}", (n_regions, int(kind["width"])))
            if kind["sparse"]
            else arrays[f"views.{i}"]
            for i, kind in enumerate(fields["views"])
        }
        names = _unpacked(arrays["tag_names"])
        tags = _csr(arrays, "tags", (n_images, len(names))) if fields["tagged"] else None
        pictures = {str(name): arrays[f"pictures.{i}"] for i, name in enumerate(fields["pictures"])}
        ids = _unpacked(arrays["ids"])
        unique = ids if len(set(ids)) == len(ids) else None
        return Bags(views, arrays["offsets"], tags, names or None, unique, pictures)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(
            f"{file} is a tagmix file whose parts do not fit together ({error}): save the bags again"
        ) from error


def _csr(arrays: Mapping[str, Any], name: str, shape: tuple[int, int]) -> Any:
    matrix = csr_array(
        (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"]), shape=shape
    )
    matrix.check_format(full_check=True)  # indices of a stranger may point outside
    return matrix
