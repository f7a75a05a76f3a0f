"""One picture from pixels to words: regions, random patches, what these look like, their nearest words."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats
from tagmix.errors import ParameterError
from tagmix.images.colour import patch_colours
from tagmix.images.decode import decode
from tagmix.images.network import Features
from tagmix.images.patches import content_key, patch_generator, random_patches
from tagmix.images.segment import SEGMENTERS, segment
from tagmix.images.sift import describe_patches, mirror
from tagmix.images.vocabulary import Vocabulary
from tagmix.kernels.compiled.segmentation import region_boxes

# Places are counted on a grid: what a region is follows its height in the picture more than its side.
PLACE_ROWS, PLACE_COLUMNS = 8, 4
PLACES = PLACE_ROWS * PLACE_COLUMNS
# Fields that recipes have not always had, and what they were then.
ADDED: dict[str, bool | int] = {"mirrored": False, "layout": False, "nearest": 1}
# What a recipe may ask for; a file from a stranger may ask for anything.
LIMITS = {
    "n_patches": (1, 20_000),
    "n_regions": (1, 1000),
    "max_side": (1, 2048),
    "seed": (0, 2**32 - 1),
    "nearest": (1, 10),
}


@dataclass(frozen=True)
class Recipe:
    """How a picture is described; the defaults are the paper's, on pictures of at most 640 pixels.

    ``largest_patch`` is the side of the largest patch as a share of √(width × height): at 0.5 it covers a
    quarter of the picture. ``places`` adds words for where a patch lies. ``mirrored`` counts, beside the
    SIFT word of a patch, that of its mirror image: a photo looked at in a mirror shows the same things.
    ``layout`` adds a view of the whole picture: which colours lie high, in the middle and low. ``nearest`` is
    how many SIFT words a patch counts: with more than one, patches that look alike on two sides of a border
    between words still share some.
    """

    n_patches: int = 1000
    segmenter: str = "ncuts"
    n_regions: int = 10
    max_side: int = 640
    seed: int = 0
    largest_patch: float = 0.5
    places: bool = False
    mirrored: bool = False
    layout: bool = False
    nearest: int = 1

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ParameterError(
                    f"{name} must be a whole number from {low:,} to {high:,}, got {value!r:.60}: change it."
                )
        if self.segmenter not in SEGMENTERS:
            known = ", ".join(SEGMENTERS)
            raise ParameterError(f"segmenter must be one of {known}, got {self.segmenter!r:.60}: pick one.")
        if not isinstance(self.largest_patch, float | int) or not 0 < self.largest_patch <= 1:
            raise ParameterError(
                f"largest_patch must be a share above 0 and up to 1, got {self.largest_patch!r:.60}: 0.5 is "
                "the paper's, 0.125 tells small regions apart."
            )
        for name in ("places", "mirrored", "layout"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ParameterError(f"{name} must be True or False, got {value!r:.60}: choose one.")

    def __repr__(self) -> str:
        """Name every field, but those added later only if they changed: what was kept before still fits.

        >>> Recipe(places=True, mirrored=True)  # doctest: +ELLIPSIS
        Recipe(n_patches=1000, ..., places=True, mirrored=True)
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = {name: value for name, value in values.items() if name not in ADDED or value != ADDED[name]}
        return f"Recipe({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


Cut: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.integer]]


class Sketch(NamedTuple):
    """A picture before words: patches (x, y, side), their SIFT, colour and place, and their regions.

    If the recipe is mirrored, the SIFT of their mirror images follows that of the patches, in the same order.
    ``boxes`` has x, y, width, height and area of each region, as shares of the picture.
    """

    patches: Floats
    sift: NDArray[np.float32]
    colour: NDArray[np.float32]
    place: NDArray[np.int64]
    region: NDArray[np.int64]
    boxes: NDArray[np.float32]


class Words(NamedTuple):
    """A picture in words: the word of each patch by view, its region, and the regions' boxes.

    If the recipe is mirrored, the SIFT words of the mirror images follow those of the patches, in the same
    order; then the second nearest words of both, and so on. Colour, place and region are once a patch.
    ``features`` is what a network makes of the picture, if there is one.
    """

    sift: NDArray[np.integer]
    colour: NDArray[np.integer]
    place: NDArray[np.integer]
    region: NDArray[np.integer]
    boxes: NDArray[np.float32]
    features: Features | None = None

    @property
    def n_regions(self) -> int:
        """The number of regions."""
        return len(self.boxes)

    def place_of(self, region: int) -> tuple[tuple[float, float, float, float], float]:
        """Return a region's box (x, y, width, height) and its area, as shares of the picture."""
        x, y, width, height, area = self.boxes[region].tolist()
        return (x, y, width, height), area


class Vocabularies(NamedTuple):
    """The words of each view; ``colour`` None leaves colour out."""

    sift: Vocabulary
    colour: Vocabulary | None


def cut(content: bytes, recipe: Recipe) -> Cut:
    """Return a picture at the size it is described at, and the region of each pixel."""
    image = decode(content, max_side=recipe.max_side)
    return image, segment(image, method=recipe.segmenter, n_regions=recipe.n_regions)


def sketch(content: bytes, recipe: Recipe, seen: Cut | None = None) -> Sketch:
    """Return what a picture's patches look like and where they lie; ``seen`` is what ``cut`` gave."""
    image, labels = seen or cut(content, recipe)
    height, width = image.shape[:2]
    rng = patch_generator(content_key(content), recipe.seed)
    patches = random_patches(height, width, recipe.n_patches, rng, recipe.largest_patch)
    column = np.clip(np.rint(patches[:, 0]).astype(np.int64), 0, width - 1)
    row = np.clip(np.rint(patches[:, 1]).astype(np.int64), 0, height - 1)
    sift = describe_patches(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), patches)
    return Sketch(
        patches,
        np.vstack([sift, mirror(sift)]) if recipe.mirrored else sift,
        patch_colours(image, patches),
        row * PLACE_ROWS // height * PLACE_COLUMNS + column * PLACE_COLUMNS // width,
        labels[row, column].astype(np.int64),
        _boxes(labels),
    )


def words_of(found: Sketch, vocabularies: Vocabularies, nearest: int = 1) -> Words:
    """Return the nearest words of each patch, and of each mirror image if there are any."""
    colour = vocabularies.colour
    return Words(
        vocabularies.sift.words_of(found.sift, nearest),
        np.zeros(0, dtype=np.int64) if colour is None else colour.words_of(found.colour),
        found.place,
        found.region,
        found.boxes,
    )


def _boxes(labels: NDArray[Any]) -> NDArray[np.float32]:
    """Return x, y, width, height and area of each region, as shares of the picture.

    >>> _boxes(np.array([[0, 0, 1, 1], [0, 0, 0, 1]])).round(3).tolist()
    [[0.0, 0.0, 0.75, 1.0, 0.625], [0.5, 0.0, 0.5, 1.0, 0.375]]
    """
    height, width = labels.shape
    left, top, right, bottom, area = region_boxes(labels, int(labels.max()) + 1).T
    sides = ((right - left) / width, (bottom - top) / height)
    return np.stack([left / width, top / height, *sides, area / labels.size], axis=1).astype(np.float32)
