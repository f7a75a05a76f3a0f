"""The catalogue of a folder, opened only if there is one, and how names of its photos are shown."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tagmix.catalogue import Catalogue, Photo, open_catalogue, place_of
from tagmix.errors import CatalogueError, printable

# Folders of photos whose time of change is read to see whether a catalogue is older; takes milliseconds.
MOST_FOLDERS = 500
MOST_PHOTOS = 5000


class Existing(NamedTuple):
    """The catalogue of a folder, the folder without links, and its place in the library: "" or "2019/"."""

    catalogue: Catalogue
    folder: Path
    below: str

    def holds(self, photo: Photo) -> bool:
        """Return whether a photo is below the folder."""
        return photo.place.startswith(self.below)

    def name(self, photo: Photo, start: Path | None) -> str:
        """Return the path of a photo as a person would type it after ``start``, the folder as it was given.

        It never begins with a hyphen, which other programs would take for an option.
        """
        inside = photo.place.removeprefix(self.below)
        name = inside if start is None else os.path.join(start, inside)
        return f"./{name}" if name.startswith("-") else name


@contextlib.contextmanager
def existing(folder: Path | None, given: Path | None = None) -> Iterator[Existing]:
    """Open the catalogue of a folder, by default of the current one; CatalogueError if there is none yet."""
    real = Path(os.path.realpath((folder or Path()).expanduser()))
    path = place_of(real, given)
    shown = printable(repr(str(real if folder is None else folder)))
    if not os.path.lexists(path):
        raise CatalogueError(f"there is no catalogue of {shown} yet: make one by tagmix scan FOLDER.")
    if not real.is_dir():
        raise CatalogueError(f"{shown} is no folder: check its name.")
    with open_catalogue(path, real) as catalogue:
        inside = real.relative_to(catalogue.root).as_posix()
        yield Existing(catalogue, real, "" if inside == "." else f"{inside}/")


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
