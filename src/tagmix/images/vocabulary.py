"""Visual words: k-means over descriptors, and the nearest word of each."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from tagmix.errors import ParameterError

# Distances to all words are taken for so many descriptors at a time: 16 MB at 1000 words.
BATCH = 4096


class Vocabulary(NamedTuple):
    """The words' centres, words × dimensions."""

    centres: NDArray[np.float32]

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.centres)

    def words_of(self, descriptors: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the number of the nearest word of each descriptor; of equals, the first.

        >>> Vocabulary(np.eye(2, dtype=np.float32)).words_of(np.array([[0.1, 0.8]], np.float32)).tolist()
        [1]
        """
        words = np.empty(len(descriptors), dtype=np.int64)
        half_norm = (self.centres * self.centres).sum(axis=1) / 2
        for start in range(0, len(descriptors), BATCH):
            part = descriptors[start : start + BATCH]
            words[start : start + BATCH] = (half_norm - part @ self.centres.T).argmin(axis=1)
        return words


def learn_vocabulary(
    descriptors: NDArray[np.float32], n_words: int, *, restarts: int = 5, max_iter: int = 30, seed: int = 0
) -> Vocabulary:
    """Return words learnt by k-means from random starts, the best of ``restarts``.

    Fewer different descriptors than words give as many words as there are.
    """
    if not len(descriptors):
        raise ParameterError(
            "a vocabulary needs descriptors to learn from, got none: are all pictures broken?"
        )
    different: Any = np.unique(descriptors, axis=0)
    if len(different) <= n_words:
        return Vocabulary(different)
    how = {"init": "random", "n_init": restarts, "max_iter": max_iter, "random_state": seed, "copy_x": False}
    fitted = KMeans(n_words, **how).fit(descriptors.astype(np.float32))
    centres = fitted.cluster_centers_.astype(np.float32)
    return Vocabulary(centres[np.lexsort(centres.T[::-1])])  # an order that restarts cannot change
