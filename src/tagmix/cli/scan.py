"""tagmix scan: note photos and their keywords in the catalogue."""

from collections import Counter
from pathlib import Path

import click

from tagmix.cli.exits import Exit
from tagmix.cli.library import catalogue_option
from tagmix.cli.options import plural, report_problems
from tagmix.cli.progress import bars
from tagmix.images.sources import Problem
from tagmix.library.opening import open_library, real_place
from tagmix.library.scan import scan

CHANGES = ("new", "edited", "moved", "copied", "back", "missing")


@click.command("scan", short_help="note photos and their keywords")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--moved", is_flag=True, help="The photos of --catalogue moved to FOLDER with all folders.")
@catalogue_option
def command(folder: Path, moved: bool, catalogue: Path | None) -> None:
    """Note the photos below FOLDER and their keywords in the catalogue, so that `tagmix search` finds them.

    `tagmix tag` does this, too. Photos that were moved or edited are recognised, and photos that did not
    change are not read again. Nothing is written beside the photos.

    \b
    Examples:
      tagmix scan ~/Photos
    """
    place = real_place(folder)
    counts: Counter[str] = Counter()
    problems: list[str] = []
    with open_library(place, catalogue, moved=moved) as library, bars() as report_progress:
        for event in scan(library, place):
            if isinstance(event, Problem):
                problems.append(str(event))
            else:
                counts[event.change] += 1
            report_progress("scanning", sum(counts.values()), 0)
    found = sum(number for change, number in counts.items() if change != "missing")
    changes = [f"{counts[change]:,} {change}" for change in CHANGES if counts[change]]
    click.echo(", ".join([plural(found, "photo"), *changes]))
    report_problems(problems, "photo", "had problems", most=len(problems))
    if problems:
        raise click.exceptions.Exit(Exit.FAILED)
