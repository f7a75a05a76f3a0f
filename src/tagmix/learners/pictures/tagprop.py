"""TagProp: weighted neighbours, with weights learnt by maximum likelihood and one sigmoid per tag."""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, vstack
from scipy.special import expit, log_expit

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.learners.checks import check_number
from tagmix.learners.pictures.base import PictureLearner
from tagmix.learners.pictures.distances import ReferenceSet
from tagmix.learners.pictures.knn import Voters, nearest
from tagmix.learners.schema import Array, Number, StoredMatrix

# Probability that a neighbour's tag is wrong, so that every likelihood is positive (the paper's ε).
EPSILON = 1e-5
# Alternations between view weights and sigmoids.
ROUNDS = 3
# Largest weight of a view: at exp(−1000) per median distance no neighbour contributes.
LARGEST = 1000.0


class Neighbours(NamedTuple):
    """The neighbours of each picture (pictures × K) and their distances (views × pictures × K)."""

    indices: Ints
    apart: Floats


class TagProp(Voters):
    """Predict a tag by the share of neighbours that have it, each weighted by exp(−Σ_v a_v d_v).

    Guillaumin, Mensink, Verbeek and Schmid, "TagProp: discriminative metric learning in nearest neighbor
    models for image auto-annotation" (ICCV 2009): the weights a_v ≥ 0 maximise the log likelihood of the
    training pictures' tags, by leave-one-out, where present and absent labels have the same total weight; a
    sigmoid per tag, learnt in alternation with the weights, raises rare tags. Because most tags are rare, the
    sigmoids are shrunk here towards the sigmoid of all tags, with the weight of ``shrinkage`` labels.

    Parameters
    ----------
    n_neighbors : the paper's K. In training, the nearest by every view and by their sum, merged by rank; in
        prediction, the nearest by the learnt distance.
    sigmoid : whether every tag has a sigmoid (σML in the paper) or none (ML).
    shrinkage : weight of the common sigmoid, in labels.
    max_iter : largest number of L-BFGS steps in each of three rounds.
    distance, memory_mb : as in ``KNN``. Training stores 8 × pictures × n_neighbors × (views + 1) bytes,
        and 12 per tag of a picture's neighbours.

    Attributes
    ----------
    view_weights_ : a_v. ``slopes_``, ``biases_``: of the sigmoids. ``objective_``: the log likelihood,
        in which each of the two label classes has weight 1.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> tagprop = TagProp(n_neighbors=50).fit(sample.bags[:100])
    >>> bool(tagprop.score(sample.bags[100:]) > 0.6)
    True
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        **PictureLearner.SCHEMA,
        "tags_": StoredMatrix(("references", "tags"), 0, 1),
        "slopes_": Array(("tags",)),
        "biases_": Array(("tags",)),
        "objective_": Number(),
    }
    storable_as_expert = True
    slopes_: Floats
    biases_: Floats
    objective_: float

    def __init__(
        self,
        *,
        n_neighbors: int = 200,
        sigmoid: bool = True,
        shrinkage: float = 1.0,
        max_iter: int = 50,
        distance: str = "hellinger",
        memory_mb: float = 512.0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.sigmoid = sigmoid
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.distance = distance
        self.memory_mb = memory_mb

    def _fit(self, bags: Bags) -> None:
        check_number("n_neighbors", self.n_neighbors, 1, 10**6, whole=True)
        check_number("shrinkage", self.shrinkage, 1e-6, 1e6)
        check_number("max_iter", self.max_iter, 1, 10**6, whole=True)
        if not isinstance(self.sigmoid, bool | np.bool_):
            raise ParameterError(f"sigmoid must be True or False, got {self.sigmoid!r:.60}: choose one.")
        reference, tags = self._describe(bags), bags.captions.astype(np.float64)
        near = neighbours(reference, min(self.n_neighbors, len(reference) - 1))
        weights, lines = np.full(len(reference.views), 8.0 / len(reference.views)), None
        for _ in range(ROUNDS if self.sigmoid else 1):
            if self.sigmoid:
                lines = fit_sigmoids(shares_of_tags(near, tags, weights), tags, self.shrinkage)
            weights, objective = self._maximise(near, tags, weights, lines)
        if self.sigmoid:
            lines = fit_sigmoids(shares_of_tags(near, tags, weights), tags, self.shrinkage)
        flat = np.ones(tags.shape[1]), np.zeros(tags.shape[1])
        self.slopes_, self.biases_ = flat if lines is None else lines
        self.objective_ = objective
        self.tags_ = tags
        self._keep(reference, weights)

    def _maximise(
        self, near: Neighbours, tags: Counts, weights: Floats, lines: tuple[Floats, Floats] | None
    ) -> tuple[Floats, float]:
        def loss(a: Floats) -> tuple[float, Floats]:
            value, slope = log_likelihood(near, tags, a, lines)
            return -value, -slope

        optimum = minimize(
            loss,
            weights,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, LARGEST)] * len(weights),
            options={"maxiter": int(self.max_iter), "ftol": 1e-7},
        )
        return optimum.x, -float(optimum.fun)

    def _shares(self, apart: Floats, tags: Counts, size: int) -> Floats:
        return nearest(apart, size)

    def _scores(self, bags: Bags) -> Floats:
        shares = self._voted(bags, self.n_neighbors)
        return expit(self.slopes_ * shares + self.biases_) if self.sigmoid else shares

    def _check_state(self) -> None:
        super()._check_state()
        check_number("n_neighbors", self.n_neighbors, 1, 10**6, whole=True)


def neighbours(reference: ReferenceSet, size: int) -> Neighbours:
    """Return the nearest neighbours of each reference, by each view and by their sum, merged by rank."""
    n, n_views = len(reference), len(reference.views)
    index, apart = np.empty((n, size), dtype=np.int64), np.empty((n_views, n, size))
    for start in range(0, n, reference.rows_at_once()):
        rows = np.arange(start, min(start + reference.rows_at_once(), n))
        others = reference.others(rows)
        ranks = np.full(others.shape[1:], size)
        for one in [*others, others.sum(axis=0)] if n_views > 1 else others:
            best = np.argsort(one, axis=1, kind="stable")[:, :size]
            own = np.take_along_axis(ranks, best, axis=1)
            np.put_along_axis(ranks, best, np.minimum(own, np.arange(size)), axis=1)
        np.put_along_axis(ranks, rows[:, None], size + 1, axis=1)
        index[rows] = np.argsort(ranks, axis=1, kind="stable")[:, :size]
        apart[:, rows] = np.take_along_axis(others, index[rows][None], axis=2)
    return Neighbours(index, apart)


def _blocks(near: Neighbours, tags: Counts, weights: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield rows, π (pictures × K) and the shares of tags, for blocks of some hundred pictures."""
    n, size = near.indices.shape
    step = max(1, 4_000_000 // (size + 2 * tags.shape[1]))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        logits = -np.tensordot(weights, near.apart[:, rows], axes=1)
        pi = np.exp(logits - logits.max(axis=1, keepdims=True))
        pi /= pi.sum(axis=1, keepdims=True)
        starts = np.arange(len(pi) + 1) * size
        matrix = csr_array((pi.ravel(), near.indices[rows].ravel(), starts), shape=(len(pi), tags.shape[0]))
        yield rows, pi, votes_of(matrix, tags)


def votes_of(matrix: Counts, tags: Counts) -> Floats:
    """Return matrix × tags, dense."""
    return (matrix @ tags).toarray()


def shares_of_tags(near: Neighbours, tags: Counts, weights: Floats) -> Counts:
    """Return x, pictures × tags: the total weight of the neighbours with the tag."""
    return csr_array(vstack([csr_array(x) for _, _, x in _blocks(near, tags, weights)], format="csr"))


def _balance(tags: Counts) -> float:
    """Return the weight of absent labels that gives both classes the same total weight."""
    n_cells = tags.shape[0] * tags.shape[1]
    return float(tags.nnz / max(n_cells - tags.nnz, 1))


def log_likelihood(
    near: Neighbours, tags: Counts, weights: Floats, lines: tuple[Floats, Floats] | None
) -> tuple[float, Floats]:
    """Return the balanced mean log likelihood of labels, and its gradient over the view weights."""
    negative, total, slope = _balance(tags), 0.0, np.zeros(len(weights))
    for rows, pi, x in _blocks(near, tags, weights):
        has = tags[rows].toarray() > 0
        if lines is None:
            p = (1 - 2 * EPSILON) * x + EPSILON
            total += np.log(p[has]).sum() + negative * np.log1p(-p[~has]).sum()
            by_x = np.where(has, 1 / p, -negative / (1 - p)) * (1 - 2 * EPSILON)
        else:
            logit = lines[0] * x + lines[1]
            total += log_expit(logit[has]).sum() + negative * log_expit(-logit[~has]).sum()
            by_x = np.where(has, expit(-logit), -negative * expit(logit)) * lines[0]
        by_pi = _summed_over_tags(by_x, near.indices[rows], tags)
        by_logit = pi * (by_pi - (pi * by_pi).sum(axis=1, keepdims=True))
        slope -= (near.apart[:, rows] * by_logit).sum(axis=(1, 2))
    return total / tags.nnz, slope / tags.nnz


def _summed_over_tags(values: Floats, index: Ints, tags: Counts) -> Floats:
    """Return the sum of values[i] over the tags of j, for each neighbour j of picture i."""
    neighbour_tags: Any = tags[index.ravel()]
    lengths = np.diff(neighbour_tags.indptr)
    pairs = np.repeat(np.arange(index.size), lengths)
    terms = values[pairs // index.shape[1], neighbour_tags.indices]
    sums: Floats = np.bincount(pairs, weights=terms, minlength=index.size).astype(np.float64)
    return sums.reshape(index.shape)


def fit_sigmoids(shares: Counts, tags: Counts, shrinkage: float) -> tuple[Floats, Floats]:
    """Return slope and bias of each tag's σ(slope·x + bias), shrunk towards those of all tags pooled."""
    n, n_tags = tags.shape
    rows = np.repeat(np.arange(n), np.diff(shares.indptr))
    y = np.asarray(csr_array(tags)[rows, shares.indices]).ravel().astype(np.float64)
    per_tag = np.bincount(tags.indices, minlength=n_tags).astype(np.float64)
    seen = np.bincount(shares.indices, minlength=n_tags), np.bincount(shares.indices, y, minlength=n_tags)
    # Pictures without a neighbour with the tag have x = 0: only their number matters.
    zeros = per_tag - seen[1], n - seen[0] - (per_tag - seen[1])
    one_tag = np.zeros(len(y), dtype=np.int64)
    pooled = _Cells(shares.data, y, one_tag, (zeros[0].sum()[None], zeros[1].sum()[None]), _balance(tags))
    start = np.array([[4.0], [-1.0]])
    common = _newton(pooled, start, start, 1e-3)
    cells = _Cells(shares.data, y, shares.indices.astype(np.int64), zeros, _balance(tags))
    slopes, biases = _newton(cells, np.repeat(common, n_tags, axis=1), common, shrinkage)
    return slopes, biases


class _Cells(NamedTuple):
    x: Floats
    y: Floats
    tag: Ints
    zeros: tuple[Floats, Floats]
    negative: float


def _newton(cells: _Cells, start: Floats, centre: Floats, strength: float) -> Floats:
    """Return slopes and biases (2 × tags) by Newton's method with bounded steps; the problem is concave."""
    lines, units = start.copy(), np.maximum(np.abs(centre), 1.0)
    width, weight = lines.shape[1], np.where(cells.y > 0, 1.0, cells.negative)
    for _ in range(100):
        p = expit(lines[0, cells.tag] * cells.x + lines[1, cells.tag])
        slope, bend = weight * (cells.y - p), weight * p * (1 - p)
        at_zero = expit(lines[1])
        none = cells.zeros[0] * (1 - at_zero) - cells.negative * cells.zeros[1] * at_zero
        none_bend = (cells.zeros[0] + cells.negative * cells.zeros[1]) * at_zero * (1 - at_zero)
        pull = strength / units**2

        def total(values: Floats) -> Floats:
            return np.bincount(cells.tag, values, minlength=width).astype(np.float64)

        g = np.stack([total(slope * cells.x), total(slope) + none]) - pull * (lines - centre)
        aa, ab = total(bend * cells.x**2) + pull[0], total(bend * cells.x)
        bb = total(bend) + none_bend + pull[1]
        step = np.stack([bb * g[0] - ab * g[1], aa * g[1] - ab * g[0]]) / (aa * bb - ab**2)
        lines += np.clip(step, -units, units)
        if np.abs(step / units).max() < 1e-8:
            break
    return lines
