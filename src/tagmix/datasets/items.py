"""The parts of an album: pictures, their tags and their true regions."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]
Polygon: TypeAlias = tuple[tuple[float, float], ...]


class Runs(NamedTuple):
    """A region as run lengths, alternately outside and inside, column by column (COCO's RLE)."""

    height: int
    width: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class TrueRegion:
    """The place of a tag in its picture: one of a box (x, y, width, height), a polygon or runs.

    Coordinates are pixels of the upright picture, x to the right and y down from its upper left corner.
    """

    tag: str
    box: Box | None = None
    polygon: Polygon | None = None
    runs: Runs | None = None


@dataclass(frozen=True)
class Item:
    """One picture of an album; ``id`` is its path below the album's root, with slashes."""

    image: Path
    tags: tuple[str, ...] = ()
    split: str | None = None
    mask: Path | None = None
    regions: tuple[TrueRegion, ...] = ()
    id: str = ""
