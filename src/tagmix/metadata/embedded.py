"""The descriptions inside a picture file, as raw bytes: its XMP packets and its IPTC block.

Only the parts that can hold them are read, with seeks, so that a large file costs no memory. A packet that is
longer than the parser's limit is cut one byte behind it, so that it is refused there.
"""

import io
import os
import re
import zlib
from pathlib import Path
from typing import IO, NamedTuple

from tagmix.images.boxes import XMP as XMP_BOX
from tagmix.images.boxes import boxes
from tagmix.images.decode import heif_xmp
from tagmix.images.jpeg import jpeg_segments
from tagmix.images.tiff_tags import tiff_at
from tagmix.metadata.xmp import MOST_BYTES

MAX_XMP = MOST_BYTES + 1
MAX_IPTC = 2**20
MOST_PARTS = 4096  # segments or chunks of a file that are looked at
TEXTS = (b"XML:com.adobe.xmp", b"Raw profile type iptc", b"Raw profile type APP13")
MOST_PACKED = 8  # chunks that are unpacked; a thousandth of their bytes can fill memory and time
RAF = b"FUJIFILMCCD-RAW "
ADOBE, EXTENSION, PHOTOSHOP = (
    b"http://ns.adobe.com/xap/1.0/\0",
    b"http://ns.adobe.com/xmp/extension/\0",
    b"Photoshop 3.0\0",
)
EXTENDED = re.compile(rb"HasExtendedXMP\s*(?:=\s*[\"']|>)\s*([0-9A-Fa-f]{32})")
IPTC_RESOURCE = 0x0404
TIFF_XMP, TIFF_IPTC, TIFF_RESOURCES = 700, 33723, 34377


class Embedded(NamedTuple):
    """The descriptions a picture file carries: XMP packets, and the IPTC block, empty if there is none."""

    xmp: tuple[bytes, ...] = ()
    iptc: bytes = b""


def embedded(photo: str | os.PathLike[str] | bytes) -> Embedded:
    """Return the XMP packets and the IPTC block of a picture file; none of a file of another kind.

    OSError if it cannot be read.
    """
    if isinstance(photo, bytes):
        return _embedded(io.BytesIO(photo), len(photo))
    with Path(photo).open("rb") as stream:
        return _embedded(stream, os.fstat(stream.fileno()).st_size)


def _embedded(stream: IO[bytes], size: int) -> Embedded:
    head = stream.read(32)
    if head.startswith(b"\xff\xd8"):
        return _jpeg(stream, 0)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png(stream)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(stream)
    if head.startswith(RAF):
        return _raf(stream)
    if head[4:8] == b"ftyp":
        return _boxes(stream, size)
    return _tiff(stream)


def _read(stream: IO[bytes], place: int, size: int) -> bytes:
    stream.seek(place)
    return stream.read(size)


def _jpeg(stream: IO[bytes], start: int) -> Embedded:
    main, resources = b"", bytearray()
    parts: dict[bytes, dict[int, bytes]] = {}
    total = 0
    for marker, place, size in jpeg_segments(stream, start):
        if marker not in (0xE1, 0xED) or total > MAX_XMP:
            continue
        body = _read(stream, place, size)
        total += len(body)
        if marker == 0xED and body.startswith(PHOTOSHOP):
            resources += body[len(PHOTOSHOP) :]
        elif body.startswith(ADOBE):
            main = main or body[len(ADOBE) :]
        elif body.startswith(EXTENSION):
            rest = body[len(EXTENSION) :]
            parts.setdefault(rest[:32].upper(), {})[int.from_bytes(rest[36:40], "big")] = rest[40:]
    return Embedded((*_some(main), *_some(_extension(main, parts))), _resource(bytes(resources)))


def _extension(main: bytes, parts: dict[bytes, dict[int, bytes]]) -> bytes:
    """Return the second packet that the first one names, put together; empty if a part is missing."""
    named = EXTENDED.search(main)
    own = parts.get(named[1].upper(), {}) if named else {}
    packet = bytearray()
    for offset in sorted(own):
        if offset != len(packet):
            return b""
        packet += own[offset]
    return bytes(packet)


