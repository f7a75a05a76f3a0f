"""A scan: the files of a folder, as they are now, against the photos that are known."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tagmix.catalogue.hashing import Stamp, file_digest, stamp_of
from tagmix.catalogue.photos import Photos
from tagmix.catalogue.places import place_bytes, place_text
from tagmix.catalogue.store import Store
from tagmix.catalogue.values import Noted, PhotoId

# Files that are read before they are recorded together: their transaction takes milliseconds.
CHUNK = 200


class Unreadable(NamedTuple):
    """A file that could not be read, and why in one line."""

    place: str
    reason: str


class _Read(NamedTuple):
    place: str
    stamp: Stamp
    digest: bytes | None  # None: unchanged
    photo: PhotoId | None


class Scan:
    """One scan of the files of a library."""

    def __init__(self, store: Store, photos: Photos, root: Path) -> None:
        self._store, self._photos, self._root = store, photos, root
        self._seen: set[int] = set()

    def run(self, places: Iterable[str], below: str | None) -> Iterator[Noted | Unreadable]:
        """Yield what became of each file, then the photos that are missing below a folder."""
        remaining = iter(places)
        while chunk := list(islice(remaining, CHUNK)):
            # Files are read first: no transaction waits for a slow disk, and none is open at a yield
            read = [self._read(place) for place in chunk]
            with self._store.writing():
                found = [one if isinstance(one, Unreadable) else self._note(one) for one in read]
            yield from found
        yield from self._missing(below)

    def _read(self, place: str) -> _Read | Unreadable:
        path = self._root / place
        known = self._photos.stamp(place)
        stamp = stamp_of(path)
        if stamp is None:
            return Unreadable(place, "it is not there any more")
        if known is not None and known[1] == stamp:
            return _Read(place, stamp, None, known[0])
        try:
            return _Read(place, stamp, file_digest(path), None)
        except OSError as error:
            return Unreadable(place, error.strerror or "it cannot be read")

    def _note(self, read: _Read) -> Noted:
        if read.digest is None and read.photo is not None:
            known = self._photos.stamp(read.place)
            if known == (read.photo, read.stamp):
                self._seen.add(read.photo)
                return Noted(read.photo, read.place, "same")
        digest = read.digest or file_digest(self._root / read.place)  # another process noted it meanwhile
        noted = self._photos.note(read.place, digest, *read.stamp)
        self._seen.add(noted.id)
        return noted

    def _missing(self, below: str | None) -> Iterator[Noted]:
        if below is None:
            return
        start = b"" if below in ("", ".") else place_bytes(below) + b"/"
        known = self._photos.below(start)
        gone = [
            (photo, place_text(place))
            for photo, place in known
            if photo not in self._seen and stamp_of(self._root / place_text(place)) is None
        ]
        for first in range(0, len(gone), CHUNK):
            part = gone[first : first + CHUNK]
            self._photos.miss(photo for photo, _ in part)
            yield from (Noted(photo, place, "missing", place) for photo, place in part)
