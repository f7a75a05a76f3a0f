"""Lists of tags: with counts, synonyms and tags above, and those that may mean the same."""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from tagmix.catalogue.labels import BLOCK, PRESENT, Bools, Labels
from tagmix.catalogue.similar import Alike, alike
from tagmix.catalogue.store import Store
from tagmix.catalogue.tags import Tags

# Bytes of the members of a block that are stored as bits.
BITS = BLOCK // 8


class TagInfo(NamedTuple):
    """A tag: its synonyms, the tags directly above it, and the photos that have it or a tag below it."""

    tag: str
    photos: int
    synonyms: tuple[str, ...]
    parents: tuple[str, ...]


class TagList:
    """Lists of the tags of a catalogue."""

    def __init__(self, store: Store, labels: Labels, tags: Tags) -> None:
        self._store, self._labels, self._tags = store, labels, tags

    def resolve(self, name: str, *, exact: bool = False) -> str | None:
        """Return the tag that a name stands for, or None if there is none, or more than one.

        In this order: a tag or synonym of exactly this name; of this name but for capitals; the only tag
        whose last level it is. ``exact`` stops after the first, as keywords of files are understood: what
        they mean must not depend on the tags of other photos.
        """
        return self._tags.resolve(name, exact=exact)

    def all(self) -> tuple[str, ...]:
        """Return all tags in the order of their names."""
        return self._tags.all()

    def counts(self) -> dict[str, int]:
        """Return per tag the number of photos, not missing, that have it or a tag below it."""
        with self._store.reading():
            return self._counts()

    def _counts(self) -> dict[str, int]:
        sums: dict[int, int] = defaultdict(int)
        present = self._labels.mask(PRESENT).reshape(-1, BLOCK)
        sql = "SELECT label, members FROM label WHERE block = ? AND label > 0 AND label < ?"
        for block in range(len(present)):
            rows = self._store.rows(sql, (block, PRESENT))
            for label, count in _counted(rows, present[block]):
                sums[label] += count
        names = self._store.rows("SELECT id, name FROM tag WHERE name IS NOT NULL ORDER BY name")
        return {name: sums[tag] for tag, name in names}

    def describe(self) -> list[TagInfo]:
        """Return all tags in the order of their names."""
        with self._store.reading():
            synonyms, parents = defaultdict(list), defaultdict(list)
            sql = "SELECT tag.name, name.name FROM name JOIN tag ON tag.id = tag WHERE name.name != tag.name"
            for tag, name in self._store.rows(sql + " ORDER BY name.name"):
                synonyms[tag].append(name)
            sql = """SELECT child.name, above.name FROM parent JOIN tag child ON child.id = child
                JOIN tag above ON above.id = parent ORDER BY above.name"""
            for tag, name in self._store.rows(sql):
                parents[tag].append(name)
            counts = self._counts()
        return [TagInfo(tag, n, tuple(synonyms[tag]), tuple(parents[tag])) for tag, n in counts.items()]

    def alike(self) -> list[Alike]:
        """Return pairs of tags that may mean the same, for a person to merge or leave."""
        return alike(self._tags.all())


def _counted(rows: list[tuple[int, bytes]], present: Bools) -> list[tuple[int, int]]:
    """Return label and number of present members; all short rows in one step."""
    bits = np.packbits(present)
    counted = [
        (label, int(np.bitwise_count(np.frombuffer(members, np.uint8) & bits).sum()))
        for label, members in rows
        if len(members) == BITS
    ]
    short = [(label, members) for label, members in rows if 0 < len(members) < BITS]
    if short:
        members = np.frombuffer(b"".join(content for _, content in short), "<u2")
        starts = np.cumsum([0, *(len(content) // 2 for _, content in short[:-1])])
        sums = np.add.reduceat(present[members].astype(np.int64), starts)
        counted += [(label, int(count)) for (label, _), count in zip(short, sums, strict=True)]
    return counted
