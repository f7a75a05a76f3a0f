"""A bounded parser of XMP that keeps the place of every element, so that text can be spliced into it.

Only expat tells where an element lies in the bytes of the file; libraries that build and write trees lose
comments, prefixes, quotes and white space of other programs. All limits hold while parsing, before memory is
used: a packet of strangers costs a small multiple of its size, whatever it holds.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from xml.parsers import expat

from tagmix.errors import MetadataError, printable

# The largest packets of real programs (histories of darktable and Camera Raw) have some hundred KB.
MOST_BYTES = 4 * 2**20
MOST_ELEMENTS = 50_000
MOST_ATTRIBUTES = 50_000
MOST_NAMES = 2_000  # different names of elements and attributes
MOST_DEPTH = 64
LONGEST_NAMESPACE = 500  # expat repeats the namespace in every name
ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be"})
BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML: Final = "http://www.w3.org/XML/1998/namespace"
_SEPARATOR = "\1"  # no XML can contain it
_TAG = re.compile(r"""<[^"'>]*(?:"[^"]*"[^"'>]*|'[^']*'[^"'>]*)*>""")
_ATTRIBUTE = re.compile(r"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")


class Attribute(NamedTuple):
    """An attribute: its name as ``namespace}local`` (the local name alone without a namespace) and value."""

    name: str
    prefix: str
    value: str


class Element:
    """An element: its name as ``namespace}local``, and its bytes in the document, ``start`` to ``end``.

    ``close`` is where its end tag starts, or ``end`` if the element is written as one tag.
    """

    __slots__ = (
        "attributes",
        "children",
        "close",
        "declared",
        "end",
        "name",
        "parent",
        "prefix",
        "start",
        "texts",
    )

    def __init__(self, name: str, prefix: str, start: int, parent: "Element | None") -> None:
        self.name, self.prefix, self.start, self.parent = name, prefix, start, parent
        self.close = self.end = start
        self.attributes: tuple[Attribute, ...] = ()
        self.declared: tuple[tuple[str, str], ...] = ()
        self.children: list[Element] = []
        self.texts: list[str] = []

    @property
    def text(self) -> str:
        """Return the text directly inside."""
        return "".join(self.texts)

    def attribute(self, name: str) -> str | None:
        """Return the value of an attribute."""
        return next((one.value for one in self.attributes if one.name == name), None)

    def walk(self) -> Iterator["Element"]:
        """Yield this element and all below it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.walk()

    def scope(self) -> dict[str, str]:
        """Return the namespace that each prefix means inside the element; the default has an empty prefix."""
        found: dict[str, str] = {}
        element: Element | None = self
        while element is not None:
            for prefix, uri in element.declared:
                found.setdefault(prefix, uri)
            element = element.parent
        return found

    def prefix_of(self, namespace: str) -> str | None:
        """Return a prefix that means this namespace inside the element; empty if only the default does."""
        meant = [prefix for prefix, uri in self.scope().items() if uri == namespace]
        return max(meant, default=None)  # attributes need a prefix, so the default comes last


class Document:
    """The bytes of an XMP packet, their encoding, and the elements in them."""

    def __init__(self, raw: bytes, codec: str, root: Element) -> None:
        self.raw, self.codec, self.root = raw, codec, root

    def text_of(self, start: int, end: int) -> str:
        """Return the characters between two places."""
        return self.raw[start:end].decode(self.codec)

    def inside(self, element: Element) -> int:
        """Return the place behind the start tag of an element."""
        bound = element.children[0].start if element.children else element.close
        found = _TAG.match(self.text_of(element.start, max(bound, element.start)))
        if found is None:  # expat has read this tag, so there is one
            raise MetadataError(f"the tag at byte {element.start} cannot be followed: write the file again")
        return element.start + len(found.group().encode(self.codec))

    def is_one_tag(self, element: Element) -> bool:
        """Return whether an element is written as one tag, ``<a/>``."""
        return element.close == element.end

    def place_of(self, element: Element, attribute: Attribute) -> tuple[int, int]:
        """Return the bytes of an attribute with the white space before it."""
        wanted = attribute.name.rpartition("}")[2]
        wanted = f"{attribute.prefix}:{wanted}" if attribute.prefix else wanted
        tag = self.text_of(element.start, self.inside(element))
        for found in _ATTRIBUTE.finditer(tag):
            if found.group(1) == wanted:
                first = element.start + len(tag[: found.start()].encode(self.codec))
                return first, first + len(found.group().encode(self.codec))
        raise MetadataError(f"the attribute {wanted!r} cannot be found again: write the file again")

    def space_before(self, place: int) -> int:
        """Return where the white space that ends at a place starts."""
        unit = 2 if self.codec.startswith("utf-16") else 1
        while place >= unit and self.raw[place - unit : place].decode(self.codec, "replace") in " \t\r\n":
            place -= unit
        return place


class _Builder:
    """Collect elements from the calls of expat, within the limits."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        self.parser.namespace_prefixes = True
        self.parser.ordered_attributes = True
        self.parser.buffer_text = True
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartNamespaceDeclHandler = self._namespace
        self.parser.XmlDeclHandler = self._declaration
        self.root: Element | None = None
        self._open: Element | None = None
        self._declared: list[tuple[str, str]] = []
        self._names: dict[str, tuple[str, str]] = {}
        self._elements = self._attributes = self._depth = 0

    def _start(self, name: str, attributes: list[str]) -> None:
        self._elements += 1
        self._attributes += len(attributes) // 2
        self._depth += 1
        self._check(self._elements, MOST_ELEMENTS, "elements")
        self._check(self._attributes, MOST_ATTRIBUTES, "attributes")
        self._check(self._depth, MOST_DEPTH, "levels")
        element = Element(*self._split(name), self.parser.CurrentByteIndex, self._open)
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        element.attributes = tuple(Attribute(*self._split(name), value) for name, value in pairs)
        element.declared, self._declared = tuple(self._declared), []
        if self._open is None:
            self.root = element
        else:
            self._open.children.append(element)
        self._open = element

    def _end(self, _: str) -> None:
        element = self._open
        if element is not None:
            element.close = self.parser.CurrentByteIndex  # of an element in one tag: behind it
            self._open = element.parent
        self._depth -= 1

    def _text(self, text: str) -> None:
        if self._open is not None:
            self._open.texts.append(text)

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        self._check(len(uri or ""), LONGEST_NAMESPACE, "characters in the name of a namespace")
        self._check(len(prefix or ""), LONGEST_NAMESPACE, "characters in a prefix")
        self._attributes += 1
        self._check(self._attributes, MOST_ATTRIBUTES, "attributes")
        self._declared.append((prefix or "", uri or ""))

    def _declaration(self, _: str, encoding: str | None, __: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise MetadataError(
                f"{self.label} must be UTF-8 or UTF-16, got {printable(encoding[:40])}: save it as UTF-8"
            )

    def _doctype(self, *_: object) -> None:
        raise MetadataError(f"{self.label} must be XMP without a DOCTYPE, got one: remove it")

    def _check(self, number: int, most: int, what: str) -> None:
        if number > most:
            raise MetadataError(
                f"{self.label} must have at most {most:,} {what}, got more: write it with another program"
            )

    def _split(self, name: str) -> tuple[str, str]:
        """Return ``namespace}local`` and the prefix; expat gives all three with separators."""
        known = self._names.get(name)
        if known is None:
            self._check(len(self._names) + 1, MOST_NAMES, "different names")
            self._check(len(name), 3 * LONGEST_NAMESPACE, "characters in a name")
            known = self._names[name] = _name_and_prefix(name.split(_SEPARATOR))
        return known


def _name_and_prefix(parts: list[str]) -> tuple[str, str]:
    if len(parts) == 1:
        return parts[0], ""
    if len(parts) == 2:  # the default namespace
        return "}".join(parts), ""
    return f"{parts[0]}}}{parts[1]}", parts[2]


def parse_xmp(raw: bytes, name: str) -> Document:
    """Return the elements of an XMP packet, or of a sidecar; ``name`` is for messages.

    >>> document = parse_xmp(b"<a xmlns:b='u'><b:c>sea</b:c></a>", "an example")
    >>> [(one.name, one.start, one.end) for one in document.root.walk()]
    [('a', 0, 33), ('u}c', 15, 29)]
    """
    label = printable(name)
    if len(raw) > MOST_BYTES:
        raise MetadataError(
            f"{label} must have at most {MOST_BYTES:,} bytes of XMP, got {len(raw):,}: "
            "write it again with another program"
        )
    codec = _codec(raw)
    builder = _Builder(label)
    try:
        raw.decode(codec)  # expat reads halves of surrogate pairs that cannot be written again
        builder.parser.Parse(_unpadded(raw, codec), True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, MetadataError):
            raise
        reason = printable(" ".join(str(error).split())[:80])
        raise MetadataError(f"{label} must be XML, got: {reason}; repair or remove it") from error
    if builder.root is None:
        raise MetadataError(f"{label} must be XML, got nothing: remove it")
    document = Document(raw, codec, builder.root)
    _find_ends(document)
    return document


def _codec(raw: bytes) -> str:
    for mark, codec in BOMS:
        if raw.startswith(mark):
            return codec
    return {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}.get(raw[:2], "utf-8")


def _unpadded(raw: bytes, codec: str) -> bytes:
    """Return the bytes without the zeros that some programs pad packets with."""
    unit = 2 if codec.startswith("utf-16") else 1
    end = len(raw) - len(raw) % unit
    while end and not any(raw[end - unit : end]):
        end -= unit
    return raw if end == len(raw) else raw[:end]


def _find_ends(document: Document) -> None:
    """Set the end of each element: expat gives where its end tag starts, or the end of ``<a/>``."""
    raw, codec = document.raw, document.codec
    opening, one_tag = "</".encode(codec), "/>".encode(codec)
    for element in document.root.walk():
        element.end = element.close
        empty = not element.children and not element.texts
        if empty and raw.endswith(one_tag, element.start, element.close):
            continue
        if raw.startswith(opening, element.close):
            element.end = _behind_bracket(raw, codec, element.close)


def _behind_bracket(raw: bytes, codec: str, place: int) -> int:
    bracket = ">".encode(codec)
    found = raw.index(bracket, place)
    while (found - place) % len(bracket):  # halves of two characters of UTF-16
        found = raw.index(bracket, found + 1)
    return found + len(bracket)
