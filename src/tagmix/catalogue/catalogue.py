"""The catalogue of a library of photos: one SQLite file, and what is asked of it."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from tagmix.catalogue.labels import Labels
from tagmix.catalogue.lessons import Lessons
from tagmix.catalogue.opening import check_all, open_store
from tagmix.catalogue.photos import Photos
from tagmix.catalogue.readings import Readings
from tagmix.catalogue.regions import Regions
from tagmix.catalogue.roots import prepare_root, settle_root
from tagmix.catalogue.runs import Runs
from tagmix.catalogue.scan import Scan, Unreadable
from tagmix.catalogue.search import Found, Search
from tagmix.catalogue.store import Store
from tagmix.catalogue.tag_changes import LibraryTags
from tagmix.catalogue.tags import Tags
from tagmix.catalogue.values import Noted
from tagmix.catalogue.verdicts import Verdicts


class Catalogue:
    """Photos, tags, verdicts and runs of one library; ``open_catalogue`` opens one.

    Each change is a transaction; ``with catalogue.batch():`` makes one of many. A catalogue belongs to the
    thread that opened it; other threads and processes open their own.

    Attributes
    ----------
    root, path
        The library's folder, to which the places of photos are relative, and the file.
    photos, tags, verdicts, runs, regions, lessons, readings
        The parts.
    """

    def __init__(self, store: Store, root: Path) -> None:
        self._store, self.root, self.path = store, root, store.path
        names = Tags(store)
        self._labels = Labels(store, names)
        self.photos = Photos(store, self._labels, root)
        self.verdicts = Verdicts(store, self._labels, names)
        self._search = Search(store, self._labels, names, self.photos)
        self.tags = LibraryTags(store, self._labels, names)
        self.regions = Regions(store, names)
        self.lessons = Lessons(store, self._labels, names)
        self.runs = Runs(store, self._labels, names)
        self.readings = Readings(store)

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Make all changes of a block in one transaction, or none; keep it short, others wait for it."""
        with self._store.writing():
            yield

    def scan(self, places: Iterable[str], *, below: str | None = None) -> Iterator[Noted | Unreadable]:
        """Yield what became of each of these files, relative to the root, recorded in short transactions.

        A file whose size and time of change are as noted is not read. With ``below``, a folder all of whose
        photos are among the places ("" for the whole library), photos that are gone are recorded as missing
        and yielded at the end.
        """
        return Scan(self._store, self.photos, self.root).run(places, below)

    def search(self, question: str) -> Found:
        """Return the photos for which a question holds, such as ``boat -night``, in the order of places."""
        return self._search.find(question)

    def check(self) -> tuple[str, ...]:
        """Return what is wrong with the file, one line each; reads all of it."""
        return check_all(self._store)

    def mend(self) -> int:
        """Compute what is derived from the verdicts again; return for how many photos it was wrong."""
        return self._labels.rebuild()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> "Catalogue":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_catalogue(path: Path, root: Path, *, moved: bool = False) -> Catalogue:
    """Return the catalogue in a file, made if there is none, for photos in the folder ``root``.

    ``root`` may be a folder inside the library. CatalogueError if the file is damaged, of another program or
    of a newer version; if the library is another folder, unless ``moved`` says that its photos moved here.
    """
    prepare_root(path, root)
    store = open_store(path)
    try:
        return Catalogue(store, settle_root(store, root, moved))
    except BaseException:
        store.close()
        raise
