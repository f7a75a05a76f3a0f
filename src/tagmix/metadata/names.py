"""Namespaces of XMP that tagmix writes, and the three fields of keywords."""

from typing import Final, NamedTuple

from tagmix.tag_names import SEPARATOR, last_level, normal_name

# A name of our own that no other program writes, and no address: nothing is to be fetched there.
TAGMIX: Final = "urn:tagmix:xmp:1.0/"
DC: Final = "http://purl.org/dc/elements/1.1/"
LR: Final = "http://ns.adobe.com/lightroom/1.0/"
DIGIKAM: Final = "http://www.digikam.org/ns/1.0/"
IPTC_EXT: Final = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
XMP: Final = "http://ns.adobe.com/xap/1.0/"
MWG: Final = "http://www.metadataworkinggroup.com/schemas/regions/"
DIMENSIONS: Final = "http://ns.adobe.com/xap/1.0/sType/Dimensions#"
AREA: Final = "http://ns.adobe.com/xmp/sType/Area#"
TIFF: Final = "http://ns.adobe.com/tiff/1.0/"
PREFIXES: Final = {
    "tagmix": TAGMIX,
    "dc": DC,
    "lr": LR,
    "digiKam": DIGIKAM,
    "Iptc4xmpExt": IPTC_EXT,
    "xmp": XMP,
    "mwg-rs": MWG,
    "stDim": DIMENSIONS,
    "stArea": AREA,
}


class Field(NamedTuple):
    """A field of keywords: its name in the parser and in text, its array, and its separator of levels."""

    name: str
    label: str
    array: str
    separator: str

    def write(self, tag: str) -> str:
        """Return the keyword that says a tag in this field.

        >>> [field.write("Places|AC/DC") for field in FIELDS]
        ['AC/DC', 'Places|AC/DC', 'Places/AC|DC']
        """
        if not self.separator:
            return last_level(tag)
        return tag if self.separator == SEPARATOR else tag.translate(_SWAPPED)

    def read(self, keyword: str) -> str:
        """Return the tag that a keyword of this field says, in normal form; empty if there is none.

        >>> [field.read(field.write("Places|AC/DC")) for field in FIELDS]
        ['AC/DC', 'Places|AC/DC', 'Places|AC/DC']
        """
        return normal_name(keyword.translate(_SWAPPED) if self.separator == "/" else keyword)


_SWAPPED = str.maketrans("/|", "|/")
SUBJECT: Final = Field(f"{DC}}}subject", "dc:subject", "Bag", "")
HIERARCHY: Final = Field(f"{LR}}}hierarchicalSubject", "lr:hierarchicalSubject", "Bag", "|")
TAGS_LIST: Final = Field(f"{DIGIKAM}}}TagsList", "digiKam:TagsList", "Seq", "/")
FIELDS: Final = (SUBJECT, HIERARCHY, TAGS_LIST)
