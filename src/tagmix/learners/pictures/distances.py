"""Whole pictures from bags, and distances between them: what the neighbour and kernel methods share."""

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

# What names of views of whole pictures begin with.
WHOLE = "pictures/"
DISTANCES = ("hellinger", "chi2", "l1")
# Pictures whose distances to each other give the median: a million pairs settle it to three digits.
MEDIAN_PICTURES = 1000
# From this density on a dense product beats a sparse one.
DENSE_FROM = 0.02
# Up to so many pictures are multiplied by sparse others as these are: making those dense costs more.
FEW = 8
# Rounding keeps duplicates at exactly one distance, whatever block they were computed in.
DECIMALS = 12


def whole_pictures(bags: Bags, distance: str) -> Views:
    """Return a matrix a view, a row a picture: histograms of all its regions, means of embeddings.

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
    """Return a matrix a view, a row a picture: the summed counts of its regions, the mean of embeddings.

    Those of its regions first, then its own (``picture_views``).
    """
    regions = np.arange(bags.n_regions)
    pool = csr_array((np.ones(bags.n_regions), regions, bags.offsets), shape=(len(bags), bags.n_regions))
    views = {name: pool @ view for name, view in bags.views.items()}
    sizes = np.maximum(np.diff(bags.offsets), 1)[:, None]
    pooled = {name: csr_array(v) if is_sparse(v) else v / sizes for name, v in views.items()}
    return {**pooled, **picture_views(bags)}


def picture_views(bags: Bags) -> dict[str, Floats]:
    """Return the views of whole pictures, by names that tell them from views of regions."""
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


def distances(some: Matrix, others: Matrix, distance: str) -> Floats:
    """Return the distances of rows; dense features take half of the squared Euclidean one.

    "hellinger" is half of the squared Euclidean distance of roots of histograms, 1 − Σ√(pq); "l1" is Σ|p−q|
    and "chi2" Σ(p−q)²/(p+q). With each of them exp(−distance) is a positive definite kernel. "hellinger"
    costs a matrix product, "l1" ten times that and "chi2" more.

    >>> distances(csr_array([[1.0, 0.0]]), csr_array([[0.5, 0.5]]), "l1").tolist()
    [[1.0]]
    """
    if not is_sparse(some) or distance == "hellinger":
        return half_squares(some, others)
    if distance == "l1":
        return cdist(_dense(some), _dense(others), "cityblock")
    return _chi2(some, _dense(others))


def _dense(matrix: Any) -> Floats:
    return matrix.toarray() if is_sparse(matrix) else matrix


def half_squares(some: Any, others: Any, half_lengths: Floats | None = None) -> Floats:
    """Return half of the squared Euclidean distances of rows; ``half_lengths`` are the others', if known."""
    out = _inner(some, others)
    np.subtract(squares(others) / 2 if half_lengths is None else half_lengths, out, out=out)
    out += squares(some)[:, None] / 2
    return np.maximum(out, 0.0, out=out)


def _inner(some: Any, others: Any) -> Floats:
    n, width = some.shape
    if is_sparse(some) and some.nnz < DENSE_FROM * n * width:
        return (some @ others.T).toarray()
    if is_sparse(others) and n <= FEW:
        return (others @ _dense(some).T).T
    return _dense(some) @ _dense(others).T


def squares(rows: Any) -> Floats:
    """Return the squared length of each row."""
    if is_sparse(rows):
        squares = csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(squares.sum(axis=1), dtype=np.float64)
    return np.einsum("ij,ij->i", rows, rows)


def _chi2(some: Any, others: Floats) -> Floats:
    """Use Σ(p−q)²/(p+q) = Σp + Σq − 4Σpq/(p+q): only words of the first picture enter the last sum."""
    out = np.empty((some.shape[0], len(others)))
    sums = others.sum(axis=1)
    for row in range(some.shape[0]):
        part = slice(some.indptr[row], some.indptr[row + 1])
        p, q = some.data[part], others[:, some.indices[part]]
        out[row] = p.sum() + sums - 4 * (p * q / (p + q)).sum(axis=1)
    return np.maximum(out, 0.0)


