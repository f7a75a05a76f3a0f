"""Cut a picture of any size into a few connected regions, deterministically."""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tagmix.arrays import Floats
from tagmix.errors import ImageError, ParameterError
from tagmix.images.ncuts import cut_normalised
from tagmix.images.region_graph import merge_superpixels, tidy
from tagmix.images.superpixels import RGB, WorkingPicture, prepare
from tagmix.kernels.compiled.segmentation import enlarge
from tagmix.kernels.compiled.superpixels import number_by_position
from tagmix.kernels.reference.superpixels import Labels

Segmenter: TypeAlias = Callable[[WorkingPicture, int], Labels]

OUTLINE = (255, 255, 0)


def cut_grid(canvas: WorkingPicture, n_regions: int) -> Labels:
    """Return at most ``n_regions`` equal rectangles, as nearly square and as many as can be."""
    height, width = canvas.shape

    def unlike(down: int) -> float:
        across = min(width, n_regions // down)
        return abs(math.log(height / down * across / width)) + (n_regions - down * across) / n_regions

    down = min(range(1, min(height, n_regions) + 1), key=unlike)
    across = min(width, n_regions // down)
    rows, columns = np.arange(height) * down // height, np.arange(width) * across // width
    return (rows[:, None] * across + columns).astype(np.int32)


SEGMENTERS: dict[str, Segmenter] = {
    "ncuts": cut_normalised,
    "grid": cut_grid,
    "graph": merge_superpixels,
}


def segment(pixels: RGB, method: str = "ncuts", n_regions: int = 10, min_share: float = 0.01) -> Labels:
    """Return the region of each pixel, 0 … k − 1 with k about ``n_regions`` and never more.

    Every region is connected through shared sides and covers at least ``min_share`` of the picture; regions
    are numbered by their first pixel in reading order. Methods are the keys of ``SEGMENTERS``. The cut is
    made on a small copy of the picture (see ``superpixels.WORKING_PIXELS``) and carried back.

    >>> picture = np.zeros((20, 30, 3), np.uint8)
    >>> picture[:, 10:] = 255
    >>> segment(picture, n_regions=2)[0, [0, 9, 10, 29]].tolist()
    [0, 0, 1, 1]
    """
    _check(pixels, method, n_regions, min_share)
    height, width = pixels.shape[:2]
    canvas = prepare(pixels)
    least = math.ceil(min_share * height * width)
    labels = SEGMENTERS[method](canvas, n_regions)
    labels = tidy(labels, canvas, _pixel_areas(canvas, height, width), n_regions, least)
    return number_by_position(enlarge(labels, height, width, max(1, least)))


def draw_regions(pixels: RGB, labels: Labels) -> RGB:
    """Return a copy of the picture with every pixel that touches another region in yellow."""
    if labels.shape != pixels.shape[:2]:
        raise ImageError(
            f"labels must have the size of the picture, {pixels.shape[:2]}, got {labels.shape}: "
            "pass those that segment returned for it."
        )
    drawn = pixels.copy()
    beside, below = labels[:, 1:] != labels[:, :-1], labels[1:] != labels[:-1]
    for part, edge in (
        (drawn[:, 1:], beside),
        (drawn[:, :-1], beside),
        (drawn[1:], below),
        (drawn[:-1], below),
    ):
        part[edge] = OUTLINE
    return drawn


def _pixel_areas(canvas: WorkingPicture, height: int, width: int) -> Floats:
    """Return how many pixels ``enlarge`` makes of each pixel of the canvas, before it rounds corners."""
    h, w = canvas.shape
    rows = np.bincount(((2 * np.arange(height) + 1) * h) // (2 * height), minlength=h)
    columns = np.bincount(((2 * np.arange(width) + 1) * w) // (2 * width), minlength=w)
    return np.outer(rows, columns).astype(np.float64)


def _check(pixels: RGB, method: str, n_regions: int, min_share: float) -> None:
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or pixels.size == 0:
        raise ImageError(
            f"a picture must be height × width × 3 bytes of RGB, got {pixels.dtype} of shape {pixels.shape}: "
            "decode it with tagmix.images.decode."
        )
    if method not in SEGMENTERS:
        raise ParameterError(
            f"method must be one of {', '.join(SEGMENTERS)}, got {method!r}: pick one of them."
        )
    if n_regions < 1:
        raise ParameterError(f"n_regions must be at least 1, got {n_regions}: 10 is usual.")
    if not 0 <= min_share <= 1:
        raise ParameterError(f"min_share must lie between 0 and 1, got {min_share}: 0.01 is usual.")
