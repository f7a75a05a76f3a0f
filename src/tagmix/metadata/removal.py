"""Take what runs of tagmix wrote out of a sidecar, in memory.

If nobody else changed the file since, the bytes from before come back (``unwinding``). Otherwise only entries
that the records name are removed, wherever another program has put them.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from tagmix.metadata.addition import Written, filled
from tagmix.metadata.held import Held, held_in
from tagmix.metadata.names import FIELDS, Field
from tagmix.metadata.provenance import RUNS, Record, record_array, record_elements, records_in
from tagmix.metadata.rdf import ROOT, Property, Value, array_of, is_property, items_of, properties, value_of
from tagmix.metadata.regions import MWG_REGIONS, check_of, id_of
from tagmix.metadata.splice import Splicer
from tagmix.metadata.unwinding import APPLIED, Former, region_items, unwound
from tagmix.metadata.verify import check_difference, item_value
from tagmix.metadata.xmp import Document, Element, parse_xmp
from tagmix.tag_names import SEPARATOR


def remove_from(raw: bytes, label: str, inside: Held, run: str | None, keep: Collection[str]) -> Written:
    """Return a sidecar without what a run wrote (None: all runs), and the tags that are gone.

    Tags in ``keep`` stay, no longer as ours. The content is None if nothing is left of a file that we made.
    """
    document = parse_xmp(raw, label)
    ours = [record for record in records_in(document) if run in (None, record.run)]
    if not ours:
        return Written(raw, ())
    names = dict.fromkeys(tag for record in ours for tag in record.names)
    former = None if any(tag in keep for tag in names) else unwound(raw, label, inside, {r.run for r in ours})
    if former is None:
        parts = {one: _Part(one, None) if one in ours else _Part(None, one) for one in records_in(document)}
        former = Former(_removed(document, parts, inside, keep))
    return _written(former, label, names)


def remove_tags_from(raw: bytes, label: str, inside: Held, tags: Collection[str]) -> Written:
    """Return a sidecar without what any run wrote of these tags, and those of them that are gone.

    All else that runs wrote stays theirs. The content is None if nothing is left of a file that we made.
    """
    document = parse_xmp(raw, label)
    parts = {record: _parted(record, tags) for record in records_in(document)}
    doomed = [part.gone for part in parts.values() if part.gone is not None]
    if not doomed:
        return Written(raw, ())
    former = unwound(raw, label, inside, {record.run for record in doomed}, tags)
    if former is None:
        former = Former(_removed(document, parts, inside, ()))
    names = dict.fromkeys(tag for record in doomed for tag in record.names if tag in tags)
    return _written(former, label, names)


def _written(former: Former, label: str, names: Collection[str]) -> Written:
    """Return a content, with those of the names that it does not say."""
    said = frozenset() if former.content is None else held_in(parse_xmp(former.content, label)).said
    return Written(former.content, tuple(tag for tag in names if tag not in said))


class _Part(NamedTuple):
    """What goes of a record, and what stays; None: nothing."""

    gone: Record | None
    left: Record | None


def _parted(record: Record, tags: Collection[str]) -> _Part:
    """Return the part of a record that is about some tags, and the rest, which undoes no bytes any more."""
    if not any(tag in tags for tag in (*record.names, *(note.tag for note in record.regions))):
        return _Part(None, record)
    names = tuple(one for one in record.tags if one[0] not in tags)
    regions = tuple(note for note in record.regions if note.tag not in tags)
    if not names and not regions:
        return _Part(record, None)
    keywords = tuple(
        tuple(one for one in own if field.read(one) not in _only_said_by(field, tags, names))
        for field, own in zip(FIELDS, record.keywords, strict=True)
    )
    left = record._replace(tags=names, keywords=keywords, regions=regions, before="", undo="", seal="")
    notes = tuple(note for note in record.regions if note.tag in tags)
    return _Part(record._replace(regions=notes), left)


def _only_said_by(field: Field, tags: Collection[str], others: Collection[tuple[str, str]]) -> set[str]:
    """Return what keywords of a field say for some tags, and for none of the others."""
    return {field.read(field.write(tag)) for tag in tags} - {
        field.read(field.write(tag)) for tag, _ in others
    }


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
        if not all(child in self or child.name == APPLIED for child in parent.children):
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


def _removed(
    document: Document, parts: dict[Record, _Part], inside: Held, keep: Collection[str]
) -> bytes | None:
    """Return the document without the entries of parts of records, read again and compared."""
    doomed = _Doomed()
    ours = [part.gone for part in parts.values() if part.gone is not None]
    others = [part.left for part in parts.values() if part.left is not None]
    _doom_keywords(document, ours, others, inside, keep, doomed)
    notes = {note.id: note for record in ours for note in record.regions if note.tag not in keep}
    for name, item in region_items(document):
        value = value_of(item)
        note = notes.get(id_of(value))
        if note is not None and note.check == check_of(value):
            doomed.add(name, item, value)
    splicer, added = _renew_records(document, parts, doomed)
    content = _cut(splicer, doomed)
    after = parse_xmp(content, "the new sidecar")
    is_mwg_gone = not any(one.name == MWG_REGIONS for one in properties(after))
    lenient = frozenset({f"{MWG_REGIONS} {APPLIED}"}) if is_mwg_gone else frozenset[str]()
    check_difference(document, after, added={RUNS: added}, removed=doomed.values, lenient=lenient)
    if any(record.created for record in ours) and not properties(after):
        return None
    return content


def _renew_records(
    document: Document, parts: dict[Record, _Part], doomed: _Doomed
) -> tuple[Splicer, tuple[Value, ...]]:
    """Remove records, or put what stays of them in their place; return the edits and what is new."""
    splicer, added = Splicer(document), []
    for record, element in record_elements(document):
        part = parts[record]
        if part.gone is not None and part.left is not None:
            text = filled(record_array(part.left).items[0], "", "")
            splicer.replace(element, text)
            doomed.values[RUNS].append(value_of(element))
            added.append(item_value(text))
        elif part.gone is not None:
            doomed.add(RUNS, element)
    return splicer, tuple(added)


def _cut(splicer: Splicer, doomed: _Doomed) -> bytes:
    document = splicer.document
    for one in doomed.attributes:
        if one.attribute is not None:
            splicer.remove(*document.place_of(one.node, one.attribute))
    doomed.climb(document)
    for element in doomed.tops():
        splicer.remove(document.space_before(element.start), element.end)
    return splicer.result()


def _doom_keywords(
    document: Document,
    ours: list[Record],
    others: list[Record],
    inside: Held,
    keep: Collection[str],
    doomed: _Doomed,
) -> None:
    """Find the keywords that only these records account for."""
    meanings = dict(zip(FIELDS, _doomed_meanings(document, ours, others, inside, keep), strict=True))
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
    document: Document, ours: list[Record], others: list[Record], inside: Held, keep: Collection[str]
) -> list[set[str]]:
    """Return, per field, the tags that its keywords to remove say."""
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
