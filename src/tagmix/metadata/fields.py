"""The fields of XMP that hold keywords, each with its own way of writing levels."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from tagmix.errors import MetadataError
from tagmix.metadata.rdf import properties
from tagmix.metadata.xmp import Document, Element, parse_xmp
from tagmix.tag_names import SEPARATOR, normal_name

DC: Final = "http://purl.org/dc/elements/1.1/"
LIGHTROOM: Final = "http://ns.adobe.com/lightroom/1.0/"
DIGIKAM: Final = "http://www.digikam.org/ns/1.0/"
# Microsoft's own documents and other programs write the second.
MICROSOFT: Final = ("http://ns.microsoft.com/photo/1.0", "http://ns.microsoft.com/photo/1.0/")
MEDIAPRO: Final = "http://ns.iview-multimedia.com/mediapro/1.0/"
ACDSEE: Final = "http://ns.acdsee.com/iptc/1.0/"
TIFF: Final = "http://ns.adobe.com/tiff/1.0/"
SUBJECT: Final = f"{DC}}}subject"
ORIENTATION: Final = f"{TIFF}}}Orientation"
CATEGORIES: Final = f"{ACDSEE}}}categories"
MOST_KEYWORDS = 1000  # of one field; more are a mistake of another program
LONGEST_TEXT = 4000  # 16 levels of 200 characters, with separators and white space
SLASH = "/"


class Keywords(NamedTuple):
    """The keywords of one packet with levels separated by bars, still unchecked, and what was left out."""

    tags: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Ours(NamedTuple):
    """What tagmix wrote into a packet: the texts of each field, and the tags that they say."""

    texts: Mapping[str, Collection[str]] = MappingProxyType({})
    tags: Collection[str] = frozenset()

    def left(self, field: str, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts of a field that are not ours."""
        own = self.texts.get(field, ())
        yield from (text for text in texts if text not in own)

    def is_copy(self, field: str, tag: str) -> bool:
        """Return whether another program copied a tag of ours into a field that tagmix does not write."""
        return bool(self.tags) and field not in self.texts and normal_name(tag) in self.tags


def keywords_of(document: Document, label: str, ours: Ours | None = None) -> Keywords:
    """Return the keywords of a packet, in the order of its fields, without ``ours``.

    In Microsoft's fields a slash may separate levels, as in Windows, or belong to a name; they are copies
    where another field has levels, and their slashes are then left to that field.
    """
    ours = ours or Ours()
    tags: list[str] = []
    copies: list[str] = []
    levelled = False
    problems: list[str] = []
    for found in properties(document):
        if (read := FIELDS.get(found.name)) is None:
            continue
        try:
            texts = bounded(read(ours.left(found.name, found.value.texts)), label, problems)
        except MetadataError as error:
            problems.append(str(error))
            continue
        slashed = found.name in COPIES
        as_tags = [text.replace(SLASH, SEPARATOR) if slashed else text for text in texts]
        kept = [text for text, tag in zip(texts, as_tags, strict=True) if not ours.is_copy(found.name, tag)]
        (copies if slashed else tags).extend(kept)
        levelled |= found.name in LEVELLED
    copies = [text for text in copies if SLASH not in text] if levelled else copies
    return Keywords((*tags, *(text.replace(SLASH, SEPARATOR) for text in copies)), tuple(problems))


def bounded(texts: Iterable[str], label: str, problems: list[str]) -> list[str]:
    """Return the texts that are short enough, at most ``MOST_KEYWORDS``; add a line if some are left out."""
    kept: list[str] = []
    longer = 0
    for text in texts:
        if len(kept) >= MOST_KEYWORDS:
            problems.append(
                f"{label} must have at most {MOST_KEYWORDS:,} keywords, got more: the first are read"
            )
            break
        if len(text) <= LONGEST_TEXT:
            kept.append(text)
        else:
            longer += 1
    if longer:
        problems.append(
            f"{label} must have keywords of up to {LONGEST_TEXT:,} characters, got {longer} longer: left out"
        )
    return kept


def orientation_in(document: Document) -> int | None:
    """Return ``tiff:Orientation`` if the packet has one from 1 to 8."""
    for found in properties(document):
        text = found.value.text.strip() if found.name == ORIENTATION else ""
        if len(text) == 1 and text in "12345678":
            return int(text)
    return None


def _as_is(texts: Iterable[str]) -> Iterator[str]:
    """Yield keywords whose levels, if any, are separated by bars."""
    yield from texts


def _slashed(texts: Iterable[str]) -> Iterator[str]:
    """Yield keywords whose levels are separated by slashes; digiKam writes a slash in a name as a bar."""
    for text in texts:
        yield SEPARATOR.join(level.replace(SEPARATOR, SLASH) for level in text.split(SLASH))


def _categories(texts: Iterable[str]) -> Iterator[str]:
    """Yield ACDSee's categories, which are XML inside a text: nested elements, some of them assigned."""
    for text in texts:
        yield from _assigned(parse_xmp(text.encode("utf-8", "replace"), "acdsee:categories").root, ())


def _assigned(element: Element, above: tuple[str, ...]) -> Iterator[str]:
    name = element.text.strip()
    path = (*above, name) if element.name == "Category" and name else above
    if element.name == "Category" and element.attribute("Assigned") == "1" and name:
        yield SEPARATOR.join(path)
    for child in element.children:
        yield from _assigned(child, path)


FIELDS: Final[dict[str, Callable[[Iterable[str]], Iterator[str]]]] = {
    SUBJECT: _as_is,
    f"{LIGHTROOM}}}hierarchicalSubject": _as_is,
    f"{DIGIKAM}}}TagsList": _slashed,
    f"{MEDIAPRO}}}CatalogSets": _as_is,
    f"{ACDSEE}}}keywords": _as_is,
    CATEGORIES: _categories,
    **{f"{space}}}LastKeyword{kind}": _as_is for space in MICROSOFT for kind in ("XMP", "IPTC")},
}
COPIES: Final = frozenset(name for name in FIELDS if name.startswith(MICROSOFT))
LEVELLED: Final = frozenset(FIELDS) - COPIES - {SUBJECT, f"{ACDSEE}}}keywords"}
