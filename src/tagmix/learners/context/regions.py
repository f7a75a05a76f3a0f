"""The region model of ``ContextEMM`` and how it is trained: the paper's mixture, its shares given."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.learners.em import shard_size
from tagmix.learners.monitor import Monitor
from tagmix.learners.regions.instances import embeddings_of, read_views
from tagmix.model.given import (
    CaptionedShard,
    Odds,
    RegionModel,
    RegionScores,
    captioned_shard,
    em_step,
    posterior_of_captions,
)
from tagmix.model.instance import InstanceModel
from tagmix.model.mstep import instance_prior
from tagmix.model.params import Settings

# The Dirichlet prior of words, where learning starts.
ETA = 0.1
# The odds of a tag outside the caption, relative to one in it, where learning starts.
OUTSIDE = 0.1
# EM splits undecided regions between tags and background, so the share that it learns for the background is
# too large by some. The odds of tags are multiplied by this: on the development pictures 1, e and e² gave
# .875, .887 and .887 (MSRC v2, objects), .645, .643 and .627 (coco_part) of the regions.
ODDS_FACTOR = float(np.e)
# A background that holds less than this share of the training regions holds mostly unusual regions of tags.
SMALLEST_BACKGROUND = 0.25


def instance_names(bags: Bags) -> list[str]:
    """Return the views that regions may be modelled by: those the scorer does not read, or the same.

    Words are modelled and scored alike. Of a network the scorer reads the deep maps, which tell what a
    picture shows, and the mixture models the fine one, which tells where.
    """
    own, scored = embeddings_of(bags.views), read_views(bags.views)
    return [name for name in own if name not in scored] or own


class RegionTrainer(NamedTuple):
    """How region models are trained: settings, when to stop, bytes for a shard's arrays, and background."""

    settings: Settings
    max_iter: int
    tol: float
    memory: float
    background: bool

    def with_evidence(self, evidence: dict[str, float]) -> "RegionTrainer":
        """Return the same with other κ."""
        return self._replace(settings=replace(self.settings, evidence=evidence))

    def fit(
        self, bags: Bags, log_prior: Floats, scorer: RegionScores, monitor: Monitor | None = None
    ) -> RegionModel:
        """Return the model of captioned pictures; ``log_prior`` is the context's log π of these pictures.

        A background that holds hardly any region is left out, and the model trained without it.
        """
        watch = Monitor(self.tol, self.max_iter) if monitor is None else monitor
        model, shards = self._fit(bags, log_prior, scorer, watch)
        if self.background and self._background_of(model, shards) < SMALLEST_BACKGROUND:
            watch.start_over()
            model, _ = self._replace(background=False)._fit(bags, log_prior, scorer, watch)
        factor = ODDS_FACTOR if model.background else 1.0
        return replace(model, odds=Odds(model.odds.inside * factor, model.odds.outside * factor))

    def _fit(
        self, bags: Bags, log_prior: Floats, scorer: RegionScores, watch: Monitor
    ) -> tuple[RegionModel, list[CaptionedShard]]:
        model = self._empty(bags, scorer)
        parts = list(bags.shards(self.shard_size(bags)))
        shards = [captioned_shard(bags[where], model, log_prior[where]) for where in parts]
        model = self._started(model, shards)
        for _ in range(self.max_iter):
            model, bound = em_step(model, shards, self.settings)
            if watch.stop_after(bound):
                break
        return model, shards

    def _empty(self, bags: Bags, scorer: RegionScores) -> RegionModel:
        """Return the model before it has seen a region."""
        n_components = bags.n_tags + self.background
        how = {"kernels": self.settings.kernels, "n_threads": self.settings.n_threads}
        names = self.settings.evidence
        instances = {name: instance_prior(bags.views[name], n_components, ETA, how) for name in names}
        a = 1 / max(1e-9, float(bags.captions.nnz / len(bags))) if self.background else 1.0
        return RegionModel(instances, n_components, self.background, Odds(a, OUTSIDE * a), scorer)

    def _started(self, model: RegionModel, shards: list[CaptionedShard]) -> RegionModel:
        """Return the model after each region was split by the shares of its picture alone."""
        sums = {name: own.empty_statistics() for name, own in model.instances.items()}
        blank: Any = replace(self.settings, evidence={})
        bare = replace(model, instances={})
        for shard in shards:
            flat = shard._replace(scores=np.zeros_like(shard.scores))
            phi = posterior_of_captions(flat, bare, blank).phi
            for name, own in model.instances.items():
                own.add_statistics(shard.views[name], phi, shard.bags.offsets, shard.entries, sums[name])
        instances: dict[str, InstanceModel] = {
            name: own.updated(sums[name], False) for name, own in model.instances.items()
        }
        return replace(model, instances=instances)

    def _background_of(self, model: RegionModel, shards: list[CaptionedShard]) -> float:
        """Return the share of the captioned regions that the background holds."""
        held = total = 0.0
        for shard in shards:
            S = posterior_of_captions(shard, model, self.settings).S
            held += float(S[shard.entries.tags == model.n_tags - 1].sum())
            total += shard.bags.n_regions
        return held / max(total, 1.0)

    def shards(self, bags: Bags) -> Iterator[slice]:
        """Yield shards of pictures whose regions × all tags fit into memory."""
        return bags.shards(self.shard_size(bags))

    def shard_size(self, bags: Bags) -> int:
        """Return how many regions a shard may have."""
        return shard_size(bags, False, self.memory, background=self.background)
