"""What makes the parts of Bags legal; each check returns the part in its one stored form."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, Ints, check_csr, is_sparse
from tagmix.errors import BagsError

# Counts that fit are kept in two bytes: word histograms are small whole numbers, and the loops
# over them are bound by memory.
SMALL = np.iinfo(np.uint16).max
# Beyond this a double no longer counts by ones.
MOST = 1e15
# Columns are numbered in four bytes; names are held for each tag.
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
        raise BagsError(
            f"all views must have one row a region, got {heights} rows: describe the same regions."
        )
    return checked


def _checked_view(name: str, view: Any) -> View:
    matrix = _matrix(f"view {name!r}", view, "regions × words")
    # The type decides and never the values: a cut of an embedding is an embedding, whatever is in it.
    if is_sparse(matrix) or matrix.dtype.kind in "bui":
        return _counts(name, csr_array(matrix))
    return _embeddings(name, matrix.astype(np.float64))


def _array(what: str, given: Any, way_out: str) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError as error:
        raise BagsError(f"{what} must be an array, got rows of unequal length: pass {way_out}.") from error


def _matrix(what: str, given: Any, rows_and_columns: str) -> Any:
    """Return a matrix of real numbers, sparse if it came so, with every index inside."""
    matrix: Any = csr_array(given) if is_sparse(given) else _array(what, given, rows_and_columns)
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        raise BagsError(
            f"{what} must be a two-dimensional matrix of numbers, got {matrix.ndim} dimension(s) of "
            f"{matrix.dtype}: pass {rows_and_columns}."
        )
    if is_sparse(matrix):
        try:
            matrix.check_format(full_check=True)
            check_csr(matrix)  # which leaves out nothing
        except ValueError as error:
            raise BagsError(f"{what} must be a sound CSR matrix, got: {error}; build it again.") from error
    return matrix


def _counts(name: str, matrix: Counts) -> Counts:
    counts = matrix.copy()
    if not counts.has_canonical_format:
        counts = counts.astype(np.float64)  # a sum of bytes may need more than a byte
        counts.sum_duplicates()
    _finite(name, counts.data)
    if counts.data.size and counts.data.min() < 0:
        row = int(np.searchsorted(counts.indptr, int(counts.data.argmin()), side="right")) - 1
        raise BagsError(
            f"counts of view {name!r} must not be negative, got {counts.data.min()} in region {row}: "
            "pass how often each word occurs, or a dense float matrix if these are embeddings."
        )
    if counts.data.size and counts.data.max() > MOST:
        raise BagsError(
            f"counts of view {name!r} must be at most {MOST:g}, got {counts.data.max():g}: are these counts?"
        )
    if counts.shape[1] >= WIDEST:
        raise BagsError(f"view {name!r} must have fewer than {WIDEST:,} words, got {counts.shape[1]:,}.")
    counts.eliminate_zeros()
    counts.data = _smallest(counts.data)
    if counts.nnz < WIDEST:  # four bytes a column: what the loops read, and half of what SciPy may choose
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
    """Refuse numbers whose squares and their sums would be none."""
    largest = float(np.abs(_finite(name, values)).max(initial=0.0))
    if largest > MOST:
        raise BagsError(
            f"view {name!r} must hold numbers of at most {MOST:g}, got {largest:g}: repair or rescale it."
        )
    return values


def freeze(matrix: Any) -> None:
    """Make the arrays of a matrix, sparse or dense, refuse to be written to."""
    for array in (matrix.data, matrix.indices, matrix.indptr) if is_sparse(matrix) else (matrix,):
        array.flags.writeable = False


def checked_offsets(offsets: Any, n_regions: int) -> Ints:
    """Return where each image's regions start, closed by the number of regions."""
    array = _array("offsets", offsets, "[0, regions of the first image, …]")
    if array.ndim != 1 or array.size < 1 or array.dtype.kind not in "ui":
        raise BagsError(
            f"offsets must be a one-dimensional list of whole numbers, got shape {array.shape} of "
            f"{array.dtype}: pass [0, regions of the first image, …]."
        )
    if array[0] != 0 or array[-1] != n_regions:
        way_out = "was the first or the last image left out of `offsets`?"
        if array.sum() == n_regions:
            way_out = "if n is the regions of each image, pass np.concatenate([[0], np.cumsum(n)])."
        raise BagsError(
            f"offsets must start at 0 and end at the number of regions {n_regions}, got {array[0]} … "
            f"{array[-1]}: {way_out}"
        )
    if np.any(np.diff(array.astype(np.int64)) < 0):
        at = int(np.argmax(np.diff(array.astype(np.int64)) < 0))
        raise BagsError(
            f"offsets must not fall, got {array[at]} then {array[at + 1]} at image {at}: "
            "pass running totals, not region numbers."
        )
    return array.astype(np.int64)


