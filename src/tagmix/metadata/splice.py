"""Splice text into XMP: new items and new properties, with every other byte as it was."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from tagmix.errors import MetadataError
from tagmix.metadata.names import PREFIXES
from tagmix.metadata.rdf import Property, array_of, items_of, rdf_of
from tagmix.metadata.xmp import RDF, Document, Element

ROOTS: Final = frozenset({"adobe:ns:meta/}xmpmeta", "adobe:ns:meta/}xapmeta"})
# Stands for the document's own prefix of RDF in text that is spliced in; no XML can contain it.
R: Final = "\0"
_ABOUT: Final = (f"{RDF}}}about", "about")


class Edit(NamedTuple):
    """The bytes from ``start`` to ``end`` are replaced by ``text``."""

    start: int
    end: int
    text: str


class Array(NamedTuple):
    """Items to add to the array of a property: ``label`` is prefix:name, ``items`` are whole elements."""

    label: str
    kind: str
    items: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name as the parser gives it."""
        prefix, _, local = self.label.partition(":")
        return f"{PREFIXES[prefix]}}}{local}"


def text_item(text: str) -> str:
    """Return a simple item of an array, as text to splice."""
    return f"<{R}li>{quoted(text)}</{R}li>"


def quoted(text: str) -> str:
    """Return text as it is written in XML, without characters that XML cannot hold.

    >>> quoted("a < b" + chr(7))
    'a &lt; b'
    """
    kept = "".join(c for c in text if c in "\t\n\r" or (c >= " " and not _is_forbidden(c)))
    return escape(kept, {"\r": "&#13;", '"': "&quot;"})


