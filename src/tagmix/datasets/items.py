"""The parts of an album: pictures, their tags and their true regions."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from tagmix.images.sources import TurnedPicture
from tagmix.metadata.read import photo_source

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


class Notes(NamedTuple):
    """What reading a folder of photos left out, for those who wonder why there are so few tags.

    ``unread`` counts files of kinds that cannot be read, by ending; ``stopped`` the keywords on the stop
    list; ``machine_only`` photos with tags of tagmix alone; ``pairs`` raw files beside a picture of the same
    name.
    """

    unread: Mapping[str, int] = MappingProxyType({})
    stopped: Mapping[str, int] = MappingProxyType({})
    machine_only: int = 0
    pairs: int = 0


@dataclass(frozen=True)
class Item:
    """One picture of an album; ``id`` is its path below the album's root, with slashes."""

    image: Path
    tags: tuple[str, ...] = ()
    split: str | None = None
    mask: Path | None = None
    regions: tuple[TrueRegion, ...] = ()
    id: str = ""

    @property
    def source(self) -> Path | TurnedPicture:
        """The picture to describe: as its sidecar turns it, unless regions or a mask lie over its pixels."""
        return self.image if self.regions or self.mask else photo_source(self.image)
