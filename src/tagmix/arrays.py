"""Types of the arrays that pass between modules, and the conversion of CSR matrices for compiled loops."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = csr_array[Any]


# A column counts as constant if its standard deviation is below these limits (relative to its largest
# value, and absolute): anything less is rounding.
LEAST_PART, LEAST = 1e-9, 1e-15


class Rows(NamedTuple):
    """The three arrays of a CSR matrix, as compiled loops read them."""

    data: NDArray[Any]
    columns: NDArray[np.int32]
    starts: Ints


def is_sparse(matrix: Any) -> bool:
    """Return whether this is a SciPy sparse matrix, without narrowing its type for mypy."""
    return bool(issparse(matrix))


def check_csr(matrix: Any) -> None:
    """Raise ValueError if an index of a CSR matrix is out of range: compiled loops do not check indices.

    SciPy's own check skips all column indices if the last entry of ``indptr`` is not positive.

    >>> bad = csr_array((np.ones(1), [0], [0, 1]), shape=(1, 2))
    >>> bad.indices[0] = 2
    >>> check_csr(bad)
    Traceback (most recent call last):
    ValueError: columns of a sparse matrix must be from 0 to 1, got 2
    """
    starts, columns = matrix.indptr.astype(np.int64), matrix.indices
    n = len(columns)
    if len(starts) != matrix.shape[0] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise ValueError("row starts of a sparse matrix must rise from 0, one per row and one more")
    if starts[-1] != n or len(matrix.data) != n:
        raise ValueError(f"a sparse matrix must end at its {n} columns, got {starts[-1]}")
    if n and not 0 <= columns.min() <= columns.max() < matrix.shape[1]:
        wrong = columns.max() if columns.min() >= 0 else columns.min()
        raise ValueError(f"columns of a sparse matrix must be from 0 to {matrix.shape[1] - 1}, got {wrong}")


def rows_of(matrix: Counts) -> Rows:
    """Return the arrays of a CSR matrix with the index types for which the kernels are compiled.

    >>> rows_of(csr_array(np.array([[0, 2.0], [1, 0]]))).columns.tolist()
    [1, 0]
    """
    return Rows(
        np.ascontiguousarray(matrix.data),
        matrix.indices.astype(np.int32, copy=False),
        matrix.indptr.astype(np.int64, copy=False),
    )


def dense_rows(matrix: Floats) -> Rows:
    """Return a dense matrix as sparse rows with every column present, for the loops over counts.

    >>> dense_rows(np.array([[0.5, 2.0], [1.0, 0.0]])).starts.tolist()
    [0, 2, 4]
    """
    n, width = matrix.shape
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    return Rows(np.ascontiguousarray(matrix).ravel(), columns, np.arange(n + 1, dtype=np.int64) * width)


def centre_and_spread(matrix: Any) -> tuple[Floats, Floats]:
    """Return mean and standard deviation per column; 0 for columns that are constant up to rounding.

    >>> centre_and_spread(np.array([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1]]))[1].round(2).tolist()
    [1.63, 0.0]
    """
    rows: Floats = np.asarray(matrix, dtype=np.float64)
    spread = rows.std(axis=0)
    least = np.maximum(LEAST_PART * np.abs(rows).max(axis=0, initial=0.0), LEAST)
    return rows.mean(axis=0), np.where(spread > least, spread, 0.0)


def aliased(matrix: Any) -> Any:
    """Return a new matrix over the same arrays, so that assignments to it do not reach the first one."""
    if not is_sparse(matrix):
        return matrix
    return csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=False)


def rows_at(matrix: Any, rows: Any) -> Any:
    """Return these rows; a slice shares memory with the whole matrix, so that shards are free.

    >>> rows_at(csr_array(np.array([[1, 0], [0, 2], [3, 0]])), slice(1, 3)).toarray().tolist()
    [[0, 2], [3, 0]]
    """
    if not (is_sparse(matrix) and isinstance(rows, slice)):
        return matrix[rows]
    starts = matrix.indptr[rows.start : rows.stop + 1]
    part = slice(starts[0], starts[-1])
    parts = (matrix.data[part], matrix.indices[part], starts - starts[0])
    return csr_array(parts, shape=(len(starts) - 1, matrix.shape[1]), copy=False)


def regions_of(offsets: Ints, pictures: Ints) -> tuple[Ints, Ints]:
    """Return the indices of the regions of these pictures, and the offsets of the bags they make."""
    lengths = offsets[pictures + 1] - offsets[pictures]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    regions = np.arange(starts[-1]) + np.repeat(offsets[pictures] - starts[:-1], lengths)
    return regions, starts


def stack(matrices: list[Any]) -> Any:
    """Return the rows of all matrices, all sparse or all dense."""
    return csr_array(vstack(matrices, format="csr")) if is_sparse(matrices[0]) else np.vstack(matrices)


class Entries(NamedTuple):
    """The tags that may explain each picture: its own tags only, or all of them.

    An entry is a pair (picture, tag). The entries of picture n are ``tags[starts[n]:starts[n+1]]``; its
    block of values (regions × entries) is ``block[block_starts[n]:block_starts[n+1]]``.
    ``by_tag[tag_starts[c]:tag_starts[c+1]]`` are the entries of tag c.
    """

    starts: Ints
    tags: NDArray[np.int32]
    block_starts: Ints
    by_tag: Ints
    tag_starts: Ints
    picture_of: NDArray[np.int32]


def entries_of(tags: Counts, region_starts: Ints) -> Entries:
    """Return the entries for the pictures' own tags.

    >>> entries_of(csr_array(np.array([[0, 1, 1], [1, 0, 0]])), np.array([0, 2, 5])).block_starts.tolist()
    [0, 4, 7]
    """
    _, columns, starts = rows_of(tags)
    per_picture = np.diff(starts)
    sizes = per_picture * np.diff(region_starts)
    tag_counts = np.bincount(columns, minlength=tags.shape[1])
    return Entries(
        starts,
        columns,
        _closed(sizes),
        np.argsort(columns, kind="stable").astype(np.int64),
        _closed(tag_counts),
        np.repeat(np.arange(len(per_picture), dtype=np.int32), per_picture),
    )


def _closed(sizes: Ints) -> Ints:
    """Return the start of each part, followed by the total."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
