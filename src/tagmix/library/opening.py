"""Open the catalogue of a library by a folder or photo in it, or by its file; or a copy, to try things on."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tagmix.catalogue import Catalogue, open_catalogue, place_of
from tagmix.catalogue.store import translated
from tagmix.errors import AlbumError, printable


def real_place(path: Path) -> Path:
    """Return a folder with links resolved, or a photo in its folder with links resolved.

    A photo that is a link stays where the link is: there are its name and its sidecar.
    """
    try:
        expanded = path.expanduser()
        if not os.path.lexists(expanded):
            raise FileNotFoundError
        return expanded.resolve() if expanded.is_dir() else expanded.parent.resolve() / expanded.name
    except (OSError, ValueError, RuntimeError) as error:
        raise AlbumError(f"{printable(repr(str(path)))} does not exist: check the path.") from error


def open_library(path: Path, given: Path | None = None, *, moved: bool = False) -> Catalogue:
    """Return the catalogue of the library of a folder or photo, made if there is none.

    ``moved`` says that the photos of this catalogue are in this folder now.
    """
    folder = path if path.is_dir() else path.parent
    return open_catalogue(place_of(folder, given), folder, moved=moved)


@contextlib.contextmanager
def copy_of_library(path: Path, given: Path | None = None) -> Iterator[Catalogue]:
    """Give a copy of the catalogue of a library, which vanishes at the end."""
    folder = path if path.is_dir() else path.parent
    place = place_of(folder, given)
    with TemporaryDirectory(prefix="tagmix-") as temporary:
        copied = Path(temporary, "copy.sqlite")
        if os.path.lexists(place):
            with open_catalogue(place, folder) as original:
                folder = original.root
            _copy(place, copied)
        with open_catalogue(copied, folder) as catalogue:
            yield catalogue


def _copy(place: Path, target: Path) -> None:
    with (
        translated(place),
        contextlib.closing(sqlite3.connect(f"{place.absolute().as_uri()}?mode=ro", uri=True)) as source,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
        source.backup(copy)
