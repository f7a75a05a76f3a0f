"""The E-step: the posterior of a shard of pictures, and its sufficient statistics.

Memory: a shard of R regions needs 8·R·C bytes with all tags and 8·Σ_n M_n|Y_n| with own tags only;
no array here has all regions × all tags unless the caller passes all pictures as one shard.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Counts, Entries, Floats, Ints, entries_of
from tagmix.bags import Bags
from tagmix.model.background import with_background
from tagmix.model.params import Instances, Params, Settings

# The prepared view of each instance model, by name.
Views = Mapping[str, Any]


@dataclass
class Statistics:
    """Sufficient statistics of a set of pictures; those of disjoint sets add up."""

    instances: dict[str, Floats]
    theta: Floats
    n_pictures: int = 0
    bound: float = 0.0

    @classmethod
    def of_nothing(cls, params: Params) -> "Statistics":
        """Return the statistics of no picture."""
        return cls({v: m.empty_statistics() for v, m in params.instances.items()}, np.zeros(params.n_tags))

    def __add__(self, other: "Statistics") -> "Statistics":
        return Statistics(
            {view: own + other.instances[view] for view, own in self.instances.items()},
            self.theta + other.theta,
            self.n_pictures + other.n_pictures,
            self.bound + other.bound,
        )


class Posterior(NamedTuple):
    """q of a shard: φ and S over the entries; r = M/ζ and the bound per picture."""

    phi: Floats
    S: Floats
    r: Floats
    bound: Floats
    n_iter: Ints
    entries: Entries | None

    def shares(self, region_starts: Ints) -> Floats:
        """Return E[z̄] = S/M, one value per entry; 0 for a picture without regions."""
        n_regions = np.maximum(np.diff(region_starts), 1)
        if self.entries is None:
            return (self.S.reshape(len(n_regions), -1) / n_regions[:, None]).ravel()
        return self.S / n_regions[self.entries.picture_of]


def guidance(tags: Counts, n_regions: Ints, weights: Floats, strength: float, delta: Floats | None) -> Floats:
    """Return strength · w_c (y_nc + δ_nc)/M_n of Eq. 8, pictures × tags."""
    y = tags.toarray().astype(np.float64)
    return strength * weights * (y if delta is None else y + delta) / np.maximum(n_regions, 1)[:, None]


def own_guidance(tags: Counts, n_regions: Ints, weights: Floats, delta: Floats | None) -> Floats:
    """Return w_c (1 + δ_nc)/M_n for the pictures' own tags only, one value per entry."""
    per_entry = np.repeat(np.maximum(n_regions, 1), np.diff(tags.indptr))
    return weights[tags.indices] * (1.0 if delta is None else 1.0 + delta) / per_entry


def posterior_captioned(
    shard: Bags,
    params: Params,
    settings: Settings,
    start: Floats | None = None,
    delta: Floats | None = None,
    entries: Entries | None = None,
    views: Views | None = None,
) -> Posterior:
    """Return q of captioned pictures; ``delta`` has one value per own entry (hard) or pictures × tags (soft).

    With a background, the own tags of every picture end with it, and so do the values of ``delta``.
    ``entries`` (of the pictures' own tags) and ``views`` (from ``prepared_views``) do not change between
    iterations: callers that iterate can pass them.
    """
    tags = with_background(shard.captions) if settings.background else shard.captions
    n_regions = np.diff(shard.offsets)
    if settings.hard:
        entries = entries_of(tags, shard.offsets) if entries is None else entries
        guide = own_guidance(tags, n_regions, params.weights, delta)
        return _infer(shard, params, settings, entries, guide, start, views)
    guide = guidance(tags, n_regions, params.weights, settings.strength, delta)
    return _infer(shard, params, settings, None, guide.ravel(), start, views)


def posterior_uncaptioned(shard: Bags, params: Params, settings: Settings) -> Posterior:
    """Return q of pictures without their captions, as in prediction."""
    no_guide = np.zeros(len(shard) * params.n_tags)
    return _infer(shard, params, settings, None, no_guide, None)


