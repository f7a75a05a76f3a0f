"""A small copy of a picture and its superpixels, each connected, with the features segmenters compare."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled.segmentation import find_borders
from tagmix.kernels.compiled.superpixels import assign_pixels, join_small, label_pieces, region_sums
from tagmix.kernels.reference.superpixels import Labels, Planes

RGB: TypeAlias = NDArray[np.uint8]

# 160 × 120: regions of a hundredth of the picture still have 200 pixels, and a border moves at most
# two pixels of a 640 × 480 picture
WORKING_PIXELS = 19_200
SUPERPIXELS = 150
COMPACTNESS = 10.0
SWEEPS = 3
# Both in widths of a superpixel. The blur takes away noise of single pixels and leaves edges; texture is
# looked for within a superpixel, not across the border to the next
BLUR = 0.053
TEXTURE_REACH = 0.4
DIAGONAL = np.float32(math.sqrt(0.5))
# On a log scale, because contrast depends on the light; times this, differences are about those in Lab
TEXTURE_SCALE = 10.0
# Pieces below this share of an average superpixel are leftovers of the assignment, not superpixels
LEAST_PIECE = 0.25


class WorkingPicture(NamedTuple):
    """A picture at working size: planes of Lab and of texture, and the height of contours."""

    colour: Planes
    texture: Planes
    contour: Planes

    @property
    def shape(self) -> tuple[int, int]:
        """Return height and width."""
        return self.contour.shape[0], self.contour.shape[1]


class Superpixels(NamedTuple):
    """Superpixels with their means, and the borders between them."""

    labels: Labels
    areas: Floats
    places: Floats
    colours: Floats
    textures: Floats
    first: Ints
    second: Ints
    lengths: Floats
    contours: Floats


def working_size(height: int, width: int) -> tuple[int, int]:
    """Return the size at which a picture is cut; small pictures are not enlarged.

    >>> working_size(480, 640), working_size(5, 7)
    ((120, 160), (5, 7))
    """
    scale = min(1.0, math.sqrt(WORKING_PIXELS / (height * width)))
    return max(1, round(height * scale)), max(1, round(width * scale))


def superpixel_side(height: int, width: int) -> float:
    """Return the width that superpixels have on average."""
    return max(1.0, math.sqrt(height * width / SUPERPIXELS))


def prepare(pixels: RGB) -> WorkingPicture:
    """Return the picture at working size in Lab, where equal distances look about equally different.

    Texture is the mean of gradients in four directions around a pixel; contour is the gradient of all three
    channels together.
    """
    height, width = working_size(*pixels.shape[:2])
    small = cv2.resize(np.ascontiguousarray(pixels), (width, height), interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small.astype(np.float32) / np.float32(255), cv2.COLOR_RGB2LAB)
    side = superpixel_side(height, width)
    colour = _stacked(cv2.split(cv2.GaussianBlur(lab, (0, 0), BLUR * side)))
    squares = np.zeros((height, width), np.float32)
    for plane in colour:
        for step in _gradient(plane):
            squares += step * step
    x, y = _gradient(colour[0])
    directions = (x, y, (x + y) * DIAGONAL, (x - y) * DIAGONAL)
    reach = int(TEXTURE_REACH * side)
    window = 2 * reach + 1, 2 * reach + 1
    # Superpixels of a pixel or two have edges, no texture
    texture = _stacked([cv2.blur(np.abs(step), window) * np.float32(reach > 0) for step in directions])
    return WorkingPicture(colour, texture, np.sqrt(squares))


def _stacked(planes: Sequence[NDArray[Any]]) -> Planes:
    return np.stack(planes).astype(np.float32, copy=False)


def _gradient(plane: Planes) -> tuple[Planes, Planes]:
    """Return the rise to the right and the rise downwards, twice what a ramp has a pixel."""
    across, down = (cv2.Sobel(plane, cv2.CV_32F, *d, scale=0.25) for d in ((1, 0), (0, 1)))
    return np.asarray(across, np.float32), np.asarray(down, np.float32)


def cut_superpixels(canvas: WorkingPicture) -> Superpixels:
    """Return about ``SUPERPIXELS`` connected superpixels of alike pixels."""
    height, width = canvas.shape
    step = superpixel_side(height, width)
    labels = label_pieces(assign_pixels(canvas.colour, step, COMPACTNESS, SWEEPS))
    labels = _absorb_small(labels, canvas, LEAST_PIECE * step * step)
    return measure(labels, canvas)


def measure(labels: Labels, canvas: WorkingPicture) -> Superpixels:
    """Return the regions 0 … n − 1 of the canvas with their means and borders."""
    n = int(labels.max()) + 1
    sums = region_sums(labels, np.concatenate([canvas.colour, canvas.texture]), n)
    means = sums / sums[:, :1]
    return Superpixels(
        labels,
        sums[:, 0].copy(),
        means[:, 1:3].copy(),
        means[:, 3:6].copy(),
        TEXTURE_SCALE * np.log1p(means[:, 6:]),
        *find_borders(labels, canvas.contour, n),
    )


def _absorb_small(labels: Labels, canvas: WorkingPicture, least: float) -> Labels:
    """Join every piece below ``least`` pixels to its most similar neighbour until none is left."""
    n = int(labels.max()) + 1
    sums = region_sums(labels, canvas.colour, n)
    first, second, _, _ = find_borders(labels, canvas.contour, n)
    numbers = np.arange(n, dtype=np.int32)
    while len(sums) > 1 and (sums[:, 0] < least).any():
        joined = join_small(sums[:, 0] < least, sums[:, 3:] / sums[:, :1], first, second)
        numbers = joined[numbers]
        # Pieces, not pixels, are summed again: there are a hundred times fewer
        sums = np.stack([np.bincount(joined, column) for column in sums.T], axis=1)
        apart = joined[first] != joined[second]
        first, second = joined[first[apart]].astype(np.int64), joined[second[apart]].astype(np.int64)
    return numbers[labels]
