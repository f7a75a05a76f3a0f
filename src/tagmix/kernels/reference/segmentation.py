"""Borders, merging and enlarging of regions in NumPy: the definition."""

from typing import TypeAlias

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.kernels.reference.superpixels import Labels, Planes

Borders: TypeAlias = tuple[Ints, Ints, Floats, Floats]

RING = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


def find_borders(labels: Labels, contour: Planes, n_regions: int) -> Borders:
    """Return pairs of 4-neighbour regions (a < b, sorted), the length of their border and its mean contour.

    The length is the number of steps from a pixel of one to a pixel of the other; the contour of a step is
    the larger ``contour`` of its two pixels.
    """
    pairs, heights = [], []
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        a, b = labels[here].astype(np.int64), labels[there].astype(np.int64)
        step = a != b
        pairs.append(np.minimum(a, b)[step] * n_regions + np.maximum(a, b)[step])
        heights.append(np.maximum(contour[here], contour[there])[step])
    found, inverse = np.unique(np.concatenate(pairs), return_inverse=True)
    length = np.bincount(inverse, minlength=len(found)).astype(np.float64)
    total = np.bincount(inverse, np.concatenate(heights), len(found))
    return found // n_regions, found % n_regions, length, total / length


def merge_regions(
    first: Ints,
    second: Ints,
    factors: Floats,
    features: Floats,
    weights: Floats,
    n_target: int,
    min_weight: float,
) -> Ints:
    """Return the lowest-numbered region into which each region is merged, pair by pair.

    While a region is lighter than ``min_weight``, the lightest is merged with the neighbour of nearest
    features. Then, while there are more than ``n_target``, the border of least cost is removed: Ward's
    w_a w_b / (w_a + w_b) |f_a − f_b|², the increase of the sum of squares within regions, times its factor.
    """
    owner, means, weights = np.arange(len(weights)), features.copy(), weights.copy()
    while True:
        a, b = owner[first], owner[second]
        cost = np.zeros(len(first))
        for column in means.T:
            cost += (column[a] - column[b]) * (column[a] - column[b])
        alive = np.unique(owner)
        lightest = alive[np.argmin(weights[alive])]
        if weights[lightest] < min_weight:
            cost[(a != lightest) & (b != lightest)] = np.inf
        elif len(alive) > n_target:
            cost = cost * (weights[a] * weights[b] / (weights[a] + weights[b])) * factors
        else:
            return owner
        cost[a == b] = np.inf
        if np.isinf(cost).all():
            return owner
        kept, gone = sorted((int(a[np.argmin(cost)]), int(b[np.argmin(cost)])))
        both = weights[kept] + weights[gone]
        means[kept] = (means[kept] * weights[kept] + means[gone] * weights[gone]) / both
        weights[kept] = both
        owner[owner == gone] = kept


def enlarge(labels: Labels, height: int, width: int, min_area: int) -> Labels:
    """Return the labels on a finer grid: nearest neighbours, with rounded corners.

    For rounding, a pixel takes the label with the largest bilinear weight among its four nearest coarse
    pixels, provided that every region stays connected and keeps ``min_area``.

    >>> enlarge(np.array([[0, 1]], np.int32), 2, 6, 1).tolist()
    [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    """
    h, w = labels.shape
    rows = ((2 * np.arange(height) + 1) * h) // (2 * height)
    columns = ((2 * np.arange(width) + 1) * w) // (2 * width)
    large = labels[rows[:, None], columns]
    area = np.bincount(large.ravel(), minlength=labels.max() + 1)
    if (h, w) == (height, width):
        return large
    cells = [(i, j) for i in range(h - 1) for j in range(w - 1) if np.ptp(labels[i : i + 2, j : j + 2])]
    for i, j in cells:
        for y in range(_first_at(i, h, height), _first_at(i + 1, h, height)):
            for x in range(_first_at(j, w, width), _first_at(j + 1, w, width)):
                v = ((2 * y + 1) * h - (2 * i + 1) * height) / (2.0 * height)
                u = ((2 * x + 1) * w - (2 * j + 1) * width) / (2.0 * width)
                wanted, old = _largest_share(labels[i : i + 2, j : j + 2], v, u), large[y, x]
                if wanted != old and area[old] > min_area and _may_change(large, y, x, wanted):
                    large[y, x] = wanted
                    area[old] -= 1
                    area[wanted] += 1
    return large


def _first_at(i: int, n: int, size: int) -> int:
    """Return the first pixel whose centre is at or after the centre of the coarse pixel i."""
    return -((n - (2 * i + 1) * size) // (2 * n))


def _largest_share(corners: Labels, v: float, u: float) -> int:
    (a, b), (c, d) = corners
    shares = [
        (1 - v) * ((1 - u) * (a == label) + u * (b == label))
        + v * ((1 - u) * (c == label) + u * (d == label))
        for label in (a, b, c, d)
    ]
    return int((a, b, c, d)[int(np.argmax(shares))])


def _may_change(large: Labels, y: int, x: int, wanted: int) -> bool:
    """Return whether the pixel touches the wanted region and its own region stays connected without it.

    This holds if the neighbours that belong to its region are connected around it.
    """
    around = np.pad(large, 1, constant_values=-1)[y : y + 3, x : x + 3]
    ring = [around[1 + dy, 1 + dx] for dy, dx in RING]
    same = [label == large[y, x] for label in (*ring, ring[0])]
    groups = sum(same[at] and not (same[at + 1] and same[at + 2]) for at in (0, 2, 4, 6))
    return wanted in ring[::2] and groups == 1


def region_boxes(labels: Labels, n_regions: int) -> Ints:
    """Return left, top, right, bottom (exclusive) and the number of pixels per region.

    >>> region_boxes(np.array([[0, 0, 1, 1], [0, 0, 0, 1]]), 2).tolist()
    [[0, 0, 3, 2, 5], [2, 0, 4, 2, 3]]
    """
    boxes = np.zeros((n_regions, 5), np.int64)
    for region in range(n_regions):
        y, x = np.nonzero(labels == region)
        boxes[region] = x.min(), y.min(), x.max() + 1, y.max() + 1, len(x)
    return boxes
