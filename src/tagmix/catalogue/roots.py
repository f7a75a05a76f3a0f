"""Which catalogue belongs to a folder, and which folder to a catalogue."""

import contextlib
import hashlib
import itertools
import os
import re
import sqlite3
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from tagmix.catalogue.hashing import stamp_of
from tagmix.catalogue.places import place_text
from tagmix.catalogue.store import Row, Store
from tagmix.errors import CatalogueError, printable

SUFFIX = ".sqlite"
LONGEST_SLUG = 40


def data_folder() -> Path:
    """Return the folder for catalogues: in the user's folder for data."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        home = "~/Library/Application Support"
    else:
        home = os.environ.get("XDG_DATA_HOME") or ""
        home = home if os.path.isabs(home) else "~/.local/share"  # the specification ignores relative ones
    try:
        return Path(home).expanduser() / "tagmix" / "catalogues"
    except RuntimeError:
        raise CatalogueError("the user's folder for data is unknown: name a file by --catalogue.") from None


def usual_place(root: Path) -> Path:
    """Return the file of the library whose folder this is: readable, and safe for any name.

    >>> usual_place(Path("/home/eva/My Photos")).name
    'my-photos-fda4481abeca.sqlite'
    """
    plain = unicodedata.normalize("NFKD", root.name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:LONGEST_SLUG].strip("-") or "photos"
    return data_folder() / f"{slug}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}{SUFFIX}"


def place_of(folder: Path, given: Path | None = None) -> Path:
    """Return the file of the catalogue for a folder: ``given``, or that of its library.

    The library of a folder is the folder itself, or the nearest one above it that has a catalogue.
    """
    if given is not None:
        return Path(os.path.abspath(given.expanduser()))
    real = _real(folder)
    roots = dict(_known())
    for root in (real, *real.parents):
        if os.path.lexists(place := usual_place(root)) and roots.get(root, place) == place:
            return place
        if root in roots:  # its photos moved since its file was named
            return roots[root]
    return usual_place(real)


def _real(folder: Path) -> Path:
    try:
        return Path(os.path.realpath(folder.expanduser()))
    except (OSError, RuntimeError, ValueError) as error:
        raise CatalogueError(f"{printable(repr(str(folder)))} is no folder: check its name.") from error


def known_libraries(files: Iterable[Path] | None = None) -> tuple[tuple[Path, Path], ...]:
    """Return folder and file of the libraries in these files (None: of all in the user's folder for data).

    A folder may be gone; files that are no catalogues are left out.
    """
    return tuple(_known() if files is None else itertools.chain.from_iterable(map(_library_in, files)))


def _known() -> Iterator[tuple[Path, Path]]:
    with contextlib.suppress(OSError):
        for file in sorted(data_folder().glob(f"*{SUFFIX}")):
            yield from _library_in(file)


def _library_in(file: Path) -> Iterator[tuple[Path, Path]]:
    for (root,) in _rows_in(file, "SELECT value FROM fact WHERE key = 'root'"):
        yield Path(os.fsdecode(root)), file


def _rows_in(file: Path, sql: str) -> list[Row]:
    # Files that cannot be read are named by open_catalogue when it is their turn
    with contextlib.suppress(sqlite3.Error, OSError):
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=1)
        with contextlib.closing(connection):
            return connection.execute(sql).fetchall()
    return []


def prepare_root(path: Path, folder: Path) -> None:
    """Raise CatalogueError before a new catalogue is made for no folder, or for one that only moved."""
    if os.path.lexists(path):
        return
    real = _real(folder)
    if not real.is_dir():
        raise CatalogueError(f"{printable(repr(str(real)))} is no folder: check its name.")
    if path.parent != data_folder():
        return
    for root, file in _known():
        if not root.is_dir() and _holds_photos_of(real, file):
            shown = [printable(repr(str(one))) for one in (real, root, file)]
            raise CatalogueError(
                f"{shown[0]} has the photos of {shown[1]}, which is gone: say --moved --catalogue {shown[2]} "
                "to take its catalogue along, or name a new file by --catalogue."
            )


def _holds_photos_of(folder: Path, file: Path) -> bool:
    sql = "SELECT place, size FROM photo WHERE gone IS NULL LIMIT 100"
    for place, size in _rows_in(file, sql):
        stamp = stamp_of(folder / place_text(place))
        if stamp is not None and stamp[0] == size:
            return True
    return False


def settle_root(store: Store, folder: Path, moved: bool) -> Path:
    """Return the root of a catalogue, stored if it is new; CatalogueError if the folder is not in it."""
    real = _real(folder)
    row = store.one("SELECT value FROM fact WHERE key = 'root'")
    stored = Path(os.fsdecode(row[0])) if row else None
    if stored is not None and not moved:
        if real == stored or stored in real.parents:
            return stored
        shown = [printable(repr(str(path))) for path in (store.path, stored, real)]
        way = "name that folder" if stored.is_dir() else "if its photos are there now, say --moved"
        raise CatalogueError(
            f"the catalogue {shown[0]} is of {shown[1]}, not of {shown[2]}: {way}, or another --catalogue."
        )
    if not real.is_dir():
        raise CatalogueError(f"{printable(repr(str(real)))} is no folder: check its name.")
    with store.writing():
        store.write("INSERT OR REPLACE INTO fact VALUES ('root', ?)", (os.fsencode(real),))
    return real
