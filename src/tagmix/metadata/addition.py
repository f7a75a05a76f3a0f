"""Write tags, regions and provenance of one run into the XMP of a sidecar, in memory."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tagmix import __version__
from tagmix.errors import MetadataError
from tagmix.metadata.held import Held, held_in, shared_by_all_fields
from tagmix.metadata.names import FIELDS, Field
from tagmix.metadata.provenance import (
    BLANK_SEAL,
    RUNS,
    SEAL,
    UNDO,
    Record,
    RegionNote,
    record_array,
    records_in,
)
from tagmix.metadata.rdf import Property, Value, properties
from tagmix.metadata.regions import MWG_LIST, MWG_REGIONS, Drawn, check_of, mwg_lines
from tagmix.metadata.splice import (
    Array,
    Edit,
    Splicer,
    array_lines,
    digest,
    text_item,
    undo_text,
    undone,
)
from tagmix.metadata.verify import check_difference, item_value
from tagmix.metadata.xmp import RDF, Document, parse_xmp

SOFTWARE: Final = f"tagmix {__version__}"
EMPTY: Final = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    f'<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="{SOFTWARE}">\n'
    f' <rdf:RDF xmlns:rdf="{RDF}">\n'
    " </rdf:RDF>\n"
    "</x:xmpmeta>\n"
    '<?xpacket end="w"?>\n'
).encode()


class Wanted(NamedTuple):
    """What a run wants to write: ``tags`` with probabilities as text, and regions as text.

    ``size``, width and height of the stored pixels, is that of regions in the style of the Metadata Working
    Group; None: regions are those of the IPTC.
    """

    run: str
    model: str
    date: str
    tags: tuple[tuple[str, str], ...]
    regions: tuple[Drawn, ...] = ()
    size: tuple[int, int] | None = None
    software: str = SOFTWARE


class Written(NamedTuple):
    """The content after writing, and the tags that the run owns now."""

    content: bytes | None
    tags: tuple[str, ...]


def write_into(raw: bytes | None, label: str, inside: Held, wanted: Wanted) -> Written:
    """Return a sidecar with what a run wants; ``inside`` is what the photo itself holds.

    The content is the same object if there is nothing to do.
    """
    document = parse_xmp(EMPTY if raw is None else raw, label)
    records = records_in(document)
    if any(record.run == wanted.run for record in records):
        return _written_before(raw, wanted, records, label)
    held = held_in(document)
    tags = _own_tags(wanted, records, (inside + held).said)
    if not tags and not wanted.regions:
        return Written(raw, ())
    fields = [_Additions(field, held, inside, records, n) for n, field in enumerate(FIELDS)]
    for field in fields:
        field.complete(shared_by_all_fields((*inside.tags, *held.tags)), [tag for tag, _ in tags])
    record = Record(
        wanted.run,
        wanted.model,
        wanted.software,
        wanted.date,
        tags,
        tuple(tuple(field.own) for field in fields),
        tuple(RegionNote(one.id, one.tag, check_of(item_value(one.text))) for one in wanted.regions),
        raw is None,
        digest(document.raw),
    )
    arrays = [Array(field.field.label, field.field.array, field.items) for field in fields if field.items]
    content = _spliced(document, arrays, wanted, record)
    return Written(content, record.names)


def _written_before(raw: bytes | None, wanted: Wanted, records: Sequence[Record], label: str) -> Written:
    """Return the sidecar as it is, if the run wrote all of this into it before."""
    known = {tag for record in records if record.run == wanted.run for tag in record.names}
    more = [tag for tag, _ in wanted.tags if tag not in known]
    held = [] if raw is None else held_in(parse_xmp(raw, label)).said
    if any(tag not in held for tag in more):
        raise MetadataError(
            f"{label} has tags of the run {wanted.run!r} already: undo it, or begin another run"
        )
    return Written(raw, ())


def _own_tags(wanted: Wanted, records: Sequence[Record], said: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the tags that the run will own: those nobody had, and those of earlier runs."""
    machine = {tag for record in records for tag in record.names}
    unique = dict(reversed(wanted.tags))
    order = dict.fromkeys(tag for tag, _ in wanted.tags)
    return tuple((tag, unique[tag]) for tag in order if tag not in said or tag in machine)


