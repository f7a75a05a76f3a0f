"""Colours of patches: mean and spread in Lab, where equal distances look equal."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats

# Spread says less than the mean: half its weight.
SPREAD_WEIGHT = 0.5


def patch_colours(image: NDArray[np.uint8], patches: Floats) -> NDArray[np.float32]:
    """Return mean and half the standard deviation of L, a, b in each patch, patches × 6.

    Sums over squares come from running totals (integral images), so the cost does not follow the
    patches' sizes.
    """
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    height, width = lab.shape[:2]
    # Whole numbers are five times faster, and hold the sum of so many pixels; either way it is exact.
    depth = cv2.CV_32S if height * width * 255 < 2**31 else cv2.CV_64F
    total, squares = (np.asarray(table) for table in cv2.integral2(lab, sdepth=depth, sqdepth=cv2.CV_64F))
    x, y, half = patches[:, 0] + 0.5, patches[:, 1] + 0.5, patches[:, 2] / 2
    left, right = _span(x, half, width)
    top, bottom = _span(y, half, height)
    area = ((right - left) * (bottom - top))[:, None]

    def mean(table: Any) -> Any:
        return (table[bottom, right] - table[top, right] - table[bottom, left] + table[top, left]) / area

    centre = mean(total)
    spread = np.sqrt(np.maximum(mean(squares) - centre * centre, 0.0))
    return (np.hstack([centre, SPREAD_WEIGHT * spread]) / 255).astype(np.float32)


def _span(centre: Floats, half: Floats, length: int) -> tuple[Any, Any]:
    """Return the whole pixels that a patch covers along one side; at least one."""
    low = np.clip(np.floor(centre - half + 0.5).astype(np.int64), 0, length - 1)
    high = np.clip(np.floor(centre + half + 0.5).astype(np.int64), low + 1, length)
    return low, high
