"""Checks of the parts of Bags; each check returns its part in the form in which Bags stores it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, Ints, check_csr, is_sparse
from tagmix.errors import BagsError

# Counts up to this one are stored in two bytes, because the loops over them are bound by memory.
SMALL = np.iinfo(np.uint16).max
# Above this, neighbouring doubles are more than 1 apart.
MOST = 1e15
# Column indices take four bytes; every tag has a name in memory.
WIDEST, MOST_TAGS = 2**31, 10_000_000

View = Counts | Floats


def checked_views(instances: Any) -> dict[str, View]:
    """Return the views of the instances by name; a lone matrix becomes the view ``"words"``."""
    views = instances if isinstance(instances, Mapping) else {"words": instances}
    if not views:
        raise BagsError("instances must hold at least one view, got an empty mapping: pass a counts matrix.")
    checked = {str(name): _checked_view(str(name), view) for name, view in views.items()}
    heights = {name: view.shape[0] for name, view in checked.items()}
    if len(set(heights.values())) > 1:
        raise BagsError(f"views must have one row per region, got {heights} rows: describe the same regions.")
    return checked


def _checked_view(name: str, view: Any) -> View:
    matrix = matrix_of(f"view {name!r}", view, "regions × words")
    # The dtype decides, never the values: a slice of an embedding is an embedding, whatever it contains.
    if is_sparse(matrix) or matrix.dtype.kind in "bui":
        return _counts(name, csr_array(matrix))
    # A network gives single precision; twice the bytes would hold no more.
    return _embeddings(name, matrix.astype(np.float32 if matrix.dtype.itemsize <= 4 else np.float64))


def array_of(what: str, given: Any, way_out: str, dtype: Any = None) -> NDArray[Any]:
    """Return an array; BagsError with the way out if it cannot be one."""
    if isinstance(given, np.ma.MaskedArray):
        raise BagsError(f"{what} must be a plain array, got a masked one: fill it, or leave the entries out.")
    try:
        return np.asarray(given, dtype)
    except (ValueError, TypeError) as error:
        got = "rows of unequal length" if dtype is None else "other values"
        raise BagsError(f"{what} must be an array, got {got}: pass {way_out}.") from error


def matrix_of(what: str, given: Any, rows_and_columns: str) -> Any:
    """Return a matrix of real numbers with valid indices; a sparse matrix stays sparse."""
    matrix: Any = given if is_sparse(given) else array_of(what, given, rows_and_columns)
    kind = matrix.dtype.newbyteorder("=")  # SciPy computes with native numbers of single precision and more
    matrix = matrix.astype(np.float32 if kind == np.float16 else kind, copy=False)
    matrix = csr_array(matrix) if is_sparse(matrix) else matrix
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        raise BagsError(
            f"{what} must be a two-dimensional matrix of numbers, got {matrix.ndim} dimension(s) of "
            f"{matrix.dtype}: pass {rows_and_columns}."
        )
    if is_sparse(matrix):
        try:
            matrix.check_format(full_check=True)
            check_csr(matrix)  # SciPy's check has gaps
        except ValueError as error:
            raise BagsError(f"{what} must be a valid CSR matrix, got: {error}; rebuild it.") from error
    return matrix


def _counts(name: str, matrix: Counts) -> Counts:
    counts = matrix.copy()
    if not counts.has_canonical_format:
        counts = counts.astype(np.float64)  # a sum of bytes can exceed a byte
        counts.sum_duplicates()
    _finite(name, counts.data)
    if counts.data.size and counts.data.min() < 0:
        row = int(np.searchsorted(counts.indptr, int(counts.data.argmin()), side="right")) - 1
        raise BagsError(
            f"counts of view {name!r} must not be negative, got {counts.data.min()} in region {row}: "
            "pass the number of times each word occurs, or a dense float matrix if these are embeddings."
        )
    if counts.data.size and counts.data.max() > MOST:
        raise BagsError(
            f"counts of view {name!r} must be at most {MOST:g}, got {counts.data.max():g}: are these counts?"
        )
    if counts.shape[1] >= WIDEST:
        raise BagsError(f"view {name!r} must have fewer than {WIDEST:,} words, got {counts.shape[1]:,}.")
    counts.eliminate_zeros()
    counts.data = _smallest(counts.data)
    if counts.nnz < WIDEST:  # the loops read four-byte indices; SciPy may choose eight
        counts.indices = counts.indices.astype(np.int32, copy=False)
        counts.indptr = counts.indptr.astype(np.int32, copy=False)
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


def _embeddings(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Refuse numbers so large that sums of their squares overflow."""
    largest = float(np.abs(_finite(name, values)).max(initial=0.0))
    if largest > MOST:
        raise BagsError(
            f"view {name!r} must hold numbers of at most {MOST:g}, got {largest:g}: repair or rescale it."
        )
    return values


