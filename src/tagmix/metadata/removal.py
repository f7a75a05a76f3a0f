"""Take what runs of tagmix wrote out of a sidecar, in memory.

If nobody else changed the file since, the bytes from before come back (``unwinding``). Otherwise only entries
that the records name are removed, wherever another program has put them.
"""

from collections import defaultdict
from collections.abc import Collection

from tagmix.metadata.addition import Written
from tagmix.metadata.held import Held, held_in
from tagmix.metadata.names import FIELDS, Field
from tagmix.metadata.provenance import RUNS, Record, record_elements, records_in
from tagmix.metadata.rdf import ROOT, Property, Value, array_of, is_property, items_of, properties, value_of
from tagmix.metadata.regions import MWG_REGIONS, check_of, id_of
from tagmix.metadata.splice import Splicer
from tagmix.metadata.unwinding import APPLIED, region_items, unwound
from tagmix.metadata.verify import check_difference
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
    content: bytes | None = None
    former = None if any(tag in keep for tag in names) else unwound(raw, label, inside, {r.run for r in ours})
    content = _removed(document, ours, inside, keep) if former is None else former.content
    said = frozenset() if content is None else held_in(parse_xmp(content, label)).said
    return Written(content, tuple(tag for tag in names if tag not in said))


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


def _removed(document: Document, ours: list[Record], inside: Held, keep: Collection[str]) -> bytes | None:
    """Return the document without the entries of records, read again and compared."""
    doomed = _Doomed()
    _doom_keywords(document, ours, inside, keep, doomed)
    notes = {note.id: note for record in ours for note in record.regions if note.tag not in keep}
    for name, item in region_items(document):
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
    lenient = frozenset({f"{MWG_REGIONS} {APPLIED}"}) if is_mwg_gone else frozenset[str]()
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
