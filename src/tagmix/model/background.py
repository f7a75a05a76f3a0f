"""The background, "none of the tags": one more component, the last, which every picture may have."""

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats


def with_background(tags: Counts) -> Counts:
    """Return the captions with a last column of ones: every picture may have background.

    >>> with_background(csr_array([[0, 1], [1, 1]])).toarray().tolist()
    [[0, 1, 1], [1, 1, 1]]
    """
    (n_pictures, n_tags), ends = tags.shape, tags.indptr[1:]
    data, columns = np.insert(tags.data, ends, 1), np.insert(tags.indices, ends, n_tags)
    starts = tags.indptr + np.arange(n_pictures + 1, dtype=tags.indptr.dtype)
    return csr_array((data, columns, starts), shape=(n_pictures, n_tags + 1))


def duals_with_background(delta: Floats, tags: Counts) -> Floats:
    """Return the multipliers δ with 0 for the background, which is in no margin.

    ``delta`` has one value per own tag, or is pictures × tags.

    >>> tags = csr_array([[0, 1, 0], [1, 1, 0]])
    >>> duals_with_background(np.array([0.3, 0.1, 0.2]), tags).tolist()
    [0.3, 0.0, 0.1, 0.2, 0.0]
    """
    if delta.ndim == 1:
        return np.insert(delta, tags.indptr[1:], 0.0)
    return np.pad(delta, ((0, 0), (0, 1)))
