"""The affinity of superpixels and the two-way normalised cut of a graph: the definition."""

import numpy as np
from scipy.linalg import eigh

from tagmix.arrays import Floats
from tagmix.kernels.reference.superpixels import Planes

# Keeps every graph connected and every degree positive where the exponential underflows
LEAST_AFFINITY = 1e-6


def affinities(
    places: Floats, features: Floats, contour: Planes, width: float, contour_width: float, floor: float
) -> Floats:
    """Return the affinity of every two superpixels (symmetric, diagonal 0).

    exp(−|p − q|²/width²) · (floor + exp(−|f − g|² − (c/contour_width)²)): ``places`` p are their centres
    (y, x), ``features`` f are divided by their widths, and c is the intervening contour, the largest
    ``contour`` strictly between the centres on a straight line. Pairs further apart than 1.5 widths have only
    the floor, because long lines are expensive and their effect is small.
    """
    n = len(places)
    weights = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            apart = places[i] - places[j]
            far = float((apart * apart).sum()) / (width * width)
            alike = 0.0
            if far <= 2.25:
                steps = int(np.abs(apart).max() + 0.5)
                line = places[j] + apart * (np.arange(1, steps) / max(1, steps))[:, None]
                y, x = (line + 0.5).astype(np.int64).T
                crossed = float(contour[y, x].max(initial=0.0)) / contour_width
                alike = np.exp(-((features[i] - features[j]) ** 2).sum() - crossed * crossed)
            weights[i, j] = weights[j, i] = np.exp(-far) * (floor + alike) + LEAST_AFFINITY
    return weights


def fiedler_vector(weights: Floats) -> Floats:
    """Return the second smallest generalised eigenvector of (D − W) y = λ D y, with |D^½ y| = 1.

    It is determined up to sign, if λ is simple.
    """
    root = np.sqrt(weights.sum(axis=1))
    _, vectors = eigh(weights / root[:, None] / root)
    return vectors[:, -2] / root


def two_way_cut(weights: Floats, vector: Floats) -> tuple[float, Floats]:
    """Return the smallest Ncut over all thresholds on the vector, and the side of each node (1.0 above).

    Ncut(A, B) = cut(A, B)/assoc(A, V) + cut(A, B)/assoc(B, V), by Shi and Malik.
    """
    order = np.argsort(vector, kind="stable")
    degrees = weights.sum(axis=1)
    best, best_side = np.inf, np.zeros(len(order))
    for t in range(1, len(order)):
        side = np.ones(len(order))
        side[order[:t]] = 0.0
        cut = float((1 - side) @ weights @ side)
        value = cut / float((1 - side) @ degrees) + cut / float(side @ degrees)
        if value < best:
            best, best_side = value, side
    return best, best_side
