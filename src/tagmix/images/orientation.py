"""The eight ways that stored pixels are turned and mirrored (EXIF and TIFF, 1 to 8)."""

from functools import cache
from typing import Any

import numpy as np
from PIL import Image

UPRIGHT = 1
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def is_orientation(value: Any) -> bool:
    """Return whether a value is one of the eight."""
    return type(value) is int and 1 <= value <= 8


def is_sideways(orientation: int) -> bool:
    """Return whether width and height change places.

    >>> is_sideways(3), is_sideways(6)
    (False, True)
    """
    return orientation >= 5


def upright(image: Image.Image, orientation: int) -> Image.Image:
    """Return the picture that stored pixels of this orientation show."""
    turn = TURNS.get(orientation)
    return image if turn is None else image.transpose(turn)


def inverse(orientation: int) -> int:
    """Return the orientation that undoes one.

    >>> [inverse(n) for n in (1, 2, 6, 8)]
    [1, 2, 8, 6]
    """
    return {6: 8, 8: 6}.get(orientation, orientation)


def combined(first: int, second: int) -> int:
    """Return the orientation of turning by one, then by another.

    >>> combined(6, 6), combined(6, 8), combined(2, 6)
    (3, 1, 7)
    """
    return _table()[first, second]


@cache
def _table() -> dict[tuple[int, int], int]:
    """Try every pair on a picture of four different pixels, which no two orientations turn alike."""
    corners = Image.fromarray(np.arange(4, dtype=np.uint8).reshape(2, 2))
    shown = {upright(corners, n).tobytes(): n for n in range(1, 9)}
    return {
        (a, b): shown[upright(upright(corners, a), b).tobytes()] for a in range(1, 9) for b in range(1, 9)
    }
