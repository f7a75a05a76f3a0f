"""Variations of a task: the same data with fewer tags, pictures, words or views, or a fixed setting."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.comparison.methods import most_frequent
from tagmix.comparison.parts import DataPart
from tagmix.errors import BagsError
from tagmix.evaluation.regions import NONE, UNKNOWN
from tagmix.images.views.layout import LAYOUT

# Tags of MSRC v2 for what cannot be counted, or fills the background: no objects.
STUFF = frozenset({"building", "grass", "mountain", "road", "sky", "tree", "water"})


def apply_variation(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part with the changes of data at a point of a curve; settings are left to the method."""
    for name, change in CHANGES.items():
        if name in point:
            part = change(part, point)
    return part


def settings_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are fixed at a point of a curve.

    >>> settings_at({"tags": 100}), settings_at({"evidence": 0.1})
    ({}, {'evidence': 0.1})
    """
    return {name: value for name, value in point.items() if name not in CHANGES and name != "draw"}


def with_views(part: DataPart, views: tuple[str, ...]) -> DataPart:
    """Return the part with these views of regions and of whole pictures only."""

    def selected(bags: Bags) -> Bags:
        regions, pictures = (
            {view: own[view] for view in views if view in own} for own in (bags.views, bags.pictures)
        )
        if missing := [view for view in views if view not in (*regions, *pictures)]:
            there = ", ".join([*bags.views, *bags.pictures])
            raise BagsError(
                f"a view must be one of {there}, got {missing[0]!r:.60}: describe the pictures again"
            )
        return Bags(regions, bags.offsets, bags.tags, bags.tag_names, bags.ids, pictures)

    return part._replace(train=selected(part.train), test=selected(part.test))


def fewer_views(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part without the named view or views."""
    left_out = [point["without"]] if isinstance(point["without"], str) else point["without"]
    views = dict.fromkeys([*part.train.views, *part.train.pictures])
    return with_views(part, tuple(view for view in views if view not in left_out))


def fewer_tags(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part with the most frequent training tags only, and the pictures that have one of them."""
    return _without_bare(_selected(part, most_frequent(part.train, int(point["tags"])), UNKNOWN))


def objects_only(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part without the tags of ``STUFF``; their regions are none of the tags.

    Pictures stay, also those without a tag: all of their regions are none.
    """
    names = part.train.tag_names or ()
    kept = np.array([i for i, name in enumerate(names) if name not in STUFF], dtype=np.int64)
    return _selected(part, kept, NONE)


def shorter_training_captions(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part with each tag of a training caption dropped with this probability.

    Test captions stay complete. ``draw`` is the seed.
    """
    rng = np.random.default_rng(int(point.get("draw", 0)))
    tags = csr_array(part.train.captions, copy=True)
    tags.data = tags.data * (rng.random(tags.nnz) >= float(point["dropped"]))
    tags.eliminate_zeros()
    return part._replace(train=part.train.with_tags(tags, part.train.tag_names))


def fewer_pictures(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part with a random subset of the training pictures; ``draw`` is the seed."""
    rng = np.random.default_rng(int(point.get("draw", 0)))
    chosen = rng.permutation(len(part.train))[: int(point["pictures"])]
    return part._replace(train=part.train[np.sort(chosen)])


def fewer_words(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part with each word of each region kept with the probability of the point."""
    rng = np.random.default_rng(0)
    train, test = (_thinned(bags, float(point["words"]), rng) for bags in (part.train, part.test))
    return part._replace(train=train, test=test)


def shorter_captions(part: DataPart, point: Mapping[str, Any]) -> DataPart:
    """Return the part with at most so many tags per picture, chosen at random, in training and test."""
    rng = np.random.default_rng(0)
    train, test = (_shortened(bags, int(point["caption"]), rng) for bags in (part.train, part.test))
    return part._replace(train=train, test=test)


CHANGES: dict[str, Callable[[DataPart, Mapping[str, Any]], DataPart]] = {
    "tags": fewer_tags,
    "pictures": fewer_pictures,
    "words": fewer_words,
    "caption": shorter_captions,
    "objects": objects_only,
    "dropped": shorter_training_captions,
    "without": fewer_views,
}


def _selected(part: DataPart, kept: Ints, otherwise: int) -> DataPart:
    """Return the part with these tags; ``otherwise`` is the truth of regions of the other tags."""
    column = np.full(part.train.n_tags, otherwise)
    column[kept] = np.arange(len(kept))
    truth = np.where(part.truth >= 0, column[part.truth], part.truth)
    train, test = (bags.select_tags(kept) for bags in (part.train, part.test))
    return DataPart(train, test, truth, part.places and part.places.select_tags(kept))


def _without_bare(part: DataPart) -> DataPart:
    """Return the part without untagged pictures: no ranking of them can be right."""
    train, test = (np.flatnonzero(np.diff(bags.captions.indptr)) for bags in (part.train, part.test))
    kept: Ints = np.zeros(len(part.test), dtype=np.int64)
    kept[test] = 1
    regions = np.flatnonzero(np.repeat(kept, np.diff(part.test.offsets)))
    places = part.places and part.places.select_pictures(test, regions)
    return DataPart(part.train[train], part.test[test], part.truth[regions], places)


def _thinned(bags: Bags, share: float, rng: np.random.Generator) -> Bags:
    def thin(view: Any) -> Any:
        if not is_sparse(view):
            return view
        kept = rng.binomial(view.data.astype(np.int64), share)
        return csr_array((kept, view.indices, view.indptr), shape=view.shape)

    views = {name: thin(view) for name, view in bags.views.items()}
    # The layout also counts the removed words
    pictures = {name: view for name, view in bags.pictures.items() if name != LAYOUT}
    return Bags(views, bags.offsets, bags.tags, bags.tag_names, bags.ids, pictures)


def _shortened(bags: Bags, most: int, rng: np.random.Generator) -> Bags:
    tags = bags.captions
    order: Floats = rng.random(tags.nnz)
    rows = np.repeat(np.arange(len(bags)), np.diff(tags.indptr))
    by_row = np.lexsort((order, rows))
    place = np.empty(tags.nnz, dtype=np.int64)
    place[by_row] = np.arange(tags.nnz) - np.repeat(tags.indptr[:-1], np.diff(tags.indptr))
    kept = place < most
    shorter = csr_array((np.ones(int(kept.sum())), (rows[kept], tags.indices[kept])), shape=tags.shape)
    return bags.with_tags(shorter, bags.tag_names)
