"""The RDF in an XMP document: its properties, in every form of writing, with their elements."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tagmix.metadata.xmp import RDF, XML, Attribute, Document, Element

ROOT: Final = f"{RDF}}}RDF"
DESCRIPTION: Final = f"{RDF}}}Description"
ITEM: Final = f"{RDF}}}li"
LANGUAGE: Final = f"{XML}}}lang"
ARRAYS: Final = {f"{RDF}}}{kind}": kind for kind in ("Bag", "Seq", "Alt")}
# Attributes of RDF itself, which are no properties; old files write them without a prefix.
SYNTAX: Final = frozenset(
    name
    for local in ("about", "ID", "nodeID", "parseType", "resource", "datatype", "bagID", "aboutEach")
    for name in (f"{RDF}}}{local}", local)
)
_PARSE_TYPE: Final = f"{RDF}}}parseType"
_RESOURCE: Final = f"{RDF}}}resource"
_VALUE: Final = f"{RDF}}}value"


class Value(NamedTuple):
    """What a property means, whatever its form of writing: two equal values say the same.

    ``kind`` is ``text`` or ``uri`` (then ``text`` holds it), ``Bag``, ``Seq`` or ``Alt`` (``parts`` are the
    items, their names empty), ``struct`` (``parts`` are the fields, sorted by name) or ``literal`` (any XML).
    ``about`` are qualifiers, such as a language.
    """

    kind: str
    text: str = ""
    parts: "tuple[tuple[str, Value], ...]" = ()
    about: "tuple[tuple[str, Value], ...]" = ()

    @property
    def items(self) -> "tuple[Value, ...]":
        """Return the items of an array."""
        return tuple(value for _, value in self.parts)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts of a simple value, or of the simple items of an array."""
        if self.kind == "text":
            return (self.text,) if self.text.strip() else ()
        return tuple(one.text for one in self.items if one.kind == "text")

    def field(self, name: str) -> "Value | None":
        """Return a field of a struct."""
        return next((value for key, value in self.parts if key == name), None)


class Property(NamedTuple):
    """A property of the photo: ``element`` holds it, or ``attribute`` of the element ``node``."""

    name: str
    node: Element
    element: Element | None = None
    attribute: Attribute | None = None

    @property
    def value(self) -> Value:
        """Return what the property says."""
        if self.element is not None:
            return value_of(self.element)
        return Value("text", self.attribute.value if self.attribute is not None else "")


def rdf_of(document: Document) -> Element | None:
    """Return the first ``rdf:RDF`` of a document, with any wrapper or none."""
    return next((element for element in document.root.walk() if element.name == ROOT), None)


def properties(document: Document) -> list[Property]:
    """Return the properties of the photo in the order of the document."""
    root = rdf_of(document)
    return [] if root is None else [one for node in root.children for one in _properties_of(node)]


def _properties_of(node: Element) -> Iterator[Property]:
    for attribute in node.attributes:
        if is_property(attribute):
            yield Property(attribute.name, node, attribute=attribute)
    for child in node.children:
        yield Property(child.name, node, element=child)


def texts_of(document: Document, name: str) -> tuple[str, ...]:
    """Return all texts of an array or of a simple property."""
    return tuple(text for one in properties(document) if one.name == name for text in one.value.texts)


def array_of(element: Element) -> Element | None:
    """Return the Bag, Seq or Alt inside the element of a property."""
    return next((child for child in element.children if child.name in ARRAYS), None)


def items_of(array: Element) -> list[Element]:
    """Return the items of an array, also in the old form ``rdf:_1``."""
    return [child for child in array.children if is_item(child)]


def is_item(element: Element) -> bool:
    """Return whether an element is an item of an array."""
    local = element.name.removeprefix(f"{RDF}}}")
    return element.name == ITEM or (local != element.name and local[:1] == "_" and local[1:].isdigit())


def value_of(element: Element) -> Value:
    """Return what the element of a property, or of an item, says."""
    language = element.attribute(LANGUAGE)
    about = () if language is None else ((LANGUAGE, Value("text", language.lower())),)
    kind = element.attribute(_PARSE_TYPE)
    if kind == "Resource":
        return _struct(_fields(element), about)
    if kind is not None:
        return Value("literal", parts=_literal(element), about=about)
    if element.children:
        return _of_node(element.children[0], about)
    resource = element.attribute(_RESOURCE)
    if resource is not None:
        return Value("uri", resource, about=(*about, *_shorthand(element)))
    fields = tuple(_shorthand(element))
    if fields:
        return _struct(fields, about)
    return Value("text", element.text, about=about)


def _of_node(node: Element, about: "tuple[tuple[str, Value], ...]") -> Value:
    if node.name in ARRAYS:
        parts = tuple(("", value_of(item)) for item in items_of(node))
        return Value(ARRAYS[node.name], parts=parts, about=about)
    fields = [*_shorthand(node), *_fields(node)]
    if node.name != DESCRIPTION:  # a typed node
        fields.append((f"{RDF}}}type", Value("uri", node.name.replace("}", "", 1))))
    return _struct(fields, about)


def _fields(element: Element) -> list[tuple[str, Value]]:
    return [(child.name, value_of(child)) for child in element.children]


def _shorthand(element: Element) -> Iterator[tuple[str, Value]]:
    """Yield the fields that are written as attributes."""
    for attribute in element.attributes:
        if is_property(attribute):
            yield attribute.name, Value("text", attribute.value)


def is_property(attribute: Attribute) -> bool:
    """Return whether an attribute is a property, and no syntax of XML or RDF."""
    return attribute.name not in SYNTAX and not attribute.name.startswith(f"{XML}}}")


def _struct(fields: "Iterable[tuple[str, Value]]", about: "tuple[tuple[str, Value], ...]") -> Value:
    """Return a struct, or the value with qualifiers that ``rdf:value`` makes of one."""
    pairs = sorted(fields)
    inner = next((value for name, value in pairs if name == _VALUE), None)
    if inner is None:
        return Value("struct", parts=tuple(pairs), about=about)
    qualifiers = tuple(pair for pair in pairs if pair[0] != _VALUE)
    return inner._replace(about=tuple(sorted((*inner.about, *about, *qualifiers))))


def _literal(element: Element) -> "tuple[tuple[str, Value], ...]":
    here = [(one.name, Value("text", one.value)) for one in element.attributes]
    below = [(child.name, Value("literal", parts=_literal(child))) for child in element.children]
    return (*here, ("", Value("text", element.text)), *below)