def freeze(matrix: Any) -> None:
    """Make the arrays of a matrix, sparse or dense, read-only."""
    for array in (matrix.data, matrix.indices, matrix.indptr) if is_sparse(matrix) else (matrix,):
        array.flags.writeable = False


def checked_offsets(offsets: Any, n_regions: int) -> Ints:
    """Return the first region of each picture, followed by the number of regions."""
    array = array_of("offsets", offsets, "[0, regions of the first picture, …]")
    if array.ndim != 1 or array.size < 1 or array.dtype.kind not in "ui":
        raise BagsError(
            f"offsets must be a one-dimensional list of whole numbers, got shape {array.shape} of "
            f"{array.dtype}: pass [0, regions of the first picture, …]."
        )
    if array[0] != 0 or array[-1] != n_regions:
        way_out = "is the first or the last picture missing from `offsets`?"
        if array.sum() == n_regions:
            way_out = "if n is the number of regions per picture, pass np.concatenate([[0], np.cumsum(n)])."
        raise BagsError(
            f"offsets must start at 0 and end at the number of regions {n_regions}, got {array[0]} … "
            f"{array[-1]}: {way_out}"
        )
    if np.any(np.diff(array.astype(np.int64)) < 0):
        at = int(np.argmax(np.diff(array.astype(np.int64)) < 0))
        raise BagsError(
            f"offsets must not decrease, got {array[at]} then {array[at + 1]} at picture {at}: "
            "pass cumulative sums, not region numbers."
        )
    return array.astype(np.int64)


def checked_names(what: str, names: Sequence[Any] | None, length: int) -> tuple[str, ...] | None:
    """Return distinct names as strings, one per column (or picture)."""
    if names is None:
        return None
    if not isinstance(names, Iterable) or isinstance(names, str):
        raise BagsError(f"{what} must be a list of {length} names, got {names!r:.60}: pass one name each.")
    strings = tuple(str(name) for name in names)
    if len(strings) != length:
        raise BagsError(f"{what} must be {length} names, got {len(strings)}: pass one name each.")
    if len(set(strings)) != len(strings):
        twice = next(name for name, times in Counter(strings).items() if times > 1)
        raise BagsError(f"{what} must differ from each other, got {twice!r:.60} twice: merge or rename them.")
    return strings


def checked_index(index: Any, length: int, what: str) -> Ints:
    """Return the indices that an int, a slice, a mask or a list of ints selects."""
    if isinstance(index, slice):
        return np.arange(length)[index]
    array = np.asarray(index)
    if array.dtype == bool and array.shape != (length,):
        raise BagsError(
            f"a mask of {what} must have {length} entries, got shape {array.shape}: pass one per item."
        )
    if array.ndim > 1 or isinstance(index, tuple) or (array.size and array.dtype.kind not in "bui"):
        raise BagsError(
            f"{what} are indexed by a whole number, a slice, a mask or a list of whole numbers, got "
            f"{index!r:.60}: pass one of these."
        )
    try:
        return np.atleast_1d(np.arange(length)[array if array.size else array.astype(np.int64)])
    except IndexError as error:  # not a BagsError: it ends a `for` over bags
        raise IndexError(f"there are {length} {what}, got {index!r:.60}: count from 0.") from error


def checked_pictures(pictures: Mapping[str, Any] | None, n_pictures: int) -> dict[str, Floats]:
    """Return the views of whole pictures, dense, one row per picture."""
    checked: dict[str, Floats] = {}
    if pictures is not None and not isinstance(pictures, Mapping):
        raise BagsError(f"pictures must be a mapping of views, got {pictures!r:.60}: pass {{name: matrix}}.")
    for name, view in (pictures or {}).items():
        matrix = matrix_of(f"picture view {name!r}", view, "pictures × features")
        if matrix.shape[0] != n_pictures:
            raise BagsError(
                f"picture view {name!r} must have one row per picture ({n_pictures}), got shape "
                f"{matrix.shape}: pass pictures × features."
            )
        dense = matrix.toarray() if is_sparse(matrix) else matrix
        checked[str(name)] = _embeddings(str(name), dense.astype(np.float64))
    return checked
