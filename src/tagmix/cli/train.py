"""tagmix train: from an album to a model in one file."""

import warnings
from pathlib import Path
from typing import Any

import click

from tagmix.annotate import Training
from tagmix.annotate import train as train_annotator
from tagmix.cli.options import (
    Share,
    album_of,
    check_writable,
    describer_of,
    describing,
    is_stored,
    report_problems,
)
from tagmix.cli.progress import bars
from tagmix.datasets import Album
from tagmix.errors import AlbumError, TagmixError
from tagmix.learners import EMM
from tagmix.learners.context.experts import EXPERTS
from tagmix.learners.inputs import useful_images
from tagmix.model.params import view_of

FEW = 100  # with fewer, held-out accuracies are noise


@click.command("train", short_help="learn from an album")
@click.argument("album")
@click.option(
    "--model", "-m", "path", type=click.Path(path_type=Path), required=True, help="File for the model."
)
@click.option("--split", help="Learn from this part only.  [default: all that is not marked test]")
@click.option(
    "--min-count", type=click.IntRange(1), default=4, show_default=True,
    help="Leave out tags on fewer pictures.",
)  # fmt: skip
@click.option("--subfolders", is_flag=True, help="Names of sub-folders are tags too (folders of photos).")
@click.option("--captions", is_flag=True, help="Text beside photos is sentences, not lists of keywords.")
@click.option(
    "--learning", type=click.Choice(["likelihood", "margin"]), default="likelihood", show_default=True,
    help="margin learns a weight for each tag too: slower, on our albums no better.",
)  # fmt: skip
@click.option(
    "--context", type=click.Choice([*EXPERTS, "none"]), default="kernel", show_default=True,
    help="What looks at the whole picture first and tells the regions which tags to expect; none leaves it "
    "out, as the paper does: less accurate.",
)  # fmt: skip
@click.option(
    "--evidence", type=Share(1e-6, 1), default=None,
    show_default="chosen on held-out pictures",
    help="How far each description of a region is trusted, the same for all: near 0 hardly, 1 fully, as in "
    "the paper.",
)  # fmt: skip
@describing
def command(
    album: str, path: Path, split: str | None, min_count: int, learning: str, context: str,
    evidence: float | None, subfolders: bool, captions: bool, **describing: Any,
) -> None:  # fmt: skip
    """Learn visual words and tags from ALBUM and write the model into one file.

    ALBUM is a folder of photos with keywords in them or beside them, a .jsonl, .csv or COCO .json file, or
    FORMAT:PATH (jsonl, folder, csv, coco, voc, labelme, corel5k).

    \b
    Examples:
      tagmix train ~/Photos --model photos.tagmix
      tagmix train ~/Photos --subfolders -m photos.tagmix     folder names are tags
      tagmix train coco:instances.json -m coco.tagmix
      tagmix train voc:VOC2012 --split train -m voc.tagmix
    """
    check_writable(path, is_stored)
    describer = describer_of(describing)  # a network that is not there is told now, not after the album
    found = album_of(album, subfolders, captions)
    report_problems(list(found.problems), "album line")
    part = training_part(found, split, min_count)
    click.echo(size_of(part, min_count))
    whole = None if context == "none" else context
    model = EMM(learning=learning, context=whole, n_jobs=-1, random_state=describing["seed"])
    try:
        with bars() as tell, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters of them is said below
            training = train_annotator(part, describer, model, evidence=evidence, progress=tell)
    except TagmixError:
        if len(describer.problems_) < len(part):  # else the error says it in one line
            report_problems(describer.problems_, "picture")
        raise
    training.annotator.save(path)
    report_problems(describer.problems_, "picture")
    for line in summary(training):
        click.echo(line)
    click.echo(str(path))


def training_part(album: Album, split: str | None, min_count: int) -> Album:
    """Return the pictures to learn from, with the tags that are frequent enough."""
    part = album.split(split) if split else album.without("test")
    if not len(part):
        raise AlbumError(
            f"all {len(album):,} pictures are marked test, and those are never learnt from: name a part by "
            "--split"
        )
    if not part.tag_counts():
        raise AlbumError(
            f"no picture among {len(part):,} has a tag, so there is nothing to learn from: tag some in your "
            "photo software, or try --subfolders"
        )
    kept = part.keep_tags(min_count)
    if len(kept.tag_counts()) < 2:
        raise AlbumError(
            f"at least 2 tags must be on {min_count} pictures each, got {len(kept.tag_counts())} of "
            f"{len(part.tag_counts())} tags: tag more pictures, or lower --min-count"
        )
    return kept


def size_of(album: Album, min_count: int) -> str:
    """Return how many pictures and tags there are to learn from, in words."""
    tagged, tags = sum(bool(item.tags) for item in album), len(album.tag_counts())
    pictures = f"{len(album):,} pictures"
    if tagged < len(album):
        pictures = f"{tagged:,} of {pictures} have tags"
    return f"{pictures}, {tags:,} tags on at least {min_count} of them"


def summary(training: Training) -> list[str]:
    """Return what was learnt, in lines; accuracies are those of pictures held out in turn."""
    model = training.annotator.model
    views, kappa = list(training.bags.views), model.settings_.evidence
    in_order = sorted(kappa, key=lambda name: (views.index(view_of(name)), name))
    lines = [f"weight of each description: {', '.join(f'{name} {kappa[name]:g}' for name in in_order)}"]
    if training.choice is not None:
        k = max(1, min(5, len(model.tag_names_) // 2))
        lines.append(
            f"top-{k} accuracy on pictures held out in turn: {training.choice.accuracy:.3f}; always the most "
            f"frequent tags: {training.choice.frequency:.3f}"
        )
    if model.calibration_ is None:
        lines.append("too few pictures: the percentages of annotate will be no probabilities")
    tagged = int(useful_images(training.bags).sum())
    if training.choice is not None and tagged < FEW:
        lines.append(
            f"only {tagged} tagged pictures: the accuracy means little and is too rosy (tagmix evaluate is "
            f"stricter), tag at least {FEW}"
        )
    return lines
