"""CorrLDA: every region has one topic, and every caption word refers to one region."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from tagmix.arrays import Floats, Ints, rows_of
from tagmix.bags import Bags
from tagmix.kernels.compiled import topics
from tagmix.learners import lda
from tagmix.learners.base import RegionLearner
from tagmix.learners.checks import check_numbers
from tagmix.learners.em import shard_size
from tagmix.learners.inputs import useful_pictures
from tagmix.learners.monitor import Monitor
from tagmix.learners.schema import Array, ByName, Number
from tagmix.model.instance import Multinomial
from tagmix.model.params import log_prior_of_rates

BOUNDS = {
    "n_topics": (1, 10**6, True),
    "max_iter": (1, 10**6, True),
    "tol": (0, 1, False),
    "eta": (1e-6, 1e6, False),
    "estep_tol": (1e-12, 1e3, False),
    "estep_max_iter": (1, 10**6, True),
    "memory_mb": (1e-3, 1e6, False),
}


class CorrLDA(RegionLearner):
    """Learn topics of regions, and a distribution of tags per topic.

    θ ~ Dir(α) over topics; each region has one topic z_m ~ Mult(θ), from which all its words come,
    x_m ~ Mult(β_z); each caption word picks a region, y ~ Uniform(M), and is a tag ~ Mult(π_{z_y}). Mean
    field gives γ = α + S, φ_mk ∝ exp(κ Σ x E[log β_k] + Ψ(γ_k) + Σ_i λ_im E[log π_k,i]) and
    λ_im ∝ exp(Σ_k φ_mk E[log π_k,i]); β and π have Dirichlet posteriors, α a fixed point. A new picture's
    tags are Σ_mk φ_mk E[π_k]/M.

    Blei, Jordan: *Modeling Annotated Data*, SIGIR 2003. There a region is a Gaussian vector; here it is a bag
    of words, as in the comparison of Yang, Bian, Zha.

    Parameters
    ----------
    n_topics : the number of topics.
    evidence : κ, the power to which the likelihood of a region's words is raised; one number or one per view.
    max_iter, tol : stop if an iteration improves the bound by less than the fraction ``tol``.
    eta, learn_eta : the Dirichlet priors of words and tags, learnt from the initial value ``eta`` by default.
    total_alpha : fix Σα at this value and learn only the proportions; None learns the sum too.
    chi : shape and rate of a Gamma prior of α.
    estep_tol, estep_max_iter : convergence of a picture's inference, in regions.
    memory_mb : memory limit of a shard's arrays, in addition to the bags, pictures × topics, one number per
        region and caption word of a picture, and two arrays of topics × (words + tags).
    random_state : the pictures that initialise the topics.
    n_jobs : threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    alpha_ : the prior of shares. ``mu_``, ``eta_`` : by view, the Dirichlet posterior and prior of words.
    nu_ : the Dirichlet posterior of the topics' tags, topics × tags.
    bound_history_ : the bound after each E-step. ``n_iter_``, ``converged_``.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> corr = CorrLDA(n_topics=12).fit(sample.bags[:100])
    >>> bool(corr.score(sample.bags[100:]) > 0.5)
    True
    """

    # What a comparison searches: name → (start, values); None is κ of each view.
    searched: ClassVar[dict[str, Any]] = {"evidence": None, "max_iter": (10, (2, 5, 10, 20, 100))}
    SCHEMA: ClassVar[dict[str, Any]] = {
        "alpha_": Array(("topics",), 1e-300),
        "nu_": Array(("topics", "tags"), 1e-300),
        "mu_": ByName(Array(("topics", "view"), 1e-300)),
        "eta_": ByName(Number(1e-300, 1e60)),
        **lda.FIT_SCHEMA,
    }

    def __init__(
        self,
        *,
        n_topics: int = 200,
        evidence: float | Mapping[str, float] = 1.0,
        max_iter: int = 100,
        tol: float = 1e-5,
        eta: float = 0.1,
        learn_eta: bool = True,
        total_alpha: float | None = None,
        chi: tuple[float, float] = (2.0, 1.0),
        estep_tol: float = 1e-3,
        estep_max_iter: int = 50,
        memory_mb: float = 256.0,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.evidence = evidence
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.learn_eta = learn_eta
        self.total_alpha = total_alpha
        self.chi = chi
        self.estep_tol = estep_tol
        self.estep_max_iter = estep_max_iter
        self.memory_mb = memory_mb
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, bags: Bags) -> None:
        check_numbers(self, BOUNDS)
        chi, how = lda.check_chi(self.chi), lda.how_to_infer(self, bags)
        alpha, sizes = lda.start_alpha(self.total_alpha, self.n_topics), np.diff(bags.offsets)
        models, tags = self._start(bags, how.n_threads)
        corpus = _TopicCorpus(bags, how, self.memory_mb * 2**20, alpha)
        columns = np.tile(np.arange(self.n_topics), len(bags))
        with Monitor(self.tol, self.max_iter) as monitor:
            for _ in range(self.max_iter):
                statistics, tag_counts, bound = corpus.explain(models, tags, alpha)
                bound -= tags.divergence() - log_prior_of_rates(alpha, chi)
                bound -= sum(how.evidence[view] * model.divergence() for view, model in models.items())
                stop = monitor.stop_after(bound)
                models = {v: model.updated(statistics[v], self.learn_eta) for v, model in models.items()}
                tags = tags.updated(tag_counts, self.learn_eta)
                alpha = lda.best_alpha(
                    alpha, corpus.S.ravel(), columns, sizes, chi, self.total_alpha, ALPHA_STEPS
                )
                if stop:
                    break
            monitor.warn_if_early()
        self.alpha_, self.nu_ = alpha, tags.mu
        self.mu_ = {view: model.mu for view, model in models.items()}
        self.eta_ = {view: float(model.eta) for view, model in models.items()}
        self.bound_history_ = np.array(monitor.history)
        self.n_iter_, self.converged_ = len(monitor.history), monitor.converged

    def _start(self, bags: Bags, n_threads: int) -> tuple[dict[str, Multinomial], Multinomial]:
        """Return initial topics, one picture each; noise of 10 % separates topics of the same picture."""
        rng = check_random_state(self.random_state)
        chosen = np.resize(rng.permutation(len(bags)), self.n_topics)
        seeds = bags[chosen]
        groups = csr_array((np.ones(seeds.n_regions), np.arange(seeds.n_regions), seeds.offsets))

        def noisy(counts: Any) -> Multinomial:
            mu = (self.eta + counts.toarray()) * rng.gamma(100.0, 0.01, counts.shape)
            return Multinomial(mu, self.eta, n_threads=n_threads)

        models = {view: noisy(csr_array(groups @ seeds.views[view])) for view in bags.views}
        return models, noisy(seeds.captions)

    def _posteriors(self, bags: Bags) -> Iterator[tuple[slice, Bags, lda.Shares]]:
        how = lda.how_to_infer(self, bags)
        models = lda.words_of(self.mu_, self.eta_, how.n_threads)
        width = max(len(self.alpha_), self.nu_.shape[1])
        for where in bags.shards(shard_size(bags, False, self.memory_mb * 2**20, n_tags=width)):
            shard = bags[where]
            block = lda.evidence_of(shard, models, how)
            yield where, shard, lda.infer(block, shard.offsets, self.alpha_, how, None, None)

    def _tags_of_topics(self) -> Floats:
        return self.nu_ / self.nu_.sum(axis=1, keepdims=True)

    def _scores(self, bags: Bags) -> Floats:
        """Return p(tag | picture) = Σ_mk φ_mk E[π_k,tag]/M; α in place of S for a picture without regions."""
        scores: Floats = np.empty((len(bags), self.nu_.shape[1]))
        pi = self._tags_of_topics()
        for where, shard, posterior in self._posteriors(bags):
            S = posterior.S.reshape(len(shard), -1)
            S[np.diff(shard.offsets) == 0] = self.alpha_
            scores[where] = (S / S.sum(axis=1, keepdims=True)) @ pi
        return scores

    def _region_scores(self, bags: Bags) -> Floats:
        """Return log Σ_k φ_mk E[π_k,tag]."""
        pi = self._tags_of_topics()
        scores: Floats = np.empty((bags.n_regions, pi.shape[1]))
        for where, _, posterior in self._posteriors(bags):
            rows = slice(bags.offsets[where.start], bags.offsets[where.stop])
            scores[rows] = np.log(posterior.phi.reshape(-1, len(pi)) @ pi)
        return scores

    def _captioned_region_scores(self, bags: Bags) -> Floats:
        """Return log Σ_k φ_mk E[π_k,tag] with φ given the caption, as in training."""
        scores, captioned = self._region_scores(bags), useful_pictures(bags)
        if not captioned.any():
            return scores
        part, how, pi = bags[captioned], lda.how_to_infer(self, bags), self._tags_of_topics()
        models = lda.words_of(self.mu_, self.eta_, how.n_threads)
        log_tags = np.ascontiguousarray(Multinomial(self.nu_, self.eta).E_log_beta.T)
        corpus = _TopicCorpus(part, how, self.memory_mb * 2**20, self.alpha_)
        log_p: list[Floats] = []
        for where in corpus.shards:
            block = lda.evidence_of(part[where], models, how)
            phi, _, _ = corpus.infer(where, part[where], block, log_tags, self.alpha_)
            log_p.append(np.log(phi.reshape(-1, len(pi)) @ pi))
        scores[np.repeat(captioned, np.diff(bags.offsets))] = np.concatenate(log_p)
        return scores

    def _check_state(self) -> None:
        check_numbers(self, BOUNDS)
        lda.check_views(self.mu_, self.eta_, self.widths_)


# Every topic has a share of every picture, so a step for α costs pictures × topics: take fewer.
ALPHA_STEPS = 10


class _TopicCorpus:
    """Training pictures in shards; S and the links (λ) are stored as the start of the next E-step."""

    def __init__(self, bags: Bags, how: lda.How, memory: float, alpha: Floats) -> None:
        self.bags, self.how = bags, how
        self.shards = list(bags.shards(shard_size(bags, False, memory, n_tags=len(alpha))))
        sizes = np.diff(bags.offsets)
        self.S: Floats = sizes[:, None] * alpha / alpha.sum()
        _, self.tags, self.starts = rows_of(bags.captions)
        n_links = np.diff(self.starts) * sizes
        self.link_starts: Ints = np.concatenate([[0], np.cumsum(n_links)]).astype(np.int64)
        self.links: Floats = np.repeat(1 / sizes, n_links)

    def explain(
        self, models: Mapping[str, Multinomial], tags: Multinomial, alpha: Floats
    ) -> tuple[dict[str, Floats], Floats, float]:
        """Return Σ φ x of every view, Σ λ φ of the tags, and the bound of all pictures."""
        statistics = {view: model.empty_statistics() for view, model in models.items()}
        log_tags = np.ascontiguousarray(tags.E_log_beta.T)
        tag_counts, total = np.zeros_like(log_tags), 0.0
        for where in self.shards:
            shard = self.bags[where]
            block = lda.evidence_of(shard, models, self.how)
            phi, held, bound = self.infer(where, shard, block, log_tags, alpha)
            for view, model in models.items():
                model.add_statistics(shard.views[view], phi, shard.offsets, None, statistics[view])
            own = self.tags[self.starts[where.start] : self.starts[where.stop]]
            cells = (own, np.arange(len(own)))
            words_of_tag = csr_array((np.ones(len(own)), cells), shape=(len(tag_counts), len(own)))
            tag_counts += np.asarray(words_of_tag @ held)
            total += bound
        return statistics, np.ascontiguousarray(tag_counts.T), total

    def infer(
        self, where: slice, shard: Bags, block: Floats, log_tags: Floats, alpha: Floats
    ) -> tuple[Floats, Floats, float]:
        """Return φ, the expected topic of each caption word, and the bound of a shard."""
        starts = self.starts[where.start : where.stop + 1]
        link_starts = self.link_starts[where.start : where.stop + 1]
        held = np.zeros((int(starts[-1] - starts[0]), len(alpha)))
        bound, n_iter = np.zeros(len(shard)), np.zeros(len(shard), dtype=np.int64)
        topics.infer_links(
            block, shard.offsets, starts - starts[0], self.tags[starts[0] : starts[-1]], log_tags, alpha,
            self.how.tolerance, self.how.max_iter, self.S[where],
            self.links[link_starts[0] : link_starts[-1]], link_starts - link_starts[0], held,
            bound, n_iter, self.how.n_threads,
        )  # fmt: skip
        return block, held, float(bound.sum())
