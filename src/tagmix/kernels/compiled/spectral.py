"""The affinity of superpixels and the two-way normalised cut of a graph, compiled.

The eigenvector is computed by Lanczos iteration rather than LAPACK: for a hundred nodes, starting and
limiting BLAS threads costs more than the solution.
"""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats
from tagmix.kernels.reference.spectral import LEAST_AFFINITY
from tagmix.kernels.reference.superpixels import Planes

FAST = {"reassoc", "contract", "nsz"}
MAX_STEPS = 120
STEPS_BETWEEN_CHECKS = 8
TOLERANCE = 1e-7
GOLDEN = 0.6180339887498949


@njit(cache=True, nogil=True, fastmath=FAST)
def affinities(
    places: Floats, features: Floats, contour: Planes, width: float, contour_width: float, floor: float
) -> Floats:
    """Equal to ``reference.spectral.affinities``."""
    n, n_features = features.shape
    weights = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            dy, dx = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            far = (dy * dy + dx * dx) / (width * width)
            alike = 0.0
            if far <= 2.25:
                differ = 0.0
                for c in range(n_features):
                    differ += (features[i, c] - features[j, c]) ** 2
                if differ < 30.0:  # beyond this the affinity is zero in any case
                    highest = np.float32(0.0)
                    steps = int(max(abs(dy), abs(dx)) + 0.5)
                    for s in range(1, steps):
                        y = np.uint64(places[j, 0] + dy * (s / steps) + 0.5)
                        x = np.uint64(places[j, 1] + dx * (s / steps) + 0.5)
                        highest = max(highest, contour[y, x])
                    crossed = highest / contour_width
                    alike = math.exp(-differ - crossed * crossed)
            weights[i, j] = weights[j, i] = math.exp(-far) * (floor + alike) + LEAST_AFFINITY
    return weights


@njit(cache=True, nogil=True, fastmath=FAST)
def fiedler_vector(weights: Floats) -> Floats:
    """Equal to ``reference.spectral.fiedler_vector``, up to sign and a residual of ``TOLERANCE``.

    Lanczos with full orthogonalisation, also against the first eigenvector D^½ 1, which leaves the second
    as the largest. The initial vector is fixed and not symmetric, so no eigenvector is orthogonal to it.
    """
    n = len(weights)
    root = np.sqrt(weights.sum(axis=1))
    scaled = weights / (root.reshape(n, 1) * root.reshape(1, n))
    max_steps = min(n - 1, MAX_STEPS)
    basis = np.zeros((max_steps + 1, n))
    basis[0] = root / math.sqrt((root * root).sum())
    diagonal, beside = np.zeros(max_steps), np.zeros(max_steps)
    rest = np.empty(n)
    for i in range(n):
        rest[i] = ((i + 1) * GOLDEN) % 1.0 - 0.5
    length, coefficients, n_steps = 1.0, np.ones(1), 0
    for step in range(max_steps):
        _orthogonalise(rest, basis[: step + 1])
        length = math.sqrt((rest * rest).sum())
        if step > 0:
            beside[step - 1] = length
            if length < TOLERANCE or step % STEPS_BETWEEN_CHECKS == 0:
                coefficients = _top_of_tridiagonal(diagonal[:step], beside[: step - 1])
                if length * abs(coefficients[-1]) < TOLERANCE:
                    break
        current = basis[step + 1]
        for i in range(n):
            current[i] = rest[i] / length
        rest[:] = 0.0
        for j in range(n):
            for i in range(n):
                rest[i] += scaled[j, i] * current[j]
        diagonal[step] = (current * rest).sum()
        n_steps = step + 1
    if n_steps == max_steps:
        coefficients = _top_of_tridiagonal(diagonal, beside[: max_steps - 1])
    vector = np.zeros(n)
    for k in range(len(coefficients)):
        for i in range(n):
            vector[i] += coefficients[k] * basis[k + 1, i]
    return vector / (root * math.sqrt((vector * vector).sum()))


@njit(cache=True, nogil=True, fastmath=FAST)
def _orthogonalise(vector, basis):  # type: ignore[no-untyped-def]
    for _ in range(2):  # twice is enough for orthogonality up to rounding
        for k in range(len(basis)):
            along = 0.0
            for i in range(len(vector)):
                along += basis[k, i] * vector[i]
            for i in range(len(vector)):
                vector[i] -= along * basis[k, i]


@njit(cache=True, nogil=True)
def _top_of_tridiagonal(diagonal, beside):  # type: ignore[no-untyped-def]
    """Return the eigenvector of the largest eigenvalue: bisection from above, then inverse iteration."""
    m = len(diagonal)
    low, high = diagonal.max(), diagonal.max() + 1e-12
    for i in range(m):
        reach = abs(beside[i - 1]) if i > 0 else 0.0
        reach += abs(beside[i]) if i < m - 1 else 0.0
        high = max(high, diagonal[i] + reach)
    while high - low > 1e-13 * max(1.0, abs(high)):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        pivot = middle - diagonal[0]
        for i in range(1, m):
            if pivot <= 0:
                break
            pivot = middle - diagonal[i] - beside[i - 1] * beside[i - 1] / pivot
        if pivot > 0:  # middle − T is positive definite: above every eigenvalue
            high = middle
        else:
            low = middle
    # Just above the largest eigenvalue the matrix is positive definite: elimination needs no pivoting
    shift = high + 1e-12
    vector, pivots = np.ones(m), np.empty(m)
    pivots[0] = shift - diagonal[0]
    for i in range(1, m):
        pivots[i] = shift - diagonal[i] - beside[i - 1] * beside[i - 1] / pivots[i - 1]
    for _ in range(3):
        for i in range(1, m):
            vector[i] += vector[i - 1] * beside[i - 1] / pivots[i - 1]
        vector[m - 1] /= pivots[m - 1]
        for i in range(m - 2, -1, -1):
            vector[i] = (vector[i] + beside[i] * vector[i + 1]) / pivots[i]
        vector /= math.sqrt((vector * vector).sum())
    return vector


@njit(cache=True, nogil=True)
def two_way_cut(weights: Floats, vector: Floats) -> tuple[float, Floats]:
    """Equal to ``reference.spectral.two_way_cut``."""
    n = len(vector)
    order = np.argsort(vector, kind="mergesort")
    degrees = weights.sum(axis=1)
    total = degrees.sum()
    side = np.ones(n)
    best, best_at, cut, below = np.inf, 1, 0.0, 0.0
    for t in range(n - 1):
        moved = order[t]
        # From now on its links to the other side are cut, and those to its new side are not
        for j in range(n):
            cut += weights[moved, j] * (2.0 * side[j] - 1.0) if j != moved else 0.0
        side[moved] = 0.0
        below += degrees[moved]
        value = cut / below + cut / (total - below)
        if value < best:
            best, best_at = value, t + 1
    side[order[:best_at]], side[order[best_at:]] = 0.0, 1.0
    return best, side
