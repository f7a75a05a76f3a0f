"""tagmix train --continue: learn what a catalogue says since the last training."""

from pathlib import Path
from typing import Any

import click

from tagmix.catalogue import open_catalogue, place_of
from tagmix.cli.annotate import with_networks
from tagmix.cli.options import cache_folder, check_writable, is_stored, plural, report_problems
from tagmix.cli.progress import bars
from tagmix.errors import CatalogueError, ModelFileError, printable
from tagmix.library.learning import Learnt, Lessons, learn, lessons_of
from tagmix.training_files import load_pair, save_pair, training_file

MOST_NAMED = 5


def learn_on(path: Path, folder: Path, given: Path | None, describing: dict[str, Any]) -> None:
    """Learn the verdicts of the catalogue of a folder, replace model and memory, and print what changed."""
    check_writable(path, is_stored)
    with bars() as report_progress:
        report_progress("opening", 0, 0)
        annotator, memory = load_pair(path)
    if memory is None:
        raise ModelFileError(
            f"{str(path)!r} cannot learn on without {training_file(path).name!r}, which `tagmix train` "
            "writes beside it: train again"
        )
    place = place_of(folder, given)
    if not place.exists():
        raise CatalogueError(
            f"there is no catalogue of {printable(repr(str(folder)))}: `tagmix scan` makes one."
        )
    with open_catalogue(place, folder) as catalogue:
        lessons = lessons_of(catalogue, memory, annotator.model.tag_names_)
    if lessons.new:
        cached = cache_folder(describing["cache"], describing["no_cache"])
        annotator = annotator.with_(n_jobs=describing["jobs"], cache=cached)
        annotator = with_networks(annotator, describing["network"])
    with bars() as report_progress:
        learnt = learn(annotator, memory, lessons, progress=report_progress)
    report_problems(learnt.problems, "photo")
    if learnt.continued.touched:
        save_pair(learnt.continued.annotator, learnt.continued.memory, path)
    for line in summary(lessons, learnt):
        click.echo(line)
    click.echo(str(path))


def summary(lessons: Lessons, learnt: Learnt) -> list[str]:
    """Return what was learnt and what changed, in lines."""
    lines = []
    if lessons.others:
        named = ", ".join(printable(tag) for tag in lessons.others[:MOST_NAMED])
        more = ", …" if len(lessons.others) > MOST_NAMED else ""
        lines.append(f"{plural(len(lessons.others), 'tag')} new to the model ({named}{more}): train again")
    touched, changed = learnt.continued.touched, learnt.continued.changed
    if not touched:
        return [*lines, "nothing new to learn"]
    corrected, new = plural(len(lessons.corrections), "corrected tag"), plural(learnt.n_new, "new photo")
    return [*lines, f"{corrected} and {new} learnt; {plural(len(changed), 'photo')} changed"]
