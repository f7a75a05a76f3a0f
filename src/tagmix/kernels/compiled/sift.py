"""SIFT of upright square patches, compiled; the definition is ``reference.sift``."""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled.special import FAST
from tagmix.kernels.reference.sift import CELLS, CLIP, FAINT, ORIENTATIONS, REACH
from tagmix.kernels.threads import over_ranges

# The histogram has border cells on all sides, so that samples need no test of their neighbours, and
# two more orientations, which are added to the first two at the end.
WIDE, DEEP = CELLS + 2, ORIENTATIONS + 2


def describe_patches(
    pixels: Floats,
    starts: Ints,
    shapes: Ints,
    steps: Floats,
    level_of: Ints,
    patches: Floats,
    out: Floats,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.sift.describe_patches`` to single precision."""

    def work(first: int, last: int) -> None:
        _describe(pixels, starts, shapes, steps, level_of, patches, out, first, last)

    over_ranges(work, len(patches), n_threads)


@njit(cache=True, nogil=True, fastmath=FAST)
def _describe(pixels, starts, shapes, steps, level_of, patches, out, first, last):  # type: ignore[no-untyped-def]
    histogram = np.empty(WIDE * WIDE * DEEP, np.float32)
    scratch, column = np.empty((6, 4096), np.float32), np.empty(4096, np.uint32)
    for i in range(first, last):
        level = level_of[i]
        height, width = shapes[level]
        picture = pixels[starts[level] : starts[level] + height * width].reshape(height, width)
        cell = patches[i, 2] / CELLS
        histogram[:] = 0.0
        if steps[level] >= 1.0:
            stride = int(steps[level])
            _whole_samples(picture, patches[i, 0], patches[i, 1], cell, stride, histogram, scratch, column)
        else:
            _half_samples(
                picture, patches[i, 0], patches[i, 1], cell, steps[level], histogram, scratch, column
            )
        _fold(histogram, out[i])


@njit(cache=True, nogil=True)
def _limits(centre, cell, step, length):  # type: ignore[no-untyped-def]
    """Equal to ``reference.sift._samples``."""
    low = math.floor((centre - REACH * cell) / step) + 1
    high = math.ceil((centre + REACH * cell) / step) - 1
    return max(low, 1), min(high, int((length - 1) / step) - 1) + 1


@njit(cache=True, nogil=True, fastmath=FAST)
def _prepare_columns(low, n, x, cell, step, scratch, column):  # type: ignore[no-untyped-def]
    """Fill the values common to all rows: the Gaussian weight, the share of the right cell, the cell."""
    for k in range(n):
        u = ((low + k) * step - x) / cell
        scratch[4, k] = math.exp(-u * u / (CELLS * CELLS / 2))
        cells = min(int(u + REACH), CELLS)  # not beyond the border cell after rounding
        scratch[5, k] = u + REACH - cells
        column[k] = cells * DEEP


@njit(cache=True, nogil=True, fastmath=FAST)
def _whole_samples(picture, x, y, cell, stride, histogram, scratch, column):  # type: ignore[no-untyped-def]
    low_i, high_i = _limits(x, cell, float(stride), picture.shape[1])
    low_j, high_j = _limits(y, cell, float(stride), picture.shape[0])
    n = high_i - low_i
    if n <= 0:
        return
    _prepare_columns(low_i, n, x, cell, float(stride), scratch, column)
    start = low_i * stride
    for j in range(low_j * stride, high_j * stride, stride):
        here, above, below = picture[j], picture[j - 1], picture[j + 1]
        for k in range(n):
            i = start + k * stride
            scratch[0, k] = here[i + 1] - here[i - 1]
            scratch[1, k] = above[i] - below[i]
        _add_row(n, (j - y) / cell, histogram, scratch, column)


@njit(cache=True, nogil=True, fastmath=FAST)
def _between(picture, x, y):  # type: ignore[no-untyped-def]
    """Equal to ``reference.sift._at``."""
    i, j = int(x), int(y)
    a, b = x - i, y - j
    right, below = min(i + 1, picture.shape[1] - 1), min(j + 1, picture.shape[0] - 1)
    upper = (1 - a) * picture[j, i] + a * picture[j, right]
    lower = (1 - a) * picture[below, i] + a * picture[below, right]
    return (1 - b) * upper + b * lower


@njit(cache=True, nogil=True, fastmath=FAST)
def _half_samples(picture, x, y, cell, step, histogram, scratch, column):  # type: ignore[no-untyped-def]
    low_i, high_i = _limits(x, cell, step, picture.shape[1])
    low_j, high_j = _limits(y, cell, step, picture.shape[0])
    n = high_i - low_i
    if n <= 0:
        return
    _prepare_columns(low_i, n, x, cell, step, scratch, column)
    for j in range(low_j, high_j):
        v = j * step
        for k in range(n):
            h = (low_i + k) * step
            scratch[0, k] = _between(picture, h + step, v) - _between(picture, h - step, v)
            scratch[1, k] = _between(picture, h, v - step) - _between(picture, h, v + step)
        _add_row(n, (v - y) / cell, histogram, scratch, column)


@njit(cache=True, nogil=True, fastmath=FAST)
def _turns(across, up, n, angle):  # type: ignore[no-untyped-def]
    """Equal to ``angle = arctan2(up, across) / 2π · 8 % 8`` to 1e-5 of a bin, without a branch."""
    for k in range(n):
        x, y = across[k], up[k]
        ax, ay = abs(x), abs(y)
        small, large = min(ax, ay), max(ax, ay)
        t = small / (large + np.float32(1e-30))
        s = t * t
        # arctan(t)/(2π)·8 on [0, 1]: an odd polynomial fitted to an error of 3e-7.
        a = t * (
            np.float32(1.27323459)
            + s * (np.float32(-0.4242099)
            + s * (np.float32(0.25220089)
            + s * (np.float32(-0.16849197)
            + s * (np.float32(0.1013797)
            + s * (np.float32(-0.04278597) + s * np.float32(0.00867296))))))
        )  # fmt: skip
        a = np.float32(2.0) - a if ay > ax else a
        a = np.float32(4.0) - a if x < 0 else a
        angle[k] = np.float32(8.0) - a if y < 0 else a


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_row(n, v, histogram, scratch, column):  # type: ignore[no-untyped-def]
    """Distribute one row of gradients over cells and orientations."""
    across, up, weight, angle, bell, share = scratch
    side = np.float32(math.exp(-v * v / (CELLS * CELLS / 2)))
    for k in range(n):
        square = across[k] * across[k] + up[k] * up[k]
        weight[k] = math.sqrt(square) * bell[k] * side if square > FAINT * FAINT else np.float32(0.0)
    _turns(across, up, n, angle)
    row = v + REACH
    cells = min(int(row), CELLS)
    lower = np.float32(row - cells)
    first = histogram[cells * WIDE * DEEP : (cells + 1) * WIDE * DEEP]
    second = histogram[(cells + 1) * WIDE * DEEP : (cells + 2) * WIDE * DEEP]
    for k in range(n):
        o = np.uint32(angle[k])
        turn, right = angle[k] - np.float32(o), share[k]
        at = column[k] + o
        w1 = weight[k] * lower
        w0 = weight[k] - w1
        w01, w11 = w0 * right, w1 * right
        w00, w10 = w0 - w01, w1 - w11
        first[at] += w00 - w00 * turn
        first[at + np.uint32(1)] += w00 * turn
        first[at + np.uint32(DEEP)] += w01 - w01 * turn
        first[at + np.uint32(DEEP + 1)] += w01 * turn
        second[at] += w10 - w10 * turn
        second[at + np.uint32(1)] += w10 * turn
        second[at + np.uint32(DEEP)] += w11 - w11 * turn
        second[at + np.uint32(DEEP + 1)] += w11 * turn


@njit(cache=True, nogil=True, fastmath=FAST)
def _fold(histogram, vector):  # type: ignore[no-untyped-def]
    """Drop the border, fold the orientations, normalise, clip, and normalise again."""
    norm = 0.0
    for r in range(CELLS):
        for c in range(CELLS):
            at = ((r + 1) * WIDE + c + 1) * DEEP
            histogram[at] += histogram[at + ORIENTATIONS]
            histogram[at + 1] += histogram[at + ORIENTATIONS + 1]
            for o in range(ORIENTATIONS):
                value = histogram[at + o]
                vector[(r * CELLS + c) * ORIENTATIONS + o] = value
                norm += value * value
    if norm == 0.0:
        return
    top = CLIP * math.sqrt(norm)
    norm = 0.0
    for k in range(len(vector)):
        vector[k] = min(vector[k], top)
        norm += vector[k] * vector[k]
    for k in range(len(vector)):
        vector[k] /= math.sqrt(norm)
