"""Region scores pooled into picture scores, in one pass over the regions; see ``reference.pooling``."""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled.exponential import exponentiate


@njit(cache=True, nogil=True)
def pool_regions(scores: Floats, starts: Ints, sharpness: float) -> tuple[Floats, Floats]:
    """Equal to ``reference.pooling.pool_regions``."""
    n_columns = scores.shape[1]
    best, shares = np.empty((len(starts) - 1, n_columns)), np.empty_like(scores)
    total = np.empty(n_columns)
    for n in range(len(starts) - 1):
        first, last = starts[n], starts[n + 1]
        top = best[n]
        top[:] = scores[first]
        for m in range(first + 1, last):
            for c in range(n_columns):
                top[c] = max(top[c], scores[m, c])
        part = shares[first:last]
        if math.isinf(sharpness):
            for m in range(last - first):
                for c in range(n_columns):
                    part[m, c] = 1.0 if scores[first + m, c] == top[c] else 0.0
        else:
            for m in range(last - first):
                for c in range(n_columns):
                    part[m, c] = sharpness * (scores[first + m, c] - top[c])
            exponentiate(part.reshape(-1), np.empty(part.size))
        total[:] = 0.0
        for m in range(last - first):
            for c in range(n_columns):
                total[c] += part[m, c]
        for m in range(last - first):
            for c in range(n_columns):
                part[m, c] /= total[c]
        if not math.isinf(sharpness):
            for c in range(n_columns):
                top[c] += math.log(total[c] / (last - first)) / sharpness
    return best, shares
