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
from tagmix.bag_checks import checked_names
from tagmix.bags import Bags
from tagmix.errors import ModelFileError, TagmixError
from tagmix.learners.calibrate import Calibration
from tagmix.learners.checks import check_choice
from tagmix.learners.context.files import context_parts, load_context, read_setting, stored_setting
from tagmix.learners.context.fitting import Context
from tagmix.learners.inputs import RATES
from tagmix.learners.instance_files import checked_array, instance_parts, kinds_of, load_instances
from tagmix.learners.parameters import CHOICES, check_parameters, settings_of_views
from tagmix.model.params import Params

if TYPE_CHECKING:
    from tagmix.learners.emm import EMM

NOT_STORED = {"callback", "verbose", "n_jobs"}  # they belong to a run, not to the model


def save_emm(emm: "EMM", path: Path) -> None:
    """Write a fitted EMM."""
    storage.write(path, "EMM", *emm_parts(emm))


def emm_parts(emm: "EMM") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and arrays that a fitted EMM is stored as."""
    # As fitted: a parameter changed since belongs to the next fit, except how predictions are made.
    now = {"inference": emm.inference, "ranking": emm.ranking, "kernels": emm.kernels}
    own = {k: _storable(v) for k, v in (emm.fitted_with_ | now).items() if k not in NOT_STORED}
    if not isinstance(own["random_state"], int):
        own["random_state"] = None
    own |= {"evidence": _evidence(emm), "chi": list(emm.settings_.chi)}
    own["context"] = stored_setting(own["context"])
    fields: dict[str, Any] = {
        "settings": own,
        "tag_names": list(emm.tag_names_),
        # a list: the container sorts names, and the arrays are numbered in this order
        "views": [{"name": name, "width": width} for name, width in emm.widths_.items()],
        "bound_history": [float(bound) for bound in emm.bound_history_],
        "converged": bool(emm.converged_),
        "calibrated_for": list(emm.calibrated_for_),
    }
    arrays: dict[str, Any] = {"rates": emm.params_.rates, "weights": emm.params_.weights}
    fields["instances"], instances = instance_parts(emm.params_)
    arrays |= instances
    if emm.context_ is not None:
        fields["context"], context = context_parts(emm.context_)
        arrays |= context
    if emm.calibration_ is not None:
        arrays |= {f"calibration.{k}": np.asarray(v) for k, v in emm.calibration_._asdict().items()}
    return fields, arrays


def _evidence(emm: "EMM") -> float | dict[str, float]:
    """Return κ as the model was fitted with it: one number if it was given so."""
    fitted = dict(emm.settings_.evidence)
    one = not isinstance(emm.fitted_with_["evidence"], Mapping) and len(set(fitted.values())) == 1
    return next(iter(fitted.values())) if one else fitted


def _storable(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value  # as a grid search sets them


def load_emm(make: "Callable[..., EMM]", contents: storage.Contents, file: str) -> "EMM":
    """Return the EMM that ``save_emm`` wrote."""
    fields: Any = contents.fields
    try:
        emm = make(**_known_settings(fields["settings"], set(inspect.signature(make).parameters)))
        check_parameters(emm)
        names = fields["tag_names"]
        emm.tag_names_ = checked_names("tag_names", names, len(names)) or ()
        emm.widths_ = _widths(fields["views"], emm.tag_names_)
        emm.bound_history_ = [float(bound) for bound in fields["bound_history"]]
        emm.n_iter_, emm.converged_, emm.margin_ = len(emm.bound_history_), bool(fields["converged"]), None
        kinds = kinds_of(fields, emm.widths_)
        emm.settings_ = settings_of_views(emm, {view: kinds.get(view) == "words" for view in emm.widths_})
        emm.params_ = _params(contents.arrays, emm, kinds)
        emm.context_ = _context(fields, contents.arrays, emm)
        emm.calibration_ = _calibration(contents.arrays, len(emm.tag_names_))
        inference, ranking = fields["calibrated_for"]
        check_choice("inference", inference, CHOICES["inference"])
        check_choice("ranking", ranking, CHOICES["ranking"])
        emm.calibrated_for_ = (inference, ranking)
        emm.fitted_with_ = emm.get_params(deep=False)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise _unfit(file, error, "model") from error
    if list(emm.widths_) == ["words"]:
        emm.n_features_in_ = emm.widths_["words"]
    return emm


def _unfit(file: str, error: Exception, what: str) -> ModelFileError:
    reason = str(error) if isinstance(error, TagmixError) else f"{type(error).__name__}: {error}"
    return ModelFileError(
        f"{file} is a tagmix file whose parts do not fit together ({reason:.200}): save the {what} again"
    )


def _known_settings(settings: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    unknown = sorted(set(settings) - (known - NOT_STORED))
    if unknown:
        raise ValueError(f"unknown setting {unknown[0]!r:.60}, perhaps of a newer tagmix")
    if not isinstance(settings["random_state"], int | None):
        raise TypeError("random_state must be a whole number or null")
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return own | {"context": read_setting(settings.get("context"))}


def _params(arrays: Mapping[str, Any], emm: "EMM", kinds: Mapping[str, str]) -> Params:
    n_tags = len(emm.tag_names_)
    instances = load_instances(arrays, kinds, emm.widths_, n_tags, emm.settings_)
    if instances.keys() != emm.settings_.evidence.keys():
        raise ValueError("evidence must name the instance models")
    rates = checked_array(arrays, "rates", (n_tags,), *RATES)
    return Params(rates, instances, checked_array(arrays, "weights", (n_tags,), 0.0, 1e15))


def _context(fields: Any, arrays: Mapping[str, Any], emm: "EMM") -> Context | None:
    if (emm.context is None) != ("context" not in fields):
        raise ValueError("a model has a context if its settings name one")
    return None if emm.context is None else load_context(fields["context"], arrays, emm.tag_names_)


def _widths(views: Any, tag_names: Sequence[str]) -> dict[str, int]:
    widths = {str(view["name"]): _width(view["width"]) for view in views}
    if len(tag_names) < 2 or len(widths) != len(views):
        raise ValueError("a model needs at least two tags, and views of different names")
    return widths


def _width(width: Any) -> int:
    if not isinstance(width, int) or isinstance(width, bool) or width < 1:
        raise ValueError(f"a view's width must be a whole number above 0, got {width!r:.60}")
    return width


def _calibration(arrays: Mapping[str, Any], n_tags: int) -> Calibration | None:
    if "calibration.slopes" not in arrays:
        return None
    n_knots = len(arrays["calibration.knots"])
    shapes = {"knots": (n_knots,), "levels": (n_knots,)}
    parts = {
        k: checked_array(arrays, f"calibration.{k}", shapes.get(k, (n_tags,)), -1e9, 1e9)
        for k in Calibration._fields
    }
    shares = (parts["levels"], parts["thresholds"])
    if not n_knots or np.any(np.diff(parts["knots"]) < 0) or any(a.min() < 0 or a.max() > 1 for a in shares):
        raise ValueError("calibration needs rising knots, levels and thresholds between 0 and 1")
    if parts["evening"].min() <= 0:
        raise ValueError("evening of the calibration must be positive")
    return Calibration(**parts)


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
        raise _unfit(file, error, "bags") from error


def _csr(arrays: Mapping[str, Any], name: str, shape: tuple[int, int]) -> Any:
    # Bags look at every index: those of a stranger may point outside.
    parts = (arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"])
    return csr_array(parts, shape=shape)
