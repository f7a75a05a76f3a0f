"""Embeddings as instances: one normal distribution a tag, with a covariance that all tags share.

The shared covariance makes evidence linear: log N(x | μ_c, Σ) = x·Aμ_c − ½ μ_cᵀAμ_c + what no tag changes,
A = Σ⁻¹. So a region is a row (x, 1, rest of its density), and the kernels of counts serve for it.
Priors: μ_c ~ N(0, Σ/PULL), and Σ as if ν regions of spread σ² had been seen (an inverse Wishart); both are
given their most probable value.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np

from tagmix.arrays import Entries, Floats, Ints, centre_and_spread, dense_rows
from tagmix.kernels import compiled

# A tag's mean is drawn to that of all regions as if so many of them were its own.
PULL = 2.0
# How much of the covariance is σ² in all directions, and how many directions are kept. On MSRC regions .1,
# .3 and .5 name .877, .881 and .881 rightly; 32, 64 and 112 directions .871, .877 and .875.
SHRINKAGE = 0.3
DIRECTIONS = 64


@dataclass(frozen=True)
class Projection:
    """How embeddings are made small and comparable: (x − centre) @ axes."""

    centre: Floats
    axes: Floats

    @classmethod
    def of(cls, view: Any, n_directions: int = DIRECTIONS) -> Self:
        """Return the principal directions of these regions, each column first brought to spread 1."""
        rows = np.asarray(view, dtype=np.float64)
        centre, spread = centre_and_spread(rows)
        scale = np.where(spread > 0, spread, np.inf)
        scaled = (rows - centre) / scale
        values, vectors = np.linalg.eigh(scaled.T @ scaled / max(1, len(rows)))
        kept = np.argsort(-values, kind="stable")[: max(1, min(n_directions, int((values > 1e-9).sum())))]
        return cls(centre, vectors[:, kept] / scale[:, None])

    def __call__(self, view: Any) -> Floats:
        """Return the coordinates of these regions."""
        small: Floats = (np.asarray(view, dtype=np.float64) - self.centre) @ self.axes
        return small


class Coordinates(NamedTuple):
    """Embeddings that were projected."""

    rows: Floats


@dataclass(frozen=True)
class Gaussian:
    """μ (tags × directions) and A = Σ⁻¹ of projected embeddings; σ² (``spread``) and ν of the prior."""

    projection: Projection
    means: Floats
    precision: Floats
    spread: float
    weight: float
    kernels: ModuleType = compiled
    n_threads: int = 1

    @classmethod
    def empty(cls, n_tags: int, view: Any, **how: Any) -> Self:
        """Return the prior for regions like these: no tag has been seen."""
        projection = Projection.of(view)
        spread = float(projection(view).var(axis=0).mean())
        spread = spread if spread > 1e-12 else 1.0  # nothing varies: any spread will do
        width = projection.axes.shape[1]
        weight = SHRINKAGE / (1 - SHRINKAGE) * (view.shape[0] + n_tags)
        return cls(projection, np.zeros((n_tags, width)), np.eye(width) / spread, spread, weight, **how)

    @cached_property
    def _log_determinant(self) -> float:
        """The logarithm of |A|."""
        return float(np.linalg.slogdet(self.precision)[1])

    @cached_property
    def _weights(self) -> Floats:
        """Aμ_c, −½ μ_cᵀAμ_c and 1 a tag: what the row of a region is multiplied by."""
        slopes = self.means @ self.precision
        offsets = -0.5 * (slopes * self.means).sum(axis=1)
        return np.column_stack([slopes, offsets, np.ones(len(offsets))])

    def prepared(self, view: Any) -> Coordinates:
        """Return the coordinates of embeddings: means and covariance change, the directions do not."""
        return view if isinstance(view, Coordinates) else Coordinates(self.projection(view))

    def _rows(self, view: Any) -> Floats:
        x = self.prepared(view).rows
        constant = 0.5 * (self._log_determinant - x.shape[1] * np.log(2 * np.pi))
        rest = constant - 0.5 * ((x @ self.precision) * x).sum(axis=1)
        return np.column_stack([x, np.ones(len(x)), rest])

    def add_evidence(
        self, view: Any, scale: float, region_starts: Ints, entries: Entries | None, block: Floats
    ) -> None:
        """Add scale · log N(x_m | μ_c, Σ) to ``block``."""
        rows = self._rows(view)
        if entries is None:
            block += scale * (rows @ self._weights.T).ravel()
        else:
            self.kernels.add_evidence_of_own(
                dense_rows(rows), self._weights, scale, region_starts, entries, block, self.n_threads
            )

    def empty_statistics(self) -> Floats:
        """Return Σφx and Σφ a tag, and below them the scatter Σxxᵀ, of no region."""
        n_tags, width = self.means.shape
        return np.zeros((n_tags + width, width + 1))

    def add_statistics(
        self, view: Any, phi: Floats, region_starts: Ints, entries: Entries | None, out: Floats
    ) -> None:
        """Add Σ φ (x, 1) and Σ xxᵀ to ``out``; a region that no tag may hold says nothing."""
        x = self.prepared(view).rows
        n_tags = len(self.means)
        if entries is None:
            shares = phi.reshape(-1, n_tags)
            held = shares.sum(axis=1)
            out[:n_tags] += shares.T @ np.column_stack([x, np.ones(len(x))])
        else:
            rows = dense_rows(np.column_stack([x, np.ones(len(x))]))
            self.kernels.add_statistics_of_own(
                rows, phi, region_starts, entries, out[:n_tags], self.n_threads
            )
            held = np.repeat(np.diff(entries.starts) > 0, np.diff(region_starts)).astype(np.float64)
        out[n_tags:, :-1] += x.T @ (x * held[:, None])

    def updated(self, statistics: Floats, learn_prior: bool) -> "Gaussian":
        """Return the most probable μ and Σ; the prior stays as it is."""
        n_tags = len(self.means)
        sums, counts, scatter = statistics[:n_tags, :-1], statistics[:n_tags, -1], statistics[n_tags:, :-1]
        means = sums / (counts + PULL)[:, None]
        # Σφ(x−μ)(x−μ)ᵀ + PULL Σμμᵀ, where sums = (counts + PULL) μ
        within = scatter - (means * (counts + PULL)[:, None]).T @ means
        n = counts.sum() + n_tags + self.weight
        covariance = (within + self.weight * self.spread * np.eye(len(within))) / n
        precision = np.linalg.inv((covariance + covariance.T) / 2)
        precision = (precision + precision.T) / 2  # to the last bit
        return Gaussian(
            self.projection, means, precision, self.spread, self.weight, self.kernels, self.n_threads
        )

    def divergence(self) -> float:
        """Return −log p(μ, Σ) up to a constant: what takes the place of a KL for most probable values."""
        n_tags = len(self.means)
        pulls = PULL * float(((self.means @ self.precision) * self.means).sum())
        size = -(n_tags + self.weight) * self._log_determinant
        return 0.5 * (pulls + size + self.weight * self.spread * float(np.trace(self.precision)))
