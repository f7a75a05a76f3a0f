"""Borders, merging and enlarging of regions, compiled; the definition is ``reference.segmentation``.

Without fast arithmetic: labels are discrete, and both versions must agree to the last bit.
"""

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.reference.segmentation import Borders
from tagmix.kernels.reference.superpixels import Labels, Planes


@njit(cache=True, nogil=True)
def find_borders(labels: Labels, contour: Planes, n_regions: int) -> Borders:
    """Equal to ``reference.segmentation.find_borders``."""
    height, width = labels.shape
    starts = np.zeros(n_regions + 1, np.int64)
    for y in range(height):
        for x in range(width):
            for dy, dx in ((0, 1), (1, 0)):
                if y + dy < height and x + dx < width:
                    a, b = labels[y, x], labels[y + dy, x + dx]
                    if a != b:
                        starts[min(a, b) + 1] += 1
    starts = np.cumsum(starts)
    others, heights, filled = np.empty(starts[-1], np.int32), np.empty(starts[-1]), starts[:-1].copy()
    for y in range(height):
        for x in range(width):
            for dy, dx in ((0, 1), (1, 0)):
                if y + dy < height and x + dx < width:
                    a, b = labels[y, x], labels[y + dy, x + dx]
                    if a != b:
                        at = filled[min(a, b)]
                        others[at] = max(a, b)
                        heights[at] = max(contour[y, x], contour[y + dy, x + dx])
                        filled[min(a, b)] = at + 1
    return _sum_up(starts, others, heights, n_regions)


@njit(cache=True, nogil=True)
def _sum_up(starts, others, heights, n_regions):  # type: ignore[no-untyped-def]
    """Collect the steps between each pair of regions, in buckets, so memory is linear in the steps."""
    n_steps = len(others)
    first, second = np.empty(n_steps, np.int64), np.empty(n_steps, np.int64)
    length, height = np.empty(n_steps), np.empty(n_steps)
    steps, total = np.zeros(n_regions), np.zeros(n_regions)
    n_borders = 0
    for a in range(n_regions):
        begin = n_borders
        for s in range(starts[a], starts[a + 1]):
            b = others[s]
            if steps[b] == 0:
                second[n_borders] = b
                n_borders += 1
            steps[b] += 1
            total[b] += heights[s]
        second[begin:n_borders].sort()
        for e in range(begin, n_borders):
            b = second[e]
            first[e], length[e], height[e] = a, steps[b], total[b] / steps[b]
            steps[b], total[b] = 0, 0
    return (
        first[:n_borders].copy(),
        second[:n_borders].copy(),
        length[:n_borders].copy(),
        height[:n_borders].copy(),
    )


@njit(cache=True, nogil=True)
def merge_regions(
    first: Ints,
    second: Ints,
    factors: Floats,
    features: Floats,
    weights: Floats,
    n_target: int,
    min_weight: float,
) -> Ints:
    """Equal to ``reference.segmentation.merge_regions``."""
    first, second, means, weights = first.copy(), second.copy(), features.copy(), weights.copy()
    owner = np.arange(len(weights))
    alive = len(weights)
    while True:
        lightest = -1
        for k in range(len(weights)):
            if owner[k] == k and weights[k] < (min_weight if lightest < 0 else weights[lightest]):
                lightest = k
        if lightest < 0 and alive <= n_target:
            break
        chosen = _cheapest(first, second, factors, means, weights, lightest)
        if chosen < 0:  # one region is left, or none has a neighbour
            break
        a, b = min(first[chosen], second[chosen]), max(first[chosen], second[chosen])
        both = weights[a] + weights[b]
        for c in range(means.shape[1]):
            means[a, c] = (means[a, c] * weights[a] + means[b, c] * weights[b]) / both
        weights[a] = both
        for k in range(len(owner)):
            if owner[k] == b:
                owner[k] = a
        for e in range(len(first)):
            if first[e] == b:
                first[e] = a
            if second[e] == b:
                second[e] = a
        alive -= 1
    return owner


