"""DBA: the model of EMM with a Dirichlet prior, with which the paper compares."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma

from tagmix.arrays import Entries, Floats, Ints, entries_of
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.learners import lda
from tagmix.learners.base import RegionLearner
from tagmix.learners.checks import check_numbers
from tagmix.learners.em import shard_size
from tagmix.learners.inputs import check_tags
from tagmix.learners.monitor import Monitor
from tagmix.learners.schema import Array, ByName, Number
from tagmix.model import mstep
from tagmix.model.params import Settings, log_prior_of_rates

BOUNDS = {
    "max_iter": (1, 10**6, True),
    "tol": (0, 1, False),
    "eta": (1e-6, 1e6, False),
    "estep_tol": (1e-12, 1e3, False),
    "estep_max_iter": (1, 10**6, True),
    "memory_mb": (1e-3, 1e6, False),
}


class DBA(RegionLearner):
    """Assign every region to one tag, with a Dirichlet prior of a picture's tag shares.

    θ ~ Dir(α), z_m ~ Mult(θ), the words of region m ~ Mult(β_z). In training z is one of the picture's
    own tags, as in EMM with hard supervision. The updates are φ ∝ exp(κ Σ x E[log β] + Ψ(γ)), γ = α + S,
    μ = η + Σ φ x, and a fixed point for α (``lda.best_alpha``); the bound never decreases.

    Yang, Zha, Hu: *Dirichlet-Bernoulli Alignment: A Generative Model for Multi-Class Multi-Label
    Multi-Instance Corpora*, NIPS 2009, in the form of the comparison by Yang, Bian, Zha.

    Parameters
    ----------
    ranking : "shares" ranks tags by E[z̄], the share of regions per tag, like EMM; "theta" by
        E[θ] = (α + S)/Σ(α + S), which ranks tags without regions by their α.
    evidence : κ, the power to which the likelihood of a region's words is raised; one number or one per view.
    max_iter, tol : stop if an iteration improves the bound by less than the fraction ``tol``.
    eta, learn_eta : the Dirichlet prior of words, learnt from the initial value ``eta`` by default.
    total_alpha : fix Σα at this value and learn only the proportions; None learns the sum too. A small κ
        makes the learnt sum small, so that one tag explains a picture.
    chi : shape and rate of a Gamma prior of α, like that of λ in EMM; without it the α of a tag without
        pictures would be 0.
    estep_tol, estep_max_iter : convergence of a picture's inference, in regions.
    memory_mb : memory limit of a shard's arrays, in addition to the bags and two arrays of tags × words.
    n_jobs : threads; -1 uses all cores. The result does not depend on it.

    Attributes
    ----------
    alpha_ : the prior of shares. ``mu_``, ``eta_`` : by view, the Dirichlet posterior and prior of words.
    bound_history_ : the bound after each E-step. ``n_iter_``, ``converged_``.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> dba = DBA().fit(sample.bags[:100])
    >>> bool(dba.score(sample.bags[100:]) > 0.6)
    True
    """

    # What a comparison searches: name → (start, values), /tags per tag; None is κ of each view.
    searched: ClassVar[dict[str, Any]] = {
        "evidence": None,
        "max_iter": (10, (2, 5, 10, 20, 100)),
        "total_alpha/tags": (0.1, (None, 0.1, 1.0, 10.0, 100.0)),
    }
    SCHEMA: ClassVar[dict[str, Any]] = {
        "alpha_": Array(("tags",), 1e-300),
        "mu_": ByName(Array(("tags", "view"), 1e-300)),
        "eta_": ByName(Number(1e-300, 1e60)),
        **lda.FIT_SCHEMA,
    }

    def __init__(
        self,
        *,
        ranking: str = "shares",
        evidence: float | Mapping[str, float] = 1.0,
        max_iter: int = 100,
        tol: float = 1e-5,
        eta: float = 0.1,
        learn_eta: bool = True,
        total_alpha: float | None = None,
        chi: tuple[float, float] = (2.0, 1.0),
        estep_tol: float = 1e-4,
        estep_max_iter: int = 200,
        memory_mb: float = 256.0,
        n_jobs: int | None = None,
    ) -> None:
        self.ranking = ranking
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
        self.n_jobs = n_jobs

    def _fit(self, bags: Bags) -> None:
        check_numbers(self, BOUNDS)
        self._check_ranking()
        chi, how = lda.check_chi(self.chi), lda.how_to_infer(self, bags)
        first = mstep.start(bags, Settings(how.evidence, n_threads=how.n_threads), self.eta)
        models: Any = first.instances
        corpus = _CaptionedCorpus(bags, how, self.memory_mb * 2**20)
        alpha, sizes = lda.start_alpha(self.total_alpha, bags.n_tags), np.diff(bags.offsets)
        with Monitor(self.tol, self.max_iter) as monitor:
            for _ in range(self.max_iter):
                statistics, bound = corpus.explain(models, alpha)
                divergence = sum(how.evidence[view] * model.divergence() for view, model in models.items())
                stop = monitor.stop_after(bound - divergence + log_prior_of_rates(alpha, chi))
                models = {v: model.updated(statistics[v], self.learn_eta) for v, model in models.items()}
                columns = bags.captions.indices
                alpha = lda.best_alpha(alpha, corpus.S, columns, sizes, chi, self.total_alpha)
                if stop:
                    break
            monitor.warn_if_early()
        self.alpha_ = alpha
        self.mu_ = {view: model.mu for view, model in models.items()}
        self.eta_ = {view: float(model.eta) for view, model in models.items()}
        self.bound_history_ = np.array(monitor.history)
        self.n_iter_, self.converged_ = len(monitor.history), monitor.converged

    def _check_ranking(self) -> None:
        if self.ranking not in ("shares", "theta"):
            raise ParameterError(f"ranking must be shares or theta, got {self.ranking!r:.60}: choose one.")

    def _scores(self, bags: Bags) -> Floats:
        self._check_ranking()
        how = lda.how_to_infer(self, bags)
        models = lda.words_of(self.mu_, self.eta_, how.n_threads)
        S: Floats = np.empty((len(bags), len(self.alpha_)))
        for where in self._shards(bags):
            shard = bags[where]
            block = lda.evidence_of(shard, models, how)
            S[where] = lda.infer(block, shard.offsets, self.alpha_, how, None, None).S.reshape(len(shard), -1)
        held = S if self.ranking == "shares" else self.alpha_ + S
        held[np.diff(bags.offsets) == 0] = self.alpha_  # no regions: the prior
        return held / held.sum(axis=1, keepdims=True)

    def _shards(self, bags: Bags) -> Any:
        return bags.shards(shard_size(bags, False, self.memory_mb * 2**20, n_tags=len(self.alpha_)))

    def _region_scores(self, bags: Bags) -> Floats:
        """Return log φ of pictures without captions."""
        return self._log_posterior(bags, None)

    def predict_regions(self, X: Any, captioned: bool = False) -> Floats:
        """Return p(tag | region), regions × tags; ``captioned`` restricts a picture to its own tags."""
        if not captioned:
            return super().predict_regions(X)
        bags = self._checked(X)
        check_tags(bags, self.tag_names_)
        own = bags.captions.toarray() > 0
        own[~own.any(axis=1)] = True
        scores = self._log_posterior(bags, own)
        return np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))

    def _log_posterior(self, bags: Bags, allowed: Any) -> Floats:
        """Return log φ, computed from E[log θ]: φ itself underflows to 0 for unlikely tags."""
        how = lda.how_to_infer(self, bags)
        models = lda.words_of(self.mu_, self.eta_, how.n_threads)
        out: Floats = np.empty((bags.n_regions, len(self.alpha_)))
        for where in self._shards(bags):
            shard = bags[where]
            logits = lda.evidence_of(shard, models, how).reshape(-1, len(self.alpha_))
            if allowed is not None:
                logits[~np.repeat(allowed[where], np.diff(shard.offsets), axis=0)] = -1e300
            S = lda.infer(logits.ravel().copy(), shard.offsets, self.alpha_, how, None, None).S
            E_log_theta = digamma(self.alpha_ + S.reshape(len(shard), -1))
            logits += np.repeat(E_log_theta, np.diff(shard.offsets), axis=0)
            logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
            out[bags.offsets[where.start] : bags.offsets[where.stop]] = logits
        return out

    def _check_state(self) -> None:
        check_numbers(self, BOUNDS)
        lda.check_views(self.mu_, self.eta_, self.widths_)


class _CaptionedCorpus:
    """Training pictures in shards; S of the own tags is stored as the start of the next E-step."""

    def __init__(self, bags: Bags, how: lda.How, memory: float) -> None:
        self.bags, self.how = bags, how
        self.shards = list(bags.shards(shard_size(bags, True, memory)))
        self.entries: list[Entries] = []
        for where in self.shards:
            shard = bags[where]
            self.entries.append(entries_of(shard.captions, shard.offsets))
        self.starts: Ints = bags.captions.indptr.astype(np.int64)
        self.S: Floats = np.zeros(0)

    def explain(self, models: Any, alpha: Floats) -> tuple[dict[str, Floats], float]:
        """Return Σ φ x of every view and the bound of all pictures."""
        statistics = {view: model.empty_statistics() for view, model in models.items()}
        held, bound = [], 0.0
        for where, entries in zip(self.shards, self.entries, strict=True):
            shard = self.bags[where]
            start = self.S[self.starts[where.start] : self.starts[where.stop]] if len(self.S) else None
            block = lda.evidence_of(shard, models, self.how, entries)
            posterior = lda.infer(block, shard.offsets, alpha, self.how, entries, start)
            for view, model in models.items():
                model.add_statistics(
                    shard.views[view], posterior.phi, shard.offsets, entries, statistics[view]
                )
            held.append(posterior.S)
            bound += float(posterior.bound.sum())
        self.S = np.concatenate(held)
        return statistics, bound
