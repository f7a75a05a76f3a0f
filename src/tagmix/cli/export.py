"""tagmix export: photos of a catalogue with their tags, for other programs and for training."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tagmix.catalogue import Photo
from tagmix.cli.exits import Exit
from tagmix.cli.library import catalogue_option, warn_if_older
from tagmix.cli.options import plural, report_problems
from tagmix.cli.progress import Report, bars
from tagmix.errors import AlbumError, printable
from tagmix.library.existing import Existing, existing
from tagmix.library.export import FORMATS, Choice, Exported, export
from tagmix.library.export.files import check_target


@click.command("export", short_help="write photos with their tags for other programs")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="Format of the export.")
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), required=True,
    help="File to write; with labelme a folder, which may be FOLDER itself.",
)  # fmt: skip
@click.option("--search", "question", help="Export only photos for which this question holds; see `search`.")
@click.option("--machine", is_flag=True, help="Also export the machine's tags that nobody confirmed.")
@click.option(
    "--min-probability", type=click.FloatRange(0, 1), default=None, metavar="SHARE",
    help="Of the machine's tags, only those at least as probable; implies --machine.",
)  # fmt: skip
@click.option("--replace", "again", is_flag=True, help="Replace an earlier export; other files never.")
@catalogue_option
def command(
    folder: Path, form: str, out: Path, question: str | None, machine: bool, min_probability: float | None,
    again: bool, catalogue: Path | None,
) -> int:  # fmt: skip
    """Write the photos below FOLDER with their tags, as the catalogue has them, to a file.

    Tags of humans and of the photos' metadata are exported; those of a machine only with --machine. What was
    denied is left out. COCO, LabelMe and JSON lines also have the regions that humans gave a tag, and with
    --machine those of the machine.

    \b
    Examples:
      tagmix export ~/Photos --format jsonl --out ~/Photos/annotations.jsonl
      tagmix export ~/Photos --format coco --out photos.json --min-probability 0.9
      tagmix export ~/Photos --format csv --out boats.csv --search 'boat -night'
    """
    check_target(out, form, again=again)
    choice = Choice(machine or min_probability is not None, min_probability or 0.0)
    with existing(folder, catalogue) as library:
        found = library.catalogue.search(question or "missing:no")
        warn_if_older(library, [])
        if not len(found):
            raise AlbumError("there are no photos to export: scan the folder, or ask another --search.")
        with bars() as report_progress:
            photos = _told(found, library, report_progress)
            done = export(library.catalogue, photos, out, form, choice, folder=library.folder, again=again)
    _report(done, out, form, library)
    return Exit.FAILED if done.problems else Exit.DONE


def _told(found: Any, library: Existing, report_progress: Report) -> Iterator[Photo]:
    for done, photo in enumerate(found):
        report_progress("exporting", done, len(found))
        if library.holds(photo):
            yield photo


def _report(done: Exported, out: Path, form: str, library: Existing) -> None:
    report_problems(done.problems, "photo", "left out")
    for note in done.notes:
        click.echo(note, err=True)
    if form != "labelme" and done.base != Path(out.parent).resolve():
        click.echo(
            printable(f"its paths begin in {done.base}: tagmix train needs the file in that folder or above"),
            err=True,
        )
    regions = f", {plural(done.regions, 'region')}" if done.regions else ""
    click.echo(
        f"{plural(done.photos, 'photo')}, {done.tagged:,} with tags, {plural(done.tags, 'tag')}{regions}",
        err=True,
    )
    click.echo(printable(out))
