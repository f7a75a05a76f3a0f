"""What the sidecar of a photo says that tagmix wrote."""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

from tagmix.catalogue import Catalogue, PhotoId, file_digest, relative_place
from tagmix.catalogue.hashing import stamp_of
from tagmix.errors import MetadataError, printable
from tagmix.metadata.embedded import embedded
from tagmix.metadata.held import held_in, held_inside
from tagmix.metadata.names import TAGMIX
from tagmix.metadata.provenance import Record, records_in
from tagmix.metadata.sidecars import read_sidecar, sidecar_of
from tagmix.metadata.xmp import Document, parse_xmp
from tagmix.tag_names import is_usable, normal_name

JPEG = frozenset({".jpg", ".jpeg"})
MARK = TAGMIX.encode()
# The names of runs as catalogues give them.
RUN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")


def records_of(photo: Path) -> tuple[Record, ...]:
    """Return the records of all runs in the sidecar of a photo; MetadataError if it cannot be read.

    After these come those inside a JPEG, of runs that embedded their tags.
    """
    document = _sidecar(photo)
    return (*(() if document is None else records_in(document)), *records_inside(photo))


def records_inside(photo: Path) -> tuple[Record, ...]:
    """Return the records inside a JPEG; of what is damaged there are none."""
    found: list[Record] = []
    if photo.suffix.lower() in JPEG:
        with contextlib.suppress(OSError, ValueError):
            for packet in embedded(photo).xmp:
                if MARK in packet:  # few photos have any
                    found += records_in(parse_xmp(packet.strip(), repr(photo.name)))
    return tuple(found)


def _sidecar(photo: Path) -> Document | None:
    sidecar = sidecar_of(photo)
    if sidecar is None:
        return None
    return parse_xmp(read_sidecar(sidecar).lstrip(b" \t\r\n"), repr(sidecar.name))


def taken_out(photo: Path) -> frozenset[str]:
    """Return the tags that tagmix wrote and that are gone: a person took them out in another program.

    Nothing is inferred from that, but they are not written again. Of a damaged sidecar there are none.
    """
    try:
        document = _sidecar(photo)
        written = {tag for record in records_in(document) for tag in record.names} if document else set()
    except MetadataError:
        return frozenset()
    if not document or not written:
        return frozenset()
    return frozenset(written - (held_inside(photo) + held_in(document)).said)


def record_of(photo: Path, run: str) -> Record | None:
    """Return the record of one run, or None."""
    return next((record for record in records_of(photo) if record.run == run), None)


def note_now(catalogue: Catalogue, path: Path) -> None:
    """Note a photo as its file is now: embedded tags made another one of it."""
    if path.suffix.lower() in JPEG and (stamp := stamp_of(path)):
        with contextlib.suppress(OSError):
            catalogue.photos.note(relative_place(catalogue.root, path), file_digest(path), *stamp)


def adopt(catalogue: Catalogue, photo: PhotoId, records: Iterable[Record]) -> None:
    """Record what sidecars say of runs that the catalogue does not know."""
    for record in records:
        if RUN.fullmatch(record.run):  # a sidecar may come from a stranger
            usable = [(tag, text) for tag, text in record.tags if is_usable(tag) and tag == normal_name(tag)]
            tags = {tag: _share(text) for tag, text in usable}
            catalogue.runs.adopt(record.run, printable(record.model)[:100], photo, tags)


def _share(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        share = float(text)
        return share if 0 <= share <= 1 else None
    return None
