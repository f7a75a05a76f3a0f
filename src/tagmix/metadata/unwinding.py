"""Give a sidecar the bytes back that it had before runs of tagmix wrote into it.

The records in a sidecar say how, and whoever can write a sidecar can write records. So the bytes from before
are believed only if what they lack is what the records name as tagmix's own, or is still said elsewhere.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from tagmix.errors import MetadataError
from tagmix.metadata.addition import Wanted, write_into
from tagmix.metadata.held import Held, held_in
from tagmix.metadata.names import DIMENSIONS, FIELDS, MWG
from tagmix.metadata.provenance import RUNS, Record, is_sealed, records_in
from tagmix.metadata.rdf import Value, array_of, items_of, properties, value_of
from tagmix.metadata.regions import MWG_LIST, MWG_REGIONS, REGIONS, Drawn, check_of, id_of
from tagmix.metadata.splice import R, digest, undone
from tagmix.metadata.verify import facts
from tagmix.metadata.xmp import MOST_BYTES, Document, Element, parse_xmp

APPLIED: Final = f"{MWG}}}AppliedToDimensions"
# Bytes that are read at most to unwind one sidecar: each run means to read all of it once more.
MOST_READ: Final = 4 * MOST_BYTES


class Former(NamedTuple):
    """The content of a sidecar before some runs; None if they had made the file."""

    content: bytes | None


def unwound(
    raw: bytes, label: str, inside: Held, runs: Collection[str], without: Collection[str] = ()
) -> Former | None:
    """Take runs back from the last one on, byte by byte, and write those again that are to stay.

    Where there are tags to do ``without``, all runs are written again, lacking these. Return None if another
    program changed the file in between, or if more would go than the records name.
    """
    content: bytes | None = raw
    document = parse_xmp(raw, label)
    again: list[Wanted] = []
    read = 0
    while content is not None and any(record.run in runs for record in records_in(document)):
        last = records_in(document)[-1]
        read += len(content)
        former = _before(document, last, label, inside) if read <= MOST_READ else None
        if former is None:
            return None
        if without or last.run not in runs:
            again.append(_wanted_again(document, last, without))
        content = None if last.created else former.raw
        document = former
    for wanted in reversed(again):
        content = write_into(content, label, inside, wanted).content
    return Former(content)


def _before(document: Document, last: Record, label: str, inside: Held) -> Document | None:
    """Return the sidecar before its last run; None if it was changed since, or the record does not fit."""
    content = undone(document.raw, last.undo)
    if content is None or digest(content) != last.before or not is_sealed(document, last):
        return None
    try:
        former = parse_xmp(content, label)
    except MetadataError:
        return None
    is_whole = not properties(former) if last.created else True
    return former if is_whole and _lacks_only_ours(document, former, last, inside) else None


def _lacks_only_ours(document: Document, former: Document, last: Record, inside: Held) -> bool:
    """Return whether nothing goes with a run but what its record names, and nothing comes in its place."""
    now, then = facts(document), facts(former)
    said = inside.said | held_in(former).said
    return not then - now and all(_is_ours(name, value, last, said) for name, value in now - then)


def _is_ours(name: str, value: Value, last: Record, said: Collection[str]) -> bool:
    if name in (REGIONS, MWG_LIST):
        return any((note.id, note.check) == (id_of(value), check_of(value)) for note in last.regions)
    for field, keywords in zip(FIELDS, last.keywords, strict=True):
        if field.name == name:
            meaning = field.read(value.text)
            # What the photo or another field says as well is a copy
            return meaning in said or meaning in {field.read(keyword) for keyword in keywords}
    return name in (RUNS, f"{MWG_REGIONS} {APPLIED}")


def _wanted_again(document: Document, record: Record, without: Collection[str]) -> Wanted:
    """Return what a run wanted but some tags, its regions as the text they have now."""
    notes = {note.id: note for note in record.regions if note.tag not in without}
    drawn, size = [], None
    for name, item in region_items(document):
        note = notes.get(id_of(value_of(item)))
        if note is not None:
            drawn.append(Drawn(note.id, note.tag, _neutral(document, item)))
            size = _size(document) if name == MWG_LIST else size
    tags = tuple(one for one in record.tags if one[0] not in without)
    return Wanted(record.run, record.model, record.date, tags, tuple(drawn), size, record.software)


def _neutral(document: Document, item: Element) -> str:
    """Return the text of an item that can be spliced in elsewhere."""
    text = document.text_of(item.start, item.end)
    return re.sub(rf"([</\s]){re.escape(item.prefix)}:", rf"\1{R}", text)


def _size(document: Document) -> tuple[int, int]:
    """Return the size to which boxes of the Metadata Working Group apply."""
    for one in properties(document):
        applied = one.value.field(APPLIED) if one.name == MWG_REGIONS else None
        sides = [] if applied is None else [applied.field(f"{DIMENSIONS}}}{side}") for side in "wh"]
        if len(sides) == 2 and all(side is not None and side.text.isdigit() for side in sides):
            width, height = (int(side.text) for side in sides if side is not None)
            return width, height
    return 0, 0


def region_items(document: Document) -> Iterator[tuple[str, Element]]:
    """Yield the items of both lists of regions, with the names of the lists."""
    for one in properties(document):
        if one.element is None or one.name not in (REGIONS, MWG_REGIONS):
            continue
        holder: Element | None = one.element
        if one.name == MWG_REGIONS:
            holder = next((element for element in one.element.walk() if element.name == MWG_LIST), None)
        array = None if holder is None else array_of(holder)
        for item in () if array is None else items_of(array):
            yield (REGIONS if one.name == REGIONS else MWG_LIST), item
