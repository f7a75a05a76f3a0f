"""The tags of the album and their mask values."""

from __future__ import annotations

from typing import Final

SURFACES: Final = (
    "sky", "cloud", "sun", "moon", "sea", "lake", "river", "snow", "mountain", "forest",
    "grass", "field", "sand", "rock", "road",
)  # fmt: skip
THINGS: Final = (
    "tree", "palm", "cactus", "flower", "house", "building", "bridge", "lighthouse", "windmill",
    "fence", "lamp", "boat", "car", "bus", "train", "plane", "balloon", "bird", "cow", "sheep",
    "horse", "person", "umbrella",
)  # fmt: skip
# Tags of the whole picture without pixels: a night sky has the label `sky` in the mask.
GLOBAL_TAGS: Final = ("night", "sunset", "fog")

TAGS: Final[tuple[str, ...]] = SURFACES + THINGS + GLOBAL_TAGS
VOID: Final = 0
_VALUE: Final = {tag: value for value, tag in enumerate(TAGS, start=1)}


def mask_value(tag: str | None) -> int:
    """Return the mask value of a tag; None is void, for objects without a tag (pavement, rails).

    >>> mask_value("sky"), mask_value(None)
    (1, 0)
    """
    return VOID if tag is None else _VALUE[tag]