@njit(cache=True, nogil=True)
def _cheapest(first, second, factors, means, weights, lightest):  # type: ignore[no-untyped-def]
    """Return the next border to remove, or −1; only borders of ``lightest`` unless that is −1."""
    chosen, least = -1, np.inf
    for e in range(len(first)):
        a, b = first[e], second[e]
        if a == b or (lightest >= 0 and lightest not in (a, b)):
            continue
        cost = 0.0
        for c in range(means.shape[1]):
            cost += (means[a, c] - means[b, c]) * (means[a, c] - means[b, c])
        if lightest < 0:
            cost = cost * (weights[a] * weights[b] / (weights[a] + weights[b])) * factors[e]
        if cost < least:
            chosen, least = e, cost
    return chosen


@njit(cache=True, nogil=True)
def enlarge(labels: Labels, height: int, width: int, min_area: int) -> Labels:
    """Equal to ``reference.segmentation.enlarge``."""
    h, w = labels.shape
    large = np.empty((height, width), np.int32)
    area = np.zeros(labels.max() + 1, np.int64)
    source = ((2 * np.arange(width) + 1) * w) // (2 * width)
    last = -1
    for y in range(height):
        here = ((2 * y + 1) * h) // (2 * height)
        if here == last:
            large[y] = large[y - 1]
        else:
            for x in range(width):
                large[y, x] = labels[here, source[x]]
            last = here
        for x in range(width):
            area[large[y, x]] += 1
    if (h, w) != (height, width):
        _round_corners(labels, large, area, min_area)
    return large


@njit(cache=True, nogil=True)
def _round_corners(labels, large, area, min_area):  # type: ignore[no-untyped-def]
    """Visit the cells between four coarse pixels with different labels; there are few of them."""
    (h, w), (height, width) = labels.shape, large.shape
    for i in range(h - 1):
        top, bottom = _first_at(i, h, height), _first_at(i + 1, h, height)
        for j in range(w - 1):
            a, b, c, d = labels[i, j], labels[i, j + 1], labels[i + 1, j], labels[i + 1, j + 1]
            if a == b and c == d and a == c:
                continue
            for y in range(top, bottom):
                v = ((2 * y + 1) * h - (2 * i + 1) * height) / (2.0 * height)
                for x in range(_first_at(j, w, width), _first_at(j + 1, w, width)):
                    u = ((2 * x + 1) * w - (2 * j + 1) * width) / (2.0 * width)
                    wanted, most = a, 0.0
                    for label in (a, b, c, d):
                        share = (1 - v) * ((1 - u) * (a == label) + u * (b == label))
                        share += v * ((1 - u) * (c == label) + u * (d == label))
                        if share > most:
                            wanted, most = label, share
                    old = large[y, x]
                    if wanted != old and area[old] > min_area and _may_change(large, y, x, wanted):
                        large[y, x] = wanted
                        area[old] -= 1
                        area[wanted] += 1


@njit(cache=True, nogil=True)
def _first_at(i, n, size):  # type: ignore[no-untyped-def]
    """Return the first pixel whose centre is at or after the centre of the coarse pixel i."""
    return ((2 * i + 1) * size - n + 2 * n - 1) // (2 * n)


@njit(cache=True, nogil=True)
def _may_change(large, y, x, wanted):  # type: ignore[no-untyped-def]
    height, width = large.shape
    touches = False
    same = np.zeros(9, np.bool_)
    for at, (dy, dx) in enumerate(((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))):
        if 0 <= y + dy < height and 0 <= x + dx < width:
            same[at] = large[y + dy, x + dx] == large[y, x]
            touches |= at % 2 == 0 and large[y + dy, x + dx] == wanted
    same[8] = same[0]
    groups = 0
    for at in (0, 2, 4, 6):
        groups += same[at] and not (same[at + 1] and same[at + 2])
    return touches and groups == 1


@njit(cache=True, nogil=True)
def region_boxes(labels: Labels, n_regions: int) -> Ints:
    """Equal to ``reference.segmentation.region_boxes``."""
    height, width = labels.shape
    boxes = np.zeros((n_regions, 5), np.int64)
    boxes[:, 0], boxes[:, 1] = width, height
    for y in range(height):
        for x in range(width):
            own = boxes[labels[y, x]]
            own[0] = min(own[0], x)
            own[1] = min(own[1], y)
            own[2] = max(own[2], x + 1)
            own[3] = y + 1
            own[4] += 1
    return boxes
