"""tagmix train: from an album to a model in one file."""

import warnings
from pathlib import Path
from typing import Any

import click

from tagmix.annotate import Training, train_described, with_levels
from tagmix.cli.counts import frequent_part, hints, size_of, training_part
from tagmix.cli.learning import learn_on
from tagmix.cli.options import (
    Share,
    album_of,
    check_writable,
    describer_of,
    describing,
    is_stored,
    report_networks,
    report_problems,
)
from tagmix.cli.progress import bars
from tagmix.cli.teaching import catalogue_options, taught_album, with_denied
from tagmix.evaluation.metrics import default_k
from tagmix.learners import ContextEMM
from tagmix.learners.context.experts import EXPERTS
from tagmix.learners.inputs import useful_pictures
from tagmix.learners.shown import Outcome
from tagmix.library.learning import placed
from tagmix.training_files import save_pair

FEW = 100  # with fewer, cross-validated accuracies are noise


@click.command("train", short_help="learn from an album")
@click.argument("album", required=False)
@click.option(
    "--model", "-m", "path", type=click.Path(path_type=Path), required=True, help="File for the model."
)
@click.option(
    "--continue", "continuing", is_flag=True,
    help="Learn on from the verdicts in the catalogue of ALBUM, a folder  [default: the current one].",
)  # fmt: skip
@click.option(
    "--memory/--no-memory", default=True, show_default=True,
    help="Keep beside the model, in MODEL.training, what --continue needs (85 MB per 2,000 photos).",
)  # fmt: skip
@click.option("--split", help="Learn from this part only.  [default: all that is not marked test]")
@click.option(
    "--min-count", type=click.IntRange(1), default=4, show_default=True,
    help="Leave out tags on fewer pictures; they still count for the tags above them.",
)  # fmt: skip
@click.option("--subfolders", is_flag=True, help="Names of sub-folders are tags too (folders of photos).")
@click.option("--captions", is_flag=True, help="Text beside photos is sentences, not lists of keywords.")
@click.option(
    "--context", type=click.Choice(list(EXPERTS)), default="kernel", show_default=True,
    help="Learner over whole pictures that gives the prior of their regions' tags.",
)  # fmt: skip
@click.option(
    "--evidence", type=Share(1e-6, 1), default=None,
    show_default=".2 with a network, else chosen by cross-validation",
    help="Weight κ of each view of a region, the same for all: near 0 it hardly counts, 1 is the paper's.",
)  # fmt: skip
@click.option(
    "--background/--no-background", default=True, show_default=True,
    help="Regions may be none of the tags; switch it off if captions name everything in a picture.",
)  # fmt: skip
@catalogue_options
@describing
def command(
    album: str | None, path: Path, continuing: bool, memory: bool, split: str | None, min_count: int,
    context: str, evidence: float | None, background: bool, subfolders: bool, captions: bool,
    catalogue: Path | None, no_catalogue: bool,
    **describing: Any,
) -> None:  # fmt: skip
    """Learn visual words and tags from ALBUM and write the model into one file.

    ALBUM is a folder of photos with keywords in them or beside them, a .jsonl, .csv or COCO .json file, or
    FORMAT:PATH (jsonl, folder, csv, coco, voc, labelme, corel5k). A photo with the tag Places|Rome is learnt
    as one of Places, too.

    \b
    Examples:
      tagmix train ~/Photos --model photos.tagmix
      tagmix train ~/Photos --subfolders -m photos.tagmix     folder names are tags
      tagmix train coco:instances.json -m coco.tagmix
      tagmix train voc:VOC2012 --split train -m voc.tagmix
      tagmix train --continue ~/Photos -m photos.tagmix       learn yes and no of the catalogue, in seconds
    """
    if continuing:
        learn_on(path, Path(album or "."), catalogue, describing)
        return
    if album is None:
        raise click.UsageError("give an ALBUM to learn from.")
    check_writable(path, is_stored)
    describer = describer_of(describing)  # a missing network is reported now, not after the album is read
    found, denied = taught_album(album_of(album, subfolders, captions), catalogue, no_catalogue)
    report_problems(found.problems, "problem", "in the album")
    whole = training_part(found, split)
    specific = frequent_part(whole, min_count)
    click.echo(size_of(whole, specific, min_count))
    for line in hints(whole, specific, min_count):
        click.echo(line, err=True)
    part, implied = with_levels(specific, whole.tag_counts())
    report_networks(describer.networks, describing["network"])
    model = ContextEMM(
        context=context, evidence=evidence, background=background, random_state=describing["seed"], n_jobs=-1
    )
    with bars() as report_progress:
        describer.fit(part, progress=report_progress)
        described = with_denied(describer.transform(part, progress=report_progress), denied)
    report_problems(described.problems, "picture")
    with bars() as report_progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those that matter are printed below
        training = train_described(
            describer,
            described,
            model,
            album=part,
            implied=implied,
            remembering=memory,
            progress=report_progress,
        )
    save_pair(training.annotator, training.memory and placed(training.memory), path)
    if memory and training.memory is None:
        click.echo(
            "this model cannot be continued: that needs --context kernel, and 10,000 photos at most",
            err=True,
        )
    for line in summary(training):
        click.echo(line)
    click.echo(str(path))


def summary(training: Training) -> list[str]:
    """Return a summary of the training, in lines; accuracies are cross-validated."""
    model = training.annotator.model
    assert isinstance(model, ContextEMM)
    views, kappa = list(training.bags.views), model.settings_.evidence
    in_order = sorted(kappa, key=views.index)
    lines = [f"weight κ of each view: {', '.join(f'{name} {kappa[name]:g}' for name in in_order)}"]
    lines.append(
        f"top-{default_k(len(model.tag_names_))} accuracy, cross-validated: {model.accuracy_:.3f}; always "
        f"the most frequent tags: {model.frequency_accuracy_:.3f}"
    )
    lines += _shown_tags(model.calibration_.outcome)
    tagged = int(useful_pictures(training.bags).sum())
    if tagged < FEW:
        lines.append(
            f"only {tagged} pictures with a tag to learn: with so few this estimate is noisy and optimistic "
            f"(tagmix evaluate is stricter); tag at least {FEW}"
        )
    return lines


def _shown_tags(found: Outcome) -> list[str]:
    """Return what share of the tags that ``annotate`` shows is expected to be right, and what share was."""
    shown, given = max(1, found.shown), max(1, found.given)
    lines = [
        f"shown tags: expected precision {found.expected / shown:.2f}, cross-validated "
        f"{found.right / shown:.2f}, recall {found.right / given:.2f}; "
        f"{found.tagged / found.pictures:.0%} of pictures get at least one"
    ]
    if found.guesses:
        lines.append(
            f"{found.guesses:,} of {found.pictures:,} pictures get their most probable tag alone, below the "
            f"threshold: {found.right_guesses:,} right, cross-validated"
        )
    return lines
