"""The EM loop over shards, and the posterior shares that the margin problem asks for."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, vstack

from tagmix.arrays import Counts, Entries, Floats
from tagmix.bags import Bags
from tagmix.learners.monitor import Monitor
from tagmix.model import estep, mstep
from tagmix.model.params import Params, Settings
from tagmix.model.predict import infer_pictures

# z̄ below this is left out of the margin problem: at weights of 100 it moves a margin of 1 by 1e-5.
SHARE_FLOOR = 1e-7
# Arrays as large as a shard's block that are alive at once: evidence, guidance, posterior.
BLOCKS_ALIVE = 3


@dataclass
class Corpus:
    """Training images in shards, with what is remembered of each between iterations.

    Memory, beyond the bags: ``BLOCKS_ALIVE`` × 8 bytes × regions of a shard × tags an image may be
    explained by, kept below ``memory``; S and the entries of every image (40 bytes × its
    tags); two copies of μ; of embeddings the coordinates of every region (512 bytes).
    """

    bags: Bags
    settings: Settings
    memory: float
    rates: Floats | None = None
    shares: list[Floats | None] = field(default_factory=list)
    deltas: list[Floats | None] = field(default_factory=list)
    entries: list[Entries | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shards = list(self.bags.shards(shard_size(self.bags, self.settings.hard, self.memory)))
        self.shares = self.shares or [None] * len(self.shards)
        self.deltas = self.deltas or [None] * len(self.shards)
        self.entries = [None] * len(self.shards)
        self.views: list[estep.Views | None] = [None] * len(self.shards)

    def rates_of(self, shard: slice) -> Floats | None:
        """Return the images' own prior rates, if they have any."""
        return None if self.rates is None else self.rates[shard]

    def posteriors(self, params: Params) -> Iterator[tuple[Bags, estep.Posterior, estep.Views]]:
        """Yield each shard, its guided posterior, started where the last one ended, and what was read."""
        for i, where in enumerate(self.shards):
            shard = self.bags[where]
            views = self.views[i] or estep.prepared_views(shard, params)
            posterior = estep.posterior_captioned(
                shard,
                params,
                self.settings,
                self.shares[i],
                self.deltas[i],
                self.rates_of(where),
                self.entries[i],
                views,
            )
            self.shares[i], self.entries[i], self.views[i] = posterior.S, posterior.entries, views
            yield shard, posterior, views


def shard_size(bags: Bags, hard: bool, memory: float, n_tags: int | None = None) -> int:
    """Return how many regions a shard may have so that its arrays stay below ``memory`` bytes."""
    width = bags.n_tags if n_tags is None else n_tags
    if hard and bags.tags is not None and n_tags is None:
        width = int(np.diff(bags.tags.indptr).max(initial=1))
    return max(1, min(int(memory / (BLOCKS_ALIVE * 8 * max(width, 1))), bags.n_regions))


def expectation_maximisation(
    corpus: Corpus, params: Params, monitor: Monitor, max_iter: int, learn_eta: bool
) -> Params:
    """Return the parameters when the bound has settled or ``max_iter`` iterations are over."""
    settings = corpus.settings
    # Without the normaliser λ runs away (D12); where shares are given there is none to learn.
    learn_rates = corpus.rates is None and settings.bounded and not settings.given
    for _ in range(max_iter):
        total = estep.Statistics.of_nothing(params)
        for shard, posterior, views in corpus.posteriors(params):
            estep.accumulate(shard, posterior, params, settings, total, views)
        stop = monitor.stop_after(mstep.total_bound(params, total, settings, learn_rates))
        params = mstep.update(params, total, settings, learn_eta, learn_rates)
        if stop:
            break
    return params


def free_shares(corpus: Corpus, params: Params, inference: str) -> Counts:
    """Return E[z̄] of every image as prediction will see it, without its caption, sparse."""
    size = shard_size(corpus.bags, False, corpus.memory)
    parts = []
    for where in corpus.bags.shards(size):
        shard = corpus.bags[where]
        own = corpus.rates_of(where)
        parts.append(_sparse(infer_pictures(shard, params, corpus.settings, inference, "shares", own)))
    return csr_array(vstack(parts, format="csr"))


def guided_shares(corpus: Corpus, params: Params) -> Counts:
    """Return E[z̄] of every image given its caption, sparse."""
    parts = []
    for shard, posterior, _ in corpus.posteriors(params):
        shares, entries = posterior.shares(shard.offsets), posterior.entries
        if entries is None:
            parts.append(_sparse(shares.reshape(len(shard), -1)))
        else:
            shape = (len(shard), params.n_tags)
            parts.append(csr_array((shares, entries.tags, entries.starts), shape=shape))
    return csr_array(vstack(parts, format="csr"))


def _sparse(shares: Floats) -> Counts:
    return csr_array(np.where(shares >= SHARE_FLOOR, shares, 0.0))
