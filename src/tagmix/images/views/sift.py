"""SIFT words of random patches: the scale space, the descriptors, and the view."""

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints
from tagmix.images.cache import Arrays
from tagmix.images.picture import SampledPicture
from tagmix.images.settings import setting
from tagmix.images.views.base import Vocabularies, WordView
from tagmix.kernels.compiled import sift as compiled

SIGMA_PER_SIDE = 1 / 12  # a cell is a quarter of the side and three σ wide
NOMINAL = 0.5  # the smoothing that a camera's picture already has (Lowe)
FINEST = 0.8  # σ of the finest level: half of 1.6, as where the picture is doubled first (Lowe)
PER_OCTAVE = 3
FIRST_HALVED = 5  # the first level on half of the pixels: σ = 2.5 of the picture's
COARSE = 2.0  # σ in pixels from which every second sample is enough
WINDOW = 3.5  # σ that a smoothing kernel reaches
IN_A_MIRROR = (4 - np.arange(8)) % 8  # a gradient to the right points to the left there; up stays up
DIMENSIONS = 128


@dataclass(frozen=True)
class Sift(WordView):
    """SIFT words of patches; the view of the paper.

    ``mirrored`` counts, beside the word of a patch, that of its mirror image: a mirrored photo shows the same
    things. ``nearest`` is how many words a patch counts: with more than one, patches that look alike on two
    sides of a border between words still share some.
    """

    name: ClassVar[str] = "sift"
    regions: ClassVar[tuple[str, ...]] = ("sift",)
    dimensions: ClassVar[int] = DIMENSIONS

    n_words: int = setting(1000, low=1, option="--words", help="SIFT words.")
    mirrored: bool = setting(
        True, paper=False, option="--mirrored",
        help="Also count the SIFT word of each patch's mirror image, so that it does not matter which way "
        "things face.",
    )  # fmt: skip
    nearest: int = setting(
        3,
        paper=1,
        low=1,
        high=10,
        option="--nearest",
        help="Number of nearest SIFT words counted per patch.",
    )

    @property
    def size(self) -> int:
        """The number of words to learn."""
        return self.n_words

    def key(self) -> str:
        """Return what the words follow from, besides the vocabulary."""
        return f"sift {self.mirrored} {self.nearest}"

    def learning_key(self) -> str:
        """Return whether every second example is mirrored."""
        return f"sift {self.mirrored}"

    def examples(self, picture: SampledPicture) -> NDArray[np.float32]:
        """Return the descriptors of patches; if mirrored, every second one is that of the mirror image."""
        sift = describe_patches(picture.grey, picture.patches)
        if self.mirrored:
            sift[1::2] = mirror(sift[1::2])
        return sift

    def words_per_patch(self, n_words: int) -> int:
        """Return the nearest words of the patch and of its mirror image."""
        return min(self.nearest, n_words) * (2 if self.mirrored else 1)

    def describe(self, picture: SampledPicture, words: Vocabularies) -> Arrays:
        """Return the words of the patches, then of the mirror images; then the second nearest, and so on."""
        sift = describe_patches(picture.grey, picture.patches)
        both = np.vstack([sift, mirror(sift)]) if self.mirrored else sift
        return {self.name: words[self.name].words_of(both, self.nearest)}


class ScaleSpace(NamedTuple):
    """Smoothed pictures one after the other, as the kernel reads them; level l has σ = .8 · 2^(l/3)."""

    pixels: NDArray[np.float32]
    starts: Ints
    shapes: Ints
    steps: Floats
    shrink: Floats


def level_of(sides: Floats) -> Ints:
    """Return the level whose σ is nearest to side/12, in ratio; tiny patches take the finest.

    >>> level_of(np.array([5.0, 9.6, 19.2, 38.4])).tolist()
    [0, 0, 3, 6]
    """
    return np.maximum(0, np.rint(PER_OCTAVE * np.log2(sides * SIGMA_PER_SIDE / FINEST))).astype(np.int64)


def scale_space(grey: NDArray[Any], n_levels: int) -> ScaleSpace:
    """Return the first levels, each smoothed from the one before; σ is 0.8 to 2.1 of a level's own pixels.

    A level of σ = 2 pixels is smooth enough to leave out every second one before it is smoothed on.
    """
    image, sigma = grey.astype(np.float32), NOMINAL
    levels: list[NDArray[np.float32]] = []
    for level in range(n_levels):
        if level >= FIRST_HALVED and (level - FIRST_HALVED) % PER_OCTAVE == 0:
            image = np.ascontiguousarray(image[::2, ::2])
        image = _blur(image, sigma / shrink_of(level), sigma_of(level) / shrink_of(level))
        sigma = sigma_of(level)
        levels.append(image)
    sizes = [image.size for image in levels]
    return ScaleSpace(
        np.concatenate([level.ravel() for level in levels]),
        np.cumsum([0, *sizes[:-1]]).astype(np.int64),
        np.array([level.shape for level in levels], dtype=np.int64),
        np.array([_step_of(level) for level in range(n_levels)]),
        np.array([shrink_of(level) for level in range(n_levels)]),
    )


def shrink_of(level: int) -> float:
    """Return how many pixels of the picture a pixel of the level is wide."""
    return 2.0 ** max(0, (level - FIRST_HALVED + PER_OCTAVE) // PER_OCTAVE)


def _step_of(level: int) -> float:
    """Return how far apart a level's samples are, in its own pixels: about σ, and never below ½."""
    if level == 0:
        return 0.5
    return 2.0 if sigma_of(level) / shrink_of(level) >= COARSE else 1.0


def sigma_of(level: int) -> float:
    """Return σ of a level in pixels of the picture."""
    return FINEST * 2.0 ** (level / PER_OCTAVE)


def _blur(image: NDArray[np.float32], have: float, want: float) -> NDArray[np.float32]:
    if want <= have:
        return image
    sigma = math.sqrt(want * want - have * have)
    size = 2 * math.ceil(WINDOW * sigma) + 1
    blurred = cv2.GaussianBlur(image, (size, size), sigma, borderType=cv2.BORDER_REFLECT_101)
    return np.asarray(blurred, dtype=np.float32)


def describe_patches(
    grey: NDArray[Any], patches: Floats, kernels: ModuleType = compiled
) -> NDArray[np.float32]:
    """Return unit SIFT vectors, patches × 128, of patches (x, y of the centre, side) of a grey picture.

    Upright, because photos are. A flat patch has the vector 0.
    """
    out = np.zeros((len(patches), DIMENSIONS), dtype=np.float32)
    if not len(patches):
        return out
    levels = level_of(patches[:, 2])
    space = scale_space(grey, int(levels.max()) + 1)
    scaled = patches / space.shrink[levels][:, None]
    order = np.argsort(levels, kind="stable")  # neighbours in memory, neighbours in time
    found = np.zeros_like(out)
    kernels.describe_patches(
        space.pixels, space.starts, space.shapes, space.steps, levels[order], scaled[order], found
    )
    out[order] = found
    return out


def mirror(sift: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors that these patches have in a mirror, where left is right: the same numbers moved.

    >>> picture = np.random.default_rng(0).random((40, 65))
    >>> here, there = describe_patches(picture, np.array([[20.0, 18, 30]])), np.array([[64 - 20.0, 18, 30]])
    >>> bool(np.allclose(mirror(here), describe_patches(picture[:, ::-1], there), atol=1e-5))
    True
    """
    return sift.reshape(-1, 4, 4, 8)[:, :, ::-1, IN_A_MIRROR].reshape(-1, DIMENSIONS)
