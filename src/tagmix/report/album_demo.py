"""All steps on an album: train on one part, evaluate on the other, gather the contents of the page."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tagmix.annotate import Training, train
from tagmix.datasets import Album
from tagmix.images.describe import Describer
from tagmix.learners import ContextEMM
from tagmix.report.album_results import (
    AlbumResults,
    TagPatches,
    cases_of,
    curves_of,
    described_test,
    scores_of,
)
from tagmix.report.tag_patches import patches_of

Progress = Callable[[str, int, int], None]


class DemoRun(NamedTuple):
    """The trained model and its evaluation."""

    training: Training
    results: AlbumResults


def run_demo(
    title: str,
    album: Album,
    describer: Describer,
    model: ContextEMM,
    progress: Progress,
    *,
    n_cases: int = 12,
    n_tags_shown: int = 12,
    facts: dict[str, str] | None = None,
) -> DemoRun:
    """Train on the album's "train" part and evaluate on its "test" part."""
    part = album.split("train").keep_tags()
    training = train(part, describer, model, progress=progress)
    annotator = training.annotator
    test = album.split("test")
    held = described_test(annotator, test)
    rng = np.random.default_rng(describer.config.seed)
    # Chosen at random: the best would mislead, and the first may all be similar.
    shown = sorted(rng.permutation(len(held.items))[:n_cases].tolist())
    cases = cases_of(annotator, album, [held.items[i] for i in shown])
    known = set(annotator.model.tag_names_)  # without tags whose pictures were all unreadable
    frequent = [tag for tag in part.tag_counts() if tag in known][:n_tags_shown]
    sample = [part[int(i)] for i in rng.permutation(len(part))[:SAMPLED]]
    patches = patches_of(annotator, sample, frequent)
    results = AlbumResults(
        title=title,
        n_train=len(training.bags),
        n_test=len(held.items),
        n_tags=len(annotator.model.tag_names_),
        tags_per_picture=training.bags.captions.nnz / len(training.bags),
        scores=scores_of(training, held),
        curves=curves_of(training, held),
        bound=annotator.model.bound_history_,
        cases=cases,
        tag_patches=[TagPatches(tag, own) for tag, own in patches.items() if own],
        facts=_facts(training, facts or {}),
    )
    return DemoRun(training, results)


SAMPLED = 120  # training pictures that patches are taken from


def _facts(training: Training, more: dict[str, str]) -> dict[str, str]:
    model, config = training.annotator.model, training.annotator.describer.config
    words: dict[str, Any] = model.widths_
    mirrored = " and their mirror images" if config.settings()["mirrored"] else ""
    patches = f"{config.n_patches:,} patches{mirrored}"
    return {
        **more,
        "features": ", ".join(f"{width:,} of {view}" for view, width in words.items()),
        "weight κ of each view": ", ".join(
            f"{view} {value:g}" for view, value in model.settings_.evidence.items()
        ),
        "regions": f"{config.n_regions} per picture by {config.segmenter}, {patches}",
        "model": f"{type(model).__name__}, {model.n_iter_} iterations",
    }
