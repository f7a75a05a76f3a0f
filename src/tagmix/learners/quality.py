"""How well each tag is predicted: counts and average precision on cross-validated pictures."""

from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.learners.shown import by_threshold, shown_tags
from tagmix.learners.targets import Known


class TagQuality(NamedTuple):
    """Per tag, on cross-validated pictures.

    ``given`` counts the pictures with the tag, ``shown`` those that it is shown for by the rule of
    ``learners.shown``, ``right`` those of them that have it. ``average_precision`` is that of the pictures
    ranked by the tag's probability; 0 for a tag that no picture has.
    """

    given: Ints
    shown: Ints
    right: Ints
    average_precision: Floats


def quality_of(p: Floats, tags: Floats, thresholds: Floats, known: Known = None) -> TagQuality:
    """Return the quality of each tag; unknown pairs do not count.

    >>> p, tags = np.array([[0.9, 0.1], [0.6, 0.7], [0.2, 0.6]]), np.array([[1, 0], [0, 1], [1, 0]])
    >>> quality = quality_of(p, tags, np.array([0.5, 0.5]))
    >>> [values.round(3).tolist() for values in quality]
    [[2, 1], [2, 2], [1, 1], [0.833, 1.0]]
    """
    shown = shown_tags(p, thresholds)
    if known is not None:
        shown, tags = shown & known, np.where(known, tags, 0)
    own: list[Any] = [slice(None)] * tags.shape[1] if known is None else list(known.T)
    precision = [average_precision(p[rows, c], tags[rows, c]) for c, rows in enumerate(own)]
    given, seen, right = (np.asarray(one.sum(axis=0), np.int64) for one in (tags, shown, shown * tags))
    return TagQuality(given, seen, right, np.array(precision, dtype=np.float64))


def average_precision(p: Floats, tags: Floats) -> float:
    """Return the mean precision at the pictures that have the tag, equal probabilities taken together.

    >>> average_precision(np.array([0.9, 0.5, 0.5]), np.array([0.0, 1.0, 0.0]))
    0.3333333333333333
    """
    if not tags.any():
        return 0.0
    _, shown, right = by_threshold(p, tags)
    return min(1.0, float(np.diff(right, prepend=0.0) @ (right / shown) / right[-1]))
