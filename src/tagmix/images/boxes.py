"""Boxes of ISO media files (CR3, HEIC), bounded."""

from collections.abc import Iterator
from typing import IO, NamedTuple

MOST_BOXES = 512
# Boxes that only contain others, and the bytes before the first of these.
HOLDERS = {b"moov": 0, b"trak": 0, b"mdia": 0, b"minf": 0, b"stbl": 0}
CANON = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")
PREVIEW = bytes.fromhex("eaf42b5e1c984b88b9fbb7dc406e4d16")
XMP = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
INSIDE = {CANON: 0, PREVIEW: 8}
DEPTH = 6


class Box(NamedTuple):
    """A box: its type (the 16 bytes of the name for ``uuid``), and where its content begins and ends."""

    kind: bytes
    start: int
    end: int


def boxes(stream: IO[bytes], size: int) -> list[Box]:
    """Return the boxes of a file in order, those inside others after them, up to a limit."""
    found: list[Box] = []
    for box in _walk(stream, 0, size, DEPTH):
        found.append(box)
        if len(found) >= MOST_BOXES:
            break
    return found


def _walk(stream: IO[bytes], start: int, end: int, depth: int) -> Iterator[Box]:
    while start + 8 <= end:
        box, after = _box(stream, start, end)
        if box is None:
            return
        yield box
        skipped = INSIDE.get(box.kind, HOLDERS.get(box.kind))
        if skipped is not None and depth:
            yield from _walk(stream, box.start + skipped, box.end, depth - 1)
        start = after


def _box(stream: IO[bytes], start: int, end: int) -> tuple[Box | None, int]:
    """Return the box at a place and the place after it; None where a box cannot be."""
    stream.seek(start)
    head = stream.read(32)
    size, kind, begin = int.from_bytes(head[:4], "big"), head[4:8], start + 8
    if size == 1:
        size, begin = int.from_bytes(head[8:16], "big"), start + 16
    elif size == 0:  # up to the end
        size = end - start
    if kind == b"uuid":
        kind = head[begin - start : begin - start + 16]
        begin += 16
    after = start + size
    return (Box(kind, begin, after), after) if begin <= after <= end else (None, end)
