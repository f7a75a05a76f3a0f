"""What the metadata of photos was read from, and small facts of a library."""

from tagmix.catalogue.store import Store
from tagmix.catalogue.values import PhotoId


class Readings:
    """Stamps of the files that the metadata of photos was read from: files that still have them are not read.

    What a stamp consists of is the reader's matter.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, photo: PhotoId) -> bytes | None:
        """Return the stamp of the last reading, or None."""
        row = self._store.one("SELECT stamp FROM reading WHERE photo = ?", (photo,))
        return None if row is None else bytes(row[0])

    def put(self, photo: PhotoId, stamp: bytes | None) -> None:
        """Record the stamp of a reading; None: read again next time."""
        with self._store.writing():
            if stamp is None:
                self._store.write("DELETE FROM reading WHERE photo = ?", (photo,))
            else:
                self._store.write("INSERT OR REPLACE INTO reading VALUES (?, ?)", (photo, stamp))

    def fact(self, key: str) -> str | None:
        """Return a fact that ``remember`` kept, or None."""
        row = self._store.one("SELECT value FROM fact WHERE key = ?", (f"own:{key}",))
        return None if row is None else str(row[0])

    def remember(self, key: str, value: str) -> None:
        """Keep a fact of this library."""
        with self._store.writing():
            self._store.write("INSERT OR REPLACE INTO fact VALUES (?, ?)", (f"own:{key}", value))
