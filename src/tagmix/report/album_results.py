"""What is measured on held-out pictures of an album, for the page and for the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.annotate import Annotation, Annotator, Training
from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.datasets import Album, Item
from tagmix.evaluation.metrics import top_k_accuracy, top_k_ceiling
from tagmix.experiments.region_truth import Seen, region_tags, see
from tagmix.images.sources import Problem

RGB = NDArray[np.uint8]
CURVE = 20


class Score(NamedTuple):
    """Top-5 accuracy of pictures; shares of regions named rightly without and with the caption known."""

    top5: float
    free: float | None
    captioned: float | None


class Case(NamedTuple):
    """One held-out picture: its pixels, the region of each, what was found, what is true.

    ``truth`` has the tag that most of a region's pixels carry, empty where nobody knows.
    """

    annotation: Annotation
    caption: Sequence[str]
    image: RGB
    labels: NDArray[np.integer]
    truth: Sequence[str]


class TagLook(NamedTuple):
    """What the words of a tag look like: patches of training pictures, the loudest words first."""

    tag: str
    patches: Sequence[RGB]


class AlbumResults(NamedTuple):
    """All that the page shows; ``scores`` and ``curves`` (top-k accuracy for k = 1, 2, …) by method."""

    title: str
    n_train: int
    n_test: int
    n_tags: int
    tags_a_picture: float
    scores: Mapping[str, Score]
    curves: Mapping[str, Sequence[float]]
    bound: Sequence[float]
    cases: Sequence[Case]
    looks: Sequence[TagLook]
    facts: Mapping[str, str]


class HeldOut(NamedTuple):
    """Held-out pictures: as items, as bags with the model's tags, and what is true of their regions."""

    items: Sequence[Item]
    bags: Bags
    truth: NDArray[np.int64]


def hold_out(annotator: Annotator, album: Album) -> HeldOut:
    """Return the pictures of an album that can be read, described and captioned with the model's tags."""
    names = annotator.model.tag_names_
    bags = annotator.describer.transform(album).bags
    by_place = {str(item.image): item for item in album}
    items = [by_place[place] for place in bags.ids]
    column = {tag: c for c, tag in enumerate(names)}
    captions = [[tag for tag in item.tags if tag in column] for item in items]
    truth = [
        column.get(tag, -1)
        for item in items
        for tag in region_tags(album, item, see(item.image, annotator.describer.config))
    ]
    return HeldOut(items, bags.with_tags(captions, names), np.array(truth, dtype=np.int64))


def scores_of(training: Training, held: HeldOut) -> dict[str, Score]:
    """Return the model's scores beside tag frequency alone, chance and a perfect ranking."""
    annotator, truth = training.annotator, held.bags.captions
    free = annotator.model.top_region_tags(held.bags)[:, 0]
    captioned = annotator.model.top_region_tags(held.bags, captioned=True)[:, 0]
    counts = _tag_counts(training.bags)
    commonest = np.full(len(held.truth), int(counts.argmax()))
    frequent = _frequent_of_caption(held.bags, counts)
    chance = _chance(held.bags, held.truth)
    frequency = np.tile(counts, (len(held.bags), 1))
    return {
        "tagmix": Score(
            top_k_accuracy(truth, annotator.judge(held.bags)[0], 5),
            _right(free, held.truth),
            _right(captioned, held.truth),
        ),
        "tag frequency": Score(
            top_k_accuracy(truth, frequency, 5), _right(commonest, held.truth), _right(frequent, held.truth)
        ),
        "chance": Score(_random_top5(truth.toarray()), *chance),
        "ceiling": Score(top_k_ceiling(truth, 5), None, None),
    }


def curves_of(training: Training, held: HeldOut) -> dict[str, list[float]]:
    """Return top-k accuracy for k = 1 … 20 by method."""
    truth = held.bags.captions
    ranked = {
        "tagmix": training.annotator.judge(held.bags)[0],
        "tag frequency": np.tile(_tag_counts(training.bags), (len(held.bags), 1)),
        "ceiling": truth.toarray().astype(np.float64),
    }
    most = min(CURVE, held.bags.n_tags)
    return {
        name: [float(top_k_accuracy(truth, scores, k)) for k in range(1, most + 1)]
        for name, scores in ranked.items()
    }


def cases_of(annotator: Annotator, album: Album, items: Sequence[Item]) -> list[Case]:
    """Return these pictures with everything that is found in them and known about them."""
    known = set(annotator.model.tag_names_)
    cases = []
    by_place = {item.image: item for item in items}
    for annotation in annotator.annotate([item.image for item in items], k=8):
        if isinstance(annotation, Problem):
            continue
        item = by_place[Path(annotation.source)]
        seen: Seen = see(item.image, annotator.describer.config)
        caption = [tag for tag in item.tags if tag in known]
        cases.append(Case(annotation, caption, seen.image, seen.labels, region_tags(album, item, seen)))
    return cases


def _tag_counts(bags: Bags) -> Floats:
    return np.asarray(bags.captions.sum(axis=0), dtype=np.float64).ravel()


def _right(found: NDArray[np.int64], truth: NDArray[np.int64]) -> float | None:
    known = truth >= 0
    return float((found == truth)[known].mean()) if known.any() else None


def _frequent_of_caption(bags: Bags, counts: Floats) -> NDArray[np.int64]:
    """Return, for each region, the most frequent tag among those of its picture's caption."""
    own = np.where(bags.captions.toarray() > 0, counts + 1, 0.0)
    return np.repeat(own.argmax(axis=1), np.diff(bags.offsets))


def _chance(bags: Bags, truth: NDArray[np.int64]) -> tuple[float | None, float | None]:
    """Return how often a tag drawn blindly is a region's: out of all, and out of the caption."""
    known = truth >= 0
    if not known.any():
        return None, None
    captions = bags.captions.toarray() > 0
    rows = np.repeat(np.arange(len(bags)), np.diff(bags.offsets))[known]
    size = captions.sum(axis=1)
    hit = captions[rows, truth[known]] / np.maximum(size[rows], 1)
    return 1 / bags.n_tags, float(hit.mean())


def _random_top5(truth: NDArray[np.integer]) -> float:
    """Return the top-5 accuracy to expect of five tags drawn blindly: 2·hits / (shown + true)."""
    shown = min(5, truth.shape[1])
    return float(2 * shown * truth.sum() / truth.shape[1] / (shown * len(truth) + truth.sum()))
