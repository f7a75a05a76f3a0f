"""Take what runs of tagmix wrote out of a sidecar, in memory.

If nobody else changed the file since, the bytes from before come back. Otherwise only entries that the
records name are removed, wherever another program has put them.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from tagmix.metadata.addition import Wanted, Written, write_into
from tagmix.metadata.held import Held, held_in
from tagmix.metadata.names import DIMENSIONS, FIELDS, MWG, Field
from tagmix.metadata.provenance import RUNS, Record, is_sealed, record_elements, records_in
from tagmix.metadata.rdf import ROOT, Property, Value, array_of, is_property, items_of, properties, value_of
from tagmix.metadata.regions import MWG_LIST, MWG_REGIONS, REGIONS, Drawn, check_of, id_of
from tagmix.metadata.splice import R, Splicer, digest, undone
from tagmix.metadata.verify import check_difference
from tagmix.metadata.xmp import Document, Element, parse_xmp
from tagmix.tag_names import SEPARATOR

_APPLIED: Final = f"{MWG}}}AppliedToDimensions"


def remove_from(raw: bytes, label: str, inside: Held, run: str | None, keep: Collection[str]) -> Written:
    """Return a sidecar without what a run wrote (None: all runs), and the tags that are gone.

    Tags in ``keep`` stay, no longer as ours. The content is None if nothing is left of a file that we made.
    """
    document = parse_xmp(raw, label)
    ours = [record for record in records_in(document) if run in (None, record.run)]
    if not ours:
        return Written(raw, ())
    names = dict.fromkeys(tag for record in ours for tag in record.names)
    content: bytes | None = None
    former = (
        None if any(tag in keep for tag in names) else _unwound(raw, label, inside, {r.run for r in ours})
    )
    content = _removed(document, ours, inside, keep) if former is None else former.content
    said = frozenset() if content is None else held_in(parse_xmp(content, label)).said
    return Written(content, tuple(tag for tag in names if tag not in said))


class _Former(NamedTuple):
    content: bytes | None


def _unwound(raw: bytes, label: str, inside: Held, runs: Collection[str]) -> _Former | None:
    """Take runs back from the last one on, byte by byte, and write those again that are to stay.

    Return None if another program changed the file in between.
    """
    content: bytes | None = raw
    again: list[Wanted] = []
    while content is not None:
        document = parse_xmp(content, label)
        records = records_in(document)
        if not any(record.run in runs for record in records):
            break
        last = records[-1]
        former = undone(content, last.undo)
        if former is None or digest(former) != last.before or not is_sealed(document, last):
            return None
        if last.run not in runs:
            again.append(_wanted_again(document, last))
        content = None if last.created else former
    for wanted in reversed(again):
        content = write_into(content, label, inside, wanted).content
    return _Former(content)


def _wanted_again(document: Document, record: Record) -> Wanted:
    """Return what a run wanted, its regions as the text they have now."""
    notes = {note.id: note for note in record.regions}
    drawn, size = [], None
    for name, item in _regions(document):
        note = notes.get(id_of(value_of(item)))
        if note is not None:
            drawn.append(Drawn(note.id, note.tag, _neutral(document, item)))
            size = _size(document) if name == MWG_LIST else size
    return Wanted(record.run, record.model, record.date, record.tags, tuple(drawn), size, record.software)


def _neutral(document: Document, item: Element) -> str:
    """Return the text of an item that can be spliced in elsewhere."""
    text = document.text_of(item.start, item.end)
    return re.sub(rf"([</\s]){re.escape(item.prefix)}:", rf"\1{R}", text)


def _size(document: Document) -> tuple[int, int]:
    """Return the size to which boxes of the Metadata Working Group apply."""
    for one in properties(document):
        applied = one.value.field(_APPLIED) if one.name == MWG_REGIONS else None
        sides = [] if applied is None else [applied.field(f"{DIMENSIONS}}}{side}") for side in "wh"]
        if len(sides) == 2 and all(side is not None and side.text.isdigit() for side in sides):
            width, height = (int(side.text) for side in sides if side is not None)
            return width, height
    return 0, 0


def _regions(document: Document) -> Iterator[tuple[str, Element]]:
    """Yield the items of both lists of regions."""
    for one in properties(document):
        if one.element is None or one.name not in (REGIONS, MWG_REGIONS):
            continue
        holder: Element | None = one.element
        if one.name == MWG_REGIONS:
            holder = next((element for element in one.element.walk() if element.name == MWG_LIST), None)
        array = None if holder is None else array_of(holder)
        for item in () if array is None else items_of(array):
            yield (REGIONS if one.name == REGIONS else MWG_LIST), item


class _Doomed:
    """The elements and attributes to remove, and what they say."""

    def __init__(self) -> None:
        self.elements: dict[int, Element] = {}
        self.attributes: list[Property] = []
        self.values: dict[str, list[Value]] = defaultdict(list)

    def add(self, name: str, element: Element, value: Value | None = None) -> None:
        """Remove an element that says this."""
        self.elements[id(element)] = element
        self.values[name].append(value_of(element) if value is None else value)

    def add_attribute(self, one: Property) -> None:
        """Remove a property in an attribute."""
        self.attributes.append(one)
        self.values[one.name].append(one.value)

    def __contains__(self, element: Element) -> bool:
        return id(element) in self.elements

    def climb(self, document: Document) -> None:
        """Remove whole arrays, properties and descriptions where nothing else is left in them."""
        for element in list(self.elements.values()):
            parent = element.parent
            while parent is not None and parent not in self and self._is_left_empty(document, parent):
                self.elements[id(parent)] = parent
                parent = parent.parent

    def _is_left_empty(self, document: Document, parent: Element) -> bool:
        if parent.name == ROOT or parent.parent is None or any(map(is_property, parent.attributes)):
            return False
        if not all(child in self or child.name == _APPLIED for child in parent.children):
            return False
        return not _between(document, parent).strip()

    def tops(self) -> list[Element]:
        """Return the elements that are in no other one to remove."""
        return [one for one in self.elements.values() if one.parent is None or one.parent not in self]


def _between(document: Document, parent: Element) -> str:
    """Return what is written between the children of an element: text, comments, instructions."""
    place, parts = document.inside(parent), []
    for child in parent.children:
        parts.append(document.text_of(place, child.start))
        place = child.end
    return "".join((*parts, document.text_of(place, max(place, parent.close))))


def _removed(document: Document, ours: list[Record], inside: Held, keep: Collection[str]) -> bytes | None:
    """Return the document without the entries of records, read again and compared."""
    doomed = _Doomed()
    _doom_keywords(document, ours, inside, keep, doomed)
    notes = {note.id: note for record in ours for note in record.regions if note.tag not in keep}
    for name, item in _regions(document):
        value = value_of(item)
        note = notes.get(id_of(value))
        if note is not None and note.check == check_of(value):
            doomed.add(name, item, value)
    runs = {record.run for record in ours}
    for record, element in record_elements(document):
        if record.run in runs:
            doomed.add(RUNS, element)
    content = _cut(document, doomed)
    after = parse_xmp(content, "the new sidecar")
    is_mwg_gone = not any(one.name == MWG_REGIONS for one in properties(after))
    lenient = frozenset({f"{MWG_REGIONS} {_APPLIED}"}) if is_mwg_gone else frozenset[str]()
    check_difference(document, after, added={}, removed=doomed.values, lenient=lenient)
    if any(record.created for record in ours) and not properties(after):
        return None
    return content


def _cut(document: Document, doomed: _Doomed) -> bytes:
    splicer = Splicer(document)
    for one in doomed.attributes:
        if one.attribute is not None:
            splicer.remove(*document.place_of(one.node, one.attribute))
    doomed.climb(document)
    for element in doomed.tops():
        splicer.remove(document.space_before(element.start), element.end)
    return splicer.result()


def _doom_keywords(
    document: Document, ours: list[Record], inside: Held, keep: Collection[str], doomed: _Doomed
) -> None:
    """Find the keywords that only these records account for."""
    meanings = dict(zip(FIELDS, _doomed_meanings(document, ours, inside, keep), strict=True))
    for one in properties(document):
        for field, wrong in meanings.items():
            if one.name == field.name:
                _doom_items(one, field, wrong, doomed)


def _doom_items(one: Property, field: Field, wrong: Collection[str], doomed: _Doomed) -> None:
    """Find the items of one property, whatever form another program has given it."""
    if one.element is None:
        if field.read(one.value.text) in wrong:
            doomed.add_attribute(one)
        return
    array = array_of(one.element)
    for item in [one.element] if array is None else items_of(array):
        value = value_of(item)
        if value.kind == "text" and field.read(value.text) in wrong:
            doomed.add(one.name, item, value)


def _doomed_meanings(
    document: Document, ours: list[Record], inside: Held, keep: Collection[str]
) -> list[set[str]]:
    """Return, per field, the tags that its keywords to remove say."""
    runs = {record.run for record in ours}
    others = [record for record in records_in(document) if record.run not in runs]
    held = held_in(document)
    found = []
    for number, field in enumerate(FIELDS):
        mine = {field.read(keyword) for record in ours for keyword in record.keywords[number]}
        stay = {keyword for record in others for keyword in record.keywords[number]}
        found.append(
            mine - {field.read(keyword) for keyword in (*stay, *map(field.write, keep))} - inside.said
        )
    left = {
        tag
        for field, keywords, wrong in list(zip(FIELDS, held.keywords, found, strict=True))[1:]
        for keyword in keywords
        if (tag := field.read(keyword)) not in wrong
    }
    found[0] -= {level for tag in left for level in tag.split(SEPARATOR)}
    return found
