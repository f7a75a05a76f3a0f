"""Given shares of tags: exact posteriors of regions, and EM for the instance models (D18).

With shares s_nc given, regions are independent, φ_nmc ∝ s_nc e^{E_nmc} needs no iteration, and the bound is
the likelihood itself. The shares of a picture are those of its candidates: with weights u_nc and odds a,
s_nc = a u_nc / (1 + a Σ_j u_nj), and the rest, 1 / (1 + a Σ_j u_nj), is the share of the background, "none of
the tags". A caption's tags have u = 1; a tag outside the caption has u = (b/a) o_nc, o the odds that the
context gives it; without a caption, u = π^τ. EM learns a and b from captions alone (D22).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp

from tagmix.arrays import Entries, Floats, Ints, entries_of
from tagmix.bags import Bags
from tagmix.model.estep import Posterior, Views, evidence_block, prepared_views
from tagmix.model.instance import InstanceModel
from tagmix.model.mstep import tempered_divergence
from tagmix.model.params import Settings

# Tags outside a caption that a region may show: those that the context expects most.
N_OUTSIDE = 5
# Updates of the odds per iteration of EM; each raises the likelihood, and the next iteration goes on.
ODDS_UPDATES = 20


class RegionScores(Protocol):
    """A discriminative model of regions: its scores are log odds of a tag against none of the tags."""

    def score_regions(self, views: Mapping[str, Any]) -> Floats:
        """Return regions × tags."""


class Odds(NamedTuple):
    """a and b: of a tag in the caption against the background, and of a tag outside that is as likely as not.

    Without a background only b/a matters, and a is 1.
    """

    inside: float
    outside: float


@dataclass(frozen=True)
class RegionModel:
    """Instance models by name, and the odds of tags; with a background it is their last component.

    ``n_tags`` counts the components, as for ``Params``. The scores of ``scorer`` are added to the evidence.
    """

    instances: Mapping[str, InstanceModel]
    n_tags: int
    background: bool
    odds: Odds
    scorer: RegionScores | None = None


class CaptionedShard(NamedTuple):
    """A shard of captioned pictures and their candidates, with all that no iteration of EM changes.

    ``log_weights`` has log u of each entry, ``outside`` is true for tags outside the caption, and ``scores``
    is the scorer's evidence in the layout of a block.
    """

    bags: Bags
    entries: Entries
    log_weights: Floats
    outside: NDArray[np.bool_]
    views: Views
    scores: Floats


def log_shares_of(log_prior: Floats, power: float, model: RegionModel) -> Floats:
    """Return log s without captions, pictures × components: s ∝ a π^τ, and 1 for the background.

    >>> plain = RegionModel({}, 2, False, Odds(1.0, 0.0))
    >>> np.exp(log_shares_of(np.log([[0.2, 0.4]]), 2.0, plain)).round(9).tolist()
    [[0.2, 0.8]]
    >>> open_world = RegionModel({}, 3, True, Odds(2.0, 0.0))
    >>> np.exp(log_shares_of(np.log([[0.3, 0.2]]), 1.0, open_world)).round(9).tolist()
    [[0.3, 0.2, 0.5]]
    """
    scaled = power * log_prior + np.log(model.odds.inside)
    if model.background:
        scaled = np.column_stack([scaled, np.zeros(len(scaled))])
    shares: Floats = scaled - logsumexp(scaled, axis=1, keepdims=True)
    return shares


def evidence_of_regions(shard: Bags, model: RegionModel, settings: Settings) -> Floats:
    """Return the evidence of all components with the scores, regions × components."""
    evidence = evidence_block(shard, model, settings, None).reshape(-1, model.n_tags)
    if model.scorer is not None:
        scores = model.scorer.score_regions(shard.views)
        evidence[:, : scores.shape[1]] += scores
    return evidence


def posterior_given(shard: Bags, model: RegionModel, settings: Settings, log_shares: Floats) -> Posterior:
    """Return φ and S over all components, for log shares of pictures × components."""
    block = evidence_of_regions(shard, model, settings).ravel()
    starts = np.arange(len(shard) + 1) * model.n_tags
    block_starts, flat_shares = shard.offsets * model.n_tags, np.ascontiguousarray(log_shares).ravel()
    return _posterior(block, starts, block_starts, flat_shares, settings, None)


def captioned_shard(bags: Bags, model: RegionModel, log_prior: Floats | None = None) -> CaptionedShard:
    """Return captioned pictures prepared for EM; ``log_prior`` is the context's log π of the tags."""
    weights, outside = _candidates(bags, log_prior, model.background)
    chosen = csr_array(weights)
    entries = entries_of(chosen, bags.offsets)
    of_entry = outside[entries.picture_of, entries.tags]
    scores = np.zeros(int(entries.block_starts[-1]))
    if model.scorer is not None:
        scores = _of_entries(model.scorer.score_regions(bags.views), entries, bags.offsets)
    return CaptionedShard(bags, entries, np.log(chosen.data), of_entry, prepared_views(bags, model), scores)


