"""Colour words of patches: mean and spread in Lab, where equal distances look equal."""

from dataclasses import dataclass
from typing import Any, ClassVar

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats
from tagmix.images.cache import Arrays
from tagmix.images.picture import SampledPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import Vocabularies, WordView

COLOUR = "colour"
# The spread carries less information than the mean: half its weight.
SPREAD_WEIGHT = 0.5


@dataclass(frozen=True)
class Colour(WordView):
    """Colour words of patches."""

    name: ClassVar[str] = COLOUR
    regions: ClassVar[tuple[str, ...]] = (COLOUR,)
    dimensions: ClassVar[int] = 6

    n_colours: int = setting(200, paper=0, low=0, option="--colours", help="Colour words; 0 for none.")

    @property
    def on(self) -> bool:
        """Whether there are colour words."""
        return self.n_colours > 0

    @property
    def size(self) -> int:
        """The number of words to learn."""
        return self.n_colours

    def key(self) -> str:
        """Return the same key for every number of words: the vocabulary is part of the cache key."""
        return COLOUR

    def examples(self, picture: SampledPicture) -> NDArray[np.float32]:
        """Return the colours of patches."""
        return patch_colours(picture.pixels, picture.patches)

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the colour word of each patch."""
        return {COLOUR: words[COLOUR].words_of(self.examples(picture))}


def patch_colours(pixels: NDArray[np.uint8], patches: Floats) -> NDArray[np.float32]:
    """Return mean and half the standard deviation of L, a, b in each patch, patches × 6.

    Sums over squares come from running totals (integral images), so the cost does not follow the
    patches' sizes.
    """
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB)
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
