"""The keywords and the orientation of a photo, from the file itself and from its sidecar."""

import os
import stat
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tagmix.errors import ImageError, MetadataError
from tagmix.images.decode import orientation_of
from tagmix.images.orientation import UPRIGHT
from tagmix.images.sources import TurnedPicture
from tagmix.metadata.embedded import Embedded, embedded
from tagmix.metadata.fields import Keywords, Ours, bounded, keywords_of, orientation_in
from tagmix.metadata.iptc import iptc_keywords
from tagmix.metadata.names import FIELDS
from tagmix.metadata.provenance import machine_tags, records_in
from tagmix.metadata.sidecars import read_sidecar, sidecar_of
from tagmix.metadata.stop_list import STOP_LIST, without_stopped
from tagmix.metadata.xmp import Document, parse_xmp
from tagmix.tag_names import LONGEST, SEPARATOR, ancestors, is_usable, normal_name, normal_names

INSIDE, IPTC = "the XMP packet inside", "the IPTC block inside"


@dataclass(frozen=True)
class PhotoMetadata:
    """What is written about a photo, in the file and in its sidecar.

    ``tags`` are canonical tags by people or other programs; ``machine`` those that tagmix wrote;
    ``stopped`` those on the stop list. ``orientation`` turns the stored pixels upright (1 to 8, as in EXIF):
    the sidecar's if it has one (``turned`` then repeats it), else the photo's. ``sidecar`` is the one in use,
    ``problems`` has one line per part that could not be read.
    """

    tags: tuple[str, ...] = ()
    machine: tuple[str, ...] = ()
    orientation: int = UPRIGHT
    sidecar: Path | None = None
    problems: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    turned: int | None = None


class _Part(NamedTuple):
    """What one packet says."""

    keywords: Keywords = Keywords()
    machine: tuple[str, ...] = ()
    orientation: int | None = None


def read_photo(
    photo: str | os.PathLike[str], *, stop: Collection[str] = STOP_LIST, within: Path | None = None
) -> PhotoMetadata:
    """Return the keywords and the orientation of a photo; what cannot be read is a problem, not an error.

    ``stop`` are patterns of tags to leave out; a link to a sidecar must not lead out of ``within``, a folder.
    """
    path = Path(photo)
    problems: list[str] = []
    inside = _inside(path, problems)
    sidecar = sidecar_of(path)
    beside = _Part() if sidecar is None else _beside(sidecar, within, problems)
    problems += inside.keywords.problems + beside.keywords.problems
    every = _joined([inside.keywords, beside.keywords])
    if longer := sum(not is_usable(tag) for tag in map(normal_name, every.tags) if tag):
        problems.append(
            f"keywords must have at most {LONGEST} characters a level, got {longer} longer: left out"
        )
    tags, stopped = without_stopped(_united(every), stop)
    return PhotoMetadata(
        tags,
        tuple(tag for tag in (*inside.machine, *beside.machine) if tag not in tags),
        _orientation(path, beside.orientation),
        sidecar,
        tuple(problems),
        stopped,
        beside.orientation,
    )


def photo_source(photo: Path) -> Path | TurnedPicture:
    """Return a photo to describe: the file, with the orientation of its sidecar if that has one."""
    sidecar = sidecar_of(photo)
    orientation = None if sidecar is None else _beside(sidecar, None, []).orientation
    return photo if orientation is None else TurnedPicture(photo, orientation)


def _inside(path: Path, problems: list[str]) -> _Part:
    try:
        plain = stat.S_ISREG(path.stat().st_mode)  # a pipe would wait for ever
        found = embedded(path) if plain else Embedded()
    except (OSError, ValueError):  # reported by whoever needs the pixels
        return _Part()
    texts = bounded(iptc_keywords(found.iptc), IPTC, problems)
    parts = [part for packet in found.xmp if (part := _packet(packet, INSIDE, problems))]
    machine = tuple(tag for part in parts for tag in part.machine)
    return _Part(_joined([Keywords(tuple(texts)), *(part.keywords for part in parts)]), machine)


def _beside(sidecar: Path, within: Path | None, problems: list[str]) -> _Part:
    try:
        content = read_sidecar(sidecar, within)
    except MetadataError as error:
        problems.append(str(error))
        return _Part()
    return _packet(content, repr(sidecar.name), problems) or _Part()


def _packet(content: bytes, label: str, problems: list[str]) -> _Part | None:
    try:
        document = parse_xmp(content.lstrip(b" \t\r\n"), label)
        ours = _ours(document)
        return _Part(keywords_of(document, label, ours), tuple(ours.tags), orientation_in(document))
    except MetadataError as error:
        problems.append(str(error))
        return None


def _ours(document: Document) -> Ours:
    """Return what tagmix wrote, by the records in the packet itself."""
    records = records_in(document)
    if not records:
        return Ours()
    texts = {
        field.name: {text for record in records for text in record.keywords[number]}
        for number, field in enumerate(FIELDS)
    }
    return Ours(texts, normal_names(machine_tags(document)))


def _joined(many: Iterable[Keywords]) -> Keywords:
    every = list(many)
    return Keywords(*(tuple(item for own in field for item in own) for field in zip(*every, strict=True)))


def _orientation(path: Path, given: int | None) -> int:
    try:
        return orientation_of(path, given)
    except ImageError:  # reported by whoever needs the pixels
        return given or UPRIGHT


def _united(every: Keywords) -> tuple[str, ...]:
    """Return the distinct tags; what is a level of, or above, a tag of the photo is absorbed by it."""
    tags = normal_names(every.tags)
    deep = [tag for tag in tags if SEPARATOR in tag]
    absorbed = {name for tag in deep for name in (*tag.split(SEPARATOR), *ancestors(tag))}
    absorbed |= {tag.replace(SEPARATOR, "/") for tag in deep}  # as Windows writes a path among plain names
    return tuple(tag for tag in tags if tag not in absorbed)
