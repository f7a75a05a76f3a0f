"""TwoPassKNN: votes of the nearest pictures of every tag."""

from typing import Any, ClassVar

import numpy as np

from tagmix.arrays import Counts, Floats
from tagmix.learners.pictures.knn import NeighbourVoters


class TwoPassKNN(NeighbourVoters):
    """Let the k nearest pictures *of each tag* vote, with weights exp(−Σ_v a_v d_v).

    2PKNN of Verma and Jawahar, "Image annotation using metric learning in semantic neighbourhoods" (ECCV
    2012), without its metric learning; view weights and k are chosen by leave-one-out. Every tag
    contributes neighbours, which favours rare tags.

    Parameters
    ----------
    k : neighbours per tag (the paper's K1), or several to choose from; None is (1, 2, 4, 8, 16).
    weights, distance, memory_mb, random_state : as in ``KNN``.
    max_search : as in ``KNN``; None is 1,000.

    Attributes
    ----------
    k_ : the number chosen. ``view_weights_``: a_v. ``loo_accuracy_``: their leave-one-out accuracy.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> knn = TwoPassKNN().fit(sample.bags[:100])
    >>> bool(knn.score(sample.bags[100:]) > 0.6)
    True
    """

    own_k: ClassVar[tuple[int, ...]] = (1, 2, 4, 8, 16)
    own_max_search: ClassVar[int] = 1000

    def _shares(self, apart: Floats, tags: Counts, size: int) -> Floats:
        near = semantic_neighbours(apart, tags, size) & np.isfinite(apart)
        return np.exp(np.where(near, apart.min(axis=1, keepdims=True) - apart, -np.inf))


def semantic_neighbours(apart: Floats, tags: Counts, size: int) -> Any:
    """Return a mask, queries × references: among the ``size`` nearest (with ties) of one of its tags.

    >>> from scipy.sparse import csr_array
    >>> tags = csr_array([[1, 0], [1, 0], [1, 1]])
    >>> semantic_neighbours(np.array([[0.1, 0.2, 0.3]]), tags, 1).tolist()
    [[True, False, True]]
    """
    by_tag: Any = tags.T.tocsr()
    # A reference is selected if it lies within the largest radius of its tags.
    radius = np.full(apart.shape, -np.inf)
    for start, stop in zip(by_tag.indptr[:-1], by_tag.indptr[1:], strict=True):
        own = by_tag.indices[start:stop]
        if len(own):
            to_own = apart[:, own]
            last = min(size, len(own)) - 1
            cut = np.partition(to_own, last, axis=1)[:, [last]]
            radius[:, own] = np.maximum(radius[:, own], cut)
    return apart <= radius
