"""Region scores pooled into picture scores, in one pass over the regions; see ``reference.pooling``.

Scores may have single precision; one picture at a time is computed in double precision, in the cache.
"""

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
    largest = np.max(np.diff(starts)) if len(starts) > 1 else 0
    part, bits = np.empty((largest, n_columns)), np.empty(largest * n_columns)
    for n in range(len(starts) - 1):
        first, size = starts[n], starts[n + 1] - starts[n]
        top = best[n]
        top[:] = scores[first]
        for m in range(1, size):
            for c in range(n_columns):
                top[c] = max(top[c], scores[first + m, c])
        if math.isinf(sharpness):
            for m in range(size):
                for c in range(n_columns):
                    part[m, c] = 1.0 if scores[first + m, c] == top[c] else 0.0
        else:
            for m in range(size):
                for c in range(n_columns):
                    part[m, c] = sharpness * (scores[first + m, c] - top[c])
            used = size * n_columns
            exponentiate(part.reshape(-1)[:used], bits[:used])
        total[:] = 0.0
        for m in range(size):
            for c in range(n_columns):
                total[c] += part[m, c]
        for m in range(size):
            for c in range(n_columns):
                shares[first + m, c] = part[m, c] / total[c]
        if not math.isinf(sharpness):
            for c in range(n_columns):
                top[c] += math.log(total[c] / size) / sharpness
    return best, shares


@njit(cache=True, nogil=True)
def spread_slopes(shares: Floats, starts: Ints, slopes: Floats) -> None:
    """Equal to ``reference.pooling.spread_slopes``."""
    for n in range(len(starts) - 1):
        for m in range(starts[n], starts[n + 1]):
            for c in range(shares.shape[1]):
                shares[m, c] *= slopes[n, c]
