"""Special functions for compiled loops, and sums of softplus through a table."""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats
from tagmix.kernels.threads import over_ranges

FAST = {"reassoc", "contract", "arcp", "nsz"}  # NaN and infinity keep their meaning
EULER = 0.5772156649015329
EXP_MINUS_EULER = math.exp(-EULER)
# ζ(2) … ζ(5): Ψ(1+s) = −γ + ζ(2)s − ζ(3)s² + …; four terms give 1e-16 for s < 1e-3.
ZETA2, ZETA3, ZETA4, ZETA5 = 1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.0369277551433699
SMALL = 1e-3
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)

# A node every STEP and ORDER Taylor terms: the sigmoid is analytic within π of the real line, so
# the remainder is (STEP/2π)^ORDER ≈ 1e-17 of the sum.
STEP, ORDER = 0.25, 12


@njit(cache=True, nogil=True, fastmath=FAST)
def digamma(x: float) -> float:
    """Equal to ``scipy.special.digamma(x)`` for x > 0."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    # Asymptotic series with Bernoulli numbers; the first omitted term is below 1e-16 at x = 10.
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


@njit(cache=True, nogil=True, fastmath=FAST)
def exp_digamma_1p(s: float) -> float:
    """Equal to ``np.exp(scipy.special.digamma(1 + s))`` for s >= 0; fast for small s."""
    if s < SMALL:
        d = s * (ZETA2 - s * (ZETA3 - s * (ZETA4 - s * ZETA5)))
        return EXP_MINUS_EULER * (1.0 + d * (1.0 + d * (0.5 + d * (1 / 6 + d / 24))))
    return math.exp(digamma(1.0 + s))


@njit(cache=True, nogil=True)
def softplus(x: float) -> float:
    """Equal to ``np.logaddexp(0, x)``."""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


@njit(cache=True, nogil=True)
def add_sigmoid_series(x: float, series: Floats) -> None:
    """Add the Taylor coefficients of the sigmoid at x, from σ' = σ − σ²."""
    own = np.empty(len(series))
    own[0] = 1.0 / (1.0 + math.exp(-x))
    for k in range(len(series) - 1):
        square = 0.0
        for i in range(k + 1):
            square += own[i] * own[k - i]
        own[k + 1] = (own[k] - square) / (k + 1)
    series += own


def softplus_table(points: Floats, low: float, high: float, n_threads: int = 1) -> Floats:
    """Return the Taylor coefficients of u → Σ_i softplus(u − points_i), one row per node from low to high."""
    table = np.zeros((math.ceil((high - low) / STEP) + 1, ORDER + 1))
    over_ranges(lambda first, last: _fill_nodes(points, low, table, first, last), len(table), n_threads)
    return table


@njit(cache=True, nogil=True)
def _fill_nodes(points, low, table, first, last):  # type: ignore[no-untyped-def]
    for node in range(first, last):
        centre = low + node * STEP
        for point in points:
            table[node, 0] += softplus(centre - point)
            add_sigmoid_series(centre - point, table[node, 1:])
        for k in range(1, ORDER + 1):  # softplus' = sigmoid
            table[node, k] /= k


@njit(cache=True, nogil=True)
def look_up(table: Floats, low: float, u: float) -> tuple[float, float, float]:
    """Return Σ softplus(u − p), Σ σ(u − p) and Σ σ'(u − p) from the table."""
    node = min(max(round((u - low) / STEP), 0), len(table) - 1)
    h = u - (low + node * STEP)
    value = slope = curve = 0.0
    row = table[node]
    for k in range(ORDER, -1, -1):
        curve = curve * h + slope  # Horner for the polynomial, its first and half its second derivative
        slope = slope * h + value
        value = value * h + row[k]
    return value, slope, 2.0 * curve


@njit(cache=True, nogil=True)
def sigmoid_sums(points: Floats, at: Floats) -> Floats:
    """Equal to ``[Σ_i σ(a − points_i) for a in at]``, through moments of the points in bins of STEP.

    The cost is points + len(at) × bins rather than points × len(at), because the points are close together.
    """
    low, high = points.min(), points.max()
    n_bins = int((high - low) / STEP) + 1
    moments = np.zeros((n_bins, ORDER + 1))
    for point in points:
        bin_ = min(int((point - low) / STEP), n_bins - 1)
        offset = (low + (bin_ + 0.5) * STEP) - point  # σ(a − p) = σ((a − centre) + offset)
        power = 1.0
        for k in range(ORDER + 1):
            moments[bin_, k] += power
            power *= offset
    sums = np.zeros(len(at))
    series = np.empty(ORDER + 1)
    for i in range(len(at)):
        for bin_ in range(n_bins):
            if moments[bin_, 0] > 0.0:
                series[:] = 0.0
                add_sigmoid_series(at[i] - (low + (bin_ + 0.5) * STEP), series)
                sums[i] += np.dot(moments[bin_], series)
    return sums


@njit(cache=True, nogil=True, fastmath=FAST)
def log_gamma_and_digamma(x: float) -> tuple[float, float]:
    """Equal to ``(gammaln(x), digamma(x))`` of SciPy for x > 0, at the cost of one of them."""
    product, shift = 1.0, 0.0
    while x < 10.0:
        product *= x
        shift -= 1.0 / x
        x += 1.0
    z = 1.0 / x
    y = z * z
    log_x = math.log(x)
    psi = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    stirling = z * (
        1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))
    )
    log_gamma = (x - 0.5) * log_x - x + HALF_LOG_2PI + stirling
    return log_gamma - math.log(product), shift + log_x - 0.5 * z - psi