def tags_by_name(tags: Any, names: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Return images × tags and the tags' names; what is no list of names for each image stays as it is.

    The names, where not given, are those that occur, sorted.

    >>> tags_by_name([["sky", "sea"], ["sky"]], None)[1]
    ['sea', 'sky']
    """
    if not _are_names(tags):
        return tags, names
    order = sorted({name for row in tags for name in row}) if names is None else [str(name) for name in names]
    column = {name: i for i, name in enumerate(order)}
    unknown = next((name for row in tags for name in row if name not in column), None)
    if unknown is not None:
        raise BagsError(
            f"tags must be among the {len(order)} tag names, got {unknown!r}: add it, or leave it out."
        )
    starts = np.cumsum([0, *(len(row) for row in tags)])
    columns = np.array([column[name] for row in tags for name in row], dtype=np.int64)
    ones = np.ones(len(columns), dtype=np.uint8)
    return csr_array((ones, columns, starts), shape=(len(tags), len(order))), order


def _are_names(tags: Any) -> bool:
    """Return whether this is a list with a list (tuple, set) of strings for each image, and not all empty."""
    if not isinstance(tags, list | tuple) or not all(isinstance(row, list | tuple | set) for row in tags):
        return False
    return any(tags) and all(isinstance(name, str) for row in tags for name in row)


def checked_tags(tags: Any, n_images: int) -> Counts | None:
    """Return the tags as CSR of 0 and 1, one row an image."""
    if tags is None:
        return None
    matrix = csr_array(_matrix("tags", tags, "images × tags of 0 and 1, or a list of names for each image"))
    if matrix.shape[0] != n_images:
        raise BagsError(
            f"tags must have one row an image ({n_images}), got shape {matrix.shape}: "
            "pass images × tags; offsets has one entry more than there are images."
        )
    if matrix.shape[1] > MOST_TAGS:
        raise BagsError(
            f"there can be at most {MOST_TAGS:,} tags, got {matrix.shape[1]:,} columns: keep those used."
        )
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    if np.any(matrix.data != 1):
        raise BagsError("tags must be 0 or 1, got other values: pass True where the image has the tag.")
    matrix.sort_indices()
    if matrix.nnz and np.any((np.diff(matrix.indices) == 0) & (np.diff(_row_of_entry(matrix)) == 0)):
        raise BagsError("tags must name each tag once an image, got one twice: remove the repetition.")
    matrix.data = np.ones(matrix.nnz, dtype=np.uint8)
    return matrix


def _row_of_entry(matrix: Counts) -> Ints:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def checked_names(what: str, names: Sequence[Any] | None, length: int) -> tuple[str, ...] | None:
    """Return names as strings, as many as there are columns (or images), none twice."""
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


def checked_captions(
    tags: Any, names: Sequence[str] | None, n_images: int, own: tuple[str, ...] | None
) -> tuple[Counts | None, tuple[str, ...] | None]:
    """Return checked tags and their names: those given, else their ``own``, else numbered."""
    if tags is None and names is not None:
        raise BagsError(
            f"tag_names name the columns of tags, got {len(names)} names and no tags: pass tags too."
        )
    indicator, names = tags_by_name(tags, names)
    matrix = checked_tags(indicator, n_images)
    if matrix is None:
        return None, None
    n_tags = matrix.shape[1]
    checked = checked_names("tag_names", names, n_tags)
    if checked is None:
        checked = own if own and len(own) == n_tags else tuple(f"tag{i}" for i in range(n_tags))
    return matrix, checked


def checked_index(index: Any, length: int, what: str) -> Ints:
    """Return the numbers that an int, a slice, a mask or a list of ints stands for."""
    if isinstance(index, slice):
        return np.arange(length)[index]
    array = np.asarray(index)
    if array.dtype == bool and array.shape != (length,):
        raise BagsError(
            f"a mask of {what} must have {length} entries, got shape {array.shape}: one for each."
        )
    if array.ndim > 1 or isinstance(index, tuple) or (array.size and array.dtype.kind not in "bui"):
        raise BagsError(
            f"{what} are chosen by a whole number, a slice, a mask or a list of whole numbers, got "
            f"{index!r:.60}: pass one of these."
        )
    try:
        return np.atleast_1d(np.arange(length)[array if array.size else array.astype(np.int64)])
    except IndexError as error:  # an IndexError itself: it ends a `for` over bags
        raise IndexError(f"there are {length} {what}, got {index!r:.60}: count from 0.") from error


def checked_pictures(pictures: Mapping[str, Any] | None, n_images: int) -> dict[str, Floats]:
    """Return the views of whole images, dense, one row an image."""
    checked: dict[str, Floats] = {}
    if pictures is not None and not isinstance(pictures, Mapping):
        raise BagsError(f"pictures must be views by name, got {pictures!r:.60}: pass {{name: matrix}}.")
    for name, view in (pictures or {}).items():
        matrix = _matrix(f"picture view {name!r}", view, "images × features")
        if matrix.shape[0] != n_images:
            raise BagsError(
                f"picture view {name!r} must have one row an image ({n_images}), got shape {matrix.shape}: "
                "pass images × features."
            )
        dense = matrix.toarray() if is_sparse(matrix) else matrix
        checked[str(name)] = _embeddings(str(name), dense.astype(np.float64))
    return checked
