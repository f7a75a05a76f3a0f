"""Metrics with equal weight for every tag, rare or common, as usual for Corel5k.

The k best tags of each picture are shown (5 in the literature). Means are over the tags that occur in the
test part (some 260 of the 374 of Corel5k). A tag that occurs and is never shown has precision 0, not
"undefined": leaving it out would reward learners that show few different tags. A tag that never occurs is
left out, even if it is shown. Unknown pairs are left out of the ranking (``top_k.shown``).
"""

from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.evaluation.top_k import shown


class TagCounts(NamedTuple):
    """Per tag: the number of pictures for which it is shown and right, shown, and given."""

    hits: Ints
    shown: Ints
    given: Ints

    @property
    def precision(self) -> Floats:
        """The precision of each tag; 0 for tags that are never shown."""
        return _share(self.hits, self.shown)

    @property
    def recall(self) -> Floats:
        """The recall of each tag; 0 for tags that never occur."""
        return _share(self.hits, self.given)

    @property
    def f1(self) -> Floats:
        """The harmonic mean of each tag's precision and recall."""
        return _share(2 * self.hits, self.shown + self.given)

    @property
    def occurs(self) -> Any:
        """Which tags occur: means are over these."""
        return self.given > 0


def tag_counts(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> TagCounts:
    """Return how often each tag is right, shown and given.

    >>> tag_counts(np.array([[1, 0], [1, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]]), 1).recall.tolist()
    [1.0, 0.0]
    """
    seen = shown(tags, scores, k, unknown)
    n_tags = seen.truth.shape[1]
    return TagCounts(
        np.bincount(seen.best[seen.hit], minlength=n_tags),
        np.bincount(seen.best[seen.counts], minlength=n_tags),
        np.bincount(seen.truth.indices, minlength=n_tags),
    )


def per_tag_precision(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the mean precision of the tags that occur; never shown is 0.

    The first tag is shown twice and right once, the second never shown: (1/2 + 0) / 2.

    >>> per_tag_precision(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]]), 1)
    0.25
    """
    counts = tag_counts(tags, scores, k, unknown)
    return _mean(counts.precision[counts.occurs])


def per_tag_recall(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the mean recall of the tags that occur.

    >>> per_tag_recall(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]]), 1)
    0.5
    """
    counts = tag_counts(tags, scores, k, unknown)
    return _mean(counts.recall[counts.occurs])


def per_tag_f1(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the harmonic mean of ``per_tag_precision`` and ``per_tag_recall``: the "F1" of the literature.

    It is not the mean of the tags' F1, which is ``macro_f1`` and never above it. 2·(1/4)·(1/2) / (3/4):

    >>> round(per_tag_f1(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]]), 1), 4)
    0.3333
    """
    counts = tag_counts(tags, scores, k, unknown)
    precision, recall = _mean(counts.precision[counts.occurs]), _mean(counts.recall[counts.occurs])
    return 2 * precision * recall / (precision + recall) if precision + recall else precision + recall


def macro_f1(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> float:
    """Return the mean F1 of the tags that occur: scikit-learn's macro average over them.

    The first tag is right in one of two showings and found in its one picture, 2/3; the second is 0.

    >>> round(macro_f1(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]]), 1), 4)
    0.3333
    """
    counts = tag_counts(tags, scores, k, unknown)
    return _mean(counts.f1[counts.occurs])


def n_plus(tags: Any, scores: Any, k: int = 5, unknown: Any = None) -> int:
    """Return N+: the number of tags that are found in at least one picture.

    >>> n_plus(np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.1], [0.9, 0.1]]), 1)
    1
    """
    return int(np.count_nonzero(tag_counts(tags, scores, k, unknown).hits))


def _share(part: Ints, whole: Ints) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
