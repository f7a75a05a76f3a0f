"""Metrics of named regions, where a region may also have none of the tags.

Shares of a region's tags sum to at most 1; the rest is the share of "none of the tags". A region is named by
its largest share, and is none if the rest exceeds it. Truth is a column, ``NONE``, or ``UNKNOWN``, which is
left out.
"""

from typing import Any

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import Parts, quotient

# Truth of a region that is none of the tags, and of one whose tag is not known.
NONE, UNKNOWN = -2, -1
# A rest below is the rounding of shares that sum to 1.
ROUNDING = 1e-9


def with_none(shares: Any) -> Floats:
    """Return the shares with one more column, the share of none of the tags.

    >>> with_none(np.array([[0.5, 0.25], [0.5, 0.5]])).tolist()
    [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]]
    """
    values = np.asarray(shares, dtype=np.float64)
    if values.ndim != 2 or np.isnan(values).any():
        raise ParameterError(
            f"shares must be regions × tags of numbers, got {values.shape} or nan: see predict_regions."
        )
    rest = 1.0 - values.sum(axis=1, keepdims=True)
    return np.hstack([values, np.where(rest > ROUNDING, rest, 0.0)])


def region_names(shares: Any) -> Ints:
    """Return the column of each region's tag, or ``NONE`` where the rest exceeds the best tag's share.

    >>> region_names(np.array([[0.6, 0.1], [0.2, 0.3], [0.5, 0.0]])).tolist()
    [0, -2, 0]
    """
    whole = with_none(shares)
    best: Ints = whole.argmax(axis=1)
    return np.where(best == whole.shape[1] - 1, NONE, best)


def region_accuracy(truth: Any, shares: Any) -> float:
    """Return the share of regions with a known truth, none included, that are named right.

    The first region is right, the second is none and named so, the third is wrong, the last is unknown.

    >>> shares = np.array([[0.9, 0.1], [0.2, 0.1], [0.9, 0.1], [0.9, 0.1]])
    >>> round(region_accuracy([0, NONE, 1, UNKNOWN], shares), 4)
    0.6667
    """
    return quotient(accuracy_parts(truth, region_names(shares)))


def object_f1(truth: Any, shares: Any) -> float:
    """Return F1 of the regions that have a tag: 2·right / (regions named + regions with a tag).

    One region is right, two are named, two have a tag: 2·1 / (2 + 2).

    >>> object_f1([0, NONE, 1], np.array([[0.9, 0.1], [0.6, 0.1], [0.2, 0.1]]))
    0.5
    """
    return quotient(f1_parts(truth, region_names(shares)))


def accuracy_parts(truth: Any, names: Any) -> Parts:
    """Return the terms of each region in ``region_accuracy``, from its name."""
    own, named = _both(truth, names)
    return Parts(((named == own) & (own != UNKNOWN)).astype(np.float64), (own != UNKNOWN).astype(np.float64))


def f1_parts(truth: Any, names: Any) -> Parts:
    """Return the terms of each region in ``object_f1``, from its name."""
    own, named = _both(truth, names)
    right = (named == own) & (own >= 0)
    counted = ((named >= 0) & (own != UNKNOWN)).astype(np.float64) + (own >= 0)
    return Parts(2.0 * right, counted)


def _both(truth: Any, names: Any) -> tuple[Ints, Ints]:
    own, named = np.asarray(truth), np.asarray(names)
    if own.shape != named.shape:
        raise ParameterError(
            f"truth and names must be one per region, got {own.shape} and {named.shape}: name the same "
            "regions."
        )
    return own, named
