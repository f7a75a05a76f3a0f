"""Distances between whole pictures, and the reference set that new pictures are compared with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.errors import BagsError
from tagmix.learners.whole_pictures import Matrix, Views

DISTANCES = ("hellinger", "chi2", "l1")
# Pictures whose pairwise distances give the median: a million pairs determine three digits.
MEDIAN_PICTURES = 1000
# From this density on a dense product beats a sparse one.
DENSE_FROM = 0.02
# Up to this many queries the references stay sparse: making them dense costs more than the product.
FEW = 8
# Rounding gives duplicates exactly the same distance, in whatever block it was computed.
DECIMALS = 12
# A median distance below this part of the mean squared norm is due to rounding errors.
ROUNDING = 1e-12


def distances(queries: Matrix, references: Matrix, distance: str) -> Floats:
    """Return the distances between rows; for dense features, half of the squared Euclidean distance.

    "hellinger" is half of the squared Euclidean distance of roots of histograms, 1 − Σ√(pq); "l1" is Σ|p−q|
    and "chi2" Σ(p−q)²/(p+q). With each of them exp(−distance) is a positive definite kernel. "hellinger"
    costs a matrix product, "l1" ten times as much and "chi2" more.

    >>> distances(csr_array([[1.0, 0.0]]), csr_array([[0.5, 0.5]]), "l1").tolist()
    [[1.0]]
    """
    if not is_sparse(queries) or distance == "hellinger":
        return half_squares(queries, references)
    if distance == "l1":
        return cdist(_dense(queries), _dense(references), "cityblock")
    return _chi2(queries, _dense(references))


def _dense(matrix: Any) -> Floats:
    return matrix.toarray() if is_sparse(matrix) else matrix


def half_squares(queries: Any, references: Any, half_lengths: Floats | None = None) -> Floats:
    """Return half of the squared Euclidean distances; ``half_lengths`` is ``squares(references) / 2``."""
    out = _inner(queries, references)
    np.subtract(squares(references) / 2 if half_lengths is None else half_lengths, out, out=out)
    out += squares(queries)[:, None] / 2
    return np.maximum(out, 0.0, out=out)


def _inner(queries: Any, references: Any) -> Floats:
    n, width = queries.shape
    if is_sparse(queries) and queries.nnz < DENSE_FROM * n * width:
        return (queries @ references.T).toarray()
    if is_sparse(references) and n <= FEW:
        return (references @ _dense(queries).T).T
    return _dense(queries) @ _dense(references).T


def squares(rows: Any) -> Floats:
    """Return the squared norm of each row."""
    if is_sparse(rows):
        squares = csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(squares.sum(axis=1), dtype=np.float64)
    return np.einsum("ij,ij->i", rows, rows)


def _chi2(queries: Any, references: Floats) -> Floats:
    """Use Σ(p−q)²/(p+q) = Σp + Σq − 4Σpq/(p+q): the last sum needs only the words of the query."""
    out = np.empty((queries.shape[0], len(references)))
    sums = references.sum(axis=1)
    for row in range(queries.shape[0]):
        part = slice(queries.indptr[row], queries.indptr[row + 1])
        p, q = queries.data[part], references[:, queries.indices[part]]
        out[row] = p.sum() + sums - 4 * (p * q / (p + q)).sum(axis=1)
    return np.maximum(out, 0.0)


@dataclass(frozen=True)
class ReferenceSet:
    """The pictures that queries are compared with; ``scales``: the median distance per view, a divisor.

    Distances are computed in blocks of at most ``memory`` bytes, or one row; a dense slab of the reference
    set takes as much again.
    """

    views: Views
    scales: Floats
    distance: str
    memory: float

    def __len__(self) -> int:
        return int(next(iter(self.views.values())).shape[0])

    def between(self, queries: Views) -> Floats:
        """Return views × queries × references: distances in units of the view's median."""
        out = np.empty((len(self.views), next(iter(queries.values())).shape[0], len(self)))
        for v, (name, own) in enumerate(self.views.items()):
            width = max(1, int(self.memory / (16 * own.shape[1] + 1)))
            for start in range(0, len(self), width):
                part = slice(start, start + width)
                slab = own if width >= len(self) else own[part]
                out[v, :, part] = distances(queries[name], slab, self.distance)
            out[v] /= self.scales[v]
        return np.round(out, DECIMALS, out=out)

    def weighted(self, queries: Views, weights: Floats) -> Floats:
        """Return Σ_v weight × distance, queries × references.

        Half squared distances add up to that of the scaled, stacked views: one product for all views.
        """
        if self.distance != "hellinger":
            return np.tensordot(weights, self.between(queries), axes=1)
        rows = self.side_by_side(queries, weights)
        out = np.empty((len(rows), len(self)))
        width = max(1, int(self.memory / (16 * rows.shape[1] + 1)))
        for start in range(0, len(self), width):
            part = slice(start, start + width)
            out[:, part] = half_squares(rows, self.side_by_side(taken(self.views, part), weights))
        return np.round(out, DECIMALS, out=out)

    def side_by_side(self, views: Views, weights: Floats) -> Floats:
        """Return all views as one dense matrix, whose distances are the weighted distances of all views."""
        factors = np.sqrt(weights / self.scales)
        return np.hstack(
            [_dense(views[name]) * factor for name, factor in zip(self.views, factors, strict=True)]
        )

    def weighted_blocks(self, queries: Views, weights: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield rows of the queries and their weighted distances, block by block."""
        n, step = next(iter(queries.values())).shape[0], self.rows_at_once()
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.weighted(taken(queries, rows), weights)

    def rows_at_once(self) -> int:
        """Return for how many queries the distances fit into ``memory``, with working space."""
        return max(1, int(self.memory / (8 * len(self) * (len(self.views) + 3))))

    def blocks(self, queries: Views) -> Iterator[tuple[slice, Floats]]:
        """Yield rows of the queries and their distances, block by block."""
        n, step = next(iter(queries.values())).shape[0], self.rows_at_once()
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.between({name: view[rows] for name, view in queries.items()})

    def others(self, rows: Ints) -> Floats:
        """Return the distances of these references to all references, infinity to themselves."""
        out = self.between(taken(self.views, rows))
        out[:, np.arange(len(rows)), rows] = np.inf
        return out


def taken(views: Views, rows: Any) -> Views:
    """Return these rows of every view."""
    return {name: view[rows] for name, view in views.items()}


def reference_set_of(views: Views, distance: str, memory: float) -> ReferenceSet:
    """Return a reference set; its scales are medians over at most 1,000 evenly spaced pictures."""
    n = next(iter(views.values())).shape[0]
    if n < 2:
        raise BagsError(
            f"distances need at least 2 pictures with tags and regions, got {n} sample: add pictures."
        )
    spread = np.unique(np.linspace(0, n - 1, min(n, MEDIAN_PICTURES)).astype(np.int64))
    above = np.triu_indices(len(spread), 1)
    scales = np.ones(len(views))
    for v, view in enumerate(views.values()):
        rows = view[spread]
        median = float(np.median(distances(rows, rows, distance)[above]))
        scales[v] = median if median > ROUNDING * float(squares(rows).mean()) else 1.0
    return ReferenceSet(views, scales, distance, memory)
