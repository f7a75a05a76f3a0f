"""What learners are to predict: a target for each (picture, tag), and which of them are known.

An unknown tag is not a "no". Learners leave unknown pairs out of their losses, or impute the tag's mean where
all tags must share one factor. ``known`` is None where every pair is known, so that this costs nothing.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags

# Pictures × tags, True where the tag is known to be there or not; None: everywhere.
Known: TypeAlias = NDArray[np.bool_] | None


class Targets(NamedTuple):
    """Targets, pictures × tags, and which pairs are known."""

    y: Floats
    known: Known

    def of(self, pictures: Ints) -> "Targets":
        """Return those of these pictures."""
        return Targets(self.y[pictures], None if self.known is None else self.known[pictures])


def targets_of(bags: Bags, absent: float = 0.0) -> Targets:
    """Return the targets: 1 for tags given, 0 for rejected ones, ``absent`` for those that are only absent.

    Unknown pairs have the target 0 and are not known.

    >>> open_ended = {"rejected": [[0, 1, 0, 0]], "unknown": [[0, 0, 1, 0]]}
    >>> bags = Bags(np.ones((1, 1), int), [0, 1], [[1, 0, 0, 0]], **open_ended)
    >>> targets_of(bags, absent=0.1).y.tolist(), targets_of(bags).known.tolist()
    ([[1.0, 0.0, 0.0, 0.1]], [[True, True, False, True]])
    """
    y = bags.captions.toarray().astype(np.float64)
    if absent:
        y[y == 0] = absent
        for said in (bags.rejected, bags.unknown):
            if said is not None:
                y[said.nonzero()] = 0.0
    return Targets(y, known_pairs(bags.unknown))


def known_pairs(unknown: Counts | None) -> Known:
    """Return the pairs that are not unknown; None if none is."""
    return None if unknown is None else unknown.toarray() == 0


def shares_of_tags(tags: Counts, unknown: Counts | None) -> Floats:
    """Return the share of pictures with each tag, among those of which it is known; 0 where it never is.

    >>> shares_of_tags(csr_array(np.array([[1, 0], [0, 0]])), csr_array(np.array([[0, 1], [1, 0]]))).tolist()
    [1.0, 0.0]
    """
    given = np.bincount(tags.indices, minlength=tags.shape[1])
    if unknown is None:
        return given / tags.shape[0]
    return given / np.maximum(tags.shape[0] - np.bincount(unknown.indices, minlength=tags.shape[1]), 1)


def imputed_tags(tags: Counts, unknown: Counts | None) -> Counts:
    """Return the tags with the share of the tag at each unknown pair; without any, the tags themselves.

    >>> tags, unknown = csr_array(np.array([[1], [0], [0]])), csr_array(np.array([[0], [0], [1]]))
    >>> imputed_tags(tags, unknown).toarray().ravel().tolist()
    [1.0, 0.0, 0.5]
    """
    if unknown is None:
        return tags
    shares = shares_of_tags(tags, unknown)[unknown.indices]
    filled: Any = tags + csr_array((shares, unknown.indices, unknown.indptr), shape=unknown.shape)
    return csr_array(filled)


def of_known(values: Floats, known: Known) -> Floats:
    """Return the values of the known pairs, flat."""
    return values.ravel() if known is None else values[known]


def frequencies(y: Floats, known: Known) -> Floats:
    """Return how many pictures have each tag, if all tags were known as often as the best-known one.

    >>> frequencies(np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[True, True], [True, False]])).tolist()
    [2.0, 2.0]
    """
    if known is None:
        return y.sum(axis=0)
    n_known = known.sum(axis=0)
    counts: Floats = (y * known).sum(axis=0) * (n_known.max(initial=0) / np.maximum(n_known, 1))
    return counts
