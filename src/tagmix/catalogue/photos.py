"""Photos by content and place: moved, edited and copied files are recognised.

A photo is what a person takes for one: it keeps its verdicts when its file is moved, renamed or edited. A
copy is a photo of its own, because verdicts that no one gave for it would be inferred.
"""

import contextlib
import os
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tagmix.catalogue.hashing import Stamp, file_digest, stamp_of
from tagmix.catalogue.labels import Labels
from tagmix.catalogue.places import after, place_bytes, place_text
from tagmix.catalogue.store import Row, Store
from tagmix.catalogue.values import Change, Noted, Photo, PhotoId
from tagmix.errors import CatalogueError, printable

_COLUMNS = "id, place, digest, size, mtime, gone IS NOT NULL, reviewed IS NOT NULL"


class Photos:
    """The photos of a library."""

    def __init__(self, store: Store, labels: Labels, root: Path) -> None:
        self._store, self._labels, self._root = store, labels, root

    def note(self, place: str, digest: bytes, size: int, mtime_ns: int) -> Noted:
        """Record that a file with this content is at this place now; return what was recognised.

        Same place and digest: the same photo. A known digest at a new place: moved, if the old place is empty
        or holds another known photo, else a copy. A new digest at a known place: edited.
        """
        raw, facts = place_bytes(place), (digest, size, _within_64_bits(mtime_ns))
        if len(digest) != 32:
            raise CatalogueError(f"a digest must be the 32 bytes of SHA-256, got {len(digest)}.")
        with self._store.writing():
            here = self._present(raw)
            if here is not None and here[2] == digest:
                self._update(here[0], raw, facts)
                return Noted(here[0], place, "same")
            photo, change, before = self._recognise(raw, digest, here)
            if here is not None and photo != here[0]:
                self._miss(here[0])  # another photo is in its place now
            if photo is None:
                photo = self._add(raw, facts)
            else:
                self._update(photo, raw, facts)
            return Noted(PhotoId(photo), place, change, None if before is None else place_text(before))

    def _recognise(
        self, raw: bytes, digest: bytes, here: Row | None
    ) -> tuple[int | None, Change, bytes | None]:
        sql = f"SELECT {_COLUMNS} FROM photo WHERE digest = ? ORDER BY id"
        same = [row for row in self._store.rows(sql, (digest,)) if here is None or row[0] != here[0]]
        gone = [row for row in same if row[5]]
        if gone:
            # Of several copies first the one that was here, then one of this file name
            best = min(gone, key=lambda row: (row[1] != raw, _name(row[1]) != _name(raw), row[0]))
            return best[0], ("back" if best[1] == raw else "moved"), best[1]
        left = [row for row in same if self._has_left(row, raw)]
        if left:
            best = min(left, key=lambda row: (_name(row[1]) != _name(raw), row[0]))
            return best[0], "moved", best[1]
        if same:
            return None, "copied", same[0][1]
        return (None, "new", None) if here is None else (here[0], "edited", raw)

    def _has_left(self, row: Row, new: bytes) -> bool:
        # Only on the disk can a copy be told from a photo that moved
        old = self._root / place_text(row[1])
        stamp = stamp_of(old)
        if stamp is None:
            return True
        if stamp == (row[3], row[4]):
            return _other_capitals(row[1], new) and not _is_listed(old)
        try:
            digest = file_digest(old)
        except OSError:
            return False
        known = self._store.one("SELECT 1 FROM photo WHERE digest = ? AND id != ?", (digest, row[0]))
        return digest != row[2] and known is not None

    def _present(self, raw: bytes) -> Row | None:
        return self._store.one(f"SELECT {_COLUMNS} FROM photo WHERE place = ? AND gone IS NULL", (raw,))

    def _add(self, raw: bytes, facts: tuple[bytes, int, int]) -> int:
        sql = "INSERT INTO photo (place, digest, size, mtime) VALUES (?, ?, ?, ?)"
        photo = self._store.write(sql, (raw, *facts))
        self._labels.touch(photo, new=True)
        return photo

    def _update(self, photo: int, raw: bytes, facts: tuple[bytes, int, int]) -> None:
        was_gone = self._store.one("SELECT gone IS NOT NULL FROM photo WHERE id = ?", (photo,))
        if was_gone and was_gone[0]:
            self._labels.touch(photo)
        sql = "UPDATE photo SET place = ?, digest = ?, size = ?, mtime = ?, gone = NULL WHERE id = ?"
        self._store.write(sql, (raw, *facts, photo))

    def _miss(self, photo: int) -> None:
        self._labels.touch(photo)
        self._store.write("UPDATE photo SET gone = ? WHERE id = ?", (int(time.time()), photo))

    def stamp(self, place: str) -> tuple[PhotoId, Stamp] | None:
        """Return the photo at a place and its (size, mtime_ns): a file that still has these is not read."""
        row = self._present(place_bytes(place))
        return None if row is None else (row[0], (row[3], row[4]))

    def at(self, place: str) -> PhotoId | None:
        """Return the photo at a place, or None."""
        found = self.stamp(place)
        return None if found is None else found[0]

    def get(self, photo: PhotoId) -> Photo:
        """Return what is known of a photo, or raise CatalogueError."""
        row = self._store.one(f"SELECT {_COLUMNS} FROM photo WHERE id = ?", (photo,))
        if row is None:
            raise CatalogueError(f"there is no photo of number {photo}: scan the folder.")
        return _photo(row)

    def several(self, photos: Sequence[int]) -> list[Photo]:
        """Return what is known of photos, in their order; numbers without a photo are left out."""
        found: dict[int, Photo] = {}
        for start in range(0, len(photos), 500):
            part = photos[start : start + 500]
            sql = f"SELECT {_COLUMNS} FROM photo WHERE id IN ({', '.join('?' * len(part))})"
            found.update((row[0], _photo(row)) for row in self._store.rows(sql, part))
        return [found[photo] for photo in photos if photo in found]

    def require(self, place: str) -> PhotoId:
        """Return the photo at a place, or raise CatalogueError."""
        photo = self.at(place)
        if photo is None:
            raise CatalogueError(
                f"the catalogue does not know {printable(repr(place))}: scan its folder first."
            )
        return photo

    def all(self, *, missing: bool = False) -> Iterator[Photo]:
        """Yield all photos in the order of their places; with ``missing`` those that are gone instead."""
        state = "NOT NULL" if missing else "NULL"
        last, number = b"", 0
        sql = f"""SELECT {_COLUMNS} FROM photo WHERE gone IS {state} AND (place, id) > (?, ?)
            ORDER BY place, id LIMIT 1000"""
        while rows := self._store.rows(sql, (last, number)):  # no transaction stays open between the blocks
            yield from map(_photo, rows)
            last, number = rows[-1][1], rows[-1][0]

    def below(self, start: bytes) -> list[tuple[PhotoId, bytes]]:
        """Return the photos, not missing, whose places begin with these bytes, and their places."""
        sql = "SELECT id, place FROM photo WHERE place >= ? AND place < ? AND gone IS NULL"
        rows = self._store.rows(sql, (start, after(start)))
        return [(PhotoId(photo), place) for photo, place in rows]

    def miss(self, photos: Iterable[PhotoId]) -> None:
        """Record that the files of photos are gone; nothing that was said of them is lost."""
        with self._store.writing():
            for photo in photos:
                self._miss(photo)

    def review(self, photo: PhotoId, done: bool = True) -> None:
        """Record that a human calls the tags of a photo complete, or no longer does."""
        with self._store.writing():
            self._labels.touch(photo)
            date = int(time.time()) if done else None
            self._store.write("UPDATE photo SET reviewed = ? WHERE id = ?", (date, photo))

    def count(self) -> int:
        """Return the number of photos that are not missing."""
        row = self._store.one("SELECT count(*) FROM photo WHERE gone IS NULL")
        return int(row[0]) if row else 0


def _photo(row: Row) -> Photo:
    return Photo(row[0], place_text(row[1]), row[2], row[3], row[4], bool(row[5]), bool(row[6]))


def _name(raw: bytes) -> bytes:
    return raw.rpartition(b"/")[2]


def _within_64_bits(number: int) -> int:
    return max(-(2**63), min(number, 2**63 - 1))


def _other_capitals(old: bytes, new: bytes) -> bool:
    texts = (unicodedata.normalize("NFC", place_text(raw)).casefold() for raw in (old, new))
    return len(set(texts)) == 1


def _is_listed(path: Path) -> bool:
    # On a disk that ignores capitals the old name of a renamed file still opens it
    with contextlib.suppress(OSError):
        return path.name in os.listdir(path.parent)
    return False
