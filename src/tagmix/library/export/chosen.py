"""Photos with the tags that leave the catalogue: a human's and the metadata's, the machine's if wanted."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tagmix.catalogue import Catalogue, Photo, Verdict
from tagmix.errors import printable

Ring: TypeAlias = tuple[tuple[float, float], ...]
Polygon: TypeAlias = tuple[Ring, ...]

_BACKSLASH_OR_DRIVE = re.compile(r"\\|^[A-Za-z]:")


class Choice(NamedTuple):
    """Which of the machine's tags count: none, or those of at least this probability."""

    machine: bool = False
    probability: float = 0.0

    def takes(self, verdict: Verdict) -> bool:
        """Return whether a verdict is a "yes" that is wanted."""
        if verdict.answer != "yes":
            return False
        if verdict.source != "machine":
            return True
        # A run that kept no probability was sure
        return (
            self.machine and (1.0 if verdict.probability is None else verdict.probability) >= self.probability
        )


class Shape(NamedTuple):
    """A region with its tag; polygons (outer ring, then holes) and box are shares of the upright picture."""

    tag: str
    polygons: tuple[Polygon, ...]
    box: tuple[float, float, float, float]


class Chosen(NamedTuple):
    """A photo, its file, and what is exported of it."""

    place: str
    path: Path
    tags: tuple[str, ...]
    shapes: tuple[Shape, ...] = ()


def chosen(
    catalogue: Catalogue,
    photos: Iterable[Photo],
    choice: Choice,
    problems: list[str],
    *,
    shapes: bool = False,
) -> Iterator[Chosen]:
    """Yield what is exported of each photo; a photo that cannot be is a line in ``problems``."""
    for photo in photos:
        path = catalogue.root / photo.place
        reason = unusable_name(photo.place) or ("" if path.is_file() else "is gone: scan the folder again")
        if reason:
            problems.append(f"{printable(photo.place)}: {reason}")
            continue
        tags = tuple(one.tag for one in catalogue.verdicts.of(photo.id) if choice.takes(one))
        yield Chosen(photo.place, path, tags, shapes_of(catalogue, photo, choice, tags) if shapes else ())


def unusable_name(place: str) -> str:
    r"""Return why album files cannot name a photo; empty if they can.

    >>> unusable_name("2019/sea.jpg"), unusable_name("a\\b.jpg")
    ('', 'its name has a backslash or begins with a drive: rename it')
    """
    try:
        place.encode()
    except UnicodeEncodeError:
        return "its name is no valid text: rename it"
    if _BACKSLASH_OR_DRIVE.search(place):  # a separator of Windows, so that no reader finds the photo
        return "its name has a backslash or begins with a drive: rename it"
    return ""


def shapes_of(catalogue: Catalogue, photo: Photo, choice: Choice, tags: Iterable[str]) -> tuple[Shape, ...]:
    """Return the regions of a photo: those that a human gave a tag, then the machine's of the tags exported.

    A region of the machine shows its best tag; one that a human denied, or gave another tag, is left out.
    """
    said = catalogue.regions.said(photo.id)
    own = [one for one in said if one.answer == "yes" and one.tag is not None]
    found = [Shape(str(one.tag), one.region.polygons, one.region.box) for one in own]
    if choice.machine:
        spoken = {one.region.box for one in own}
        denied = {(one.region.box, one.tag) for one in said if one.answer == "no"}
        wanted = set(tags)
        for region in catalogue.regions.of(photo.id):
            best = region.tags[0][0] if region.tags else ""
            if best in wanted and region.box not in spoken and (region.box, best) not in denied:
                found.append(Shape(best, region.polygons, region.box))
    return tuple(found)
