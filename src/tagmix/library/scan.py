"""Scan a folder: note its photos in the catalogue, and the tags that their metadata holds."""

import itertools
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagmix.catalogue import Catalogue, Noted, PhotoId, relative_place
from tagmix.catalogue.hashing import stamp_of
from tagmix.catalogue.scan import Unreadable
from tagmix.errors import CatalogueError
from tagmix.images.decode import SUFFIXES
from tagmix.images.sources import Problem
from tagmix.library.events import ScanEvent, Scanned
from tagmix.library.records import adopt, records_of
from tagmix.metadata.provenance import Record
from tagmix.metadata.read import PhotoMetadata, read_photo
from tagmix.metadata.sidecars import sidecar_of

# Photos of one transaction: others wait for it, and a kill loses no more than this.
BLOCK = 100
# Seconds in which a file can change again without another time of change, on the coarsest file systems.
FRESH = 2.0


def photos_below(folder: Path) -> Iterator[Path | Problem]:
    """Yield the photos below a folder in the order of their names, and folders that cannot be read.

    Hidden files and folders are left out; folders that are links are not entered, they can lead in circles.
    """
    failed: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=failed.append):
        yield from _unread(failed)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in SUFFIXES:
                yield Path(place, name)
    yield from _unread(failed)


def orphans_below(folder: Path) -> Iterator[Path]:
    """Yield photos that are gone but whose sidecars (``photo.jpg.xmp``) are still below a folder."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            photo, ending = os.path.splitext(name)
            is_sidecar = ending.lower() == ".xmp" and os.path.splitext(photo)[1].lower() in SUFFIXES
            if is_sidecar and not os.path.lexists(path := Path(place, photo)):
                yield path


def _unread(failed: list[OSError]) -> Iterator[Problem]:
    for error in failed:
        reason = f"the folder cannot be read ({error.strerror or error}): check its permissions."
        yield Problem(Path(os.fsdecode(error.filename)), reason)
    failed.clear()


def scan(catalogue: Catalogue, folder: Path | None = None) -> Iterator[ScanEvent]:
    """Yield each photo below a folder (None: of the library), noted, and those that are missing since.

    Photos that were moved or edited are recognised. Tags in their metadata become verdicts; tags that
    vanished become unknown again. Files that did not change are not read. Scanning may stop at any moment.
    """
    folder = catalogue.root if folder is None else folder
    below = "" if folder == catalogue.root else relative_place(catalogue.root, folder)
    yield from scan_photos(catalogue, photos_below(folder), below=below)


def scan_photos(
    catalogue: Catalogue, photos: Iterable[Path | Problem], *, below: str | None = None
) -> Iterator[ScanEvent]:
    """Yield the given photos of the library, noted; what cannot be read is a Problem.

    ``below``: these are all photos in this folder, so others that are known there are missing.
    """
    problems: list[Problem] = []
    noted = catalogue.scan(_places(catalogue, photos, problems), below=below)
    while block := list(itertools.islice(noted, BLOCK)):
        read = [_read(catalogue, one) for one in block]
        with catalogue.batch():
            for one in read:
                _record(catalogue, one)
        yield from problems
        problems.clear()
        for one in read:
            yield from one.events
    yield from problems


def _places(catalogue: Catalogue, photos: Iterable[Path | Problem], problems: list[Problem]) -> Iterator[str]:
    for path in photos:
        if isinstance(path, Problem):
            problems.append(path)
            continue
        try:
            yield relative_place(catalogue.root, path)
        except CatalogueError as error:
            problems.append(Problem(path, str(error)))


class _Read(NamedTuple):
    """What was found in a photo and its sidecar; ``found`` is None if both are as they were."""

    events: tuple[ScanEvent, ...]
    photo: PhotoId | None = None
    found: PhotoMetadata | None = None
    stamp: bytes | None = None
    records: tuple[Record, ...] = ()


def _read(catalogue: Catalogue, noted: Noted | Unreadable) -> _Read:
    path = catalogue.root / noted.place
    if isinstance(noted, Unreadable):
        return _Read((Problem(path, f"cannot be read ({noted.reason}): check its permissions."),))
    scanned = Scanned(path, noted.id, noted.change)
    # The stamp before the contents: what changes meanwhile has another one next time
    stamp = stamp_of_metadata(path)
    if noted.change == "missing" or stamp is None or catalogue.readings.get(noted.id) == stamp:
        return _Read((scanned,))
    found = read_photo(path, within=catalogue.root)
    records = records_of(path) if found.machine else ()
    problems = (Problem(path, problem) for problem in found.problems)
    again = bool(found.problems) or _is_fresh(path)
    return _Read((scanned, *problems), noted.id, found, None if again else stamp, records)


def _record(catalogue: Catalogue, one: _Read) -> None:
    if one.photo is None or one.found is None:
        return
    if one.found.problems:  # from what cannot be read nothing follows, also not that tags vanished
        for tag in one.found.tags:
            catalogue.verdicts.set(one.photo, tag, "yes", by="metadata")
    else:
        catalogue.verdicts.found(one.photo, one.found.tags)
    adopt(catalogue, one.photo, one.records)
    catalogue.readings.put(one.photo, one.stamp)


def stamp_of_metadata(path: Path) -> bytes | None:
    """Return what changes when a photo or its sidecar does, or None if the photo is gone."""
    own = stamp_of(path)
    if own is None:
        return None
    sidecar = sidecar_of(path)
    beside = (0, 0) if sidecar is None else stamp_of(sidecar) or (0, 1)
    name = b"" if sidecar is None else os.fsencode(sidecar.name)
    return "|".join(map(str, (*own, *beside))).encode() + b"|" + name


def _is_fresh(path: Path) -> bool:
    sidecar = sidecar_of(path)
    stamps = [stamp_of(one) for one in (path, sidecar) if one is not None]
    return any(stamp is not None and time.time() - stamp[1] / 1e9 < FRESH for stamp in stamps)
