"""The instance model, the likelihood of a region given a tag, and its multinomial form."""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Protocol, Self

import numpy as np
from scipy.special import digamma, polygamma

from tagmix.arrays import Entries, Floats, Ints, rows_of
from tagmix.kernels import compiled

ETA_RANGE = (1e-6, 1e6)  # beyond it the Dirichlet does not change in double precision


class InstanceModel(Protocol):
    """The interface of a model of regions given their tag.

    ``entries=None`` means all tags: ``block`` is then regions × tags, flat. Every ``view`` argument also
    accepts the result of ``prepared``.
    """

    def prepared(self, view: Any) -> Any:
        """Return the view with the computations that learning does not change done, for repeated use."""

    def add_evidence(
        self, view: Any, scale: float, region_starts: Ints, entries: Entries | None, block: Floats
    ) -> None:
        """Add scale · E[log p(x_m | tag)] to ``block``, for each region and entry."""

    def empty_statistics(self) -> Floats:
        """Return the statistics of no region: zeros of the right shape."""

    def add_statistics(
        self, view: Any, phi: Floats, region_starts: Ints, entries: Entries | None, out: Floats
    ) -> None:
        """Add the statistics of the regions, weighted by ``phi`` (in the layout of ``block``), to ``out``."""

    def updated(self, statistics: Floats, learn_prior: bool) -> Self:
        """Return the maximiser of the bound given the statistics of all regions."""

    def divergence(self) -> float:
        """Return KL(posterior ‖ prior) of the model's own parameters, summed over tags."""


@dataclass(frozen=True)
class Multinomial:
    """Multinomial words: β_c ~ Dir(η, …, η), with posterior Dir(μ_c)."""

    mu: Floats
    eta: float
    kernels: ModuleType = compiled
    n_threads: int = 1

    @classmethod
    def empty(cls, n_tags: int, n_words: int, eta: float, **how: Any) -> Self:
        """Return the prior, before any statistics."""
        return cls(np.full((n_tags, n_words), eta), eta, **how)

    def prepared(self, view: Any) -> Any:
        """Return the view as it is."""
        return view

    @cached_property
    def _terms(self) -> tuple[Floats, Floats]:
        terms: tuple[Floats, Floats] = self.kernels.dirichlet_terms(self.mu, self.eta, self.n_threads)
        return terms

    @property
    def E_log_beta(self) -> Floats:
        """E[log β_cd] = Ψ(μ_cd) − Ψ(Σ_d μ_cd), as mean field requires (D8)."""
        return self._terms[0]

    @cached_property
    def _for_all_tags(self) -> Floats:
        """E[log β] in the memory order for the evidence of all tags: a second array of tags × words."""
        ordered: Floats = self.kernels.for_all_tags(self.E_log_beta)
        return ordered

    def add_evidence(
        self, view: Any, scale: float, region_starts: Ints, entries: Entries | None, block: Floats
    ) -> None:
        """Add scale · Σ_d x_md E[log β_cd] to ``block``."""
        rows, how = rows_of(view), self.n_threads
        if entries is None:
            out = block.reshape(-1, len(self.mu))
            self.kernels.add_evidence_of_all(rows, self._for_all_tags, scale, out, how)
        else:
            self.kernels.add_evidence_of_own(rows, self.E_log_beta, scale, region_starts, entries, block, how)

    def empty_statistics(self) -> Floats:
        """Return the word counts of no region, tags × words."""
        return np.zeros_like(self.mu)

    def add_statistics(
        self, view: Any, phi: Floats, region_starts: Ints, entries: Entries | None, out: Floats
    ) -> None:
        """Add Σ_nm φ_nmc x_nmd to ``out``."""
        rows = rows_of(view)
        if entries is None:
            self.kernels.add_statistics_of_all(rows, phi.reshape(-1, len(self.mu)), out, self.n_threads)
        else:
            self.kernels.add_statistics_of_own(rows, phi, region_starts, entries, out, self.n_threads)

    def updated(self, statistics: Floats, learn_prior: bool) -> "Multinomial":
        """Return μ = η + Σ φ x (Eq. 9), after an update of η from the current posterior."""
        eta = best_eta(self.E_log_beta) if learn_prior else self.eta
        return Multinomial(eta + statistics, eta, self.kernels, self.n_threads)

    def divergence(self) -> float:
        """Return Σ_c KL(Dir(μ_c) ‖ Dir(η))."""
        return float(self._terms[1].sum())


def best_eta(E_log_beta: Floats) -> float:
    """Return the η that maximises Σ_c E[log Dir(β_c | η, …, η)], by Newton's method in log η.

    The slope Ψ(Dη) − Ψ(η) + mean E[log β] decreases through a single zero. A Newton step that would leave
    the bracket around it is replaced by a bisection.

    >>> mean = digamma(0.3) - digamma(2 * 0.3)  # E[log β] under Dir(0.3, 0.3)
    >>> round(best_eta(np.full((5, 2), mean)), 9)
    0.3
    """
    n_words = E_log_beta.shape[1]
    mean = float(E_log_beta.mean())
    low, high = np.log(ETA_RANGE)
    t = 0.0
    for _ in range(100):
        eta = np.exp(t)
        slope = digamma(n_words * eta) - digamma(eta) + mean
        low, high = (t, high) if slope > 0 else (low, t)
        curve = eta * (n_words * polygamma(1, n_words * eta) - polygamma(1, eta))
        step = t - slope / curve if curve < 0 else np.inf
        fresh = step if low < step < high else (low + high) / 2
        if abs(fresh - t) < 1e-13:
            break
        t = fresh
    return float(np.exp(t))
