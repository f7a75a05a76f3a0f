"""What a folder of photos holds: photos, pairs of a raw file and a picture, and files that cannot be read."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tagmix.datasets.elements import files_below
from tagmix.errors import printable
from tagmix.images.decode import PICTURE_SUFFIXES, SUFFIXES
from tagmix.images.raw import SUFFIXES as RAW_SUFFIXES

# Beside photos, and read with them or of no interest.
BESIDE = frozenset({".xmp", ".txt", ".json", ".tagmix", ".db", ".ini"})
MOST_SHOWN, LONGEST_SUFFIX = 6, 10


class Survey(NamedTuple):
    """The photos below a folder without raw files of pairs, these by their pictures, and counts of the rest.

    ``unread`` counts files by ending, the most frequent first.
    """

    photos: tuple[str, ...]
    raw_of: dict[str, str]
    unread: dict[str, int]

    def unread_shown(self) -> str:
        """Return the files that cannot be read in brackets; empty if there are none."""
        return f" ({in_kinds(self.unread)} not read)" if self.unread else ""


def survey(root: Path) -> Survey:
    """Return what a folder holds."""
    names, unread = [], Counter[str]()
    for name in files_below(root):
        suffix = os.path.splitext(name)[1].lower()
        if suffix in SUFFIXES:
            names.append(name)
        elif suffix not in BESIDE:
            unread[suffix[:LONGEST_SUFFIX]] += 1
    raw_of = pairs(names)
    raws = set(raw_of.values())
    return Survey(tuple(name for name in names if name not in raws), raw_of, dict(unread.most_common()))


def pairs(names: list[str]) -> dict[str, str]:
    """Return the raw files that have a picture of the same name beside them, by that picture.

    >>> pairs(["a.jpg", "a.NEF", "b.nef", "x/b.jpg"])
    {'a.jpg': 'a.NEF'}
    """
    pictures: dict[str, str] = {}
    for name in names:
        if _suffix(name) in PICTURE_SUFFIXES:
            pictures.setdefault(_stem(name), name)
    raws = (name for name in names if _suffix(name) in RAW_SUFFIXES)
    return {picture: name for name in raws if (picture := pictures.get(_stem(name)))}


def in_kinds(unread: Mapping[str, int]) -> str:
    """Return counts of files by ending in words.

    >>> in_kinds({".mov": 37, ".psd": 12})
    '37 .mov, 12 .psd'
    """
    kinds = list(unread.items())
    shown = [f"{count:,} {printable(suffix) or 'without ending'}" for suffix, count in kinds[:MOST_SHOWN]]
    if more := sum(count for _, count in kinds[MOST_SHOWN:]):
        shown.append(f"{more:,} of other kinds")
    return ", ".join(shown)


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _stem(name: str) -> str:
    return PurePosixPath(name).with_suffix("").as_posix()
