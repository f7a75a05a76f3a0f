"""The catalogue of a folder, opened only if there is one, and how names of its photos are shown."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagmix.catalogue import Catalogue, Photo, known_libraries, open_catalogue, place_of
from tagmix.errors import CatalogueError, printable

# Folders of photos whose time of change is read to see whether a catalogue is older; takes milliseconds.
MOST_FOLDERS = 500
MOST_PHOTOS = 5000


class Existing(NamedTuple):
    """The catalogue of a folder, the folder without links, and its place in the library: "" or "2019/".

    ``start`` is the folder as a person would name it: as given, empty for the current one.
    """

    catalogue: Catalogue
    folder: Path
    below: str
    start: Path

    def holds(self, photo: Photo) -> bool:
        """Return whether a photo is below the folder."""
        return photo.place.startswith(self.below)

    def name(self, photo: Photo) -> str:
        """Return the path of a photo as a person would type it.

        It never begins with a hyphen, which other programs would take for an option.
        """
        inside = photo.place.removeprefix(self.below)
        name = inside if self.start == Path() else os.path.join(self.start, inside)
        return f"./{name}" if name.startswith("-") else name


@contextlib.contextmanager
def existing(folder: Path | None, given: Path | None = None) -> Iterator[Existing]:
    """Open the catalogue of a folder; CatalogueError if there is none yet.

    The folder is by default the current one, or that of the only library if the current one is in none.
    """
    current = Path(os.path.realpath(Path()))
    real = _usual(current, given) if folder is None else Path(os.path.realpath(folder.expanduser()))
    path = place_of(real, given)
    shown = printable(repr(str(folder or real)))
    if not os.path.lexists(path):
        if given is not None:
            raise CatalogueError(f"there is no catalogue {printable(repr(str(given)))}: check its path.")
        raise CatalogueError(f"there is no catalogue of {shown} yet: make one by tagmix scan FOLDER.")
    if not real.is_dir():
        raise CatalogueError(f"{shown} is no folder: check its name.")
    with open_catalogue(path, real) as catalogue:
        inside = real.relative_to(catalogue.root).as_posix()
        start = folder if folder is not None else Path() if real == current else real
        yield Existing(catalogue, real, "" if inside == "." else f"{inside}/", start)


def _usual(current: Path, given: Path | None) -> Path:
    """Return the current folder, or that of the only library there is if the current one is in none."""
    every = known_libraries() if given is None else known_libraries([place_of(current, given)])
    roots = [root for root, _ in every]
    return roots[0] if len(roots) == 1 and not current.is_relative_to(roots[0]) else current


def is_older(found: Existing, photos: Iterable[Photo]) -> bool:
    """Return whether files came or went in the folders of these photos after the catalogue last changed."""
    folders = {found.folder}
    for _, photo in zip(range(MOST_PHOTOS), photos, strict=False):
        folders.add((found.catalogue.root / photo.place).parent)
        if len(folders) >= MOST_FOLDERS:
            break
    path = found.catalogue.path
    known = max(map(_changed, (path, path.with_name(f"{path.name}-wal"))))
    return max(map(_changed, folders)) > known


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