def _resource(block: bytes) -> bytes:
    """Return the IPTC block among Photoshop's resources: "8BIM", number, name, size, content."""
    place = 0
    while block[place : place + 4] == b"8BIM" and place + 12 <= len(block):
        number = int.from_bytes(block[place + 4 : place + 6], "big")
        name = 1 + block[place + 6]
        place += 6 + name + name % 2
        size = int.from_bytes(block[place : place + 4], "big")
        place += 4
        if number == IPTC_RESOURCE:
            return block[place : place + min(size, MAX_IPTC)]
        place += size + size % 2
    return b""


def _png(stream: IO[bytes]) -> Embedded:
    """Read text chunks, also those after the pixels, where some programs put them."""
    xmp, iptc, place, packed = b"", b"", 8, 0
    for _ in range(MOST_PARTS):
        head = _read(stream, place, 8)
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        place += 12 + size
        if len(head) < 8 or kind == b"IEND":
            break
        if kind in (b"iTXt", b"zTXt", b"tEXt"):
            name, _, rest = stream.read(min(size, MAX_XMP)).partition(b"\0")
            packed += name in TEXTS and (kind == b"zTXt" or rest[:1] == b"\1")
            if name not in TEXTS or packed > MOST_PACKED:
                continue
            if kind == b"iTXt" and name == TEXTS[0]:
                xmp = xmp or _international(rest)
            elif name != TEXTS[0]:
                iptc = iptc or _raw_profile(_inflated(rest[1:]) if kind == b"zTXt" else rest)
    return Embedded(_some(xmp), iptc)


def _international(rest: bytes) -> bytes:
    """Return the text of an iTXt chunk: flag and method of compression, language, translated name, text."""
    text = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    return _inflated(text) if rest[:1] == b"\1" else text


def _inflated(packed: bytes) -> bytes:
    """Return unpacked bytes, the first ``MAX_XMP``; none if they are damaged."""
    try:
        return zlib.decompressobj().decompress(packed, MAX_XMP)
    except zlib.error:
        return b""


def _raw_profile(text: bytes) -> bytes:
    """Return the IPTC block in ImageMagick's form: lines with a name and a length, then digits."""
    lines = text.strip().split(b"\n", 2)
    try:
        block = bytes.fromhex(lines[2].decode("ascii")) if len(lines) == 3 else b""
    except ValueError:
        return b""
    return _resource(block) if block.startswith(b"8BIM") else block[:MAX_IPTC]


def _webp(stream: IO[bytes]) -> Embedded:
    place = 12
    for _ in range(MOST_PARTS):
        head = _read(stream, place, 8)
        size = int.from_bytes(head[4:], "little")
        if len(head) < 8:
            break
        if head[:4] == b"XMP ":
            return Embedded(_some(stream.read(min(size, MAX_XMP))))
        place += 8 + size + size % 2
    return Embedded()


def _tiff(stream: IO[bytes]) -> Embedded:
    tiff = tiff_at(stream)
    directories = tiff.directories() if tiff else []
    for directory in directories[:1]:
        assert tiff is not None
        iptc = tiff.value(directory, TIFF_IPTC, MAX_IPTC)
        return Embedded(
            _some(tiff.value(directory, TIFF_XMP, MAX_XMP)),
            iptc or _resource(tiff.value(directory, TIFF_RESOURCES, MAX_XMP)),
        )
    return Embedded()


def _raf(stream: IO[bytes]) -> Embedded:
    return _jpeg(stream, int.from_bytes(_read(stream, 84, 4), "big"))


def _boxes(stream: IO[bytes], size: int) -> Embedded:
    """Read CR3, and HEIC through its own library."""
    for box in boxes(stream, size):
        if box.kind == XMP_BOX:
            return Embedded(_some(_read(stream, box.start, min(box.end - box.start, MAX_XMP))))
    stream.seek(0)
    return Embedded(_some(heif_xmp(stream, MAX_XMP)))


def _some(packet: bytes) -> tuple[bytes, ...]:
    return (packet,) if packet.strip(b"\0 \r\n\t") else ()
