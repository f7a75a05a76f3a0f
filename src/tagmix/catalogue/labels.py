"""Per tag the photos that have it, so that a search reads a few small rows.

A *label* is a number: a tag (the photo has it or a tag below it), minus a tag (a "no" stands), or one of the
properties below. Photos are kept in blocks; a row holds the members of one block with one label, as 16-bit
numbers or, where there are many, as bits. Labels are derived: ``of`` computes those of one photo from what is
said of it, and the difference is stored in the transaction that changed it.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagmix.catalogue.store import Store, refusal

Bools: TypeAlias = NDArray[np.bool_]

# Photos of one block: 16-bit numbers, and as bits 512 bytes.
BLOCK = 4096
# More members than this are stored as bits; their number tells the two forms apart.
MOST_LISTED = BLOCK // 16 - 1

# Properties of photos, far from the numbers of tags.
_FAR = 1 << 60
PRESENT, REVIEWED, TAGGED, BY_HUMAN, BY_METADATA, BY_MACHINE = range(_FAR, _FAR + 6)

HUMAN, METADATA, MACHINE = 3, 2, 1
BY = {HUMAN: BY_HUMAN, METADATA: BY_METADATA, MACHINE: BY_MACHINE}


class Above(Protocol):
    """Anything that knows the tags above a tag."""

    def above(self, tag: int) -> Iterable[int]:
        """Return the tags above a tag."""


class Labels:
    """The labels of photos, stored at the end of each transaction."""

    def __init__(self, store: Store, tags: Above) -> None:
        self._store, self._tags = store, tags
        self._before: dict[int, frozenset[int]] = {}
        store.before_commit.append(self._flush)
        store.after_rollback.append(self._before.clear)

    def touch(self, photo: int, *, new: bool = False) -> None:
        """Announce that something said of a photo will change; call it before the change."""
        if photo not in self._before:
            self._before[photo] = frozenset() if new else self.of(photo)

    def standing(self, photo: int) -> dict[int, tuple[int, int]]:
        """Return tag → (source, value): what stands of each tag of which anything is said."""
        sql = "SELECT tag, value FROM guess WHERE photo = ? ORDER BY run"
        stands = {tag: (MACHINE, value) for tag, value in self._store.rows(sql, (photo,))}
        sql = "SELECT tag, source, value FROM said WHERE photo = ? ORDER BY source"
        stands.update((tag, (source, value)) for tag, source, value in self._store.rows(sql, (photo,)))
        return stands

    def of(self, photo: int) -> frozenset[int]:
        """Return the labels of a photo, from what is said of it."""
        stands = self.standing(photo)
        labels = {tag if value else -tag for tag, value in holds(stands, self._tags).items()}
        row = self._store.one("SELECT gone IS NULL, reviewed IS NOT NULL FROM photo WHERE id = ?", (photo,))
        present, reviewed = row or (0, 0)
        sources = {source for source, _ in stands.values()}
        labels |= {BY[source] for source in sources}
        labels |= {PRESENT} if present else set()
        labels |= {REVIEWED} if reviewed or (HUMAN in sources and MACHINE not in sources) else set()
        labels |= {TAGGED} if any(value for _, value in stands.values()) else set()
        return frozenset(labels)

    def _flush(self) -> None:
        changes: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
        for photo, before in self._before.items():
            after = self.of(photo)
            block, place = divmod(photo, BLOCK)
            for label in before ^ after:
                changes[block, label].append((place, label in after))
        for (block, label), some in sorted(changes.items()):
            self._store_block(block, label, some)
        self._before.clear()

    def _store_block(self, block: int, label: int, changes: list[tuple[int, bool]]) -> None:
        key = (block, label)
        row = self._store.one("SELECT members FROM label WHERE block = ? AND label = ?", key)
        members = self._unpacked(row[0]) if row else np.zeros(BLOCK, bool)
        for place, holds_now in changes:
            members[place] = holds_now
        if members.any():
            self._store.write("INSERT OR REPLACE INTO label VALUES (?, ?, ?)", (*key, packed(members)))
        else:
            self._store.write("DELETE FROM label WHERE block = ? AND label = ?", key)

    def blocks(self) -> int:
        """Return the number of blocks of the catalogue."""
        row = self._store.one("SELECT max(id) FROM photo")
        return (row[0] or 0) // BLOCK + 1 if row else 1

    def every(self) -> Bools:
        """Return for each number whether there is a photo of it."""
        mask = np.zeros(self.blocks() * BLOCK, bool)
        row = self._store.one("SELECT max(id) FROM photo")
        mask[1 : 1 + (row[0] or 0 if row else 0)] = True  # photos are never deleted
        return mask

    def mask(self, label: int) -> Bools:
        """Return for each number of a photo whether it has the label."""
        blocks = self.blocks()
        mask = np.zeros(blocks * BLOCK, bool)
        # Each block is sought by itself: the label comes second in the key
        sql = "SELECT members FROM label WHERE block = ? AND label = ?"
        for block in range(blocks):
            row = self._store.one(sql, (block, label))
            if row:
                mask[block * BLOCK : (block + 1) * BLOCK] = self._unpacked(row[0])
        return mask

    def _unpacked(self, content: bytes) -> Bools:
        try:
            return unpacked(content)
        except (ValueError, IndexError) as error:
            reason = "has a damaged index: tagmix doctor makes it again"
            raise refusal(self._store.path, reason) from error

    def photos(self, *labels: int) -> list[int]:
        """Return the photos with any of these labels."""
        found = np.zeros(self.blocks() * BLOCK, bool)
        for label in labels:
            found |= self.mask(label)
        return [int(photo) for photo in np.flatnonzero(found)]

    def rebuild(self) -> int:
        """Compute the labels of all photos again; return how many photos had others."""
        wrong = 0
        with self._store.writing():
            stored: dict[int, set[int]] = defaultdict(set)
            for block, label, members in self._store.rows("SELECT block, label, members FROM label"):
                try:
                    places = np.flatnonzero(unpacked(members))
                except (ValueError, IndexError):  # damaged
                    self._store.write("DELETE FROM label WHERE block = ? AND label = ?", (block, label))
                    continue
                for place in places:
                    stored[block * BLOCK + int(place)].add(label)
            photos = {photo for (photo,) in self._store.rows("SELECT id FROM photo")}
            for photo in photos | set(stored):
                self._before[photo] = frozenset(stored[photo])
                wrong += self._before[photo] != self.of(photo)
        return wrong


def holds(stands: dict[int, tuple[int, int]], tags: Above) -> dict[int, int]:
    """Return tag → 1 or 0 for what stands, and 1 for the tags above a "yes".

    Of what is said of a tag and what follows from those below it, the stronger source holds; of equals what
    is said.
    """
    strength = {tag: (source, 1, value) for tag, (source, value) in stands.items()}
    for tag, (source, value) in stands.items():
        for above in tags.above(tag) if value else ():
            if strength.get(above, (0, 0, 0)) < (source, 0, 1):
                strength[above] = (source, 0, 1)
    return {tag: value for tag, (_, _, value) in strength.items()}


def packed(members: Bools) -> bytes:
    """Return the members of a block as bytes, in the shorter of two forms."""
    places = np.flatnonzero(members)
    if len(places) > MOST_LISTED:
        return np.packbits(members).tobytes()
    return places.astype("<u2").tobytes()


def unpacked(content: bytes) -> Bools:
    """Return the members of a block."""
    if len(content) == BLOCK // 8:
        return np.unpackbits(np.frombuffer(content, np.uint8)).astype(bool)
    members = np.zeros(BLOCK, bool)
    members[np.frombuffer(content, "<u2")] = True
    return members
