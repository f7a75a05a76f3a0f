"""tagmix runs: the runs of a library."""

import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from tagmix.catalogue import Catalogue, Entry, Run
from tagmix.cli.library import catalogue_option, existing_library
from tagmix.errors import printable

WIDTH = 120  # of a table in a pipe


@click.command("runs", short_help="list runs")
@click.argument("run", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all runs, or one with its photos.")
@catalogue_option
def command(run: str | None, folder: Path | None, as_json: bool, catalogue: Path | None) -> None:
    """List the runs of the library of FOLDER, the latest first; or the photos of one RUN (number or name).

    \b
    Examples:
      tagmix runs ~/Photos
      tagmix runs 3 ~/Photos
      tagmix runs --json
    """
    if run is not None and folder is None and Path(run).is_dir():
        folder, run = Path(run), None
    with existing_library(folder, catalogue) as library:
        if run is not None:
            _show_run(library, library.runs.get(run), as_json)
            return
        rows = [_row(library, one) for one in library.runs.all()]
    if as_json:
        click.echo(json.dumps(rows, indent=1))
    elif rows:
        _table(rows)
    else:
        click.echo("no runs yet: `tagmix tag` makes one")


def _row(library: Catalogue, run: Run) -> dict[str, Any]:
    photos, tags = library.runs.counts(run)
    return {
        "run": run.id,
        "name": run.name,
        "date": time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started)),
        "model": run.model,
        "photos": photos,
        "tags": tags,
        "state": run.state,
    }


def _table(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("run", "date", "model", "photos", "tags", "state"):
        table.add_column(name, justify="right" if name in ("run", "photos", "tags") else "left")
    for row in rows:
        table.add_row(*(printable(row[name]) for name in ("run", "date", "model", "photos", "tags", "state")))
    console = Console(highlight=False, markup=False)
    console.print(table, width=None if console.is_terminal else WIDTH)


def _show_run(library: Catalogue, run: Run, as_json: bool) -> None:
    entries = library.runs.entries(run)
    if as_json:
        photos = [
            {"photo": one.place, "state": one.state, "tags": one.tags, "confirmed": one.confirmed}
            for one in entries
        ]
        click.echo(json.dumps({**_row(library, run), "arguments": run.arguments, "photos": photos}, indent=1))
        return
    for one in entries:
        click.echo(_line(one))


def _line(entry: Entry) -> str:
    noted = entry.state in ("planned", "removed")
    notes = [*([entry.state] if noted else []), *(["missing"] if entry.missing else [])]
    tags = ", ".join(map(printable, entry.tags)) or "no new tags"
    return f"{printable(entry.place)}: {tags}" + (f" ({', '.join(notes)})" if notes else "")
