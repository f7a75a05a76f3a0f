"""Metrics of a ranking of tags: each one function, each checkable by hand."""

from numbers import Integral
from typing import Any

import numpy as np

from tagmix.arrays import Ints, is_sparse
from tagmix.errors import ParameterError


def check_k(k: Any) -> None:
    """Refuse a number of tags that is none."""
    if not isinstance(k, Integral) or k < 1:
        raise ParameterError(f"k must be a whole number >= 1, got {k!r}: ask for one tag or more.")


def top_tags(scores: Any, k: int) -> Ints:
    """Return the k best tags of each row, best first; ties go to the lower column.

    >>> top_tags(np.array([[0.1, 0.5, 0.4]]), 2).tolist()
    [[1, 2]]
    """
    check_k(k)
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2:
        raise ParameterError(f"scores must be images × tags, got {values.ndim} dimension(s): add the other.")
    return np.argsort(-values, axis=1, kind="stable")[:, :k]


def top_k_accuracy(tags: Any, scores: Any, k: int = 5) -> float:
    """Return the micro-averaged F1 of the k best tags: the paper's Top-k accuracy.

    2·hits / (k·images + tags given): below 1 even for a perfect ranking, unless every image has
    exactly k tags.

    >>> top_k_accuracy(np.array([[1, 0, 0], [1, 1, 0]]), np.array([[0.9, 0.1, 0], [0.2, 0.3, 0.5]]), 2)
    0.5714285714285714
    """
    truth = (tags.toarray() if is_sparse(tags) else np.asarray(tags)).astype(bool)
    if truth.shape != np.shape(scores):
        raise ParameterError(
            f"tags and scores must have one shape, got {truth.shape} and {np.shape(scores)}: score the same "
            "images and tags."
        )
    best = top_tags(scores, k)
    hits = np.take_along_axis(truth, best, axis=1).sum()
    offered = best.size + truth.sum()
    return float(2 * hits / offered) if offered else 0.0


METRICS = {"top_k_accuracy": top_k_accuracy}
