"""Names of tags: their normal form, and hierarchies written as ``Places|Germany|Berlin``.

The bar is the separator of Lightroom, darktable and digiKam, none of which allows it inside a name. A tag is
its whole path; the last level is what people read.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable

SEPARATOR = "|"
# Characters of one level, and levels of a tag, at most; longer names are mistakes of another program.
LONGEST, MOST_LEVELS = 200, 16
# Controls, halves of surrogate pairs, private and unassigned characters.
INVISIBLE = ("Cc", "Cs", "Co", "Cn")
# Marks that turn the direction of the text that follows, also beyond the name.
TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def normal_name(text: str) -> str:
    """Return a tag in normal form: accents composed (NFC), white space collapsed, empty levels left out.

    Capital letters are kept. The result is empty if nothing is left.

    >>> normal_name("  Golden   Gate "), normal_name("Places| Germany||Berlin ")
    ('Golden Gate', 'Places|Germany|Berlin')
    """
    if text.isascii() and text.isalnum():  # the common case
        return text
    composed = unicodedata.normalize("NFC", text)
    kept = "".join(" " if c.isspace() else c for c in composed if c.isspace() or not _hidden(c))
    levels = (" ".join(level.split()) for level in kept.split(SEPARATOR))
    return SEPARATOR.join(level for level in levels if level)


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in INVISIBLE or character in TURNING


def is_usable(tag: str) -> bool:
    """Return whether a name in normal form is neither empty nor too long.

    >>> is_usable("sea"), is_usable(""), is_usable("x" * 201)
    (True, False, False)
    """
    levels = tag.split(SEPARATOR)
    return bool(tag) and len(levels) <= MOST_LEVELS and all(len(level) <= LONGEST for level in levels)


def normal_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct usable tags in order, in normal form.

    >>> normal_names(["sea", " sea", "", "sky"])
    ('sea', 'sky')
    """
    return tuple(dict.fromkeys(tag for text in texts if is_usable(tag := normal_name(text))))


def last_level(tag: str) -> str:
    """Return the last level of a tag.

    >>> last_level("Places|Germany|Berlin")
    'Berlin'
    """
    return tag.rpartition(SEPARATOR)[2]


def ancestors(tag: str) -> tuple[str, ...]:
    """Return the tags above a tag, the highest first.

    >>> ancestors("Places|Germany|Berlin"), ancestors("sea")
    (('Places', 'Places|Germany'), ())
    """
    levels = tag.split(SEPARATOR)
    return tuple(SEPARATOR.join(levels[:n]) for n in range(1, len(levels)))


def short_names(tags: Iterable[str]) -> dict[str, str]:
    """Return how each tag is shown: by its last level, or in full where two tags share that.

    >>> short_names(["Places|Paris", "People|Paris", "Places|Rome", "sea"])
    {'Places|Paris': 'Places|Paris', 'People|Paris': 'People|Paris', 'Places|Rome': 'Rome', 'sea': 'sea'}
    """
    every = list(tags)
    counts = Counter(map(last_level, every))
    return {tag: last if counts[last := last_level(tag)] == 1 else tag for tag in every}
