"""One picture on its way to words: its regions, the patches sampled from it, and their visual words."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints
from tagmix.images.cache import Arrays
from tagmix.images.decode import decode
from tagmix.images.patches import content_key, patch_generator, random_patches
from tagmix.images.polygons import NO_RINGS, Polygon, Rings
from tagmix.images.segment import SEGMENTERS, segment
from tagmix.images.settings import check_settings, setting, settings_of
from tagmix.kernels.compiled.segmentation import region_boxes


@dataclass(frozen=True)
class Sampling:
    """How pictures are cut into regions and sampled by patches.

    ``largest_patch`` is the side of the largest patch as a share of √(width × height): at 0.5, the paper's,
    it covers a quarter of the picture. ``max_side`` is the longer side, in pixels, that pictures are shrunk
    to.
    """

    n_patches: int = setting(1000, low=1, high=20_000, option="--patches", help="Random patches per picture.")
    largest_patch: float = setting(
        0.125, paper=0.5, share=True, option="--largest-patch",
        help="Side of the largest patch, as a share of √(width × height): small patches show detail; the "
        "paper has 0.5.",
    )  # fmt: skip
    segmenter: str = setting(
        "ncuts", choices=tuple(SEGMENTERS), option="--segmenter", help="How pictures are cut into regions."
    )
    n_regions: int = setting(40, paper=10, low=1, high=1000, option="--regions", help="Regions per picture.")
    max_side: int = setting(640, low=1, high=2048)
    seed: int = setting(0, low=0, high=2**32 - 1, option="--seed", help="Seed of everything random.")

    def __post_init__(self) -> None:
        check_settings(self)

    def region_key(self) -> str:
        """Return the part of a cache key that the regions of a picture follow from."""
        return repr((self.segmenter, self.n_regions, self.max_side))

    def patch_key(self) -> str:
        """Return the part of a cache key that the patches of a picture follow from."""
        return repr([(name, getattr(self, name)) for name in settings_of(Sampling)])


class Segmentation(NamedTuple):
    """A picture at the size it is described at, and the region of each pixel."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.integer]


class SampledPicture(NamedTuple):
    """A picture, its regions and its patches (x, y of the centre, side), before any word.

    ``row`` and ``column`` are the pixel in the middle of each patch and ``region`` is the region of that
    pixel. ``boxes`` has x, y, width, height and area of each region, as shares of the picture.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.integer]
    patches: Floats
    row: Ints
    column: Ints
    region: Ints
    boxes: NDArray[np.float32]

    @property
    def grey(self) -> NDArray[np.uint8]:
        """The picture in grey."""
        return np.asarray(cv2.cvtColor(self.pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)

    def first(self, n: int) -> "SampledPicture":
        """Return the picture with its first n patches only."""
        return self._replace(
            patches=self.patches[:n], row=self.row[:n], column=self.column[:n], region=self.region[:n]
        )


class QuantisedPicture(NamedTuple):
    """A picture in numbers: the arrays of its views by name, and the regions' boxes and outlines.

    ``region`` is the region of each patch. An array of words has one word per patch, or one after the other
    the words of all patches, of their mirror images, the second nearest of all, and so on. ``reused`` is
    whether everything came from the cache.
    """

    region: NDArray[np.integer]
    boxes: NDArray[np.float32]
    arrays: Arrays
    reused: bool = False
    rings: Rings = NO_RINGS

    @property
    def n_regions(self) -> int:
        """The number of regions."""
        return len(self.boxes)

    def box_of(self, region: int) -> tuple[tuple[float, float, float, float], float]:
        """Return a region's box (x, y, width, height) and its area, as shares of the picture."""
        x, y, width, height, area = self.boxes[region].tolist()
        return (x, y, width, height), area

    def polygons_of(self, region: int) -> tuple[Polygon, ...]:
        """Return a region's outline as polygons of rings, the outer ring first, as shares of the picture."""
        return self.rings.polygons(region)


def segment_picture(content: bytes, sampling: Sampling, orientation: int | None = None) -> Segmentation:
    """Return a picture at the size it is described at, and the region of each pixel.

    ``orientation`` counts instead of the file's own.
    """
    pixels = decode(content, max_side=sampling.max_side, orientation=orientation)
    return Segmentation(pixels, segment(pixels, method=sampling.segmenter, n_regions=sampling.n_regions))


def sample_picture(content: bytes, sampling: Sampling, orientation: int | None = None) -> SampledPicture:
    """Return a picture with its regions and its random patches, which follow from its bytes and the seed."""
    pixels, labels = segment_picture(content, sampling, orientation)
    height, width = pixels.shape[:2]
    rng = patch_generator(content_key(content), sampling.seed)
    patches = random_patches(height, width, sampling.n_patches, rng, sampling.largest_patch)
    column = np.clip(np.rint(patches[:, 0]).astype(np.int64), 0, width - 1)
    row = np.clip(np.rint(patches[:, 1]).astype(np.int64), 0, height - 1)
    region = labels[row, column].astype(np.int64)
    return SampledPicture(pixels, labels, patches, row, column, region, _boxes(labels))


def _boxes(labels: NDArray[Any]) -> NDArray[np.float32]:
    """Return x, y, width, height and area of each region, as shares of the picture.

    >>> _boxes(np.array([[0, 0, 1, 1], [0, 0, 0, 1]])).round(3).tolist()
    [[0.0, 0.0, 0.75, 1.0, 0.625], [0.5, 0.0, 0.5, 1.0, 0.375]]
    """
    height, width = labels.shape
    left, top, right, bottom, area = region_boxes(labels, int(labels.max()) + 1).T
    sides = ((right - left) / width, (bottom - top) / height)
    return np.stack([left / width, top / height, *sides, area / labels.size], axis=1).astype(np.float32)
