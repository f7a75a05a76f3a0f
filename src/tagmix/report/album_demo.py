"""The whole journey on an album: learn from one part, measure on the other, gather the page's contents."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tagmix.annotate import Training, train
from tagmix.datasets import Album
from tagmix.images.describe import Describer
from tagmix.learners import EMM
from tagmix.report.album_results import AlbumResults, TagLook, cases_of, curves_of, hold_out, scores_of
from tagmix.report.looks import looks_of

Progress = Callable[[str, int, int], None]


class Journey(NamedTuple):
    """What the demonstration made: the model and everything measured with it."""

    training: Training
    results: AlbumResults


def travel(
    title: str,
    album: Album,
    describer: Describer,
    model: EMM,
    progress: Progress,
    *,
    n_cases: int = 12,
    n_looks: int = 12,
    facts: dict[str, str] | None = None,
) -> Journey:
    """Train on the album's "train" part and measure on its "test" part, which training never sees."""
    part = album.split("train").keep_tags()
    training = train(part, describer, model, progress=progress)
    annotator = training.annotator
    test = album.split("test")
    held = hold_out(annotator, test)
    rng = np.random.default_rng(describer.config.seed)
    # Drawn blindly: a gallery of the best would be a lie, and the first ones may all look alike.
    shown = sorted(rng.permutation(len(held.items))[:n_cases].tolist())
    cases = cases_of(annotator, album, [held.items[i] for i in shown])
    known = set(annotator.model.tag_names_)  # without tags whose pictures were all broken
    frequent = [tag for tag in part.tag_counts() if tag in known][:n_looks]
    sample = [part[int(i)] for i in rng.permutation(len(part))[:LOOKED_AT]]
    looks = looks_of(annotator, sample, frequent)
    results = AlbumResults(
        title=title,
        n_train=len(training.bags),
        n_test=len(held.items),
        n_tags=len(annotator.model.tag_names_),
        tags_a_picture=training.bags.captions.nnz / len(training.bags),
        scores=scores_of(training, held),
        curves=curves_of(training, held),
        bound=annotator.model.bound_history_,
        cases=cases,
        looks=[TagLook(tag, patches) for tag, patches in looks.items() if patches],
        facts=_facts(training, facts or {}),
    )
    return Journey(training, results)


LOOKED_AT = 120  # training pictures that patches are taken from


def _facts(training: Training, more: dict[str, str]) -> dict[str, str]:
    model, config = training.annotator.model, training.annotator.describer.config
    words: dict[str, Any] = model.widths_
    mirrored = " and their mirror images" if config.settings()["mirrored"] else ""
    patches = f"{config.n_patches:,} patches{mirrored}"
    return {
        **more,
        "words": ", ".join(f"{width:,} of {view}" for view, width in words.items()),
        "weight κ of a word, cross-validated on training pictures": ", ".join(
            f"{view} {value:g}" for view, value in model.settings_.evidence.items()
        ),
        "regions": f"{config.n_regions} per picture by {config.segmenter}, {patches}",
        "model": f"EMM, learning {model.learning}, {model.n_iter_} iterations",
    }
