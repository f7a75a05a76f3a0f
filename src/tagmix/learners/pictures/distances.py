"""Whole pictures from bags, and distances between them: the base of the neighbour and kernel methods."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from tagmix.arrays import Counts, Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.metrics import default_k, top_tags
from tagmix.learners.base import TagLearner
from tagmix.learners.checks import check_choice, check_number
from tagmix.learners.schema import Group, Number, StoredMatrix

Matrix: TypeAlias = Counts | Floats
Views: TypeAlias = dict[str, Matrix]

# Prefix of the names of views of whole pictures.
WHOLE = "pictures/"
DISTANCES = ("hellinger", "chi2", "l1")
# Pictures whose pairwise distances give the median: a million pairs determine three digits.
MEDIAN_PICTURES = 1000
# From this density on a dense product beats a sparse one.
DENSE_FROM = 0.02
# Up to this many queries the references stay sparse: making them dense costs more than the product.
FEW = 8
# Rounding gives duplicates exactly the same distance, in whatever block it was computed.
DECIMALS = 12


def whole_pictures(bags: Bags, distance: str) -> Views:
    """Return one matrix per view, one row per picture: histograms of its words, means of embeddings.

    Histograms sum to 1 (a picture without words has all zeros), and "hellinger" takes their square root.

    >>> bags = Bags(np.array([[2, 0], [1, 1]]), [0, 2])
    >>> whole_pictures(bags, "l1")["words"].toarray().tolist()
    [[0.75, 0.25]]
    """
    return {
        name: histograms(view, distance) if is_sparse(view) else view
        for name, view in pooled_views(bags).items()
    }


def pooled_views(bags: Bags) -> dict[str, Any]:
    """Return one matrix per view, one row per picture: summed counts or mean embeddings of its regions.

    The views of whole pictures follow (``picture_views``).
    """
    regions = np.arange(bags.n_regions)
    pool = csr_array((np.ones(bags.n_regions), regions, bags.offsets), shape=(len(bags), bags.n_regions))
    views = {name: pool @ view for name, view in bags.views.items()}
    sizes = np.maximum(np.diff(bags.offsets), 1)[:, None]
    pooled = {name: csr_array(v) if is_sparse(v) else v / sizes for name, v in views.items()}
    return {**pooled, **picture_views(bags)}


def picture_views(bags: Bags) -> dict[str, Floats]:
    """Return the views of whole pictures, with ``WHOLE`` as prefix of their names."""
    views = {f"{WHOLE}{name}": features for name, features in bags.pictures.items()}
    for key in views:
        if key in bags.views:
            name = key.removeprefix(WHOLE)
            raise BagsError(f"view {key!r} is named like the picture view {name!r}: rename one of them.")
    return views


def histograms(counts: Any, distance: str = "hellinger") -> Counts:
    """Return each row's shares, or their square roots for "hellinger"; a row without words stays empty."""
    totals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    shares = counts.data / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(counts.indptr))
    data = np.sqrt(shares) if distance == "hellinger" else shares
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


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
        median = float(np.median(distances(view[spread], view[spread], distance)[above]))
        scales[v] = median if median > 1e-9 else 1.0
    return ReferenceSet(views, scales, distance, memory)


class PictureLearner(TagLearner):
    """A learner that compares whole pictures with a stored reference set.

    ``reference_`` holds the pictures by view (8 bytes per dense number, 12 per word that occurs),
    ``scales_`` the median distance and ``view_weights_`` the weight of each view.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        "reference_": Group(StoredMatrix(("references", None))),
        "scales_": Group(Number(1e-300, 1e60)),
        "view_weights_": Group(Number(0, 1e60)),
    }

    reads_dense = True
    reads_pictures = True
    distance: str
    memory_mb: float
    reference_: Views
    scales_: dict[str, float]
    view_weights_: dict[str, float]

    def _describe(self, bags: Bags) -> ReferenceSet:
        check_choice("distance", self.distance, DISTANCES)
        check_number("memory_mb", self.memory_mb, 1e-3, 1e6)
        return reference_set_of(whole_pictures(bags, self.distance), self.distance, self.memory_mb * 2**20)

    def _keep(self, reference: ReferenceSet, weights: Floats) -> None:
        self.reference_ = dict(reference.views)
        self.scales_ = dict(zip(reference.views, map(float, reference.scales), strict=True))
        self.view_weights_ = dict(zip(reference.views, map(float, weights), strict=True))

    def _weights(self) -> Floats:
        return np.array(list(self.view_weights_.values()))

    def _references(self) -> ReferenceSet:
        scales = np.array(list(self.scales_.values()))
        return ReferenceSet(self.reference_, scales, self.distance, self.memory_mb * 2**20)

    def _queries(self, reference: ReferenceSet, bags: Bags) -> Views:
        views = whole_pictures(bags, self.distance)
        expected = {name: (view.shape[1], is_sparse(view)) for name, view in reference.views.items()}
        got = {name: (view.shape[1], is_sparse(view)) for name, view in views.items()}
        if expected != got:
            raise BagsError(
                f"the learner was fitted with views (width, whether words) {expected}, these bags have "
                f"{got}: describe them as the training pictures were."
            )
        return views

    def _combined(self, bags: Bags) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and their weighted distances to the reference set."""
        reference = self._references()
        weights = self._weights()
        yield from reference.weighted_blocks(self._queries(reference, bags), weights)

    def _check_state(self) -> None:
        check_choice("distance", self.distance, DISTANCES)
        check_number("memory_mb", self.memory_mb, 1e-3, 1e6)
        widths = {
            name: int(view.shape[1])
            for name, view in self.reference_.items()
            if name in self.widths_ or not name.startswith(WHOLE)
        }
        if not self.reference_ or not len(self._references()) or widths != self.widths_:
            raise ValueError(
                "the reference set must hold every view that fit read, with at least one picture"
            )
        if not self.reference_.keys() == self.scales_.keys() == self.view_weights_.keys():
            raise ValueError("every view must have a scale and a weight")


def accuracy(scores: Floats, tags: Counts) -> float:
    """Return the top-k accuracy, k as in ``score``, for choosing between settings."""
    return grade(hits(scores, tags), tags)


def hits(scores: Floats, tags: Counts) -> int:
    """Return how many of the k best tags are correct."""
    best = top_tags(scores, default_k(tags.shape[1]))
    return int(np.take_along_axis(tags.toarray(), best, axis=1).sum())


def grade(n_hits: int, tags: Counts) -> float:
    """Return the top-k accuracy for this number of hits."""
    return 2 * n_hits / (default_k(tags.shape[1]) * tags.shape[0] + tags.nnz)


def coordinate_search(
    objective: Callable[[Floats], float], start: Floats, directions: Floats, steps: Sequence[float]
) -> Floats:
    """Return a local maximum of ``objective`` by steps of decreasing length along ``directions``.

    >>> coordinate_search(lambda x: -abs(x[0] - 3.0), np.zeros(1), np.ones((1, 1)), (2.0, 1.0)).tolist()
    [3.0]
    """
    best, highest = np.asarray(start, dtype=np.float64), objective(start)
    for step in steps:
        improved = True
        while improved:
            improved = False
            for move in np.concatenate([directions, -directions]) * step:
                while (value := objective(best + move)) > highest:
                    best, highest, improved = best + move, value, True
    return best
