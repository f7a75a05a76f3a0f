"""Metrics of the whole ranking, not only of the tags shown.

Equal scores share the worst rank of their group, as in scikit-learn: a constant score gains nothing by the
order of tags. One row is sorted at a time. Unknown pairs are left out of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, Ints
from tagmix.evaluation.blocks import Parts, checked, checked_unknown, each_row, quotient, turned
from tagmix.evaluation.top_k import n_known


def mean_average_precision_of_pictures(tags: Any, scores: Any, unknown: Any = None) -> float:
    """Return the mean over pictures with tags of the average precision of their ranking of tags.

    The right tags have ranks 1 and 3: (1/1 + 2/3) / 2.

    >>> round(mean_average_precision_of_pictures(np.array([[1, 0, 1]]), np.array([[0.9, 0.5, 0.1]])), 4)
    0.8333
    """
    return quotient(picture_precision_parts(tags, scores, unknown))


def mean_average_precision_of_tags(tags: Any, scores: Any, unknown: Any = None) -> float:
    """Return the mean over tags that occur of the average precision of their ranking of pictures.

    It compares scores between pictures, unlike a metric of pictures. The first tag's picture has rank 1, the
    second tag's rank 2: (1 + 1/2) / 2.

    >>> mean_average_precision_of_tags(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.5], [0.1, 0.4]]))
    0.75
    """
    return quotient(tag_precision_parts(tags, scores, unknown))


def ranking_loss(tags: Any, scores: Any, unknown: Any = None) -> float:
    """Return the share of pairs (right tag, wrong tag) in the wrong order, mean over pictures; 0 is best.

    Pictures with no tag or all tags have no such pair and are left out; equal scores are in the wrong order.

    >>> ranking_loss(np.array([[1, 0, 0]]), np.array([[0.5, 0.9, 0.1]]))
    0.5
    """
    return quotient(loss_parts(tags, scores, unknown))


def coverage(tags: Any, scores: Any, unknown: Any = None) -> float:
    """Return the number of tags to show until all right ones are shown, mean over pictures with tags.

    >>> coverage(np.array([[1, 0, 1], [1, 0, 0]]), np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]]))
    2.0
    """
    return quotient(coverage_parts(tags, scores, unknown))


def picture_precision_parts(tags: Any, scores: Any, unknown: Any = None) -> Parts:
    """Return the terms of each picture in ``mean_average_precision_of_pictures``."""
    truth, values = checked(tags, scores)
    return _by_row(truth, values, _average_precision, checked_unknown(unknown, truth))


def tag_precision_parts(tags: Any, scores: Any, unknown: Any = None) -> Parts:
    """Return the terms of each tag in ``mean_average_precision_of_tags``: one per tag, not per picture."""
    truth, values = checked(tags, scores)
    pairs = checked_unknown(unknown, truth)
    by_tag = None if pairs is None else csr_array(pairs.T)
    return _by_row(*turned(truth, values), _average_precision, by_tag)


def loss_parts(tags: Any, scores: Any, unknown: Any = None) -> Parts:
    """Return the terms of each picture in ``ranking_loss``."""
    truth, values = checked(tags, scores)
    parts = _by_row(truth, values, _loss, checked_unknown(unknown, truth))
    return Parts(parts.gain, parts.weight * (np.diff(truth.indptr) < n_known(truth, unknown)))


def coverage_parts(tags: Any, scores: Any, unknown: Any = None) -> Parts:
    """Return the terms of each picture in ``coverage``."""
    truth, values = checked(tags, scores)
    pairs = checked_unknown(unknown, truth)
    return _by_row(truth, values, lambda places, hits, n: float(places.max()), pairs)


def _by_row(
    truth: Counts, scores: Any, measure: Callable[[Ints, Ints, int], float], unknown: Counts | None
) -> Parts:
    """Return the measure of each row that has tags; the others get the weight 0."""
    gain: Floats = np.zeros(truth.shape[0])
    for i, own, values in each_row(truth, scores, unknown):
        if len(own):
            gain[i] = measure(*_standing(own, values), len(values))
    return Parts(gain, (np.diff(truth.indptr) > 0).astype(np.float64))


def _standing(own: NDArray[np.integer], values: Floats) -> tuple[Ints, Ints]:
    """Return, for each right column, worst first: its rank, and its rank among the right ones.

    >>> [x.tolist() for x in _standing(np.array([0, 2]), np.array([0.9, 0.5, 0.1]))]
    [[3, 1], [2, 1]]
    """
    mine = np.sort(values[own])
    places = len(values) - np.searchsorted(np.sort(values), mine)
    return places, len(mine) - np.searchsorted(mine, mine)


def _average_precision(places: Ints, hits: Ints, _: int) -> float:
    return float(np.mean(hits / places))


def _loss(places: Ints, hits: Ints, n: int) -> float:
    others = n - len(hits)
    return float((places - hits).sum() / (len(hits) * others)) if others else 0.0
