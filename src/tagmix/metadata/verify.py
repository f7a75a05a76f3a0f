"""Compare the properties of a sidecar before and after splicing: what was not asked for must be as it was."""

from collections import Counter
from collections.abc import Iterable, Mapping

from tagmix.errors import MetadataError
from tagmix.metadata.names import FIELDS, PREFIXES
from tagmix.metadata.provenance import RUNS
from tagmix.metadata.rdf import ARRAYS, Value, properties, value_of
from tagmix.metadata.regions import MWG_LIST, MWG_REGIONS, REGIONS
from tagmix.metadata.splice import R
from tagmix.metadata.xmp import RDF, Document, parse_xmp

# Properties whose items are compared one by one; of all others the whole value.
ITEMISED = frozenset({RUNS, REGIONS, *(field.name for field in FIELDS)})
Counts = Counter[tuple[str, Value]]


def facts(document: Document) -> Counts:
    """Return what a document says, each item of the lists that tagmix writes on its own."""
    found: Counts = Counter()
    for one in properties(document):
        found.update(_facts(one.name, one.value))
    return found


def _facts(name: str, value: Value) -> Iterable[tuple[str, Value]]:
    if name == MWG_REGIONS:
        for key, inner in value.parts:
            yield from _facts(key if key == MWG_LIST else f"{name} {key}", inner)
    elif name in ITEMISED or name == MWG_LIST:
        is_list = value.kind in ARRAYS.values()
        yield from ((name, item) for item in (value.items if is_list else _single(value)))
    else:
        yield name, value


def _single(value: Value) -> tuple[Value, ...]:
    blank = value.kind == "text" and not value.text.strip()
    return () if blank else (value,)


def item_value(text: str) -> Value:
    """Return what an item says that is about to be spliced."""
    names = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in PREFIXES.items())
    packet = f'<a xmlns:rdf="{RDF}"{names}>{text.replace(R, "rdf:")}</a>'
    return value_of(parse_xmp(packet.encode(), "an item").root.children[0])


def check_difference(
    before: Document,
    after: Document,
    *,
    added: Mapping[str, Iterable[Value]],
    removed: Mapping[str, Iterable[Value]],
    lenient: frozenset[str] = frozenset(),
) -> None:
    """Raise MetadataError unless the difference is exactly what was asked for.

    Properties named in ``lenient`` may differ: they hold nothing of others.
    """
    old, new = facts(before), facts(after)
    old.update(_counted(added))
    new.update(_counted(removed))
    wrong = [name for name, _ in (*(old - new), *(new - old)) if name not in lenient]
    if wrong:
        raise MetadataError(
            f"the sidecar cannot be changed without touching {wrong[0].rpartition('}')[2]!r} of another "
            "program: write it again with that program"
        )


def _counted(items: Mapping[str, Iterable[Value]]) -> Counts:
    return Counter((name, value) for name, values in items.items() for value in values)
