"""The parts of an album: pictures, their tags, and the regions somebody drew in them."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]
Polygon: TypeAlias = tuple[tuple[float, float], ...]


class Runs(NamedTuple):
    """A region as lengths of runs, outside and inside by turns, down the columns (COCO's RLE)."""

    height: int
    width: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class TrueRegion:
    """Where a tag is in its picture, by a box (x, y, width, height), a polygon or runs: one of the three.

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
