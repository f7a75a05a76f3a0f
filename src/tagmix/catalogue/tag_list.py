"""Lists of tags: with counts, synonyms and tags above, and those that may mean the same."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from tagmix.catalogue.labels import BLOCK, PRESENT, Bools, Labels
from tagmix.catalogue.similar import Alike, alike
from tagmix.catalogue.store import Store
from tagmix.catalogue.tags import Tags

# Bytes of the members of a block that are stored as bits.
BITS = BLOCK // 8
# Of each pair (photo, tag) the strongest source, and of the machine's runs the latest; 0: human, 1: metadata,
# 2: machine.
BY_SOURCE = """
    WITH latest AS (SELECT photo, tag, value, max(run) FROM guess GROUP BY photo, tag),
    standing AS (
        SELECT photo, tag, 3 - source AS rank, value FROM said
        UNION ALL SELECT photo, tag, 2, value FROM latest
    ),
    best AS (SELECT photo, tag, min(rank) AS rank, value FROM standing GROUP BY photo, tag)
    SELECT tag.name, rank, count(*) FROM best
    JOIN tag ON tag.id = best.tag JOIN photo ON photo.id = best.photo AND photo.gone IS NULL
    WHERE value = 1 GROUP BY tag.name, rank
"""
# Keywords that were found in files, and those that runs wrote.
IN_FILES = """
    SELECT count(*) FROM (
        SELECT photo FROM said WHERE tag = ? AND source = 2 AND value = 1
        UNION SELECT guess.photo FROM guess JOIN entry USING (run, photo)
        WHERE guess.tag = ? AND guess.value = 1 AND state = 'written'
    ) AS found JOIN photo ON photo.id = found.photo AND photo.gone IS NULL
"""


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

    def standing_for(self, tags: Collection[str], names: Iterable[str]) -> frozenset[str]:
        """Return those of the names that stand for one of some tags, as keywords of files are understood."""
        return self._tags.standing_for(tags, names)

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

    def by_source(self) -> dict[str, tuple[int, int, int]]:
        """Return per tag the photos, not missing, that have it by a human, the metadata or a machine.

        A photo counts once, for the strongest source; tags below do not count.
        """
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        with self._store.reading():
            for name, column, count in self._store.rows(BY_SOURCE):
                counts[name][column] += count
        return {name: (human, metadata, machine) for name, (human, metadata, machine) in counts.items()}

    def in_files(self, name: str) -> int:
        """Return the number of photos, not missing, with a keyword of this tag in their file or sidecar."""
        tag = self._tags.number(name)
        row = self._store.one(IN_FILES, (tag, tag))
        return int(row[0]) if row else 0

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
