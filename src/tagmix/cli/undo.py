"""tagmix undo: take a run back."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from tagmix.catalogue import Catalogue, Run, place_of
from tagmix.cli.exits import Exit
from tagmix.cli.library import catalogue_option, existing_library
from tagmix.cli.options import plural, report_problems
from tagmix.errors import printable
from tagmix.images.sources import Problem
from tagmix.library.events import Restored, UndoEvent
from tagmix.library.opening import open_library, real_place
from tagmix.library.undo import run_to_undo, undo, undo_all


@click.command("undo", short_help="take a run back")
@click.argument("run", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be taken out, and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--leave-missing", is_flag=True, help="End the undo although photos of the run are missing.")
@click.option(
    "--all", "every", is_flag=True,
    help="Take out all that any run wrote below FOLDER, as the sidecars say; also if the catalogue is lost.",
)  # fmt: skip
@catalogue_option
def command(
    run: str | None,
    folder: Path | None,
    dry_run: bool,
    yes: bool,
    leave_missing: bool,
    every: bool,
    catalogue: Path | None,
) -> None:
    """Take RUN (a number or name of `tagmix runs`, by default the last one) out of the sidecars of FOLDER.

    Only what tagmix wrote and you did not confirm is removed. A sidecar that no other program changed gets
    its former bytes back; one that tagmix made is deleted. Photos that are missing or cannot be written are
    listed, and the exit status is 1: repeat the command for them.

    \b
    Examples:
      tagmix undo
      tagmix undo 3 ~/Photos
      tagmix undo --all ~/Photos
    """
    if run is not None and folder is None and (every or Path(run).is_dir()):
        folder, run = Path(run), None
    problems: list[str] = []
    if every:
        _all(folder, run, catalogue, dry_run, yes, problems)
    else:
        with existing_library(folder, catalogue) as library:
            found = run_to_undo(library, run)
            _ask(_question(library, found), yes or dry_run)
            events = undo(library, found, dry=dry_run, leave_missing=leave_missing)
            show(events, dry_run, problems, f"run {found.id}: ")
    report_problems(problems, "photo", "had problems; repeat the command for them", most=len(problems))
    if problems:
        raise click.exceptions.Exit(Exit.FAILED)


def _all(
    folder: Path | None, run: str | None, catalogue: Path | None, dry: bool, yes: bool, problems: list[str]
) -> None:
    if folder is None or run is not None:
        raise click.UsageError("--all needs a FOLDER, and no RUN.")
    place = real_place(folder)
    _ask(f"Take all tags that tagmix wrote out of the sidecars below {printable(place)}?", yes or dry)
    file = place_of(place, catalogue)
    with open_library(place, catalogue) if os.path.lexists(file) else contextlib.nullcontext() as library:
        show(undo_all(library, place, dry=dry), dry, problems)


def _question(library: Catalogue, run: Run) -> str:
    number = sum(entry.state in ("planned", "written") for entry in library.runs.entries(run))
    return f"Undo run {run.id} on {plural(number, 'photo')} below {printable(library.root)}?"


def _ask(question: str, known: bool) -> None:
    if not known and sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)


def show(events: Iterable[UndoEvent], dry: bool, problems: list[str], what: str = "") -> None:
    """Print what an undo takes out, and at the end how much of ``what``; collect what it cannot."""
    photos = tags = kept = 0
    for event in events:
        if isinstance(event, Problem):
            problems.append(str(event))
        elif isinstance(event, Restored):
            photos, tags, kept = photos + 1, tags + len(event.removed), kept + len(event.kept)
            if dry:
                click.echo(_difference(event))
    would = "would be " if dry else ""
    removed = f"{plural(tags, 'tag')} {would}removed from {plural(photos, 'photo')}"
    click.echo(f"{what}{removed}, {kept:,} kept as confirmed")


def _difference(event: Restored) -> str:
    lines = [
        click.style(printable(event.path), bold=True) + (" (sidecar deleted)" if event.is_deleted else "")
    ]
    lines += [click.style(f"  - {printable(tag)}", fg="red") for tag in event.removed]
    lines += [f"    {printable(tag)} (confirmed)" for tag in event.kept]
    return "\n".join(lines)
