"""The learning of the paper: the EM loop over shards, and the margins. Everything returns values."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from tagmix.arrays import Counts, Entries, Floats
from tagmix.bags import Bags
from tagmix.learners.monitor import Monitor
from tagmix.model import estep, mstep
from tagmix.model.background import duals_with_background
from tagmix.model.margin import MarginSolution, label_duals, own_label_duals, solve_margin
from tagmix.model.params import Params, Settings
from tagmix.model.predict import infer

# z̄ below this is left out of the margin problem: at weights of 100 it moves a margin of 1 by 1e-5.
SHARE_FLOOR = 1e-7
# Arrays as large as a shard's block that are alive at once: evidence, guidance, posterior.
BLOCKS_ALIVE = 3
# Iterations between two margin problems, at most: the topics move little once the bound has settled.
ITERATIONS_PER_ROUND = 5
# The relative duality gap at which the margin problem is solved.
MARGIN_TOLERANCE = 1e-3


@dataclass
class Corpus:
    """Training pictures in shards, with what is remembered of each between iterations.

    Memory, beyond the bags: ``BLOCKS_ALIVE`` × 8 bytes × regions of a shard × tags a picture may be
    explained by, kept below ``memory``; S and the entries of every picture (40 bytes × its tags); two copies
    of μ; of embeddings the coordinates of every region (512 bytes).
    """

    bags: Bags
    settings: Settings
    memory: float
    shares: list[Floats | None] = field(init=False)
    deltas: list[Floats | None] = field(init=False)
    entries: list[Entries | None] = field(init=False)
    views: list[estep.Views | None] = field(init=False)

    def __post_init__(self) -> None:
        size = shard_size(self.bags, self.settings.hard, self.memory, background=self.settings.background)
        self.shards = list(self.bags.shards(size))
        n = len(self.shards)
        self.shares, self.deltas = [None] * n, [None] * n
        self.entries, self.views = [None] * n, [None] * n

    def posteriors(self, params: Params) -> Iterator[tuple[Bags, estep.Posterior, estep.Views]]:
        """Yield each shard, its captioned posterior, started where the last one ended, and its views."""
        for i, where in enumerate(self.shards):
            shard = self.bags[where]
            views = self.views[i] or estep.prepared_views(shard, params)
            posterior = estep.posterior_captioned(
                shard, params, self.settings, self.shares[i], self.deltas[i], self.entries[i], views
            )
            self.shares[i], self.entries[i], self.views[i] = posterior.S, posterior.entries, views
            yield shard, posterior, views

    def guide_by(self, solution: MarginSolution, shares: Any, scale: float) -> None:
        """Let the margins' multipliers, times ``scale``, guide the captioned posteriors from now on."""
        duals = own_label_duals if self.settings.hard else label_duals
        for i, where in enumerate(self.shards):
            tags = self.bags[where].captions
            delta = scale * duals(shares[where], tags, solution, n_total=len(self.bags))
            self.deltas[i] = duals_with_background(delta, tags) if self.settings.background else delta


def shard_size(
    bags: Bags, hard: bool, memory: float, n_tags: int | None = None, background: bool = False
) -> int:
    """Return how many regions a shard may have so that its arrays stay below ``memory`` bytes."""
    width = bags.n_tags if n_tags is None else n_tags
    if hard and bags.tags is not None and n_tags is None:
        width = int(np.diff(bags.tags.indptr).max(initial=1))
    return max(1, min(int(memory / (BLOCKS_ALIVE * 8 * max(width + background, 1))), bags.n_regions))


def expectation_maximisation(
    corpus: Corpus, params: Params, monitor: Monitor, max_iter: int, learn_eta: bool
) -> Params:
    """Return the parameters when the bound has settled or ``max_iter`` iterations are over."""
    settings = corpus.settings
    learn_rates = settings.bounded  # without the normaliser λ runs away (D12)
    for _ in range(max_iter):
        total = estep.Statistics.of_nothing(params)
        for shard, posterior, views in corpus.posteriors(params):
            estep.accumulate(shard, posterior, params, settings, total, views)
        stop = monitor.stop_after(mstep.total_bound(params, total, settings, learn_rates))
        params = mstep.update(params, total, settings, learn_eta, learn_rates)
        if stop:
            break
    return params


class MarginSettings(NamedTuple):
    """The margin problem (Eq. 4): its weights, the posterior it constrains, and rounds of feeding δ back.

    ``nu1`` is ν₁/ν₂, on which w depends, and ``nu2`` is ν₂/N, which multiplies δ (D20).
    """

    nu1: float
    nu2: float
    centre: float
    posterior: str
    rounds: int
    inference: str


def learn_weights(
    corpus: Corpus, params: Params, monitor: Monitor, how: MarginSettings, learn_eta: bool
) -> tuple[Params, MarginSolution]:
    """Return tag weights by maximum margins; between rounds their multipliers guide the topics."""
    solution, shares = _solve(corpus, params, how)
    for _ in range(how.rounds if how.nu2 > 0 else 0):
        params = _weighted(params, solution)
        corpus.guide_by(solution, shares, how.nu2 * len(corpus.bags))
        monitor.new_objective()
        n_iter = min(ITERATIONS_PER_ROUND, monitor.max_iter)
        params = expectation_maximisation(corpus, params, monitor, n_iter, learn_eta)
        solution, shares = _solve(corpus, params, how)
    return _weighted(params, solution), solution


def _weighted(params: Params, solution: MarginSolution) -> Params:
    """Return the model with the weights of the margins; the background, in no margin, keeps the weight 1."""
    return params.with_weights(np.append(solution.weights, np.ones(params.n_tags - len(solution.weights))))


def _solve(corpus: Corpus, params: Params, how: MarginSettings) -> tuple[MarginSolution, Any]:
    free = how.posterior == "free"
    shares = uncaptioned_shares(corpus, params, how.inference) if free else captioned_shares(corpus, params)
    solution = solve_margin(
        shares,
        corpus.bags.captions,
        nu1=how.nu1,
        centre=how.centre,
        tolerance=MARGIN_TOLERANCE,
        n_threads=corpus.settings.n_threads,
    )
    return solution, shares


def uncaptioned_shares(corpus: Corpus, params: Params, inference: str) -> Counts:
    """Return E[z̄] of every picture as prediction will see it, without its caption, sparse."""
    size = shard_size(corpus.bags, False, corpus.memory, background=corpus.settings.background)
    parts = []
    for where in corpus.bags.shards(size):
        parts.append(_sparse(infer(corpus.bags[where], params, corpus.settings, inference).held))
    return _of_tags(parts, corpus.bags.n_tags)


def captioned_shares(corpus: Corpus, params: Params) -> Counts:
    """Return E[z̄] of every picture given its caption, sparse."""
    parts = []
    for shard, posterior, _ in corpus.posteriors(params):
        shares, entries = posterior.shares(shard.offsets), posterior.entries
        if entries is None:
            parts.append(_sparse(shares.reshape(len(shard), -1)))
        else:
            shape = (len(shard), params.n_tags)
            parts.append(csr_array((shares, entries.tags, entries.starts), shape=shape))
    return _of_tags(parts, corpus.bags.n_tags)


def _of_tags(parts: list[Counts], n_tags: int) -> Counts:
    """Return the shares of all pictures without the background's column."""
    whole = csr_array(vstack(parts, format="csr"))
    return whole if whole.shape[1] == n_tags else csr_array(whole[:, :n_tags])


def _sparse(shares: Floats) -> Counts:
    return csr_array(np.where(shares >= SHARE_FLOOR, shares, 0.0))
