"""The evaluation of a model on the test pictures of an album, for the page and for the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.annotate import Annotation, Annotator, Training
from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.comparison.region_truth import Seen, region_tags, see, visible_tags
from tagmix.datasets import Album, Item
from tagmix.evaluation.metrics import default_k, top_k_accuracy, top_k_ceiling
from tagmix.images.sources import Problem

RGB = NDArray[np.uint8]
CURVE = 20


class Score(NamedTuple):
    """Top-k accuracy of pictures; shares of right regions without and with the caption."""

    top_k: float
    free: float | None
    captioned: float | None


class Case(NamedTuple):
    """One test picture: its pixels, the region of each, the annotation and the truth.

    ``truth`` has the majority tag of each region's pixels, empty if unknown; ``visible`` are the tags of any
    pixel.
    """

    annotation: Annotation
    caption: Sequence[str]
    image: RGB
    labels: NDArray[np.integer]
    truth: Sequence[str]
    visible: Sequence[str] = ()


class TagPatches(NamedTuple):
    """The patches of training pictures that contribute most to a tag, best first."""

    tag: str
    patches: Sequence[RGB]


class AlbumResults(NamedTuple):
    """The contents of the page; ``scores`` and ``curves`` (top-k accuracy for k = 1, 2, …) by method."""

    title: str
    n_train: int
    n_test: int
    n_tags: int
    tags_per_picture: float
    scores: Mapping[str, Score]
    curves: Mapping[str, Sequence[float]]
    bound: Sequence[float]
    cases: Sequence[Case]
    tag_patches: Sequence[TagPatches]
    facts: Mapping[str, str]

    @property
    def k(self) -> int:
        """The number of tags shown per picture."""
        return default_k(self.n_tags)


class EvaluationSet(NamedTuple):
    """Test pictures: as items, as bags with the model's tags, and the true tag of each region."""

    items: Sequence[Item]
    bags: Bags
    truth: NDArray[np.int64]


def described_test(annotator: Annotator, album: Album) -> EvaluationSet:
    """Return the readable pictures of an album, described and captioned with the model's tags."""
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
    return EvaluationSet(items, bags.with_tags(captions, names), np.array(truth, dtype=np.int64))


def scores_of(training: Training, held: EvaluationSet) -> dict[str, Score]:
    """Return the scores of the model, of tag frequency, of chance and of a perfect ranking."""
    annotator, truth = training.annotator, held.bags.captions
    k = default_k(held.bags.n_tags)
    free = annotator.model.top_region_tags(held.bags)[:, 0]
    captioned = annotator.model.top_region_tags(held.bags, captioned=True)[:, 0]
    counts = _tag_counts(training.bags)
    commonest = np.full(len(held.truth), int(counts.argmax()))
    frequent = _frequent_of_caption(held.bags, counts)
    chance = _chance(held.bags, held.truth)
    frequency = np.tile(counts, (len(held.bags), 1))
    return {
        "tagmix": Score(
            top_k_accuracy(truth, annotator.judge(held.bags)[0], k),
            _right(free, held.truth),
            _right(captioned, held.truth),
        ),
        "tag frequency": Score(
            top_k_accuracy(truth, frequency, k), _right(commonest, held.truth), _right(frequent, held.truth)
        ),
        "chance": Score(_random_top_k(truth.toarray(), k), *chance),
        "ceiling": Score(top_k_ceiling(truth, k), None, None),
    }


def curves_of(training: Training, held: EvaluationSet) -> dict[str, list[float]]:
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
    """Return these pictures with their annotation and their truth."""
    known = set(annotator.model.tag_names_)
    cases = []
    by_place = {item.image: item for item in items}
    for annotation in annotator.annotate([item.image for item in items], k=8):
        if isinstance(annotation, Problem):
            continue
        item = by_place[Path(annotation.source)]
        seen: Seen = see(item.image, annotator.describer.config)
        caption = [tag for tag in item.tags if tag in known]
        truth, visible = region_tags(album, item, seen), visible_tags(album, item, seen)
        cases.append(Case(annotation, caption, seen.image, seen.labels, truth, visible))
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
    """Return the expected share of right regions with a random tag: of all, and of the caption."""
    known = truth >= 0
    if not known.any():
        return None, None
    captions = bags.captions.toarray() > 0
    rows = np.repeat(np.arange(len(bags)), np.diff(bags.offsets))[known]
    size = captions.sum(axis=1)
    hit = captions[rows, truth[known]] / np.maximum(size[rows], 1)
    return 1 / bags.n_tags, float(hit.mean())


def _random_top_k(truth: NDArray[np.integer], k: int) -> float:
    """Return the expected top-k accuracy of k random tags: 2·hits / (shown + true)."""
    shown = min(k, truth.shape[1])
    return float(2 * shown * truth.sum() / truth.shape[1] / (shown * len(truth) + truth.sum()))
