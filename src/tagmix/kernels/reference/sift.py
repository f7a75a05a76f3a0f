"""SIFT of upright square patches, patch by patch: the definition.

A patch of side s has 4×4 cells of s/4 and is described in the picture smoothed with σ = s/12 (a cell is
three σ wide). Gradients at the samples of the scale's octave are weighted by a Gaussian of half the
patch's side and distributed to the neighbouring cells and orientations by linear interpolation.
"""

import numpy as np

from tagmix.arrays import Floats, Ints

CELLS, ORIENTATIONS = 4, 8
CLIP = 0.2  # Lowe: the largest share of one gradient direction
FAINT = 1e-3  # grey levels: smaller differences are rounding of the smoothed picture, not a gradient
REACH = CELLS / 2 + 0.5  # samples up to half a cell outside the patch contribute to the outer cells


def describe_patches(
    pixels: Floats, starts: Ints, shapes: Ints, steps: Floats, level_of: Ints, patches: Floats, out: Floats
) -> None:
    """Fill ``out`` (patches × 128) with unit SIFT vectors; a patch without gradients stays 0.

    ``pixels`` holds the smoothed pictures one after the other: level l is ``shapes[l]`` from ``starts[l]``.
    Samples of a level are ``steps[l]`` of its own pixels apart: 1 or 2, or ½ with interpolation.
    Gradients are differences of adjacent samples.
    ``patches`` are (x, y, side) in pixels of their level.
    """
    for i, (x, y, side) in enumerate(patches):
        level = level_of[i]
        height, width = shapes[level]
        picture = pixels[starts[level] : starts[level] + height * width].reshape(height, width)
        out[i] = _unit(_histogram(picture, float(x), float(y), side / CELLS, float(steps[level])))


def _histogram(picture: Floats, x: float, y: float, cell: float, step: float) -> Floats:
    histogram = np.zeros((CELLS, CELLS, ORIENTATIONS))
    height, width = picture.shape
    for j in _samples(y, cell, step, height):
        for i in _samples(x, cell, step, width):
            v, u = (j * step - y) / cell, (i * step - x) / cell
            apart = min(step, 1.0)
            across = _at(picture, i * step + apart, j * step) - _at(picture, i * step - apart, j * step)
            up = _at(picture, i * step, j * step - apart) - _at(picture, i * step, j * step + apart)
            weight = (
                (np.hypot(across, up) > FAINT)
                * np.hypot(across, up)
                * np.exp(-(u * u + v * v) / (CELLS * CELLS / 2))
            )
            angle = np.arctan2(up, across) / (2 * np.pi) * ORIENTATIONS
            _share(histogram, v + REACH - 1, u + REACH - 1, angle, weight)
    return histogram.ravel()


def _samples(centre: float, cell: float, step: float, length: int) -> range:
    """Return the indices of the samples within reach that have neighbours on both sides."""
    low = int(np.floor((centre - REACH * cell) / step)) + 1
    high = int(np.ceil((centre + REACH * cell) / step)) - 1
    return range(max(low, 1), min(high, int((length - 1) / step) - 1) + 1)


def _at(picture: Floats, x: float, y: float) -> float:
    """Return the bilinearly interpolated value."""
    i, j = int(x), int(y)
    a, b = x - i, y - j
    right, below = min(i + 1, picture.shape[1] - 1), min(j + 1, picture.shape[0] - 1)
    upper = (1 - a) * picture[j, i] + a * picture[j, right]
    lower = (1 - a) * picture[below, i] + a * picture[below, right]
    return float((1 - b) * upper + b * lower)


def _share(histogram: Floats, row: float, column: float, angle: float, weight: float) -> None:
    """Distribute the weight to the two nearest rows, columns and orientations."""
    r, c, o = int(np.floor(row)), int(np.floor(column)), int(np.floor(angle))
    for dr, dc, do in np.ndindex(2, 2, 2):
        if 0 <= r + dr < CELLS and 0 <= c + dc < CELLS:
            nearness = abs(1 - dr - (row - r)) * abs(1 - dc - (column - c)) * abs(1 - do - (angle - o))
            histogram[r + dr, c + dc, (o + do) % ORIENTATIONS] += weight * nearness


def _unit(histogram: Floats) -> Floats:
    norm = np.linalg.norm(histogram)
    if norm == 0:
        return histogram
    clipped = np.minimum(histogram / norm, CLIP)
    return clipped / np.linalg.norm(clipped)
