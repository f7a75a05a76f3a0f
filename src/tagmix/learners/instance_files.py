"""Instance models in a model's file, and the checks of their arrays when they come back."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tagmix.arrays import Floats
from tagmix.model.gaussian import Gaussian, Projection
from tagmix.model.instance import ETA_RANGE, InstanceModel, Multinomial
from tagmix.model.linear import Linear
from tagmix.model.params import Params, Settings, view_of

MU = (ETA_RANGE[0], 1e18)  # a prior and at most so many words of a tag
KINDS: dict[str, type[InstanceModel]] = {"words": Multinomial, "gaussian": Gaussian, "linear": Linear}
LARGEST = 1e16  # embeddings are at most 1e15


def instance_parts(params: Params) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Return name and kind of each instance model, and their arrays, numbered in this order."""
    kinds: list[dict[str, str]] = []
    arrays: dict[str, Any] = {}
    for i, (name, model) in enumerate(params.instances.items()):
        kind = next(kind for kind, own in KINDS.items() if isinstance(model, own))
        kinds.append({"name": name, "kind": kind})
        arrays |= {f"instances.{i}.{part}": array for part, array in model.arrays().items()}
    return kinds, arrays


def kinds_of(fields: Any, widths: Mapping[str, int]) -> dict[str, str]:
    """Return the kind of each instance; files from before there were others than words name none."""
    stored = fields.get("instances", [{"name": view, "kind": "words"} for view in widths])
    kinds = {str(one["name"]): str(one["kind"]) for one in stored}
    views = {view_of(name) for name in kinds}
    if len(kinds) != len(stored) or views != set(widths) or not set(kinds.values()) <= set(KINDS):
        raise ValueError("every view needs its instance models, of known kinds and different names")
    return kinds


def load_instances(
    arrays: Mapping[str, Any],
    kinds: Mapping[str, str],
    widths: Mapping[str, int],
    n_tags: int,
    settings: Settings,
) -> dict[str, InstanceModel]:
    """Return the instance models, every array checked."""
    readers: dict[str, Any] = {"words": _words, "gaussian": _gaussian, "linear": _linear}
    how = {"kernels": settings.kernels, "n_threads": settings.n_threads}
    found: dict[str, InstanceModel] = {}
    for i, (name, kind) in enumerate(kinds.items()):
        read = partial(_read, arrays, f"instances.{i}.")
        found[name] = readers[kind](read, n_tags, widths[view_of(name)], how)
    return found


def _read(
    arrays: Mapping[str, Any], start: str, part: str, shape: tuple[int, ...], low: float, high: float
) -> Floats:
    return checked_array(arrays, start + part, shape, low, high)


def _words(read: Any, n_tags: int, width: int, how: dict[str, Any]) -> Multinomial:
    return Multinomial(read("mu", (n_tags, width), *MU), float(read("eta", (), *ETA_RANGE)), **how)


def _gaussian(read: Any, n_tags: int, width: int, how: dict[str, Any]) -> Gaussian:
    sizes = read("prior", (3,), 1e-300, 1e300)
    n = int(sizes[2])
    shapes = {"centre": (width,), "axes": (width, n), "means": (n_tags, n), "precision": (n, n)}
    parts = {name: read(name, shape, -LARGEST, LARGEST) for name, shape in shapes.items()}
    if not np.array_equal(parts["precision"], parts["precision"].T):
        raise ValueError("the precision of a Gaussian must be symmetric")
    np.linalg.cholesky(parts["precision"])  # or it is no precision: LinAlgError is a ValueError
    projection = Projection(parts["centre"], parts["axes"])
    return Gaussian(projection, parts["means"], parts["precision"], float(sizes[0]), float(sizes[1]), **how)


def _linear(read: Any, n_tags: int, width: int, how: dict[str, Any]) -> Linear:
    centre, scale = read("centre", (width,), -LARGEST, LARGEST), read("scale", (width,), 1e-300, LARGEST)
    return Linear(centre, scale, read("weights", (n_tags, width + 1), -LARGEST, LARGEST), **how)


def checked_array(
    arrays: Mapping[str, Any], name: str, shape: tuple[int, ...], low: float, high: float
) -> Floats:
    """Return a float64 array of this shape with values that training can reach, from low to high."""
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"{name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
    if not np.all((array >= low) & (array <= high)):
        raise ValueError(f"{name} must be from {low:g} to {high:g}")
    return array
