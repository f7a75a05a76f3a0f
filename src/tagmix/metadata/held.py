"""The keywords that a photo and its sidecar hold, field by field, before anything is written."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tagmix.errors import MetadataError
from tagmix.metadata.embedded import embedded
from tagmix.metadata.fields import keywords_of
from tagmix.metadata.iptc import iptc_keywords
from tagmix.metadata.names import FIELDS, SUBJECT
from tagmix.metadata.rdf import texts_of
from tagmix.metadata.stop_list import without_stopped
from tagmix.metadata.xmp import Document, parse_xmp
from tagmix.tag_names import SEPARATOR, ancestors, normal_names


class Held(NamedTuple):
    """The keywords of the three fields as they are written, and all tags, also those of other fields."""

    keywords: tuple[tuple[str, ...], ...] = ((), (), ())
    tags: tuple[str, ...] = ()

    def __add__(self, other: "Held") -> "Held":  # type: ignore[override]
        """Return what two places hold together."""
        pairs = zip(self.keywords, other.keywords, strict=True)
        return Held(tuple((*a, *b) for a, b in pairs), tuple(dict.fromkeys((*self.tags, *other.tags))))

    @property
    def said(self) -> frozenset[str]:
        """Return the tags, and the names and paths of all their levels."""
        deep = [tag for tag in self.tags if SEPARATOR in tag]
        levels = {name for tag in deep for name in (*tag.split(SEPARATOR), *ancestors(tag))}
        return frozenset({*self.tags, *levels})


def held_in(document: Document) -> Held:
    """Return what an XMP packet holds."""
    keywords = tuple(texts_of(document, field.name) for field in FIELDS)
    return Held(keywords, normal_names(keywords_of(document, "").tags))


def held_inside(photo: Path) -> Held:
    """Return what the photo itself holds; of damaged parts nothing."""
    try:
        found = embedded(photo)
    except (OSError, ValueError):
        return Held()
    held = held_in_iptc(found.iptc)
    for packet in found.xmp:
        try:
            held += held_in(parse_xmp(packet.lstrip(b" \t\r\n"), photo.name))
        except MetadataError:
            continue
    return held


def held_in_iptc(block: bytes) -> Held:
    """Return what an IPTC block holds."""
    texts = tuple(iptc_keywords(block))
    return Held(tuple(texts if field is SUBJECT else () for field in FIELDS), normal_names(texts))


def shared_by_all_fields(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags that every field should say: not those of the stop list, nor levels of longer tags.

    >>> shared_by_all_fields(["Berlin", "Places|Berlin", "darktable|changed", "sea"])
    ('Places|Berlin', 'sea')
    """
    every = without_stopped(tuple(tags))[0]
    deep = [tag for tag in every if SEPARATOR in tag]
    absorbed = {name for tag in deep for name in (*tag.split(SEPARATOR), *ancestors(tag))}
    return tuple(tag for tag in every if tag not in absorbed)