class _Additions:
    """The keywords to add to one field, and which of them the run owns."""

    def __init__(
        self, field: Field, held: Held, inside: Held, records: Sequence[Record], number: int
    ) -> None:
        self.field = field
        self._there = {field.read(keyword) for keyword in held.keywords[number]}
        self._machine = {keyword for record in records for keyword in record.keywords[number]}
        self._texts: list[str] = []
        self.own: list[str] = []
        for keyword in inside.keywords[number]:
            self._add(keyword.strip())

    def complete(self, shared: Sequence[str], own: Sequence[str]) -> None:
        """Add what other fields hold, then what is new."""
        for tag in shared:
            self._add(self.field.write(tag))
        for tag in own:
            keyword = self.field.write(tag)
            if self._add(keyword) or keyword in self._machine:
                self.own.append(keyword)

    def _add(self, keyword: str) -> bool:
        meaning = self.field.read(keyword)
        if not meaning or meaning in self._there:
            return False
        self._there.add(meaning)
        self._texts.append(keyword)
        return True

    @property
    def items(self) -> tuple[str, ...]:
        """Return the keywords as text to splice."""
        return tuple(text_item(text) for text in self._texts)


def _spliced(document: Document, arrays: list[Array], wanted: Wanted, record: Record) -> bytes:
    """Return the document with all additions, read again and compared."""
    splicer = Splicer(document)
    there = {one.name: one for one in reversed(properties(document))}
    lines: list[tuple[int, str]] = []
    added: dict[str, tuple[Value, ...]] = {}
    drawn = tuple(one.text for one in wanted.regions)
    lenient: frozenset[str] = frozenset()
    if drawn and wanted.size is None:
        arrays = [*arrays, Array("Iptc4xmpExt:ImageRegion", "Bag", drawn)]
    elif drawn and wanted.size is not None:
        lines += _mwg(splicer, there.get(MWG_REGIONS), drawn, wanted.size)
        added[MWG_LIST] = tuple(map(item_value, drawn))
        lenient = frozenset() if MWG_REGIONS in there else frozenset({_DIMENSIONS})
    for array in (*arrays, record_array(record)):
        added[array.name] = tuple(item_value(filled(item, "", "")) for item in array.items)
        lines += _add(splicer, there.get(array.name), array)
    if lines:
        splicer.add_block(lines)
    content = _with_undo(splicer)
    if undone(content.raw, content.undo) != document.raw:
        raise MetadataError(
            "the sidecar cannot be given back byte by byte: write it again with another program"
        )
    after = parse_xmp(content.raw, "the new sidecar")
    added[RUNS] = (item_value(filled(record_array(record).items[0], content.undo, content.seal)),)
    check_difference(document, after, added=added, removed={}, lenient=lenient)
    return content.raw


_DIMENSIONS: Final = f"{MWG_REGIONS} {MWG_REGIONS.rpartition('}')[0]}}}AppliedToDimensions"


def _add(splicer: Splicer, one: Property | None, array: Array) -> list[tuple[int, str]]:
    """Add items to a property; return it as lines if it has to be made."""
    if one is None:
        return array_lines(array)
    if one.attribute is None:
        splicer.add_to(one, array)
        return []
    splicer.remove(*splicer.document.place_of(one.node, one.attribute))
    old = (text_item(one.attribute.value),) if one.attribute.value.strip() else ()
    return array_lines(array._replace(items=(*old, *array.items)))


def _mwg(
    splicer: Splicer, one: Property | None, items: Sequence[str], size: tuple[int, int]
) -> list[tuple[int, str]]:
    if one is None:
        return mwg_lines(items, size)
    below = () if one.element is None else one.element.walk()
    inner = next((element for element in below if element.name == MWG_LIST), None)
    if inner is None:
        raise MetadataError("mwg-rs:Regions must have a list of regions, got none: remove the property")
    splicer.add_to(one._replace(element=inner), Array("mwg-rs:RegionList", "Bag", tuple(items)))
    return []


class _Content(NamedTuple):
    raw: bytes
    undo: str
    seal: str


def _with_undo(splicer: Splicer) -> _Content:
    """Return the result with the text that undoes it inside; its length does not depend on its numbers."""
    edits = splicer.ordered()
    length = len(undo_text(splicer.document, edits))

    def with_(undo: str, seal: str) -> list[Edit]:
        return [Edit(edit.start, edit.end, filled(edit.text, undo, seal)) for edit in edits]

    undo = undo_text(splicer.document, with_(" " * length, BLANK_SEAL))
    splicer.edits = with_(undo, BLANK_SEAL)
    seal = digest(splicer.result())
    splicer.edits = with_(undo, seal)
    return _Content(splicer.result(), undo, seal)


def filled(text: str, undo: str, seal: str) -> str:
    """Return the text of a record with its undo and its seal."""
    return text.replace(UNDO, undo).replace(SEAL, seal)
