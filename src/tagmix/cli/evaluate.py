"""tagmix evaluate: how well learners tag an album."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import numpy as np

from tagmix.cli.options import album_of, alone_in, describer_of, describing, plural, report_problems
from tagmix.cli.progress import bars
from tagmix.datasets import Album
from tagmix.errors import AlbumError, printable
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import bootstrap_interval
from tagmix.experiments.data import MOST, prepare_album
from tagmix.experiments.methods import METHODS
from tagmix.experiments.records import Record, Task
from tagmix.experiments.run import Outcome, run_all, shown
from tagmix.report.contest.data import groups
from tagmix.report.contest.files import write_report
from tagmix.report.contest.verdict import verdict
from tagmix.storage import read_limited

USUAL = ("frequency", "EMM_context", "KNN", "KernelRidge")


class LearnerName(click.Choice):  # type: ignore[type-arg]  # it takes no type before click 8.2
    """The name of a learner in any case; a name that is nearly one is told which."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name as it is written here, or fail with those that are near."""
        # not case_sensitive=False, with which click prints all names in small letters
        known = {str(name).lower(): str(name) for name in self.choices}
        asked = str(value).lower()
        try:
            return super().convert(known.get(asked, value), param, ctx)
        except click.BadParameter:
            near = [name for low, name in known.items() if asked and low.startswith(asked)]
            near = near or [known[low] for low in get_close_matches(asked, known)]
            if not near:
                raise
            told = printable(f"{value!r:.60} is not a learner: did you mean {' or '.join(near)}?")
            self.fail(told, param, ctx)


@click.command("evaluate", short_help="measure learners on an album")
@click.argument("album")
@click.option(
    "--learner", "-l", "learners", multiple=True, default=USUAL, show_default=True,
    type=LearnerName(["all", *METHODS]), help="May be repeated; all for every one.",
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
    describer = describer_of(describing)
    found = with_frequent_tags(outside(album_of(album, subfolders, captions), out / "figures"), min_count)
    check_parts(found, folds)
    names = tuple(METHODS) if "all" in learners else tuple(dict.fromkeys(learners))
    about = out / "data" / "album" / "about.json"
    with alone_in(out), bars() as tell:
        before = _bytes(about)
        seed = describer.config.seed
        data = prepare_album(out / "data", "album", found, describer, n_folds=folds, seed=seed, progress=tell)
        tasks = [Task("album", name, data.views, part) for name in names for part in range(data.n_parts)]
        outcome = run_all(tasks, out, n_jobs=describing["jobs"], again=again, progress=tell)
        tell("page", 0, 1)
        page = page_of(album, outcome, len(names), out)
    if before not in (None, _bytes(about)):
        click.echo(f"{printable(out)} held other results: measured anew", err=True)
    report_problems(list(data.problems), "picture")
    report_problems([f"{p.task.name}: {p.reason}" for p in outcome.problems], "task", "failed")
    for line in [*lines_of(outcome.records), *map(verdict, groups(outcome.records)), str(page)]:
        click.echo(line)


def _bytes(about: Path) -> bytes | None:
    try:
        return read_limited(about, MOST)
    except (OSError, ValueError):
        return None


def page_of(album: str, outcome: Outcome, n_learners: int, out: Path) -> Path:
    """Write page, figures and numbers, and return the place of the page."""
    return write_report(
        out, outcome.records, outcome.problems,
        title=f"Tags of {Path(album.partition(':')[2] or album).name or 'the album'}",
        lead=f"How well {plural(n_learners, 'learner')} tag those pictures that they have not seen.",
        facts={}, pictures=True,
    )  # fmt: skip


def outside(album: Album, *folders: Path) -> Album:
    """Return the album without the pictures below these folders: what a run wrote is no picture of it."""
    own = [folder.resolve() for folder in folders]
    kept = (item for item in album if not any(item.image.is_relative_to(folder) for folder in own))
    return replace(album, items=tuple(kept))


def with_frequent_tags(album: Album, min_count: int) -> Album:
    """Return the album without rare tags, which are told; AlbumError if there is nothing to tell apart."""
    kept, n_tags = album.keep_tags(min_count), len(album.tag_counts())
    n_kept = len(kept.tag_counts())
    if not n_tags:
        raise AlbumError(
            "no picture has keywords, which are read from XMP and IPTC inside photos and from .xmp, .txt and "
            ".json files beside them, or from the album's own file: tag some, or take names of folders by "
            "--subfolders"
        )
    if n_kept < 2:
        raise AlbumError(
            f"at least 2 tags must be on {min_count} pictures each, got {n_kept} of {n_tags} tags: tag more "
            "pictures, or lower --min-count"
        )
    if rare := n_tags - n_kept:
        verb = "is" if rare == 1 else "are"
        click.echo(
            f"{rare:,} of {n_tags:,} tags {verb} on fewer than {min_count} pictures and left out", err=True
        )
    return kept


def check_parts(album: Album, folds: int) -> None:
    """Refuse too few pictures for so many folds; say if the album's own parts are used in their place."""
    splits = [item.split for item in album if item.tags]
    if {"train", "test"} <= set(splits):
        source = click.get_current_context().get_parameter_source("folds")
        if source is not click.core.ParameterSource.DEFAULT:
            click.echo("the album names its test pictures: --folds is not used", err=True)
    elif len(splits) < 2 * folds:
        raise AlbumError(
            f"an album must have at least {2 * folds} pictures with tags for {folds} folds, got "
            f"{len(splits)}: tag more pictures, or lower --folds"
        )


def lines_of(records: Sequence[Record]) -> list[str]:
    """Return lines for the terminal, best first: top-k accuracy of all tested pictures, 95 % over them.

    The last line says what a perfect ranking would reach; k is 5, or half of the tags where they are fewer
    than 10.
    """
    if not records:
        return []
    k = shown(len(records[0].tag_names))
    found = {}
    for name in dict.fromkeys(record.task.method for record in records):
        parts = [record.picture_parts(k) for record in records if record.task.method == name]
        found[name] = bootstrap_interval(Parts(*map(np.concatenate, zip(*parts, strict=True))))
    lines = [
        f"{name:<16} top-{k} accuracy {mean:.3f} ({low:.3f} … {high:.3f})"
        for name, (mean, low, high) in sorted(found.items(), key=lambda pair: -pair[1].mean)
    ]
    tested = {record.task.part: record.captions for record in records}.values()
    given = np.array([len(own) for captions in tested for own in captions])
    ceiling = 2 * np.minimum(given, k).sum() / (given + k).sum()
    return [*lines, f"{'at most':<16} top-{k} accuracy {ceiling:.3f}"]
