"""Metrics of the k best tags of each picture."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Counts, Floats, Ints, is_sparse
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import (
    Parts,
    checked,
    checked_unknown,
    dense,
    indicator,
    known,
    quotient,
    row_blocks,
    shut_out,
)


def check_k(k: Any) -> None:
    """Refuse an invalid number of tags."""
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ParameterError(f"k must be a whole number >= 1, got {k!r}: pass 1 or more.")


def default_k(n_tags: int) -> int:
    """Return how many tags a ranking shows by default: 5, or half of the tags if they are fewer than 10.

    >>> default_k(374), default_k(7), default_k(1)
    (5, 3, 1)
    """
    return max(1, min(5, n_tags // 2))


def top_tags(scores: Any, k: int) -> Ints:
    """Return the k best tags of each row, best first; ties go to the lower column.

    >>> top_tags(np.array([[0.1, 0.5, 0.4]]), 2).tolist()
    [[1, 2]]
    """
    check_k(k)
    values = scores.tocsr() if is_sparse(scores) else np.asarray(scores)
    if values.ndim != 2:
        raise ParameterError(
            f"scores must be pictures × tags, got {values.ndim} dimension(s): add the other."
        )
    best = np.empty((values.shape[0], min(k, values.shape[1])), dtype=np.int64)
    for rows, part in row_blocks(values):
        best[rows] = _best(part, best.shape[1])
    return best


def _best(values: Floats, k: int) -> Ints:
    """Return the k best columns of each row; only these are sorted, after a partition."""
    if k == 0 or 2 * k > values.shape[1] or np.isnan(values).any():
        return np.argsort(-values, axis=1, kind="stable")[:, :k]
    last = -np.partition(-values, k - 1, axis=1)[:, k - 1 : k]
    better, equal = values > last, values == last
    free = k - better.sum(axis=1, keepdims=True)
    chosen = better | (equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= free))
    columns = np.nonzero(chosen)[1].reshape(len(values), k)
    order = np.argsort(-np.take_along_axis(values, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


class Shown(NamedTuple):
    """The k best tags of each picture, which of them are right, all right tags, and which of the best count.

    All of the best count, except where a picture has fewer than k known tags.
    """

    best: Ints
    hit: NDArray[np.bool_]
    truth: Counts
    counts: NDArray[np.bool_]

    @property
    def given(self) -> Ints:
        """The number of tags of each picture."""
        return np.diff(self.truth.indptr).astype(np.int64)

    @property
    def size(self) -> Ints:
        """The number of tags shown for each picture."""
        return self.counts.sum(axis=1)


def shown(tags: Any, scores: Any, k: int, unknown: Any = None) -> Shown:
    """Return the k best tags of each picture; nan is refused.

    ``unknown``, pictures × tags of 0 and 1 or None, are pairs of which nothing is known. They are taken out
    of the ranking before the k best are shown, so that none is a hit or an error: the "condensed list" of
    Sakai, "Alternatives to Bpref" (SIGIR 2007).
    """
    truth, values = checked(tags, scores)
    values = shut_out(values, truth, unknown)
    best = top_tags(values, k)
    hit = np.zeros(best.shape, dtype=bool)
    counts = np.arange(best.shape[1]) < n_known(truth, unknown)[:, None]
    for rows, part in row_blocks(values):
        known(part)
        hit[rows] = np.take_along_axis(dense(truth, rows), best[rows], axis=1)
    return Shown(best, hit, truth, counts)


def n_known(truth: Counts, unknown: Any) -> Ints:
    """Return the number of tags that are known of each picture."""
    n, n_tags = truth.shape
    return np.full(n, n_tags) if unknown is None else n_tags - np.diff(indicator(unknown).indptr)


def top_k_accuracy(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the micro-averaged F1 of the k best tags: the paper's Top-k accuracy.

    2·hits / (k·pictures + tags given): below 1 even for a perfect ranking (``top_k_ceiling``), unless every
    picture has exactly k tags. Pictures without tags count with the tags shown. ``unknown``, pictures × tags
    of 0 and 1, are pairs of which nothing is known: the k best of the others are shown, so that an unknown
    tag that is ranked high is neither a hit nor an error.

    >>> top_k_accuracy(np.array([[1, 0, 0], [1, 1, 0]]), np.array([[0.9, 0.1, 0], [0.2, 0.3, 0.5]]), 2)
    0.5714285714285714
    >>> tags, scores, unknown = np.array([[1, 0, 0]]), np.array([[0.5, 0.9, 0.1]]), np.array([[0, 1, 0]])
    >>> top_k_accuracy(tags, scores, 1), top_k_accuracy(tags, scores, 1, unknown)
    (0.0, 1.0)
    """
    parts = top_k_parts(tags, scores, k, unknown)
    return quotient(parts) if parts.weight.any() else 0.0


