"""Names of tags that may mean the same: capitals, accents, plurals, spaces, typing errors.

Names are compared by keys, and typing errors by the name with one letter left out: two names one edit apart
share such a form. No pair of names is formed that shares nothing.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import pairwise
from typing import NamedTuple

from tagmix.tag_names import last_level

# Shorter names differ by a letter because they are other words: cat, car.
SHORTEST = 5
# More names than this with the same form are a series (img1, img2, …) and not typing errors.
MOST_ALIKE = 8
PLURALS = ("s", "es", "n", "en", "e")


class Alike(NamedTuple):
    """Two tags that may mean the same, and why: capitals, accents, spacing, plural, typing, level."""

    one: str
    other: str
    reason: str


def near(name: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Return the names that are most like a mistyped one.

    >>> near("baot", ["boat", "beach", "sky"])
    ['boat']
    """
    key = plain(name)
    keys = {plain(last_level(one)): one for one in names if abs(len(last_level(one)) - len(name)) <= 2}
    return [keys[one] for one in get_close_matches(key, keys, most, 0.6)]


def plain(name: str) -> str:
    """Return a name without capitals, accents, spaces and punctuation, in any script.

    >>> plain("Crème-Brûlée"), plain("犬 小屋")
    ('cremebrulee', '犬小屋')
    """
    # Marks are left out of letters that can stand without: vowels of Hindi or Thai are not such marks
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(c for c in decomposed if unicodedata.category(c)[0] in "LN" or _is_letter_part(c))
    return unicodedata.normalize("NFC", kept) or name


def _is_letter_part(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" and not unicodedata.combining(character)


def spaced(name: str) -> str:
    """Return a name without capitals, with its accents, without spaces and hyphens."""
    return "".join(c for c in unicodedata.normalize("NFC", name.casefold()) if c.isalnum() or ord(c) > 127)


def alike(tags: Iterable[str]) -> list[Alike]:
    """Return pairs of tags of the same level above that may mean the same, in the order of names.

    >>> [tuple(pair) for pair in alike(["Boat", "boats", "sail boat", "sail-boat", "Été", "ete"])]
    [('Boat', 'boats', 'plural'), ('ete', 'Été', 'accents'), ('sail boat', 'sail-boat', 'spacing')]
    """
    every = sorted(set(tags))
    found: dict[tuple[str, str], str] = {}
    groups: dict[str, list[str]] = defaultdict(list)
    for tag in every:
        groups[tag.rpartition("|")[0].casefold()].append(tag)
    for group in groups.values():
        for reason, pairs in (("", _by_key(group)), ("plural", _plurals(group)), ("typing", _typos(group))):
            for one, other in pairs:
                found.setdefault((one, other), reason or _difference(one, other))
    for one, other in _levels(every):
        found.setdefault((one, other), "level")
    return [Alike(*pair, reason) for pair, reason in sorted(found.items())]


def _difference(one: str, other: str) -> str:
    if one.casefold() == other.casefold():
        return "capitals"
    return "spacing" if spaced(one) == spaced(other) else "accents"


def _by_key(tags: list[str]) -> Iterator[tuple[str, str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for tag in tags:
        groups[plain(last_level(tag))].append(tag)
    for group in groups.values():
        yield from pairwise(group)  # a chain: all pairs of many would be too many


def _plurals(tags: list[str]) -> Iterator[tuple[str, str]]:
    keys = {plain(last_level(tag)): tag for tag in reversed(tags)}
    for key, tag in keys.items():
        forms = [key + ending for ending in PLURALS] if len(key) >= 3 else []
        forms += [key[:-1] + "ies"] if key.endswith("y") and len(key) >= 3 else []
        for form in forms:
            if form in keys:
                yield _ordered(tag, keys[form])


def _typos(tags: list[str]) -> Iterator[tuple[str, str]]:
    keys = {plain(last_level(tag)): tag for tag in reversed(tags)}
    forms: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        if len(key) >= SHORTEST and not any(c.isdigit() for c in key):
            for form in {key, *(key[:i] + key[i + 1 :] for i in range(len(key)))}:
                forms[form].append(key)
    for some in forms.values():
        if 1 < len(some) <= MOST_ALIKE:
            for i, one in enumerate(some):
                yield from (_ordered(keys[one], keys[other]) for other in some[:i] if one_edit(one, other))


def one_edit(one: str, other: str) -> bool:
    """Return whether one letter was typed wrong, left out, added, or swapped with the next.

    >>> one_edit("beach", "baech"), one_edit("beach", "peach"), one_edit("beach", "bch")
    (True, True, False)
    """
    if len(one) > len(other):
        one, other = other, one
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    rest, longer = one[start:], other[start:]
    if len(one) < len(other):
        return rest == longer[1:]
    return rest[1:] == longer[1:] or (rest[:2] == longer[1::-1] and rest[2:] == longer[2:])


def _levels(tags: list[str]) -> Iterator[tuple[str, str]]:
    # A flat keyword and the one tag whose last level it is
    ends: dict[str, list[str]] = defaultdict(list)
    for tag in tags:
        if "|" in tag:
            ends[last_level(tag).casefold()].append(tag)
    for tag in tags:
        if "|" not in tag and len(ends[tag.casefold()]) == 1:
            yield _ordered(tag, ends[tag.casefold()][0])


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
