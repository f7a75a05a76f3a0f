"""What makes the parts of Bags legal; each check returns the part in its one stored form."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, Ints, is_sparse
from tagmix.errors import BagsError

# Counts that fit are kept in two bytes: word histograms are small whole numbers, and the loops
# over them are bound by memory.
SMALL = np.iinfo(np.uint16).max

View = Counts | Floats


def checked_views(instances: Any) -> dict[str, View]:
    """Return the views of the instances by name; a lone matrix becomes the view ``"words"``."""
    views = instances if isinstance(instances, Mapping) else {"words": instances}
    if not views:
        raise BagsError("instances must hold at least one view, got an empty mapping: pass a counts matrix.")
    checked = {str(name): _checked_view(str(name), view) for name, view in views.items()}
    heights = {name: view.shape[0] for name, view in checked.items()}
    if len(set(heights.values())) > 1:
        raise BagsError(
            f"all views must have one row a region, got {heights} rows: describe the same regions."
        )
    return checked


def _checked_view(name: str, view: Any) -> View:
    if is_sparse(view):
        return _counts(name, csr_array(view))
    dense = np.asarray(view)
    if dense.ndim != 2 or dense.dtype.kind not in "buif":
        raise BagsError(
            f"view {name!r} must be a two-dimensional matrix of numbers, got {dense.ndim} dimensions of "
            f"{dense.dtype}: pass regions × words."
        )
    if dense.dtype.kind in "bui":  # whole numbers are counts, real ones an embedding
        return _counts(name, csr_array(dense))
    return _frozen(_finite(name, dense.astype(np.float64)))


def _counts(name: str, matrix: Counts) -> Counts:
    counts = matrix.copy()
    counts.sum_duplicates()
    if counts.data.dtype.kind not in "buif":
        raise BagsError(
            f"counts of view {name!r} must be numbers, got {counts.data.dtype}: pass word counts."
        )
    _finite(name, counts.data)
    if counts.data.size and counts.data.min() < 0:
        row = int(np.searchsorted(counts.indptr, int(counts.data.argmin()), side="right")) - 1
        raise BagsError(
            f"counts of view {name!r} must not be negative, got {counts.data.min()} in region {row}: "
            "pass how often each word occurs, or a dense float matrix if these are embeddings."
        )
    counts.eliminate_zeros()
    counts.data = _smallest(counts.data)
    for part in (counts.data, counts.indices, counts.indptr):
        part.flags.writeable = False
    return counts


def _smallest(data: NDArray[Any]) -> NDArray[Any]:
    whole = data.dtype.kind in "bu" or bool(np.all(data == np.floor(data)))
    fits = whole and (not data.size or data.max() <= SMALL)
    return data.astype(np.uint16 if fits else np.float64)


def _finite(name: str, values: NDArray[Any]) -> NDArray[Any]:
    bad = np.flatnonzero(~np.isfinite(values).ravel())
    if bad.size:
        raise BagsError(
            f"view {name!r} must hold finite numbers, got {values.ravel()[bad[0]]} ({bad.size} such): "
            "remove or repair these regions first."
        )
    return values


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def checked_offsets(offsets: Any, n_regions: int) -> Ints:
    """Return where each image's regions start, closed by the number of regions."""
    array = np.array(offsets)
    if array.ndim != 1 or array.size < 1 or array.dtype.kind not in "ui":
        raise BagsError(
            f"offsets must be a one-dimensional list of whole numbers, got shape {array.shape} of "
            f"{array.dtype}: pass [0, regions of the first image, …]."
        )
    if array[0] != 0 or array[-1] != n_regions:
        raise BagsError(
            f"offsets must start at 0 and end at the number of regions {n_regions}, got {array[0]} … "
            f"{array[-1]}: was the first or the last image left out of `offsets`?"
        )
    if np.any(np.diff(array.astype(np.int64)) < 0):
        at = int(np.argmax(np.diff(array.astype(np.int64)) < 0))
        raise BagsError(
            f"offsets must not fall, got {array[at]} then {array[at + 1]} at image {at}: "
            "pass running totals, not region numbers."
        )
    return _frozen(array.astype(np.int64))


def checked_tags(tags: Any, n_images: int) -> Counts | None:
    """Return the tags as CSR of 0 and 1, one row an image."""
    if tags is None:
        return None
    matrix = csr_array(tags if is_sparse(tags) else np.atleast_2d(np.asarray(tags)))
    if matrix.ndim != 2 or matrix.shape[0] != n_images:
        raise BagsError(
            f"tags must have one row an image ({n_images}), got shape {matrix.shape}: "
            "pass images × tags; offsets has one entry more than there are images."
        )
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    if matrix.data.dtype.kind not in "buif" or np.any(matrix.data != 1):
        raise BagsError("tags must be 0 or 1, got other values: pass True where the image has the tag.")
    matrix.sort_indices()
    if matrix.nnz and np.any((np.diff(matrix.indices) == 0) & (np.diff(_row_of_entry(matrix)) == 0)):
        raise BagsError("tags must name each tag once an image, got one twice: remove the repetition.")
    matrix.data = np.ones(matrix.nnz, dtype=np.uint8)
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def _row_of_entry(matrix: Counts) -> Ints:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def checked_names(what: str, names: Sequence[Any] | None, length: int | None) -> tuple[str, ...] | None:
    """Return names as strings, as many as there are columns (or images), none twice."""
    if names is None:
        return None
    strings = tuple(str(name) for name in names)
    if length is not None and len(strings) != length:
        raise BagsError(f"{what} must name {length}, got {len(strings)}: pass one name each.")
    if len(set(strings)) != len(strings):
        twice = next(name for i, name in enumerate(strings) if name in strings[:i])
        raise BagsError(f"{what} must differ from each other, got {twice!r} twice: merge or rename them.")
    return strings


def checked_pictures(pictures: Mapping[str, Any] | None, n_images: int) -> dict[str, Floats]:
    """Return the views of whole images, dense, one row an image."""
    checked: dict[str, Floats] = {}
    for name, view in (pictures or {}).items():
        dense = np.array(view, dtype=np.float64)
        if dense.ndim != 2 or dense.shape[0] != n_images:
            raise BagsError(
                f"picture view {name!r} must have one row an image ({n_images}), got shape {dense.shape}: "
                "pass images × features."
            )
        checked[str(name)] = _frozen(_finite(str(name), dense))
    return checked
