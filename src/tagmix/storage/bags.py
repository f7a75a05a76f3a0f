"""Bags in a file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tagmix.bags import Bags
from tagmix.errors import ModelFileError
from tagmix.storage.container import Contents, write

# Held only by files of bags that have such pairs.
MORE_LABELS = ("rejected", "unknown")


def save_bags(bags: Bags, path: Path) -> None:
    """Write bags into one file; ``tagmix.load`` reads it."""
    kinds: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {"offsets": bags.offsets}
    for i, (name, view) in enumerate(bags.views.items()):
        kinds.append({"name": name, "sparse": bool(issparse(view)), "width": view.shape[1]})
        arrays |= _view_arrays(f"views.{i}", view)
    labels = {"tags": bags.tags, "rejected": bags.rejected, "unknown": bags.unknown}
    for name, matrix in labels.items():
        arrays |= {} if matrix is None else _view_arrays(name, matrix)
    for i, view in enumerate(bags.pictures.values()):
        arrays[f"pictures.{i}"] = view
    arrays["ids"] = _packed(bags.ids)
    arrays["tag_names"] = _packed(bags.tag_names or ())
    fields: dict[str, Any] = {
        "views": kinds,
        "tagged": bags.tags is not None,
        "pictures": list(bags.pictures),
    }
    write(path, "Bags", fields, arrays)


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


def load_bags(contents: Contents, file: str) -> Bags:
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
        shape = (n_images, len(names))
        tags = _csr(arrays, "tags", shape) if fields["tagged"] else None
        held = {part.split(".")[0] for part in arrays}
        more = {name: _csr(arrays, name, shape) for name in MORE_LABELS if name in held}
        pictures = {str(name): arrays[f"pictures.{i}"] for i, name in enumerate(fields["pictures"])}
        ids = _unpacked(arrays["ids"])
        unique = ids if len(set(ids)) == len(ids) else None
        return Bags(views, arrays["offsets"], tags, names or None, unique, pictures, **more)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise ModelFileError(
            f"{file} is a tagmix file whose parts do not fit together "
            f"({type(error).__name__}: {error!s:.200}): save the bags again"
        ) from error


def _csr(arrays: Mapping[str, Any], name: str, shape: tuple[int, int]) -> Any:
    # Bags look at every index: those of a stranger may point outside.
    parts = data, indices, starts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    if indices.dtype.kind not in "iu" or starts.dtype.kind not in "iu" or starts[-1:].tolist() != [len(data)]:
        raise ValueError(f"the indices of {name} must be whole numbers, and its rows must hold every entry")
    return csr_array(parts, shape=shape)
