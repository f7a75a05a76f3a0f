"""Keywords inside photos: XMP packets (``dc:subject``) and IPTC blocks (2:25)."""

from collections.abc import Iterator

from tagmix.datasets.files import parse_xml

SUBJECT = "http://purl.org/dc/elements/1.1/}subject"
ITEM = "http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
KEYWORDS = (2, 25)
CHARSET = (1, 90)
UTF8 = b"\x1b%G"


def xmp_keywords(packet: bytes, name: str) -> list[str]:
    """Return the subjects of an XMP packet or sidecar; raise AlbumError if it is not XML."""
    root = parse_xml(packet.strip(b"\0 \r\n\t"), name)  # packets are padded for editing in place
    return [item.text or "" for subject in root.iter(SUBJECT) for item in subject.iter(ITEM)]


def iptc_keywords(block: bytes) -> list[str]:
    r"""Return the keywords of an IPTC block, up to the first damaged one.

    >>> iptc_keywords(b"\x1c\x02\x19\x00\x03sea\x1c\x02\x19\x00\x03sky")
    ['sea', 'sky']
    """
    utf8 = False
    found: list[bytes] = []
    for number, value in _datasets(block):
        if number == CHARSET:
            utf8 = value == UTF8
        elif number == KEYWORDS:
            found.append(value)
    return [_text(value, utf8) for value in found]


def _datasets(block: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield record, number and value of each data set: 0x1C, record, number, length (two bytes), value."""
    place = 0
    while place + 5 <= len(block) and block[place] == 0x1C:
        length = int.from_bytes(block[place + 3 : place + 5], "big")
        # the upper bit marks longer lengths, which keywords do not have
        if length >= 0x8000 or place + 5 + length > len(block):
            return
        yield (block[place + 1], block[place + 2]), block[place + 5 : place + 5 + length]
        place += 5 + length


def _text(value: bytes, utf8: bool) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        # Old programs wrote the encoding of their system without declaring it, most often Latin-1
        return value.decode("utf-8" if utf8 else "latin-1", errors="replace")
