"""Regions that a run found, and what humans say of regions."""

import json
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from tagmix.catalogue.store import Store, refusal
from tagmix.catalogue.tags import Tags
from tagmix.catalogue.values import Answer, PhotoId, Run
from tagmix.catalogue.verdicts import ANSWERS
from tagmix.errors import CatalogueError

Ring: TypeAlias = tuple[tuple[float, float], ...]
Polygon: TypeAlias = tuple[Ring, ...]

# Bytes of the regions of one photo, at most: far more than any picture has.
LARGEST = 1 << 24


class RegionRecord(NamedTuple):
    """A region, field for field as ``tagmix.annotate.Region``: ``RegionRecord(*region)`` keeps one."""

    tags: tuple[tuple[str, float], ...]
    box: tuple[float, float, float, float]
    area: float
    none: float = 0.0
    polygons: tuple[Polygon, ...] = ()


class RegionVerdict(NamedTuple):
    """What a human says of a region: that it shows a tag or not; tag None: none of the tags."""

    id: int
    region: RegionRecord
    tag: str | None
    answer: Answer
    date: int


class Regions:
    """The regions of a catalogue."""

    def __init__(self, store: Store, tags: Tags) -> None:
        self._store, self._tags = store, tags

    def record(self, run: Run, photo: PhotoId, regions: Iterable[Sequence[Any]]) -> None:
        """Keep the regions that a run found in a photo; they go when the run is undone."""
        content = _packed([RegionRecord(*region) for region in regions])
        with self._store.writing():
            if self._store.one("SELECT 1 FROM entry WHERE run = ? AND photo = ?", (run.id, photo)) is None:
                raise CatalogueError(f"photo {photo} is not part of run {run.id}: plan it first.")
            self._store.write("INSERT OR REPLACE INTO regions VALUES (?, ?, ?)", (photo, run.id, content))

    def of(self, photo: PhotoId, run: Run | None = None) -> tuple[RegionRecord, ...]:
        """Return the regions of a photo that a run found, by default the latest that kept any."""
        sql = "SELECT content FROM regions WHERE photo = ?"
        values: tuple[int, ...] = (photo,)
        if run is not None:
            sql, values = sql + " AND run = ?", (photo, run.id)
        row = self._store.one(sql + " ORDER BY run DESC LIMIT 1", values)
        return tuple(map(self._named, self._unpacked(row[0]))) if row else ()

    def _named(self, region: RegionRecord) -> RegionRecord:
        # Tags may have been renamed or merged since
        tags = tuple((self._tags.resolve(tag, exact=True) or tag, share) for tag, share in region.tags)
        return region._replace(tags=tags)

    def say(self, photo: PhotoId, region: Sequence[Any], tag: str | None, answer: Answer = "yes") -> int:
        """Record what a human says of a region; return the number of this verdict.

        It says nothing of the whole photo: record that as a verdict of its own. The region is kept with it,
        also when the run that found it is undone.
        """
        if answer not in ANSWERS:
            raise CatalogueError(
                f"what is said of a region must be yes or no, got {answer!r:.20}: withdraw it."
            )
        with self._store.writing():
            number = None if tag is None else self._tags.add(tag, exact=False)
            values = (
                photo,
                number,
                ANSWERS.index(answer),
                _packed([RegionRecord(*region)]),
                int(time.time()),
            )
            sql = "INSERT INTO region_said (photo, tag, value, content, date) VALUES (?, ?, ?, ?, ?)"
            return self._store.write(sql, values)

    def withdraw(self, number: int) -> None:
        """Take back what a human said of a region."""
        with self._store.writing():
            self._store.write("DELETE FROM region_said WHERE id = ?", (number,))

    def said(self, photo: PhotoId) -> tuple[RegionVerdict, ...]:
        """Return what humans say of the regions of a photo, in the order in which they said it."""
        sql = """SELECT region_said.id, content, name, value, date FROM region_said
            LEFT JOIN tag ON tag.id = tag WHERE photo = ? ORDER BY region_said.id"""
        rows = self._store.rows(sql, (photo,))
        return tuple(
            RegionVerdict(number, self._unpacked(content)[0], name, ANSWERS[value], date)
            for number, content, name, value, date in rows
        )

    def _unpacked(self, content: bytes) -> list[RegionRecord]:
        try:
            reader = zlib.decompressobj()
            text = reader.decompress(content, LARGEST)
            return [_region(one) for one in json.loads(text)]
        except (zlib.error, ValueError, TypeError) as error:
            reason = "has damaged regions: undo the run, or begin a new catalogue"
            raise refusal(self._store.path, reason) from error


def _packed(regions: list[RegionRecord]) -> bytes:
    return zlib.compress(json.dumps(regions, separators=(",", ":"), allow_nan=False).encode())


def _region(stored: Any) -> RegionRecord:
    tags, (x, y, width, height), area, none, polygons = stored
    return RegionRecord(
        tuple((str(tag), float(share)) for tag, share in tags),
        (float(x), float(y), float(width), float(height)),
        float(area),
        float(none),
        tuple(tuple(tuple((float(a), float(b)) for a, b in ring) for ring in one) for one in polygons),
    )
