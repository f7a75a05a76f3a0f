"""What `train` takes from the catalogue of a folder: names of tags, and what a human said."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from tagmix.catalogue import open_catalogue, place_of
from tagmix.cli.library import catalogue_option
from tagmix.cli.options import plural
from tagmix.datasets import Album
from tagmix.errors import CatalogueError, printable
from tagmix.images.describe import Described
from tagmix.library.teaching import taught, with_rejected

F = TypeVar("F", bound=Callable[..., Any])
Denied = Mapping[Path, frozenset[str]]
FOLDER = "folder"


def catalogue_options(function: F) -> F:
    """Add --catalogue and --no-catalogue."""
    none = click.option(
        "--no-catalogue", is_flag=True, help="Learn from the photos alone, whatever their catalogue says."
    )
    return catalogue_option(none(function))


def taught_album(album: Album, given: Path | None, none: bool) -> tuple[Album, Denied]:
    """Return the album as its catalogue knows it, and the tags that a human denied, by photo.

    Without ``given`` a folder of photos has the catalogue of its library, if there is one; other albums
    have none.
    """
    if none and given is not None:
        raise click.UsageError("--catalogue and --no-catalogue exclude each other: choose one.")
    if none or (given is None and album.format != FOLDER):
        return album, {}
    path = place_of(album.root, given)
    if not os.path.lexists(path):
        if given is not None:
            raise CatalogueError(f"{printable(repr(str(given)))} does not exist: tagmix scan makes one.")
        return album, {}
    with open_catalogue(path, album.root) as catalogue:
        found = taught(album, catalogue)
    denied = sum(map(len, found.rejected.values()))
    said = f"{plural(found.confirmed, 'tag')} added and {denied:,} denied by you"
    click.echo(
        f"the catalogue knows {plural(found.photos, 'photo')}: {said}, {found.renamed:,} renamed", err=True
    )
    return found.album, found.rejected


def with_denied(described: Described, denied: Denied) -> Described:
    """Return described pictures that know what a human denied."""
    if not denied:
        return described
    images = map(Path, described.bags.ids)
    return described._replace(bags=with_rejected(described.bags, images, denied))
