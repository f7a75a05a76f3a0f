"""Searches: each term is the set of photos with some labels, so that a question reads a few rows per term."""

import os
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagmix.catalogue.labels import (
    BY_HUMAN,
    BY_MACHINE,
    BY_METADATA,
    PRESENT,
    REVIEWED,
    TAGGED,
    Bools,
    Labels,
)
from tagmix.catalogue.photos import Photos
from tagmix.catalogue.places import after
from tagmix.catalogue.query import Term, parse, wrong
from tagmix.catalogue.similar import near
from tagmix.catalogue.store import Store
from tagmix.catalogue.tags import Tags
from tagmix.catalogue.values import Photo, PhotoId
from tagmix.errors import printable

Numbers: TypeAlias = NDArray[np.int64]

PROPERTIES = {
    "source": {"human": BY_HUMAN, "metadata": BY_METADATA, "machine": BY_MACHINE},
    "reviewed": {"yes": REVIEWED, "no": -REVIEWED},
    "tagged": {"yes": TAGGED, "no": -TAGGED},
    "missing": {"yes": -PRESENT, "no": PRESENT},
}
# Up to this many photos are sorted by themselves, more by reading the places of all.
FEW = 2000


class Found:
    """The photos that a search found, in the order of their places; read when they are asked for."""

    def __init__(self, photos: Photos, numbers: Numbers) -> None:
        self._photos, self._numbers = photos, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Photo]:
        for start in range(0, len(self), 500):
            yield from self.page(start, 500)

    def page(self, start: int, most: int) -> list[Photo]:
        """Return up to ``most`` photos from a position on."""
        return self._photos.several(self.ids(start, most))

    def ids(self, start: int = 0, most: int | None = None) -> list[PhotoId]:
        """Return the numbers of up to ``most`` photos from a position on; of all by default."""
        stop = None if most is None else start + most
        return [PhotoId(int(number)) for number in self._numbers[start:stop]]


class Search:
    """Answers questions about a catalogue."""

    def __init__(self, store: Store, labels: Labels, tags: Tags, photos: Photos) -> None:
        self._store, self._labels, self._tags, self._photos = store, labels, tags, photos

    def find(self, question: str) -> Found:
        """Return the photos for which a question holds; CatalogueError names the column that is wrong."""
        groups = parse(question)
        keys = {term.key for group in groups for term in group}
        with self._store.reading():
            order = _Order(self._store, _narrowest(groups)) if "path" in keys else None
            wanted = self._labels.every() if "missing" in keys else self._labels.mask(PRESENT)
            for group in groups:
                some = np.zeros(len(wanted), bool)
                for term in group:
                    mask = self._mask(term, order)
                    some |= ~mask if term.negated else mask
                wanted &= some
            return Found(self._photos, self._sorted(wanted, order))

    def _mask(self, term: Term, order: "_Order | None") -> Bools:
        mask = np.zeros(len(self._labels.every()), bool)
        if order is not None and term.key == "path":
            mask[order.below(term.value)] = True
        elif term.key in PROPERTIES:
            label = PROPERTIES[term.key][term.value]
            mask = self._labels.mask(abs(label)) ^ (label < 0)
        else:
            for tag in self._meant_by(term):
                mask |= self._labels.mask(-tag if term.key == "no" else tag)
        return mask

    def _meant_by(self, term: Term) -> list[int]:
        tags = self._tags.meant_by(term.value)
        if not tags:
            some = near(term.value, self._tags.all_names())
            if term.negated and not some:
                return []  # no photo has it, and it is no slip of the pen
            way = f"did you mean {', '.join(map(repr, some))}?" if some else "tagmix tags lists all"
            raise wrong(term.column, f"there is no tag {printable(repr(term.value)):.80}: {way}")
        return tags

    def _sorted(self, wanted: Bools, order: "_Order | None") -> Numbers:
        numbers = np.flatnonzero(wanted)
        if order is None and len(numbers) <= FEW:
            places = {photo.id: os.fsencode(photo.place) for photo in self._photos.several(numbers.tolist())}
            return np.array(sorted(places, key=lambda photo: (places[photo], photo)), np.int64)
        every = (order or _Order(self._store)).every
        return every[wanted[every]]


def _narrowest(groups: list[list[Term]]) -> bytes:
    # What all places begin with that can be found
    for group in groups:
        if len(group) == 1 and group[0].key == "path" and not group[0].negated:
            return _encoded(group[0].value) or b""
    return b""


def _encoded(place: str) -> bytes | None:
    try:
        return os.fsencode(place)
    except UnicodeEncodeError:
        return None


class _Order:
    """All photos whose places begin with these bytes, in the order of places."""

    def __init__(self, store: Store, start: bytes = b"") -> None:
        # As one text: a Python object per row takes four times as long. That group_concat keeps the order of
        # its subquery is promised by SQLite's optimiser, and the index has that order anyway.
        self._start, self._end = start, after(start)
        sql = "SELECT id FROM photo INDEXED BY photo_order WHERE place >= ? AND place < ? ORDER BY place, id"
        row = store.one(f"SELECT group_concat(id) FROM ({sql})", (start, self._end))
        text = row[0] if row and row[0] else ""
        self._store, self.every = store, np.fromstring(text, np.int64, sep=",")

    def below(self, place: str) -> Numbers:
        """Return the photos whose places begin with a text."""
        start = _encoded(place)
        if start is None:
            return np.empty(0, np.int64)
        return self.every[self._position(start) : self._position(after(start))]

    def _position(self, place: bytes) -> int:
        sql = "SELECT id FROM photo WHERE place >= ? AND place < ? ORDER BY place, id LIMIT 1"
        row = self._store.one(sql, (max(place, self._start), self._end))
        return len(self.every) if row is None else int(np.flatnonzero(self.every == row[0])[0])
