"""tagmix evaluate: compare learners on an album."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import numpy as np

from tagmix.cli.options import (
    album_of,
    alone_in,
    describer_of,
    describing,
    plural,
    report_networks,
    report_problems,
)
from tagmix.cli.progress import bars
from tagmix.comparison.methods import METHODS, RIVALS
from tagmix.comparison.parts import MAX_ABOUT_BYTES
from tagmix.comparison.prepare import prepare_album, without_folders
from tagmix.comparison.records import Record, Task
from tagmix.comparison.run import Outcome, run_all
from tagmix.datasets import Album
from tagmix.errors import AlbumError, printable
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.metrics import default_k
from tagmix.evaluation.significance import bootstrap_interval
from tagmix.report.comparison.files import write_report
from tagmix.report.comparison.samples import groups
from tagmix.report.comparison.verdict import verdict
from tagmix.storage import read_limited

DEFAULT_LEARNERS = ("frequency", "ContextEMM", "KNN", "KernelRidge")


class LearnerName(click.Choice):  # type: ignore[type-arg]  # it takes no type before click 8.2
    """The name of a learner in any case; a similar name is suggested."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the canonical name, or fail with similar ones."""
        # not case_sensitive=False, with which click prints all names in lower case
        known = {str(name).lower(): str(name) for name in self.choices}
        typed = str(value).lower()
        try:
            return super().convert(known.get(typed, value), param, ctx)
        except click.BadParameter:
            near = [name for low, name in known.items() if typed and low.startswith(typed)]
            near = near or [known[low] for low in get_close_matches(typed, known)]
            if not near:
                raise
            message = printable(f"{value!r:.60} is not a learner: did you mean {' or '.join(near)}?")
            self.fail(message, param, ctx)


@click.command("evaluate", short_help="compare learners on an album")
@click.argument("album")
@click.option(
    "--learner", "-l", "learners", multiple=True, default=DEFAULT_LEARNERS, show_default=True,
    type=LearnerName(["all", *METHODS]), help="A learner to compare; may be repeated. "
    "all is every learner but the rivals of the study openworld.",
)  # fmt: skip
@click.option(
    "--folds", type=click.IntRange(2, 100), default=5, show_default=True,
    help="Folds of the cross-validation; not used if the album has its own test pictures.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default="evaluate-out", show_default=True,
    help="Folder for the results and the page; run the same command to resume.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Replace existing results.")
@click.option("--subfolders", is_flag=True, help="Use names of sub-folders as tags too (folders of photos).")
@click.option(
    "--captions", is_flag=True, help="Read text files beside photos as sentences, not as lists of keywords."
)
@click.option(
    "--min-count",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    help="Leave out tags with fewer pictures.",
)
@describing
def command(
    album: str, learners: tuple[str, ...], folds: int, out: Path, again: bool, subfolders: bool,
    captions: bool, min_count: int, **describing: Any,
) -> None:  # fmt: skip
    """Compare learners on the pictures of ALBUM, and write a page with tables and curves.

    Every picture is tagged by a model that was trained without it, and settings are chosen on training
    pictures only. If the album has masks or boxes, the tags of regions are evaluated too. ALBUM is as in
    `tagmix train --help`.

    \b
    Examples:
      tagmix evaluate ~/Photos
      tagmix evaluate coco:instances.json --learner EMM_d --learner KNN --folds 3
      tagmix evaluate album.jsonl --learner all --out all-learners
    """
    describer = describer_of(describing)
    found = with_frequent_tags(
        without_folders(album_of(album, subfolders, captions), out / "figures"), min_count
    )
    check_parts(found, folds)
    every = (name for name in METHODS if name not in RIVALS)
    names = tuple(every) if "all" in learners else tuple(dict.fromkeys(learners))
    about = out / "data" / "album" / "about.json"
    with alone_in(out), bars() as report_progress:
        report_networks(describer.networks, describing["network"])
        before = _bytes(about)
        seed = describer.config.seed
        data = prepare_album(
            out / "data", "album", found, describer, n_folds=folds, seed=seed, progress=report_progress
        )
        tasks = [Task("album", name, data.views, part) for name in names for part in range(data.n_parts)]
        outcome = run_all(tasks, out, n_jobs=describing["jobs"], again=again, progress=report_progress)
        report_progress("page", 0, 1)
        page = page_of(album, outcome, len(names), out)
    if before not in (None, _bytes(about)):
        click.echo(f"{printable(out)} held results of other data: replaced", err=True)
    report_problems(list(data.problems), "picture")
    report_problems([f"{p.task.name}: {p.reason}" for p in outcome.problems], "task", "failed")
    for line in [*lines_of(outcome.records), *map(verdict, groups(outcome.records)), str(page)]:
        click.echo(line)


def _bytes(about: Path) -> bytes | None:
    try:
        return read_limited(about, MAX_ABOUT_BYTES)
    except (OSError, ValueError):
        return None


def page_of(album: str, outcome: Outcome, n_learners: int, out: Path) -> Path:
    """Write page, figures and numbers, and return the path of the page."""
    return write_report(
        out, outcome.records, outcome.problems,
        title=f"Learners on {Path(album.partition(':')[2] or album).name or 'the album'}",
        lead=f"{plural(n_learners, 'learner')} compared on test pictures.",
        pictures=True,
    )  # fmt: skip


def with_frequent_tags(album: Album, min_count: int) -> Album:
    """Return the album without rare tags, and print their number; AlbumError if fewer than 2 remain."""
    kept, n_tags = album.keep_tags(min_count), len(album.tag_counts())
    n_kept = len(kept.tag_counts())
    if not n_tags:
        raise AlbumError(
            "an album must have tags, got none: keywords are read from XMP and IPTC inside photos, from "
            ".xmp, .txt and .json files beside them, or from the album file; --subfolders uses folder names"
        )
    if n_kept < 2:
        raise AlbumError(
            f"at least 2 tags must be on {min_count} pictures each, got {n_kept} of {n_tags} tags: tag more "
            "pictures, or lower --min-count"
        )
    if rare := n_tags - n_kept:
        verb = "is" if rare == 1 else "are"
        click.echo(f"{rare:,} of {n_tags:,} tags {verb} left out: fewer than {min_count} pictures", err=True)
    return kept


def check_parts(album: Album, folds: int) -> None:
    """Refuse too few pictures for the folds; print if the album's own split is used instead."""
    splits = [item.split for item in album if item.tags]
    if {"train", "test"} <= set(splits):
        source = click.get_current_context().get_parameter_source("folds")
        if source is not click.core.ParameterSource.DEFAULT:
            click.echo("--folds is not used: the album has its own test pictures", err=True)
    elif len(splits) < 2 * folds:
        raise AlbumError(
            f"an album must have at least {2 * folds} pictures with tags for {folds} folds, got "
            f"{len(splits)}: tag more pictures, or lower --folds"
        )


def lines_of(records: Sequence[Record]) -> list[str]:
    """Return lines for the terminal, best first: top-k accuracy with its 95 % interval over pictures.

    The last line is the score of a perfect ranking; k is ``default_k``.
    """
    if not records:
        return []
    k = default_k(len(records[0].tag_names))
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
    return [*lines, f"{'perfect ranking':<16} top-{k} accuracy {ceiling:.3f}"]
