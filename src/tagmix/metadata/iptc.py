"""Keywords of an IPTC block (2:25)."""

from collections.abc import Iterator

KEYWORDS = (2, 25)
CHARSET = (1, 90)
UTF8 = b"\x1b%G"


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
