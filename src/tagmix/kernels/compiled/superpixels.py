"""Superpixels, their sums and their pieces, compiled; the definition is ``reference.superpixels``.

Without fast arithmetic: labels are discrete, and both versions must agree to the last bit.
"""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.reference.superpixels import REACH, Flags, Labels, Planes

FAR = np.float32(1e30)


@njit(cache=True, nogil=True)
def assign_pixels(planes: Planes, step: float, compactness: float, n_iter: int) -> Labels:
    """Equal to ``reference.superpixels.assign_pixels``."""
    n_planes, height, width = planes.shape
    down, across = max(1, round(height / step)), max(1, round(width / step))
    labels = np.empty((height, width), np.int32)
    for y in range(height):
        for x in range(width):
            labels[y, x] = (y * down // height) * across + x * across // width
    centres = np.zeros((down * across, n_planes + 2), np.float32)
    distance = np.empty((height, width), np.float32)
    columns = np.arange(width).astype(np.float32)
    pull = np.float32((compactness / step) ** 2)
    reach = math.ceil(REACH * step)
    for _ in range(n_iter):
        _move_centres(planes, labels, centres)
        distance[:] = FAR
        for k in range(len(centres)):
            cy, cx = centres[k, n_planes], centres[k, n_planes + 1]
            c0, c1, c2 = centres[k, 0], centres[k, 1], centres[k, 2]
            number = np.int32(k)
            left, right = max(0, int(cx) - reach), min(width, int(cx) + reach + 1)
            for y in range(max(0, int(cy) - reach), min(height, int(cy) + reach + 1)):
                dy = np.float32(y) - cy
                # Slices start at 0: without tests for negative indices the inner loop is vectorised
                nearest, owner, xs = distance[y, left:right], labels[y, left:right], columns[left:right]
                p0, p1, p2 = planes[0, y, left:right], planes[1, y, left:right], planes[2, y, left:right]
                for x in range(right - left):
                    dx = xs[x] - cx
                    d0, d1, d2 = p0[x] - c0, p1[x] - c1, p2[x] - c2
                    d = pull * (dy * dy + dx * dx) + d0 * d0 + d1 * d1 + d2 * d2
                    owner[x] = number if d < nearest[x] else owner[x]
                    nearest[x] = min(d, nearest[x])
    return labels


@njit(cache=True, nogil=True)
def _move_centres(planes, labels, centres):  # type: ignore[no-untyped-def]
    sums = region_sums(labels, planes, len(centres))
    n_planes = len(planes)
    for k in range(len(centres)):
        if sums[k, 0] > 0:  # a centre without pixels keeps its position
            for c in range(n_planes):
                centres[k, c] = sums[k, 3 + c] / sums[k, 0]
            centres[k, n_planes] = sums[k, 1] / sums[k, 0]
            centres[k, n_planes + 1] = sums[k, 2] / sums[k, 0]


@njit(cache=True, nogil=True)
def region_sums(labels: Labels, planes: Planes, n_regions: int) -> Floats:
    """Equal to ``reference.superpixels.region_sums``."""
    n_planes, height, width = planes.shape
    sums = np.zeros((n_regions, 3 + n_planes))
    for y in range(height):
        for x in range(width):
            own = sums[labels[y, x]]
            own[0] += 1.0
            own[1] += y
            own[2] += x
            for c in range(n_planes):
                own[3 + c] += planes[c, y, x]
    return sums


@njit(cache=True, nogil=True)
def _root(parents, i):  # type: ignore[no-untyped-def]
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@njit(cache=True, nogil=True)
def label_pieces(labels: Labels) -> Labels:
    """Equal to ``reference.superpixels.label_pieces``."""
    height, width = labels.shape
    parents = np.arange(height * width)
    for y in range(height):
        for x in range(width):
            i = y * width + x
            if x > 0 and labels[y, x] == labels[y, x - 1]:
                parents[i] = parents[i - 1]
            if y > 0 and labels[y, x] == labels[y - 1, x]:
                a, b = _root(parents, i), _root(parents, i - width)
                parents[max(a, b)] = min(a, b)
    # The root is the first pixel of its piece in reading order: counting roots numbers pieces by position
    pieces = np.empty(height * width, np.int32)
    n_pieces = 0
    for i in range(height * width):
        root = _root(parents, i)
        if root == i:
            pieces[i] = n_pieces
            n_pieces += 1
        else:
            pieces[i] = pieces[root]
    return pieces.reshape(height, width)


@njit(cache=True, nogil=True)
def join_small(small: Flags, features: Floats, first: Ints, second: Ints) -> Labels:
    """Equal to ``reference.superpixels.join_small``."""
    n = len(small)
    target, least = np.arange(n), np.full(n, np.inf)
    for e in range(len(first)):
        a, b = first[e], second[e]
        apart = 0.0
        for c in range(features.shape[1]):
            apart += (features[a, c] - features[b, c]) * (features[a, c] - features[b, c])
        if small[a] and apart < least[a]:
            target[a], least[a] = b, apart
        if small[b] and apart < least[b]:
            target[b], least[b] = a, apart
    parents = np.arange(n)
    for k in range(n):
        a, b = _root(parents, k), _root(parents, target[k])
        parents[max(a, b)] = min(a, b)
    numbers = np.empty(n, np.int32)
    count = 0
    for k in range(n):
        root = _root(parents, k)
        if root == k:
            numbers[k] = count
            count += 1
        else:
            numbers[k] = numbers[root]
    return numbers


@njit(cache=True, nogil=True)
def number_by_position(labels: Labels) -> Labels:
    """Equal to ``reference.superpixels.number_by_position``."""
    numbers = np.full(labels.max() + 1, -1, np.int32)
    numbered = np.empty_like(labels)
    count = 0
    for y in range(labels.shape[0]):
        for x in range(labels.shape[1]):
            label = labels[y, x]
            if numbers[label] < 0:
                numbers[label] = count
                count += 1
            numbered[y, x] = numbers[label]
    return numbered