def top_k_parts(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> Parts:
    """Return the terms of each picture in ``top_k_accuracy``: 2·hits, and tags shown and given."""
    seen = shown(tags, scores, k, unknown)
    return Parts(2.0 * seen.hit.sum(axis=1), (seen.given + seen.size).astype(np.float64))


def top_k_ceiling(tags: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the top-k accuracy of a perfect ranking, the maximum.

    One tag and three tags, two shown: 1 + 2 hits, 2·3 / (2·2 + 4).

    >>> top_k_ceiling(np.array([[1, 0, 0, 0], [1, 1, 1, 0]]), 2)
    0.75
    """
    check_k(k)
    truth = indicator(tags)
    given, size = np.diff(truth.indptr), np.minimum(k, n_known(truth, checked_unknown(unknown, truth)))
    offered = int(size.sum()) + int(given.sum())
    return 2 * int(np.minimum(given, size).sum()) / offered if offered else 0.0


def precision_at_k(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the share of the k tags shown that are right, mean over pictures; 0 without tags.

    >>> precision_at_k(np.array([[1, 0, 0], [1, 1, 0]]), np.array([[0.9, 0.1, 0], [0.2, 0.3, 0.5]]), 2)
    0.5
    """
    return quotient(precision_parts(tags, scores, k, unknown))


def precision_parts(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> Parts:
    """Return the terms of each picture in ``precision_at_k``."""
    seen = shown(tags, scores, k, unknown)
    weight = np.ones(len(seen.hit)) if unknown is None else (seen.size > 0).astype(np.float64)
    return Parts(seen.hit.sum(axis=1) / np.maximum(1, seen.size), weight)


def ndcg_at_k(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the normalised discounted cumulative gain of the k best tags, mean over pictures with tags.

    A right tag of rank r counts 1 / log2(1 + r); the sum is divided by that of the best ranking. One right
    tag at rank 2 of two shown, 1 / log2(3):

    >>> round(ndcg_at_k(np.array([[0, 1, 0]]), np.array([[0.9, 0.5, 0.1]]), 2), 4)
    0.6309
    """
    return quotient(ndcg_parts(tags, scores, k, unknown))


def ndcg_parts(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> Parts:
    """Return the terms of each picture in ``ndcg_at_k``."""
    seen = shown(tags, scores, k, unknown)
    size = seen.hit.shape[1]
    places = 1.0 / np.log2(np.arange(2.0, size + 2.0))
    ideal = np.concatenate([[0.0], np.cumsum(places)])[np.minimum(seen.given, size)]
    gain = np.divide(seen.hit @ places, ideal, out=np.zeros(len(ideal)), where=ideal > 0)
    return Parts(
        np.minimum(gain, 1.0), (ideal > 0).astype(np.float64)
    )  # sums of one order may differ by an ulp


def region_top_k_accuracy(truth: Any, scores: Any, k: int = 1) -> float:
    """Return the share of regions whose true tag is among their k best; −1 is unknown and left out.

    >>> region_top_k_accuracy([0, 2, -1], np.array([[0.9, 0.1, 0], [0.2, 0.5, 0.3], [1, 0, 0]]), 1)
    0.5
    """
    return quotient(region_parts(truth, scores, k))


def region_parts(truth: Any, scores: Any, k: int = 1) -> Parts:
    """Return the terms of each region in ``region_top_k_accuracy``."""
    own, best = np.asarray(truth), top_tags(scores, k)
    n_tags = np.shape(scores)[1]
    if own.shape != (len(best),) or (own.size and own.dtype.kind not in "iu"):
        raise ParameterError(
            f"truth must be {len(best)} whole numbers, one per region, got {own.dtype} of shape {own.shape}: "
            "give the column of each region's tag, or -1."
        )
    if own.size and not -1 <= own.min() <= own.max() < n_tags:
        raise ParameterError(
            f"truth must lie between -1 and {n_tags - 1}, got {own.min()} to {own.max()}: number the tags "
            "as the columns of scores."
        )
    right = (best == own[:, None]).any(axis=1)
    return Parts(right.astype(np.float64), (own >= 0).astype(np.float64))
