"""The segments of a JPEG file before its pixels, bounded: no codec is needed to look into its header."""

from collections.abc import Iterator
from typing import IO, NamedTuple

MOST_SEGMENTS = 4096
# Frames that every decoder reads: baseline, extended and progressive. Raw files also have lossless ones.
FRAMES = frozenset({0xC0, 0xC1, 0xC2})
OTHER_FRAMES = frozenset(range(0xC3, 0xD0)) - {0xC4, 0xC8, 0xCC}
END, SCAN, FILL = 0xD9, 0xDA, 0xFF


class Segment(NamedTuple):
    """A segment: its marker, and place and size of its content."""

    marker: int
    place: int
    size: int


def jpeg_segments(stream: IO[bytes], start: int = 0) -> Iterator[Segment]:
    """Yield the segments of the JPEG at a place of a stream, up to its pixels or to damage."""
    stream.seek(start)
    place = start + 2 if stream.read(2) == b"\xff\xd8" else -1
    for _ in range(MOST_SEGMENTS):
        if place < 0:
            return
        stream.seek(place)
        head = stream.read(4)
        if len(head) < 4 or head[0] != 0xFF or head[1] in (END, SCAN):
            return
        size = int.from_bytes(head[2:], "big")
        if head[1] == FILL:
            place += 1
        elif head[1] == 0x01 or 0xD0 <= head[1] <= 0xD8:  # markers without content
            place += 2
        elif size < 2:
            return
        else:
            yield Segment(head[1], place + 4, size - 2)
            place += 2 + size


def frame_of(stream: IO[bytes], start: int, end: int) -> tuple[int, int]:
    """Return width and height of the JPEG at a place; (0, 0) if it is none with 8 bits in 1 or 3 colours."""
    for segment in jpeg_segments(stream, start):
        if segment.marker in OTHER_FRAMES or segment.place >= end:
            return 0, 0
        if segment.marker in FRAMES:
            stream.seek(segment.place)
            head = stream.read(6)
            if len(head) < 6 or head[0] != 8 or head[5] not in (1, 3):
                return 0, 0
            return int.from_bytes(head[3:5], "big"), int.from_bytes(head[1:3], "big")
    return 0, 0
