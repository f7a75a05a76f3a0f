"""tagmix evaluate: how well learners tag an album."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tagmix.cli.options import album_of, check_writable, describer_of, describing, some, tell_problems
from tagmix.cli.progress import bars
from tagmix.datasets import Album
from tagmix.errors import AlbumError
from tagmix.experiments.data import prepare_album
from tagmix.experiments.methods import METHODS
from tagmix.experiments.records import Task
from tagmix.experiments.run import run_all
from tagmix.report.contest.files import write_report

USUAL = ("frequency", "EMM_calibrated", "KNN", "KernelRidge")


@click.command("evaluate", short_help="measure learners on an album")
@click.argument("album")
@click.option(
    "--learner", "-l", "learners", multiple=True, type=click.Choice(["all", *METHODS]), default=USUAL,
    show_default=True, help="May be repeated; all for every one.",
)  # fmt: skip
@click.option(
    "--folds", type=click.IntRange(2, 100), default=5, show_default=True,
    help="Parts that are tested in turn, unless the album says which pictures are for the test.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="evaluate-out", show_default=True,
    help="Folder for results and the page; a stopped run goes on from there.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Measure anew what was measured before.")
@click.option("--subfolders", is_flag=True, help="Names of sub-folders are tags too (folders of photos).")
@click.option("--captions", is_flag=True, help="Text beside photos is sentences, not lists of keywords.")
@click.option(
    "--min-count", type=click.IntRange(1), default=4, show_default=True, help="Leave out rarer tags."
)
@describing
def command(
    album: str, learners: tuple[str, ...], folds: int, out: Path, again: bool, subfolders: bool,
    captions: bool, min_count: int, **describing: Any,
) -> None:  # fmt: skip
    """Measure how well learners tag the pictures of ALBUM, and write a page with tables and curves.

    Each picture is tagged by a model that has not seen it, and settings are chosen on training pictures
    alone. Where the album says what its regions show (masks, boxes), regions are measured too. ALBUM is as in
    `tagmix train --help`.

    \b
    Examples:
      tagmix evaluate ~/Photos
      tagmix evaluate coco:instances.json --learner EMM_d --learner KNN --folds 3
      tagmix evaluate album.jsonl --learner all --out all-learners
    """
    out.mkdir(parents=True, exist_ok=True)
    check_writable(out / "index.html")
    found = with_frequent_tags(outside(album_of(album, subfolders, captions), out / "figures"), min_count)
    describer = describer_of(describing)
    names = tuple(METHODS) if "all" in learners else tuple(dict.fromkeys(learners))
    with bars() as tell:
        seed = describer.recipe.seed
        data = prepare_album(out / "data", "album", found, describer, n_folds=folds, seed=seed, progress=tell)
        tasks = [Task("album", name, data.views, part) for name in names for part in range(data.n_parts)]
        outcome = run_all(tasks, out, n_jobs=describing["jobs"], again=again, progress=tell)
        tell("page", 0, 1)
        page = write_report(
            out, outcome.records, outcome.problems,
            title=f"Tags of {Path(album.partition(':')[2] or album).name or 'the album'}",
            lead=f"How well {some(len(names), 'learner')} tag those pictures that they have not seen.",
            facts={"album": album}, pictures=True,
        )  # fmt: skip
    tell_problems(list(data.problems), "picture")
    tell_problems([f"{p.task.name}: {p.reason}" for p in outcome.problems], "task", "failed")
    for line in lines_of(outcome.records):
        click.echo(line)
    click.echo(str(page))


def outside(album: Album, *folders: Path) -> Album:
    """Return the album without the pictures below these folders: what a run wrote is no picture of it."""
    own = [folder.resolve() for folder in folders]
    kept = (item for item in album if not any(item.image.is_relative_to(folder) for folder in own))
    return replace(album, items=tuple(kept))


def with_frequent_tags(album: Album, min_count: int) -> Album:
    """Return the album without rare tags; AlbumError if there is nothing left to tell apart."""
    kept = album.keep_tags(min_count)
    if len(kept.tag_counts()) < 2:
        raise AlbumError(
            f"at least 2 tags must be on {min_count} pictures each, got {len(kept.tag_counts())} of "
            f"{len(album.tag_counts())} tags: tag more pictures, or lower --min-count"
        )
    return kept


def lines_of(records: list[Any]) -> list[str]:
    """Return the mean top-5 accuracy of each learner as lines for the terminal, best first."""
    values: dict[str, list[float]] = {}
    for record in records:
        values.setdefault(record.task.method, []).append(record.metrics["top_k_accuracy"])
    means = {name: sum(found) / len(found) for name, found in values.items()}
    ceiling = [record.metrics["top_k_ceiling"] for record in records]
    lines = [
        f"{name:<16} top-5 accuracy {mean:.3f}" for name, mean in sorted(means.items(), key=lambda x: -x[1])
    ]
    return [*lines, f"{'at most':<16} top-5 accuracy {sum(ceiling) / len(ceiling):.3f}"] if records else []
