"""Read and write annotation files safely: limited sizes, strict text, no XML entities."""

import contextlib
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from tagmix.datasets.paths import shown
from tagmix.errors import AlbumError

MAX_ANNOTATIONS = 512 * 2**20  # the largest public file, COCO's training instances, has 448 MB
MAX_SIDECAR = 16 * 2**20
MAX_XML_DEPTH = 64
BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def read_bytes(path: Path, limit: int = MAX_ANNOTATIONS) -> bytes:
    """Return the bytes of a regular file of at most ``limit`` bytes."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise AlbumError(f"{shown(path.name)} is not a regular file: pass the annotation file itself")
        if status.st_size > limit:
            raise AlbumError(
                f"{shown(path.name)} must have at most {limit:,} bytes, got {status.st_size:,}: split it"
            )
        with path.open("rb") as stream:
            return stream.read(limit)
    except (OSError, ValueError) as error:
        if isinstance(error, AlbumError):
            raise
        reason = getattr(error, "strerror", None) or "invalid name"
        raise AlbumError(f"{shown(path.name)} cannot be read ({reason}): check the path") from error


def read_text(path: Path, limit: int = MAX_ANNOTATIONS) -> str:
    """Return a text file in UTF-8, or in UTF-16 with a byte order mark, with line ends normalised.

    Other encodings are not guessed: a wrong guess would silently corrupt accents.
    """
    return to_text(read_bytes(path, limit), shown(path.name))


def to_text(raw: bytes, name: str) -> str:
    """Return bytes as text, see :func:`read_text`."""
    encoding = next((name for mark, name in BOMS.items() if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise AlbumError(
            f"{name} must be UTF-8 text, got an invalid byte at {error.start:,}: save it as UTF-8"
        ) from error


def read_json(path: Path, limit: int = MAX_ANNOTATIONS) -> Any:
    """Return the value of a JSON file."""
    return parse_json(read_text(path, limit), shown(path.name))


def parse_json(text: str, name: str) -> Any:
    """Return the value of a JSON text, or raise AlbumError, also for excessive nesting."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise AlbumError(f"{name} must be JSON, got too many levels of nesting: write it again") from error
    except ValueError as error:
        reason = getattr(error, "msg", "a number with too many digits")
        raise AlbumError(f"{name} must be JSON, got: {reason}; check the file") from error


def read_xml(path: Path, limit: int = MAX_SIDECAR) -> Element:
    """Return the root of an XML file."""
    return parse_xml(read_bytes(path, limit), shown(path.name))


def parse_xml(raw: bytes, name: str) -> Element:
    """Return the root of an XML document; a DOCTYPE is refused.

    Only a DOCTYPE can declare entities, which can expand without limit or read other files. No annotation
    format needs one.
    """
    builder, depth = TreeBuilder(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_XML_DEPTH:
            raise AlbumError(
                f"{name} must be XML of at most {MAX_XML_DEPTH} levels, got more: write it again"
            )
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def doctype(*_: object) -> None:
        raise AlbumError(f"{name} must be XML without a DOCTYPE, got one: remove it")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, doctype
    try:
        parser.Parse(raw, True)
        return builder.close()
    except AlbumError:
        raise
    except Exception as error:  # from expat, for unknown encodings, or for elements left open
        reason = " ".join(str(error).split())[:80]
        raise AlbumError(f"{name} must be XML, got: {reason}; check the file") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        partial.write_bytes(text.encode())
        os.replace(partial, path)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        reason = getattr(error, "strerror", None) or "text that is not valid Unicode"
        raise AlbumError(f"{shown(path.name)} was not written ({reason}): check folder and disk") from error