def _candidates(bags: Bags, log_prior: Floats | None, background: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """Return u of pictures × components, 0 for what is no candidate, and which are outside the caption.

    An unknown tag has the weight π that the context gives it, a rejected one none.
    """
    weights = bags.captions.toarray().astype(np.float64)
    outside = np.zeros((len(bags), bags.n_tags + background), dtype=bool)
    if log_prior is not None and len(bags):
        if bags.unknown is not None:
            unknown = bags.unknown.nonzero()
            weights[unknown] = np.exp(log_prior[unknown])
        likely = np.where(weights > 0, -np.inf, log_prior)
        if bags.rejected is not None:
            likely[bags.rejected.nonzero()] = -np.inf
        best = np.argsort(-likely, axis=1, kind="stable")[:, :N_OUTSIDE]
        rows = np.arange(len(bags))[:, None]
        odds = np.exp(likely[rows, best])
        odds = np.minimum(odds / np.maximum(1 - odds, 0.5), 1.0)  # beyond 1 it says no more than the caption
        chosen = odds > 0
        weights[rows, best] = np.where(chosen, odds, weights[rows, best])
        outside[rows, best] = chosen
    return (np.column_stack([weights, np.ones(len(bags))]) if background else weights), outside


def _of_entries(scores: Floats, entries: Entries, region_starts: Ints) -> Floats:
    """Return regions × tags in the layout of a block of entries, 0 for the background.

    >>> own = entries_of(csr_array(np.array([[0, 1, 1], [1, 0, 1]])), np.array([0, 2, 3]))
    >>> _of_entries(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), own, np.array([0, 2, 3])).tolist()
    [2.0, 0.0, 4.0, 0.0, 5.0, 0.0]
    """
    picture_of = np.repeat(np.arange(len(region_starts) - 1), np.diff(region_starts))
    widths = np.diff(entries.starts)[picture_of]
    rows = np.repeat(np.arange(len(picture_of)), widths)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(widths) - widths, widths)
    columns = entries.tags[np.repeat(entries.starts[picture_of], widths) + place]
    padded = np.column_stack([scores, np.zeros(len(scores))])
    flat: Floats = padded[rows, columns]
    return flat


def posterior_of_captions(shard: CaptionedShard, model: RegionModel, settings: Settings) -> Posterior:
    """Return φ and S over each picture's candidates."""
    entries = shard.entries
    block = evidence_block(shard.bags, model, settings, entries, shard.views) + shard.scores
    log_shares = _log_shares_of_entries(shard, model)
    return _posterior(block, entries.starts, entries.block_starts, log_shares, settings, entries)


def _log_shares_of_entries(shard: CaptionedShard, model: RegionModel) -> Floats:
    """Return log s of the candidates, normalised per picture."""
    logs = shard.log_weights + np.log(_factors(shard, model))
    totals = _sums(np.exp(logs), shard.entries)
    shares: Floats = logs - np.log(np.maximum(totals, np.finfo(float).tiny))[shard.entries.picture_of]
    return shares


def _factors(shard: CaptionedShard, model: RegionModel) -> Floats:
    """Return a, b or, for the background, 1 per entry."""
    tiny = np.finfo(float).tiny
    factors = np.where(shard.outside, max(model.odds.outside, tiny), model.odds.inside)
    return np.where(_is_background(shard, model), 1.0, factors)


def _is_background(shard: CaptionedShard, model: RegionModel) -> NDArray[np.bool_]:
    last: NDArray[np.bool_] = shard.entries.tags == (model.n_tags - 1 if model.background else -1)
    return last


def _sums(values: Floats, entries: Entries) -> Floats:
    """Return the sum of the entries of each picture."""
    sums: Floats = np.bincount(entries.picture_of, values, len(entries.starts) - 1).astype(np.float64)
    return sums


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


class Held(NamedTuple):
    """What the odds follow from, per picture: regions held by the caption's tags and by those outside.

    ``inside`` and ``outside`` are Σu of the candidates, ``regions`` their numbers.
    """

    held_inside: Floats
    held_outside: Floats
    inside: Floats
    outside: Floats
    regions: Floats


def em_step(
    model: RegionModel, shards: Sequence[CaptionedShard], settings: Settings
) -> tuple[RegionModel, float]:
    """Return the model after one iteration of EM, and the bound before it."""
    statistics = {name: own.empty_statistics() for name, own in model.instances.items()}
    bound = -tempered_divergence(model.instances, settings)
    held = []
    for shard in shards:
        posterior = posterior_of_captions(shard, model, settings)
        bound += float(posterior.bound.sum())
        held.append(_held(shard, model, posterior.S))
        for name, own in model.instances.items():
            out = statistics[name]
            own.add_statistics(shard.views[name], posterior.phi, shard.bags.offsets, shard.entries, out)
    instances = {name: own.updated(statistics[name], True) for name, own in model.instances.items()}
    total = Held(*(np.concatenate(parts) for parts in zip(*held, strict=True)))
    return replace(model, instances=instances, odds=best_odds(total, model)), bound


def _held(shard: CaptionedShard, model: RegionModel, S: Floats) -> Held:
    background, u = _is_background(shard, model), np.exp(shard.log_weights)
    inside, outside = ~shard.outside & ~background, shard.outside

    def total(values: Floats) -> Floats:
        return _sums(values, shard.entries)

    regions = np.diff(shard.bags.offsets).astype(np.float64)
    return Held(total(S * inside), total(S * outside), total(u * inside), total(u * outside), regions)


def best_odds(held: Held, model: RegionModel) -> Odds:
    """Return odds that raise Σ_n S_n log a + S'_n log b − M_n log(1 + a U_n + b V_n), the shares' likelihood.

    Each update maximises a minorant, −log x ≥ 1 − log x₀ − x/x₀, in closed form. Without a background the 1
    is missing, and a stays 1.
    """
    a, b = model.odds
    S, outside = held.held_inside.sum(), held.held_outside.sum()
    one, tiny = float(model.background), np.finfo(float).tiny
    for _ in range(ODDS_UPDATES):
        per_share = held.regions / np.maximum(one + a * held.inside + b * held.outside, tiny)
        if model.background and S > 0:
            a = float(np.clip(S / max(per_share @ held.inside, tiny), 1e-6, 1e6))
        if outside > 0:
            b = float(np.clip(outside / max(per_share @ held.outside, tiny), 1e-12, 1e6))
    return Odds(a, b)
