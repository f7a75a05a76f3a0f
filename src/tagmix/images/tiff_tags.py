"""The directories of a TIFF file, bounded: metadata of TIFF pictures, and most raw files of cameras."""

import struct
from collections import deque
from typing import IO, NamedTuple

# Directories of a file and entries of a directory at most; real files have up to 10 and 100.
MOST_DIRECTORIES, MOST_ENTRIES, MOST_NUMBERS = 32, 512, 16
SUB_DIRECTORIES = 0x014A
ORIENTATION = 0x0112
ORDERS = {b"II": "<", b"MM": ">"}
# TIFF; Panasonic RW2; Olympus ORF, of two sorts
MAGIC = frozenset({42, 0x55, 0x4F52, 0x5352})
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 6: 1, 7: 1, 8: 2, 9: 4, 13: 4}
LETTERS = {1: "B", 3: "H", 4: "I", 6: "b", 7: "B", 8: "h", 9: "i", 13: "I"}


class Entry(NamedTuple):
    """An entry of a directory: the type of its values, their number, and the place of the first."""

    kind: int
    length: int
    place: int


Directory = dict[int, Entry]


class Tiff:
    """The directories of a TIFF structure that begins at ``start`` of a stream."""

    def __init__(self, stream: IO[bytes], start: int, order: str) -> None:
        self.stream, self.start, self.order = stream, start, order

    def directories(self) -> list[Directory]:
        """Return the main directories and those below them, each once, up to a limit."""
        header = self.read(self.start + 4, 4)
        waiting = deque(struct.unpack(self.order + "I", header) if len(header) == 4 else ())
        found: list[Directory] = []
        seen: set[int] = set()
        while waiting and len(found) < MOST_DIRECTORIES:
            place = waiting.popleft()
            if place and place not in seen:
                seen.add(place)
                directory, following = self.directory(place)
                found.append(directory)
                waiting += [following, *self.numbers(directory, SUB_DIRECTORIES)]
        return found

    def directory(self, place: int) -> tuple[Directory, int]:
        """Return the entries of the directory at a place, and the place of the next; 0 if there is none."""
        head = self.read(self.start + place, 2)
        count = struct.unpack(self.order + "H", head)[0] if len(head) == 2 else 0
        if not 0 < count <= MOST_ENTRIES:
            return {}, 0
        body = self.read(self.start + place + 2, 12 * count + 4)
        entries: Directory = {}
        for at in range(0, min(12 * count, len(body) - 11), 12):
            tag, kind, number = struct.unpack_from(self.order + "HHI", body, at)
            inside = SIZES.get(kind, 8) * number <= 4
            (where,) = struct.unpack_from(self.order + "I", body, at + 8)
            entries.setdefault(
                tag, Entry(kind, number, self.start + (place + 2 + at + 8 if inside else where))
            )
        following = (
            struct.unpack_from(self.order + "I", body, 12 * count)[0] if len(body) >= 12 * count + 4 else 0
        )
        return entries, following

    def numbers(self, directory: Directory, tag: int, most: int = MOST_NUMBERS) -> tuple[int, ...]:
        """Return the whole numbers of an entry, the first ``most``; none if there is no such entry."""
        entry = directory.get(tag)
        if entry is None or entry.kind not in LETTERS:
            return ()
        size = SIZES[entry.kind]
        raw = self.read(entry.place, size * min(entry.length, most))
        return struct.unpack(
            f"{self.order}{len(raw) // size}{LETTERS[entry.kind]}", raw[: len(raw) // size * size]
        )

    def number(self, directory: Directory, tag: int, default: int = 0) -> int:
        """Return the first number of an entry."""
        found = self.numbers(directory, tag, 1)
        return found[0] if found else default

    def value(self, directory: Directory, tag: int, limit: int) -> bytes:
        """Return the bytes of an entry, the first ``limit``; none if there is no such entry."""
        entry = directory.get(tag)
        if entry is None:
            return b""
        return self.read(entry.place, min(SIZES.get(entry.kind, 1) * entry.length, limit))

    def read(self, place: int, size: int) -> bytes:
        """Return the bytes at a place, fewer at the end of the file."""
        self.stream.seek(place)
        return self.stream.read(size)


def tiff_at(stream: IO[bytes], start: int = 0) -> Tiff | None:
    """Return the TIFF structure at a place of a stream; None if there is none.

    >>> import io
    >>> tiff_at(io.BytesIO(b"not a TIFF")) is None
    True
    """
    stream.seek(start)
    head = stream.read(4)
    order = ORDERS.get(head[:2])
    if order is None or len(head) < 4 or struct.unpack(order + "H", head[2:])[0] not in MAGIC:
        return None
    return Tiff(stream, start, order)
