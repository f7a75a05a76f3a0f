"""The mixture of regions with settings that were chosen: statistics of pictures come and go.

A picture's regions are split among the tags of its caption and the background as the mixture of ``fit``
explains them, with the scorer's columns of then. Its statistics depend on its own verdicts alone, so a
correction replaces those of one picture, and a new picture adds its own. What EM found beyond these sums
stays: means move by the difference. Covariance, odds, background and projection stay.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints, regions_of, stack
from tagmix.bags import Bags
from tagmix.learners.continued.instances import Kept
from tagmix.learners.continued.verdicts import Codes, labels_of
from tagmix.model.gaussian import PULL, Gaussian, Projection
from tagmix.model.given import RegionModel, captioned_shard, posterior_of_captions
from tagmix.model.instance import Multinomial
from tagmix.model.params import Settings

Sums = dict[str, Floats]


class Regions(NamedTuple):
    """The regions of training pictures: coordinates or words per view of the mixture, and their starts."""

    views: dict[str, Any]
    offsets: Ints

    @classmethod
    def of(cls, bags: Bags, model: RegionModel) -> "Regions":
        """Return the regions of bags, coordinates in single precision."""
        views = {name: bags.views[name] for name in model.instances}
        for name, own in model.instances.items():
            if isinstance(own, Gaussian):
                views[name] = own.projection(views[name]).astype(np.float32)
        return cls(views, bags.offsets)

    def of_pictures(self, pictures: Ints) -> "Regions":
        """Return those of these pictures."""
        rows, offsets = regions_of(self.offsets, pictures)
        return Regions({name: view[rows] for name, view in self.views.items()}, offsets)

    def with_(self, below: "Regions") -> "Regions":
        """Return these pictures, followed by others."""
        views = {name: stack([view, below.views[name]]) for name, view in self.views.items()}
        return Regions(views, np.concatenate([self.offsets, self.offsets[-1] + below.offsets[1:]]))


class _Given(NamedTuple):
    """A scorer of these regions: their scores are known."""

    scores: Floats

    def score_regions(self, views: Mapping[str, Any]) -> Floats:
        """Return them."""
        return self.scores


def statistics(
    regions: Regions, kept: Kept, codes: Codes, model: RegionModel, weights: Floats, settings: Settings
) -> Sums:
    """Return the statistics of these pictures by the mixture ``model`` and the scorer's ``weights``."""
    total = {name: own.empty_statistics() for name, own in model.instances.items()}
    narrow = replace(model, instances={name: _unprojected(own) for name, own in model.instances.items()})
    names = [f"tag{i}" for i in range(codes.shape[1])]
    for start in range(0, len(codes), 256):
        own = np.arange(start, min(start + 256, len(codes)))
        part = regions.of_pictures(own)
        bags = Bags(part.views, part.offsets, **labels_of(codes[own], names))
        with_scores = replace(narrow, scorer=_Given(_region_scores(kept, own, weights)))
        shard = captioned_shard(bags, with_scores)
        phi = posterior_of_captions(shard, with_scores, settings).phi
        for name, instance in narrow.instances.items():
            instance.add_statistics(shard.views[name], phi, bags.offsets, shard.entries, total[name])
    return total


def moved(model: RegionModel, before: Sums, after: Sums) -> RegionModel:
    """Return the mixture of ``fit`` after its statistics moved from ``before`` to ``after``."""
    made: dict[str, Any] = {}
    for name, own in model.instances.items():
        if isinstance(own, Gaussian):
            n = len(own.means)
            then, now = before[name][:n], after[name][:n]
            pulled = own.means * (then[:, -1:] + PULL) + now[:, :-1] - then[:, :-1]
            made[name] = replace(own, means=pulled / (now[:, -1:] + PULL))
        elif isinstance(own, Multinomial):
            made[name] = replace(own, mu=np.maximum(own.mu + after[name] - before[name], own.eta))
    return replace(model, instances=made)


def _unprojected(own: Any) -> Any:
    """Return an instance model of coordinates."""
    if not isinstance(own, Gaussian):
        return own
    width = own.means.shape[1]
    return replace(own, projection=Projection(np.zeros(width), np.eye(width)))


def _region_scores(kept: Kept, pictures: Ints, weights: Floats) -> Floats:
    """Return the scores of the regions of these pictures, without the wholes."""
    _, x, starts = next(kept.blocks(pictures, len(pictures)))
    inside = np.ones(len(x), dtype=bool)
    inside[starts[1:] - 1] = False
    scores: Floats = x[inside] @ weights[:-1] + weights[-1]
    return scores
