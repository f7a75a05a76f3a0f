"""What the verbs that read a catalogue share: arguments, and lines that are safe to print."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tagmix.catalogue import Catalogue, Photo, known_libraries, open_catalogue, place_of
from tagmix.errors import CatalogueError, printable
from tagmix.library.existing import Existing, is_older
from tagmix.library.opening import open_library, real_place

folder_argument = click.argument("folder", required=False, type=click.Path(path_type=Path))
catalogue_option = click.option(
    "--catalogue",
    type=click.Path(path_type=Path),
    default=None,
    show_default="that of the folder's library",
    help="File of the catalogue.",
)


def warn_if_older(library: Existing, photos: Sequence[Photo]) -> None:
    """Say on stderr, in one line, that a catalogue is empty or older than its folder."""
    folder = printable(library.catalogue.root)
    if not library.catalogue.photos.count():
        click.echo(f"the catalogue has no photos yet: tagmix scan {folder}", err=True)
    elif is_older(library, photos):
        click.echo(f"the folder has changed since the last scan: tagmix scan {folder}", err=True)


def shown_json(content: dict[str, Any]) -> str:
    """Return one line of JSON; what this terminal cannot print is escaped, as JSON allows."""
    line = json.dumps(content, ensure_ascii=False)
    utf8 = str(getattr(sys.stdout, "encoding", "")).lower().replace("-", "").startswith("utf8")
    return line if utf8 and line.isprintable() else json.dumps(content)


def raw_line(name: str) -> None:
    """Print a name byte by byte as the system has it, ended by a zero byte."""
    click.echo(os.fsencode(name) + b"\0", nl=False)


def existing_library(folder: Path | None, given: Path | None) -> Catalogue:
    """Return the catalogue of a folder, of the current folder, or the only one there is."""
    if folder is not None:
        path = real_place(folder)
        _require(place_of(path, given), path, given)
        return open_library(path, given)
    every = known_libraries() if given is None else known_libraries([place_of(Path(), given)])
    here = place_of(Path(), given)
    roots = [(root, file) for root, file in every if file == here] or every
    if len(roots) != 1:
        found = f"there are {len(roots)} libraries" if roots else "there is no library"
        raise CatalogueError(f"{found}: name the folder of the photos, or its --catalogue.")
    root, file = roots[0]
    return open_catalogue(file, root)


def _require(place: Path, folder: Path, given: Path | None) -> None:
    if place.exists():
        return
    if given is not None:
        raise CatalogueError(f"there is no catalogue {printable(repr(str(given)))}: check its path.")
    raise CatalogueError(f"there is no catalogue of {printable(repr(str(folder)))}: `tagmix scan` makes one.")


def way_back(run: int, root: Path, given: Path | None) -> str:
    """Return the command that takes a run back.

    >>> way_back(3, Path("/home/eva/My Photos"), None)
    "tagmix undo 3 '/home/eva/My Photos'"
    """
    words = ["tagmix", "undo", str(run), str(root)]
    words += [] if given is None else ["--catalogue", str(given)]
    return printable(shlex.join(words))
