"""Random patches of a picture; they depend on its bytes, not on its path."""

import hashlib
import math

import numpy as np

from tagmix.arrays import Floats

SMALLEST = 5.0  # the paper's smallest patch, in pixels


def content_key(content: bytes) -> bytes:
    """Return the digest that identifies a picture: of its bytes, never of its path."""
    return hashlib.sha256(content).digest()


def patch_generator(key: bytes, seed: int) -> np.random.Generator:
    """Return the generator that draws this picture's patches: the same for the same bytes and seed."""
    return np.random.default_rng([seed, *np.frombuffer(key, dtype=np.uint32).tolist()])


def random_patches(height: int, width: int, n: int, rng: np.random.Generator, largest: float = 0.5) -> Floats:
    """Return n square patches (x, y of the centre, side), sides uniform from 5 pixels to the largest.

    The largest has a side of ``largest`` × √(width × height), or as large as fits: at 0.5, the paper's, it
    covers a quarter of the picture. Every patch lies inside; in pictures too small for that it is the
    largest square there is.

    >>> patches = random_patches(100, 60, 1000, np.random.default_rng(0))
    >>> bool(patches[:, 2].min() >= 5 and patches[:, 2].max() <= 60**0.5 * 100**0.5 / 2)
    True
    """
    side = min(max(math.sqrt(height * width) * largest, SMALLEST), height, width)
    sides = rng.uniform(min(SMALLEST, side), side, n)
    x = rng.uniform(sides / 2, width - sides / 2)
    y = rng.uniform(sides / 2, height - sides / 2)
    # A pixel's own place is its centre: the picture reaches from −½ to width − ½.
    return np.stack([x - 0.5, y - 0.5, sides], axis=1)
