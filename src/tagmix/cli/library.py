"""What the verbs that read a catalogue share: arguments, and lines that are safe to print."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tagmix.catalogue import Photo
from tagmix.errors import printable
from tagmix.library.existing import Existing, is_older

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
