"""What tagmix wrote into a sidecar, as the sidecar itself says: one record per run.

The records are the truth of what is ours, also where the catalogue is lost. They are ordinary XMP, a sequence
of structures in a namespace of our own, which other programs keep and show.
"""

from typing import Final, NamedTuple

from tagmix.errors import printable
from tagmix.metadata.names import FIELDS, TAGMIX
from tagmix.metadata.rdf import Property, Value, array_of, items_of, properties
from tagmix.metadata.splice import Array, R, digest, quoted, text_item
from tagmix.metadata.xmp import Document, Element

RUNS: Final = f"{TAGMIX}}}Runs"
RUNS_LABEL: Final = "tagmix:Runs"
# Stand for the text that undoes the edits of a run, and for the digest of the result, until they are known.
UNDO: Final = "\2"
SEAL: Final = "\3"
BLANK_SEAL: Final = "0" * 64


class RegionNote(NamedTuple):
    """A region that was written: its id in the sidecar, its tag, and a digest of what was written."""

    id: str
    tag: str
    check: str


class Record(NamedTuple):
    """What one run wrote: tags with probabilities, the keywords per field that say them, regions.

    ``created`` says whether the run made the sidecar. ``undo`` gives the former bytes back, of which
    ``before`` is the digest, while nobody else changes the file, as ``seal`` proves: the digest of the whole
    file with zeros in its own place.
    """

    run: str
    model: str
    software: str
    date: str
    tags: tuple[tuple[str, str], ...] = ()
    keywords: tuple[tuple[str, ...], ...] = ((), (), ())
    regions: tuple[RegionNote, ...] = ()
    created: bool = False
    before: str = ""
    undo: str = ""
    seal: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the tags without probabilities."""
        return tuple(tag for tag, _ in self.tags)


def records_in(document: Document) -> list[Record]:
    """Return the records of a sidecar, the oldest first."""
    return [_record(value) for one in runs_in(document) for value in one.value.items]


def runs_in(document: Document) -> list[Property]:
    """Return the properties that hold records: one, unless another program repeated it."""
    return [one for one in properties(document) if one.name == RUNS]


def record_elements(document: Document) -> list[tuple[Record, Element]]:
    """Return the records with their elements."""
    found = []
    for one in runs_in(document):
        array = None if one.element is None else array_of(one.element)
        if array is not None:
            found += list(zip(map(_record, one.value.items), items_of(array), strict=True))
    return found


def is_sealed(document: Document, record: Record) -> bool:
    """Return whether nothing was changed since the run of a record."""
    if len(record.seal) != len(BLANK_SEAL):
        return False
    codec = document.codec
    return digest(document.raw.replace(record.seal.encode(codec), BLANK_SEAL.encode(codec))) == record.seal


def machine_tags(document: Document) -> tuple[str, ...]:
    """Return the tags that tagmix wrote and nobody confirmed."""
    return tuple(dict.fromkeys(tag for record in records_in(document) for tag in record.names))


def _record(value: Value) -> Record:
    def text(name: str, among: Value = value) -> str:
        field = among.field(f"{TAGMIX}}}{name}")
        return "" if field is None else field.text

    def listed(name: str) -> tuple[Value, ...]:
        field = value.field(f"{TAGMIX}}}{name}")
        return () if field is None else field.items

    def keywords(name: str) -> tuple[str, ...]:
        return tuple(one.text for one in listed(name))

    return Record(
        text("Run"),
        text("Model"),
        text("Software"),
        text("Date"),
        tuple((text("Tag", one), text("Probability", one)) for one in listed("Tags")),
        tuple(keywords(_field_name(field.label)) for field in FIELDS),
        tuple(RegionNote(text("Id", one), text("Tag", one), text("Check", one)) for one in listed("Regions")),
        text("Created") == "True",
        text("Before"),
        text("Undo"),
        text("Seal"),
    )


def _field_name(label: str) -> str:
    """Return the name of the field of a record that holds keywords of this label."""
    local = label.partition(":")[2]
    return f"Wrote{local[0].upper()}{local[1:]}"


def record_array(record: Record) -> Array:
    """Return a record as an item to add."""
    simple = (
        ("Run", record.run),
        ("Model", record.model),
        ("Software", record.software),
        ("Date", record.date),
        ("Created", "True" if record.created else ""),
        ("Before", record.before),
    )
    fields = [f"<tagmix:{name}>{quoted(printable(text))}</tagmix:{name}>" for name, text in simple if text]
    tags = [_struct(("Tag", tag), ("Probability", probability)) for tag, probability in record.tags]
    fields.append(_listed("Tags", tags))
    for field, keywords in zip(FIELDS, record.keywords, strict=True):
        fields.append(_listed(_field_name(field.label), [text_item(keyword) for keyword in keywords]))
    regions = [_struct(("Id", one.id), ("Tag", one.tag), ("Check", one.check)) for one in record.regions]
    fields += [_listed("Regions", regions), f"<tagmix:Undo>{UNDO}</tagmix:Undo>"]
    fields.append(f"<tagmix:Seal>{SEAL}</tagmix:Seal>")
    item = f'<{R}li {R}parseType="Resource">{"".join(fields)}</{R}li>'
    return Array(RUNS_LABEL, "Seq", (item,))


def _struct(*fields: tuple[str, str]) -> str:
    inner = "".join(f"<tagmix:{name}>{quoted(text)}</tagmix:{name}>" for name, text in fields)
    return f'<{R}li {R}parseType="Resource">{inner}</{R}li>'


def _listed(name: str, items: list[str]) -> str:
    if not items:
        return ""
    return f"<tagmix:{name}><{R}Bag>{''.join(items)}</{R}Bag></tagmix:{name}>"