def _is_forbidden(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" or character in "\ufffe\uffff"


class Splicer:
    """Collect edits of a document; ``result`` applies them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.edits: list[Edit] = []

    def insert(self, place: int, text: str) -> None:
        """Put text at a place."""
        self.edits.append(Edit(place, place, text))

    def add_to(self, one: Property, array: Array) -> None:
        """Add items to a property that exists, in whatever form it is written, except as an attribute."""
        element = one.element
        if element is None:
            raise MetadataError(f"{array.label} is an attribute, where an element was expected")
        inner = array_of(element)
        if inner is not None:
            self._add_to_array(inner, array)
        elif element.children or element.attributes:
            raise MetadataError(
                f"{array.label} must be a list of keywords, got another form: write it again with another "
                "program"
            )
        else:
            self._make_array(element, array)

    def _add_to_array(self, inner: Element, array: Array) -> None:
        items = items_of(inner)
        if items:
            place = items[-1].end
            space = self._space_before(items[-1].start)
            text = "".join(space + self._fitted(item, inner) for item in array.items)
            self.insert(place, text)
        else:
            self._open(inner, "".join(self._fitted(item, inner) for item in array.items))

    def _make_array(self, element: Element, array: Array) -> None:
        """Make an array of an empty or simple property; its text becomes the first item, byte by byte."""
        items = "".join(self._fitted(item, element) for item in array.items)
        kind = f"<{R}{array.kind}>"
        first, last = (self._fitted(kind, element), self._fitted(f"</{R}{array.kind}>", element))
        if not element.text.strip():
            self._open(element, first + items + last)
            return
        one = self._fitted(f"<{R}li>", element)
        self.insert(self.document.inside(element), first + one)
        self.insert(element.close, self._fitted(f"</{R}li>", element) + items + last)

    def _open(self, element: Element, text: str) -> None:
        """Put text at the end of an element that may be written as one tag."""
        if not self.document.is_one_tag(element):
            self.insert(self.document.inside(element) if not element.children else element.close, text)
            return
        slash = element.end - len("/>".encode(self.document.codec))
        tag = self.document.text_of(element.start, element.end)
        name = tag[1 : re.search(r"[\s/>]", tag).start()]  # type: ignore[union-attr]
        self.edits.append(Edit(slash, element.end, f">{text}</{name}>"))

    def _fitted(self, text: str, place: Element) -> str:
        """Return text with the prefixes that hold at a place, and declarations of those that do not."""
        rdf = place.prefix_of(RDF)
        head = re.match(r"<[^\s/>]+", text)
        if head is not None:  # not the end of an element
            text = head.group() + _declarations(text, place, rdf) + text[head.end() :]
        return text.replace(R, f"{rdf or 'rdf'}:")

    def _space_before(self, place: int) -> str:
        return self.document.text_of(self.document.space_before(place), place)

    def add_block(self, properties: Iterable[tuple[int, str]]) -> None:
        """Add a description of the photo behind the others: lines of text with their depth."""
        root = rdf_of(self.document)
        lines = list(properties)
        if root is None:
            self._add_rdf(lines)
            return
        nodes = root.children
        space = self._space_before(nodes[-1].start) if nodes else self._space_inside(root)
        text = space + self._fitted(_block(lines, space, self._about(nodes)), root)
        if nodes:
            self.insert(nodes[-1].end, text)
        else:
            is_spaced = not self.document.is_one_tag(root) and "\n" in root.text
            self._open(root, text if is_spaced else text + space.removesuffix(" "))

    def _add_rdf(self, lines: list[tuple[int, str]]) -> None:
        root = self.document.root
        if root.name not in ROOTS:
            raise MetadataError(
                "a sidecar must be XMP with an rdf:RDF element, got other XML: repair or remove it"
            )
        block = _block(lines, "\n  ", "")
        text = f'\n <rdf:RDF xmlns:rdf="{RDF}">\n  {block}\n </rdf:RDF>\n'.replace(R, "rdf:")
        self._open(root, text)

    def _space_inside(self, root: Element) -> str:
        space = self._space_before(root.start)
        return f"{space} " if "\n" in space else "\n "

    def _about(self, nodes: Sequence[Element]) -> str:
        """Return what the other descriptions are about, which has to be the same everywhere."""
        for node in nodes:
            for name in _ABOUT:
                value = node.attribute(name)
                if value:
                    return value
        return ""

    def replace(self, element: Element, text: str) -> None:
        """Put text in the place of an element, which must not be the root."""
        self.edits.append(Edit(element.start, element.end, self._fitted(text, element.parent or element)))

    def remove(self, start: int, end: int) -> None:
        """Remove bytes."""
        self.edits.append(Edit(start, end, ""))

    def ordered(self) -> list[Edit]:
        """Return the edits in the order of the document; those of one place in the order they were made."""
        return sorted(self.edits, key=lambda edit: (edit.start, edit.end))

    def result(self) -> bytes:
        """Return the document with all edits."""
        raw, codec = self.document.raw, self.document.codec
        parts, place = [], 0
        for edit in self.ordered():
            parts += [raw[place : edit.start], edit.text.encode(codec)]
            place = edit.end
        return b"".join((*parts, raw[place:]))


def _declarations(text: str, place: Element, rdf: str | None) -> str:
    """Return the declarations that the first tag of a text lacks at a place."""
    scope = place.scope()
    own = text[: text.index(">")]
    missing = {} if rdf else {"rdf": RDF}
    missing |= {prefix: PREFIXES[prefix] for prefix in _used(text) if scope.get(prefix) != PREFIXES[prefix]}
    return "".join(f' xmlns:{p}="{uri}"' for p, uri in missing.items() if f" xmlns:{p}=" not in own)


def _used(text: str) -> list[str]:
    """Return those of our prefixes that a text uses; one too many does no harm."""
    return sorted(set(re.findall(r"[</\s]([\w-]+):[\w-]+", text)) & PREFIXES.keys())


def _block(lines: Iterable[tuple[int, str]], space: str, about: str) -> str:
    """Return an element that holds properties, as its lines; without line ends if the document has none."""
    body = list(lines)
    used = _used("".join(text for _, text in body))
    # The names of namespaces come first, so that every line below can rely on them
    declared = "".join(f'{_indented(space, 2)}xmlns:{p}="{PREFIXES[p]}"' for p in used)
    head = f'<{R}Description {R}about="{quoted(about)}"{declared}>'
    inner = "".join(_indented(space, depth + 1, breaks=True) + text for depth, text in body)
    return f"{head}{inner}{space}</{R}Description>"


def _indented(space: str, depth: int, *, breaks: bool = False) -> str:
    if "\n" not in space:
        return "" if breaks else " "
    return space + " " * depth


def array_lines(array: Array) -> list[tuple[int, str]]:
    """Return a new property with an array, as lines and their depths."""
    return [
        (0, f"<{array.label}>"),
        (1, f"<{R}{array.kind}>"),
        *((2, item) for item in array.items),
        (1, f"</{R}{array.kind}>"),
        (0, f"</{array.label}>"),
    ]


def digest(raw: bytes) -> str:
    """Return the digest by which a former state of a sidecar is recognised."""
    return hashlib.sha256(raw).hexdigest()


# Numbers of one width: the text that undoes an edit can be part of that edit.
_WIDTH = 8


def undo_text(document: Document, edits: Sequence[Edit]) -> str:
    """Return what takes edits back: for each its place before, its length after, and what it replaced."""
    words = []
    for edit in edits:
        length = len(edit.text.encode(document.codec))
        old = base64.b64encode(document.raw[edit.start : edit.end]).decode()
        words.append(f"{edit.start:0{_WIDTH}}+{length:0{_WIDTH}}={old}")
    return " ".join(words)


def undone(raw: bytes, undo: str) -> bytes | None:
    """Return the bytes before edits; None if the text does not fit. The caller compares the digest."""
    parts, place, before = [], 0, 0
    try:
        for word in undo.split():
            start, rest = word.split("+", 1)
            length, old = rest.split("=", 1)
            replaced = base64.b64decode(old, validate=True)
            gap = int(start) - before
            if gap < 0 or not length.isdigit():
                return None
            parts += [raw[place : place + gap], replaced]
            place += gap + int(length)
            before = int(start) + len(replaced)
    except (ValueError, binascii.Error):
        return None
    return b"".join((*parts, raw[place:]))
