"""Tags and scores as every metric reads them: checked, sparse or dense, one block at a time.

10,000 pictures × 8,000 tags are 640 MB of scores. A metric needs one more block of at most ``BLOCK`` numbers
(16 MB as floats; one row, if a row is longer) and a few copies of it: below 100 MB.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, is_sparse
from tagmix.errors import ParameterError

BLOCK = 2**21


class Parts(NamedTuple):
    """The terms of each picture in a metric that is a quotient of sums: Σ gain / Σ weight.

    A picture of weight 0 is left out. Bootstrap intervals and paired tests sum other rows of these two.
    """

    gain: Floats
    weight: Floats


def quotient(parts: Parts) -> float:
    """Return Σ gain / Σ weight; nan if no picture has a weight.

    >>> quotient(Parts(np.array([1.0, 0.0]), np.array([2.0, 2.0])))
    0.25
    """
    weight = float(parts.weight.sum())
    return float(parts.gain.sum()) / weight if weight else float("nan")


def checked(tags: Any, scores: Any) -> tuple[Counts, Any]:
    """Return tags as CSR of booleans without stored zeros, and scores that have the same shape."""
    truth = indicator(tags)
    values = csr_array(scores) if is_sparse(scores) else np.asarray(scores)
    if truth.shape != values.shape:
        raise ParameterError(
            f"tags and scores must have one shape, got {truth.shape} and {values.shape}: score the same "
            "pictures and tags."
        )
    return truth, values


def indicator(tags: Any) -> Counts:
    """Return which picture has which tag, as CSR of booleans.

    >>> indicator([[0, 2], [1, 0]]).toarray().tolist()
    [[False, True], [True, False]]
    """
    if not is_sparse(tags) and np.ndim(tags) != 2:
        raise ParameterError(
            f"tags must be pictures × tags, got {np.ndim(tags)} dimension(s): add the other, or put the tags "
            "into Bags."
        )
    matrix = csr_array(tags, copy=True) if is_sparse(tags) else csr_array(np.asarray(tags).astype(bool))
    matrix.sum_duplicates()
    truth = matrix.astype(bool)
    truth.eliminate_zeros()
    return csr_array(truth)


def shut_out(values: Any, truth: Counts, unknown: Any) -> Any:
    """Return dense scores with −inf at unknown pairs, which puts them last; no tag may be unknown.

    >>> tags, unknown = csr_array(np.array([[True, False]])), np.array([[0, 1]])
    >>> shut_out(np.array([[0.5, 0.9]]), tags, unknown).tolist()
    [[0.5, -inf]]
    """
    pairs = checked_unknown(unknown, truth)
    if pairs is None:
        return values
    out = np.array(values.toarray() if is_sparse(values) else values, dtype=np.float64)
    np.maximum(out, np.finfo(np.float64).min, out=out)  # no known tag beside them
    out[pairs.nonzero()] = -np.inf
    return out


def checked_unknown(unknown: Any, truth: Counts) -> Counts | None:
    """Return which pairs are unknown, as CSR of booleans, or None; no tag that is given can be unknown."""
    if unknown is None:
        return None
    pairs = indicator(unknown)
    if pairs.shape != truth.shape:
        raise ParameterError(
            f"unknown must have the shape of tags {truth.shape}, got {pairs.shape}: pass pictures × tags."
        )
    if pairs.multiply(truth).nnz:
        raise ParameterError(
            "tags and unknown must have no pair in common, got one in both: remove it from one."
        )
    return pairs


def row_blocks(scores: Any) -> Iterator[tuple[slice, Floats]]:
    """Yield slices of rows and their scores as dense floats: ``BLOCK`` numbers at most, or one row."""
    n_rows, n_columns = scores.shape
    step = max(1, BLOCK // max(1, n_columns))
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        part = scores[rows]
        yield rows, np.ascontiguousarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def known(values: Floats) -> Floats:
    """Return the scores; ParameterError if one is nan, which cannot be ranked."""
    if np.isnan(values).any():
        raise ParameterError("scores must be numbers, got nan: give a picture without a prediction zeros.")
    return values


def each_row(
    truth: Counts, scores: Any, unknown: Counts | None = None
) -> Iterator[tuple[int, NDArray[np.integer], Floats]]:
    """Yield each row's number, the columns of its tags and its scores, both without unknown columns."""
    for rows, values in row_blocks(scores):
        known(values)
        for i in range(rows.start, rows.stop):
            own, row = truth.indices[truth.indptr[i] : truth.indptr[i + 1]], values[i - rows.start]
            if unknown is not None:
                left_out = np.sort(unknown.indices[unknown.indptr[i] : unknown.indptr[i + 1]])
                own, row = own - np.searchsorted(left_out, own), np.delete(row, left_out)
            yield i, own, row


def turned(truth: Counts, scores: Any) -> tuple[Counts, Any]:
    """Return tags × pictures, so that a metric of pictures becomes one of tags."""
    return csr_array(truth.T), csr_array(scores.T) if is_sparse(scores) else scores.T


def dense(truth: Counts, rows: slice) -> NDArray[np.bool_]:
    """Return these rows as a dense mask."""
    return np.asarray(truth[rows].toarray(), dtype=bool)
