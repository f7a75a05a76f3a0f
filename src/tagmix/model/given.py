"""Given shares of tags: exact posteriors of regions, and EM for the instance models (D18).

With shares s_nc given, regions are independent, φ_nmc ∝ s_nc e^{E_nmc} needs no iteration, and the bound is
the likelihood itself. A caption's own tags have equal shares; without a caption the context gives the shares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tagmix.arrays import Entries, Floats, Ints, entries_of
from tagmix.bags import Bags
from tagmix.model.estep import Posterior, Views, evidence_block, prepared_views
from tagmix.model.instance import InstanceModel
from tagmix.model.mstep import tempered_divergence
from tagmix.model.params import Settings


@dataclass(frozen=True)
class RegionModel:
    """Instance models by name (``view_of``): the likelihood of a region given its tag."""

    instances: Mapping[str, InstanceModel]
    n_tags: int


class CaptionedShard(NamedTuple):
    """A shard of captioned pictures, with the arrays that no iteration of EM changes."""

    bags: Bags
    entries: Entries
    views: Views


def log_shares_of(log_prior: Floats, power: float) -> Floats:
    """Return log s with s ∝ π^τ, one row per picture.

    >>> np.exp(log_shares_of(np.log([[0.2, 0.4]]), 2.0)).round(9).tolist()
    [[0.2, 0.8]]
    """
    scaled = power * log_prior
    shares: Floats = scaled - logsumexp(scaled, axis=1, keepdims=True)
    return shares


def posterior_given(shard: Bags, model: RegionModel, settings: Settings, log_shares: Floats) -> Posterior:
    """Return φ and S over all tags, for log shares of pictures × tags."""
    block = evidence_block(shard, model, settings, None)
    starts = np.arange(len(shard) + 1) * model.n_tags
    block_starts, flat_shares = shard.offsets * model.n_tags, np.ascontiguousarray(log_shares).ravel()
    return _posterior(block, starts, block_starts, flat_shares, settings, None)


def posterior_of_captions(shard: CaptionedShard, model: RegionModel, settings: Settings) -> Posterior:
    """Return φ and S over each picture's own tags, which have equal prior shares."""
    entries = shard.entries
    block = evidence_block(shard.bags, model, settings, entries, shard.views)
    widths = np.diff(entries.starts)
    log_shares = np.repeat(-np.log(np.maximum(widths, 1)), widths)
    return _posterior(block, entries.starts, entries.block_starts, log_shares, settings, entries)


def _posterior(
    block: Floats,
    entry_starts: Ints,
    block_starts: Ints,
    log_shares: Floats,
    settings: Settings,
    entries: Entries | None,
) -> Posterior:
    n = len(entry_starts) - 1
    S, bound = np.zeros(int(entry_starts[-1])), np.zeros(n)
    settings.kernels.explain_given(
        block, block_starts, entry_starts, log_shares, S, bound, settings.n_threads
    )
    return Posterior(block, S, np.zeros(n), bound, np.ones(n, dtype=np.int64), entries)


def captioned_shard(bags: Bags, model: RegionModel) -> CaptionedShard:
    """Return captioned pictures prepared for EM."""
    return CaptionedShard(bags, entries_of(bags.captions, bags.offsets), prepared_views(bags, model))


def em_step(
    model: RegionModel, shards: Sequence[CaptionedShard], settings: Settings
) -> tuple[RegionModel, float]:
    """Return the model after one iteration of EM, and the bound before it."""
    statistics = {name: own.empty_statistics() for name, own in model.instances.items()}
    bound = -tempered_divergence(model.instances, settings)
    for shard in shards:
        posterior = posterior_of_captions(shard, model, settings)
        bound += float(posterior.bound.sum())
        for name, own in model.instances.items():
            out = statistics[name]
            own.add_statistics(shard.views[name], posterior.phi, shard.bags.offsets, shard.entries, out)
    instances = {name: own.updated(statistics[name], True) for name, own in model.instances.items()}
    return RegionModel(instances, model.n_tags), bound
