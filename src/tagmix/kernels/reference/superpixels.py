"""Superpixels, their sums and their pieces in NumPy: the definition.

Labels are height × width integers; planes are channels × height × width (channels first, so that the
compiled loops are vectorised).
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tagmix.arrays import Floats, Ints

Labels: TypeAlias = NDArray[np.int32]
Planes: TypeAlias = NDArray[np.float32]
Flags: TypeAlias = NDArray[np.bool_]

# Search radius of a centre, in steps of the grid
REACH = 1.5


def assign_pixels(planes: Planes, step: float, compactness: float, n_iter: int) -> Labels:
    """Return the superpixel of each pixel: local k-means in three planes and position (SLIC).

    Centres start on a grid of ``step`` pixels and compete only for pixels within ``REACH`` steps; a distance
    of one step counts as a difference of ``compactness``. Ties go to the lower index. A superpixel can be
    empty or disconnected.
    """
    n_planes, height, width = planes.shape
    down, across = max(1, round(height / step)), max(1, round(width / step))
    rows, columns = np.arange(height), np.arange(width)
    labels = ((rows * down // height)[:, None] * across + columns * across // width).astype(np.int32)
    centres = np.zeros((down * across, n_planes + 2), np.float32)
    reach = math.ceil(REACH * step)
    pull = np.float32((compactness / step) ** 2)
    for _ in range(n_iter):
        sums = region_sums(labels, planes, len(centres))
        kept = sums[:, 0] > 0
        centres[kept] = (sums / np.maximum(sums[:, :1], 1))[kept][:, [*range(3, 3 + n_planes), 1, 2]]
        nearest = np.full((height, width), np.float32(1e30))
        for k, (*colour, cy, cx) in enumerate(centres):
            window = (
                slice(max(0, int(cy) - reach), int(cy) + reach + 1),
                slice(max(0, int(cx) - reach), int(cx) + reach + 1),
            )
            dy, dx = rows[window[0]].astype(np.float32) - cy, columns[window[1]].astype(np.float32) - cx
            distance = pull * ((dy * dy)[:, None] + dx * dx)
            for plane, value in zip(planes, colour, strict=True):
                distance += (plane[window] - value) * (plane[window] - value)
            closer = distance < nearest[window]
            labels[window][closer] = k
            nearest[window][closer] = distance[closer]
    return labels


def region_sums(labels: Labels, planes: Planes, n_regions: int) -> Floats:
    """Return the number of pixels and the sums of y, x and every plane per region.

    >>> region_sums(np.array([[0, 1, 1]]), np.ones((1, 1, 3), np.float32), 2).tolist()
    [[1.0, 0.0, 0.0, 1.0], [2.0, 0.0, 3.0, 2.0]]
    """
    y, x = np.indices(labels.shape)
    values = [np.ones(labels.shape), y, x, *planes]
    return np.stack([np.bincount(labels.ravel(), v.ravel(), n_regions) for v in values], axis=1)


def label_pieces(labels: Labels) -> Labels:
    """Return the index of each 4-connected piece of equal labels, in the order of their first pixels.

    >>> label_pieces(np.array([[7, 3, 7], [7, 3, 7]], np.int32)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    pieces = np.zeros(labels.shape, np.int64)
    n_pieces = 0
    for label in np.unique(labels):
        found, count = ndimage.label(labels == label)
        pieces[found > 0] = found[found > 0] + n_pieces
        n_pieces += count
    return number_by_position(pieces.astype(np.int32))


def join_small(small: Flags, features: Floats, first: Ints, second: Ints) -> Labels:
    """Return new indices of regions after merging every small one with its neighbour of nearest features.

    All small regions are merged at once, so each round at least halves their number, which can be in the
    thousands for noise. ``first`` and ``second`` are the regions on both sides of each border; ties go to
    the earlier border. New indices keep the order of the lowest old index.
    """
    n = len(small)
    apart = np.zeros(len(first))
    for column in features.T:
        apart += (column[first] - column[second]) * (column[first] - column[second])
    target = np.arange(n)
    for k in np.flatnonzero(small):
        own = np.flatnonzero((first == k) | (second == k))
        if len(own):
            nearest = own[np.argmin(apart[own])]
            target[k] = first[nearest] + second[nearest] - k
    _, joined = connected_components(coo_array((np.ones(n), (np.arange(n), target)), (n, n)), directed=False)
    return number_by_position(joined[None].astype(np.int32))[0]


def number_by_position(labels: Labels) -> Labels:
    """Return the labels as 0, 1, … in the order of their first pixels.

    >>> number_by_position(np.array([[4, 4, 2], [2, 0, 4]], np.int32)).tolist()
    [[0, 0, 1], [1, 2, 0]]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int32)[inverse.reshape(labels.shape)]
