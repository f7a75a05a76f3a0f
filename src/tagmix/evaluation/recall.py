"""Recall at a precision: how many of the true tags one threshold over all pairs finds, if it is precise."""

from typing import Any

import numpy as np

from tagmix.evaluation.blocks import Parts, checked, dense, known, quotient, row_blocks

# Of the tags that are shown, the share that has to be right.
PRECISION = 0.6


def recall_at_precision(tags: Any, scores: Any, precision: float = PRECISION) -> float:
    """Return the largest recall of one threshold at which this share of the tags shown is right; 0 if none.

    Scores are compared between pictures. Pairs of equal scores are shown together. Here, by score, pairs are
    right, right, wrong, right: precisions 1, 1, 2/3, 3/4, so that all are found at .6, two of three at .8.

    >>> tags, scores = np.array([[1, 1, 0, 1]]), np.array([[0.9, 0.8, 0.7, 0.6]])
    >>> recall_at_precision(tags, scores), round(recall_at_precision(tags, scores, 0.8), 4)
    (1.0, 0.6667)
    """
    return quotient(recall_parts(tags, scores, precision))


def recall_parts(tags: Any, scores: Any, precision: float = PRECISION) -> Parts:
    """Return the terms of each picture in ``recall_at_precision``: tags found at the threshold, and given."""
    truth, values = checked(tags, scores)
    level = _threshold(truth, values, precision)
    gain = np.zeros(truth.shape[0])
    for rows, part in row_blocks(values):
        gain[rows] = ((part >= level) & dense(truth, rows)).sum(axis=1)
    return Parts(gain, np.diff(truth.indptr).astype(np.float64))


def _threshold(truth: Any, values: Any, precision: float) -> float:
    """Return the lowest score down to which the tags shown are precise; infinity if there is none."""
    flat = [(known(part).ravel(), dense(truth, rows).ravel()) for rows, part in row_blocks(values)]
    if not flat:
        return float("inf")
    said, right = (np.concatenate(column) for column in zip(*flat, strict=True))
    order = np.argsort(-said, kind="stable")
    levels, found = said[order], np.cumsum(right[order])
    last = np.append(np.diff(levels) < 0, True)  # equals are shown together
    precise = np.flatnonzero(last & (found > 0) & (found >= precision * np.arange(1, len(levels) + 1)))
    return float(levels[precise[-1]]) if len(precise) else float("inf")
