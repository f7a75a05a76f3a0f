"""The JPEG preview inside raw files of cameras: the largest that can be read, found with bounded work.

A raw file holds the values of the sensor, which every camera stores in its own way, and a finished JPEG
beside them. Only the directories that lead to the JPEG are read. Most formats are TIFF structures (NEF, CR2,
ARW, DNG, PEF, ORF, RW2, SRW); RAF has a table of its own and CR3 is made of boxes. A format is recognised by
content.
"""

import io
from collections.abc import Iterator
from typing import IO, NamedTuple

from tagmix.errors import ImageError
from tagmix.images.boxes import boxes
from tagmix.images.jpeg import frame_of
from tagmix.images.orientation import is_orientation
from tagmix.images.tiff_tags import ORIENTATION, Directory, Tiff, tiff_at

SUFFIXES = frozenset(
    {".nef", ".nrw", ".cr2", ".cr3", ".arw", ".sr2", ".srf", ".dng", ".pef", ".orf", ".rw2", ".raf", ".srw"}
)
MAX_PREVIEW = 2**26
MOST_CANDIDATES = 32
RAF = b"FUJIFILMCCD-RAW "
OTHER_TIFFS = (b"II\x55\0", b"IIRO", b"IIRS", b"MMOR")
COMPRESSION, PHOTOMETRIC, DNG_VERSION, EXIF, MAKER_NOTE = 0x0103, 0x0106, 0xC612, 0x8769, 0x927C
SENSOR = frozenset({32803, 34892})  # colour filter array, linear raw
SENSOR_COMPRESSIONS = frozenset({32767, 32769, 34713, 65535})  # Sony, packed, Nikon, Pentax
JPEG_COMPRESSIONS = frozenset({6, 7})
# Place and length of a JPEG in a directory; the second is also that of strips of pixels.
POINTERS = ((0x0201, 0x0202), (0x0111, 0x0117))
PANASONIC_JPEG = 0x002E
# Olympus: what its note begins with, where the directory follows, and whether places count from the note.
OLYMPUS = ((b"OLYMPUS\0", 12, True), (b"OM SYSTEM\0\0\0", 16, True), (b"OLYMP\0", 8, False))
OLYMPUS_SETTINGS, OLYMPUS_JPEG = 0x2020, (0x0101, 0x0102)


class Preview(NamedTuple):
    """A JPEG inside a raw file, and its orientation: that of the raw file, None if this has none."""

    content: bytes
    orientation: int | None


class _Place(NamedTuple):
    start: int
    size: int


def find_preview(stream: IO[bytes]) -> Preview | None:
    """Return the largest preview of a raw file; None of a file of another kind.

    ImageError, without a name, if a raw file has no preview that can be read.
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    found = _contents(stream, size)
    if found is None:
        return None
    places, orientation = found
    best = _largest(stream, places, size)
    if best is None:
        raise ImageError(
            "must have a JPEG preview inside, got a raw file without one that can be read: convert it."
        )
    stream.seek(best.start)
    return Preview(stream.read(best.size), orientation if is_orientation(orientation) else None)


def _contents(stream: IO[bytes], size: int) -> tuple[Iterator[_Place], int] | None:
    """Return the places where a raw file may have previews, and its orientation; None if it is none."""
    head = stream.read(128)
    if head.startswith(RAF):
        return iter([_Place(int.from_bytes(head[84:88], "big"), int.from_bytes(head[88:92], "big"))]), 0
    if head[4:12] == b"ftypcrx ":
        return _cr3(stream, size)
    tiff = tiff_at(stream) if head[:2] in (b"II", b"MM") else None
    directories = tiff.directories() if tiff is not None else []
    if tiff is None or not directories or not _is_raw(head, tiff, directories):
        return None
    return _tiff(tiff, directories), tiff.number(directories[0], ORIENTATION)


def _is_raw(head: bytes, tiff: Tiff, directories: list[Directory]) -> bool:
    if head[8:10] == b"CR" or head.startswith(OTHER_TIFFS) or DNG_VERSION in directories[0]:
        return True
    return any(
        tiff.number(one, PHOTOMETRIC) in SENSOR or tiff.number(one, COMPRESSION) in SENSOR_COMPRESSIONS
        for one in directories
    )


def _tiff(tiff: Tiff, directories: list[Directory]) -> Iterator[_Place]:
    for directory in directories:
        for first, second in POINTERS:
            start, size = tiff.numbers(directory, first, 2), tiff.numbers(directory, second, 2)
            strips = first == POINTERS[1][0]
            if strips and tiff.number(directory, COMPRESSION) not in JPEG_COMPRESSIONS:
                continue
            if len(start) == len(size) == 1:
                yield _Place(tiff.start + start[0], size[0])
        if entry := directory.get(PANASONIC_JPEG):
            yield _Place(entry.place, entry.length)
    yield from _olympus(tiff, directories[0])


def _olympus(tiff: Tiff, main: Directory) -> Iterator[_Place]:
    """Yield the preview that the maker's note of an Olympus camera points to."""
    exif, _ = tiff.directory(tiff.number(main, EXIF))
    note = exif.get(MAKER_NOTE)
    head = b"" if note is None else tiff.read(note.place, 16)
    for name, skipped, own in OLYMPUS:
        if note is not None and head.startswith(name):
            base = Tiff(tiff.stream, note.place if own else tiff.start, tiff.order)
            inside, _ = base.directory(note.place - base.start + skipped)
            settings, _ = base.directory(base.number(inside, OLYMPUS_SETTINGS))
            start, size = (base.number(settings, tag) for tag in OLYMPUS_JPEG)
            yield _Place(base.start + start, size)


def _cr3(stream: IO[bytes], size: int) -> tuple[Iterator[_Place], int]:
    found = boxes(stream, size)
    orientation = 0
    for box in found:
        if box.kind == b"CMT1" and (tiff := tiff_at(stream, box.start)):
            orientation = tiff.number(tiff.directories()[0], ORIENTATION) if tiff.directories() else 0
    places: list[_Place] = []
    sample = 0
    for box in found:
        stream.seek(box.start)
        head = stream.read(32)
        if box.kind in (b"PRVW", b"THMB") and (at := head.find(b"\xff\xd8\xff")) >= 0:
            places.append(_Place(box.start + at, box.end - box.start - at))
        elif box.kind == b"stsz":  # version and flags, size of all samples or 0, their number, sizes
            sample = int.from_bytes(head[4:8], "big") or int.from_bytes(head[12:16], "big")
        elif box.kind in (b"stco", b"co64"):
            width = 4 if box.kind == b"stco" else 8
            places.append(_Place(int.from_bytes(head[8 : 8 + width], "big"), sample))
    return iter(places), orientation


def _largest(stream: IO[bytes], places: Iterator[_Place], size: int) -> _Place | None:
    """Return the place of the JPEG with the most pixels; a longer one of the same size is better."""
    best, place = (0, 0), None
    for _, one in zip(range(MOST_CANDIDATES), places, strict=False):
        if 0 < one.size <= MAX_PREVIEW and one.start > 0 and one.start + one.size <= size:
            width, height = frame_of(stream, one.start, one.start + one.size)
            if (width * height, one.size) > best and width * height:
                best, place = (width * height, one.size), one
    return place