@dataclass(frozen=True)
class ReferenceSet:
    """Pictures to be near to. ``scales`` hold a view's median distance, which its distances are divided by.

    Distances come in blocks that take at most ``memory`` bytes, or one row, beside one slab of the reference
    made dense, which takes as much again.
    """

    views: Views
    scales: Floats
    distance: str
    memory: float

    def __len__(self) -> int:
        return int(next(iter(self.views.values())).shape[0])

    def between(self, some: Views) -> Floats:
        """Return views × pictures × reference: distances in units of the view's median."""
        out = np.empty((len(self.views), next(iter(some.values())).shape[0], len(self)))
        for v, (name, mine) in enumerate(self.views.items()):
            width = max(1, int(self.memory / (16 * mine.shape[1] + 1)))
            for start in range(0, len(self), width):
                part = slice(start, start + width)
                slab = mine if width >= len(self) else mine[part]
                out[v, :, part] = distances(some[name], slab, self.distance)
            out[v] /= self.scales[v]
        return np.round(out, DECIMALS, out=out)

    def weighted(self, some: Views, weights: Floats) -> Floats:
        """Return Σ_v weight × distance, pictures × references.

        Half squared distances add up to that of the views side by side, scaled: one product for all views.
        """
        if self.distance != "hellinger":
            return np.tensordot(weights, self.between(some), axes=1)
        rows = self.side_by_side(some, weights)
        out = np.empty((len(rows), len(self)))
        width = max(1, int(self.memory / (16 * rows.shape[1] + 1)))
        for start in range(0, len(self), width):
            part = slice(start, start + width)
            out[:, part] = half_squares(rows, self.side_by_side(taken(self.views, part), weights))
        return np.round(out, DECIMALS, out=out)

    def side_by_side(self, views: Views, weights: Floats) -> Floats:
        """Return all views as one dense matrix, in which distances are the weighted ones of all views."""
        factors = np.sqrt(weights / self.scales)
        return np.hstack(
            [_dense(views[name]) * factor for name, factor in zip(self.views, factors, strict=True)]
        )

    def weighted_blocks(self, some: Views, weights: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and their weighted distances, until all pictures are done."""
        n, step = next(iter(some.values())).shape[0], self.rows_at_once()
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.weighted(taken(some, rows), weights)

    def rows_at_once(self) -> int:
        """Return how many pictures' distances fit into the memory, with room to work on them."""
        return max(1, int(self.memory / (8 * len(self) * (len(self.views) + 3))))

    def blocks(self, some: Views) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and their distances, until all pictures are done."""
        n, step = next(iter(some.values())).shape[0], self.rows_at_once()
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.between({name: view[rows] for name, view in some.items()})

    def others(self, rows: Ints) -> Floats:
        """Return the distances of the reference's own pictures to all others, and infinity to themselves."""
        out = self.between(taken(self.views, rows))
        out[:, np.arange(len(rows)), rows] = np.inf
        return out


def taken(views: Views, rows: Any) -> Views:
    """Return these rows of every view."""
    return {name: view[rows] for name, view in views.items()}


def reference_set_of(views: Views, distance: str, memory: float) -> ReferenceSet:
    """Return a reference whose scales are medians over (at most) 1,000 of its pictures, evenly spread."""
    n = next(iter(views.values())).shape[0]
    if n < 2:
        raise BagsError(
            f"distances need at least 2 pictures with tags and regions, got {n} sample: add some."
        )
    spread = np.unique(np.linspace(0, n - 1, min(n, MEDIAN_PICTURES)).astype(np.int64))
    above = np.triu_indices(len(spread), 1)
    scales = np.ones(len(views))
    for v, view in enumerate(views.values()):
        median = float(np.median(distances(view[spread], view[spread], distance)[above]))
        scales[v] = median if median > 1e-9 else 1.0
    return ReferenceSet(views, scales, distance, memory)


class PictureLearner(TagLearner):
    """A learner that compares whole pictures with those of a reference set, which it keeps.

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
                f"the learner was fitted with views (width, whether of words) {expected}, these bags have "
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
        widths = {name: int(view.shape[1]) for name, view in self.reference_.items() if name in self.widths_}
        if not self.reference_ or not len(self._references()) or widths != self.widths_:
            raise ValueError(
                "the reference set must hold every view that was read, at least one picture each"
            )
        if not self.reference_.keys() == self.scales_.keys() == self.view_weights_.keys():
            raise ValueError("every view must have a scale and a weight")


def accuracy(scores: Floats, tags: Counts) -> float:
    """Return the top-k accuracy, k as in ``score``, for choosing between settings."""
    return grade(hits(scores, tags), tags)


def hits(scores: Floats, tags: Counts) -> int:
    """Return how many of the k best tags are right."""
    best = top_tags(scores, default_k(tags.shape[1]))
    return int(np.take_along_axis(tags.toarray(), best, axis=1).sum())


def grade(n_hits: int, tags: Counts) -> float:
    """Return the top-k accuracy of so many hits."""
    return 2 * n_hits / (default_k(tags.shape[1]) * tags.shape[0] + tags.nnz)


def climb(value: Callable[[Floats], float], start: Floats, ways: Floats, steps: Sequence[float]) -> Floats:
    """Return the best point found by going along ``ways`` while it helps, with ever smaller steps.

    >>> climb(lambda x: -abs(x[0] - 3.0), np.zeros(1), np.ones((1, 1)), (2.0, 1.0)).tolist()
    [3.0]
    """
    best, height = np.asarray(start, dtype=np.float64), value(start)
    for step in steps:
        better = True
        while better:
            better = False
            for way in np.concatenate([ways, -ways]) * step:
                while (there := value(best + way)) > height:
                    best, height, better = best + way, there, True
    return best