def evidence_of(shard: Bags, params: Instances, settings: Settings) -> Floats:
    """Return Σ_views κ E[log p(x_m | tag c)], regions × tags."""
    return evidence_block(shard, params, settings, None).reshape(-1, params.n_tags)


def prepared_views(shard: Bags, params: Instances) -> Views:
    """Return the view of each instance model, with the computations that no iteration changes done."""
    return {name: model.prepared(shard.views[name]) for name, model in params.instances.items()}


def evidence_block(
    shard: Bags, params: Instances, settings: Settings, entries: Entries | None, views: Views | None = None
) -> Floats:
    """Return the evidence of the entries only, flat; of all tags if ``entries`` is None."""
    size = shard.n_regions * params.n_tags if entries is None else int(entries.block_starts[-1])
    block, views = np.zeros(size), views or prepared_views(shard, params)
    for name, model in params.instances.items():
        model.add_evidence(views[name], settings.evidence[name], shard.offsets, entries, block)
    return block


def _infer(
    shard: Bags,
    params: Params,
    settings: Settings,
    entries: Entries | None,
    guide: Floats,
    start: Floats | None,
    views: Views | None = None,
) -> Posterior:
    n_pictures, n_tags = len(shard), params.n_tags
    block = evidence_block(shard, params, settings, entries, views)
    if entries is None:
        entry_starts = np.arange(n_pictures + 1) * n_tags
        block_starts = shard.offsets * n_tags
        entry_rates = np.tile(params.rates, n_pictures)
    else:
        entry_starts, block_starts = entries.starts, entries.block_starts
        entry_rates = params.rates[entries.tags]
    S = _prior_shares(entry_rates, entry_starts, shard.offsets) if start is None else start.copy()
    r, bound, n_iter = np.zeros(n_pictures), np.zeros(n_pictures), np.zeros(n_pictures, dtype=np.int64)
    settings.kernels.infer_pictures(
        block, block_starts, entry_starts, entry_rates, guide, params.rates[None, :], settings.bounded,
        settings.tolerance, settings.max_iter, S, r, bound, n_iter, settings.n_threads,
    )  # fmt: skip
    return Posterior(block, S, r, bound, n_iter, entries)


def _prior_shares(entry_rates: Floats, entry_starts: Ints, region_starts: Ints) -> Floats:
    """Return S under the prior alone: regions shared in proportion to E[θ] = 1/λ."""
    sizes = np.diff(entry_starts)
    means = 1 / entry_rates
    totals = np.zeros(len(sizes))
    nonempty = sizes > 0
    totals[nonempty] = np.add.reduceat(means, entry_starts[:-1][nonempty]) if len(means) else 0.0
    return means * np.repeat(np.diff(region_starts) / np.where(nonempty, totals, 1.0), sizes)


def accumulate(
    shard: Bags,
    posterior: Posterior,
    params: Params,
    settings: Settings,
    into: Statistics,
    views: Views | None = None,
) -> Statistics:
    """Add this shard's statistics to ``into``, in place to avoid a second copy, and return it."""
    views = views or prepared_views(shard, params)
    for name, model in params.instances.items():
        out = into.instances[name]
        model.add_statistics(views[name], posterior.phi, shard.offsets, posterior.entries, out)
    into.theta += _theta_sums(posterior, params, settings)
    into.n_pictures += len(shard)
    into.bound += float(posterior.bound.sum())
    return into


def _theta_sums(posterior: Posterior, params: Params, settings: Settings) -> Floats:
    """Return Σ_n γ_nc ρ_nc of the shard."""
    if posterior.entries is None:
        S = posterior.S.reshape(-1, params.n_tags)
        sums: Floats = ((1 + S) / (params.rates + posterior.r[:, None])).sum(axis=0)
        return sums
    entries = posterior.entries
    own: Floats = settings.kernels.theta_sums(
        posterior.S, entries.tags, entries.picture_of, params.rates, posterior.r
    )
    return own
