"""Embeddings as instances: one normal distribution per tag, with a covariance shared by all tags.

The shared covariance makes evidence linear: log N(x | μ_c, Σ) = x·Aμ_c − ½ μ_cᵀAμ_c + terms independent
of c, A = Σ⁻¹. A region becomes a row (x, 1, rest of its density), to which the kernels for counts apply.
Priors: μ_c ~ N(0, Σ/PULL), and an inverse Wishart for Σ that counts as ν regions of variance σ². Both are
estimated by their posterior mode.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, Self

import numpy as np

from tagmix.arrays import Entries, Floats, Ints, centre_and_spread, dense_rows
from tagmix.kernels import compiled

# A tag's mean is shrunk towards the mean of all regions with the weight of this many regions.
PULL = 2.0
# Weight of σ²·I in the covariance, and number of principal directions. Accuracy on MSRC regions: .877, .881
# and .881 for a shrinkage of .1, .3 and .5; .871, .877 and .875 for 32, 64 and 112 directions.
SHRINKAGE = 0.3
DIRECTIONS = 64


@dataclass(frozen=True)
class Projection:
    """Projection of embeddings on scaled principal directions: (x − centre) @ axes."""

    centre: Floats
    axes: Floats

    @classmethod
    def of(cls, view: Any, n_directions: int = DIRECTIONS) -> Self:
        """Return the principal directions of these regions, after scaling each column to variance 1."""
        rows = np.asarray(view, dtype=np.float64)
        centre, spread = centre_and_spread(rows)
        scale = np.where(spread > 0, spread, np.inf)
        scaled = (rows - centre) / scale
        values, vectors = np.linalg.eigh(scaled.T @ scaled / max(1, len(rows)))
        kept = np.argsort(-values, kind="stable")[: max(1, min(n_directions, int((values > 1e-9).sum())))]
        return cls(centre, vectors[:, kept] / scale[:, None])

    def __call__(self, view: Any) -> Floats:
        """Return the coordinates of these regions."""
        coordinates: Floats = (np.asarray(view, dtype=np.float64) - self.centre) @ self.axes
        return coordinates


class Coordinates(NamedTuple):
    """Projected embeddings."""

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
        """Return the prior for regions like these, before any statistics."""
        projection = Projection.of(view)
        spread = float(projection(view).var(axis=0).mean())
        spread = spread if spread > 1e-12 else 1.0  # constant embeddings: any positive value works
        width = projection.axes.shape[1]
        weight = SHRINKAGE / (1 - SHRINKAGE) * (view.shape[0] + n_tags)
        return cls(projection, np.zeros((n_tags, width)), np.eye(width) / spread, spread, weight, **how)

    @cached_property
    def _log_determinant(self) -> float:
        """The logarithm of |A|."""
        return float(np.linalg.slogdet(self.precision)[1])

    @cached_property
    def _weights(self) -> Floats:
        """Aμ_c, −½ μ_cᵀAμ_c and 1 per tag, the factors of a region's row."""
        slopes = self.means @ self.precision
        offsets = -0.5 * (slopes * self.means).sum(axis=1)
        return np.column_stack([slopes, offsets, np.ones(len(offsets))])

    def prepared(self, view: Any) -> Coordinates:
        """Return the coordinates of embeddings; learning changes means and covariance, not the directions."""
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
        """Return zeros for Σφx and Σφ per tag and, below them, for the scatter Σxxᵀ."""
        n_tags, width = self.means.shape
        return np.zeros((n_tags + width, width + 1))

    def add_statistics(
        self, view: Any, phi: Floats, region_starts: Ints, entries: Entries | None, out: Floats
    ) -> None:
        """Add Σ φ (x, 1) and Σ xxᵀ to ``out``; regions without a candidate tag are ignored."""
        x = self.prepared(view).rows
        n_tags = len(self.means)
        if entries is None:
            shares = phi.reshape(-1, n_tags)
            used = shares.sum(axis=1)
            out[:n_tags] += shares.T @ np.column_stack([x, np.ones(len(x))])
        else:
            rows = dense_rows(np.column_stack([x, np.ones(len(x))]))
            self.kernels.add_statistics_of_own(
                rows, phi, region_starts, entries, out[:n_tags], self.n_threads
            )
            used = np.repeat(np.diff(entries.starts) > 0, np.diff(region_starts)).astype(np.float64)
        out[n_tags:, :-1] += x.T @ (x * used[:, None])

    def updated(self, statistics: Floats, learn_prior: bool) -> "Gaussian":
        """Return the posterior mode of μ and Σ; the prior is unchanged."""
        n_tags = len(self.means)
        sums, counts, scatter = statistics[:n_tags, :-1], statistics[:n_tags, -1], statistics[n_tags:, :-1]
        means = sums / (counts + PULL)[:, None]
        # Σφ(x−μ)(x−μ)ᵀ + PULL Σμμᵀ, where sums = (counts + PULL) μ
        within = scatter - (means * (counts + PULL)[:, None]).T @ means
        n = counts.sum() + n_tags + self.weight
        covariance = (within + self.weight * self.spread * np.eye(len(within))) / n
        precision = np.linalg.inv((covariance + covariance.T) / 2)
        precision = (precision + precision.T) / 2  # exactly symmetric
        return Gaussian(
            self.projection, means, precision, self.spread, self.weight, self.kernels, self.n_threads
        )

    def divergence(self) -> float:
        """Return −log p(μ, Σ) up to a constant, which replaces the KL divergence for posterior modes."""
        n_tags = len(self.means)
        pulls = PULL * float(((self.means @ self.precision) * self.means).sum())
        size = -(n_tags + self.weight) * self._log_determinant
        return 0.5 * (pulls + size + self.weight * self.spread * float(np.trace(self.precision)))
