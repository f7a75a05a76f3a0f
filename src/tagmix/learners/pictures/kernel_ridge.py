"""KernelRidge: ridge regression of tags on a product of kernels, tuned by closed-form leave-one-out."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, get_lapack_funcs, solve_triangular
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags
from tagmix.evaluation.search import pattern_search
from tagmix.learners.checks import check_choice, check_number
from tagmix.learners.pictures.base import PictureLearner, accuracy, grade, hits
from tagmix.learners.pictures.distances import ReferenceSet, half_squares, squares, taken
from tagmix.learners.pictures.knn import LOG_RANGE
from tagmix.learners.schema import Array, Number

# The ridge chosen on a sample is multiplied by these factors and chosen again on all pictures.
RIDGES_AROUND = (0.5, 1.0, 2.0)
# Added to the diagonal of the landmarks' kernel, which duplicates would make singular.
JITTER = 1e-9
# Least value of 1 − leverage.
SMALLEST_LEFT = 1e-12
# Start of the search: a kernel of 1/e at the median distance.
START_WEIGHT, START_RIDGE = 1.0, 0.5


class KernelRidge(PictureLearner):
    """Regress tags on exp(−Σ_v a_v d_v), with a_v and the ridge chosen by leave-one-out.

    Kernel ridge regression (Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual
    variables", ICML 1998) on centred tags. The leave-one-out score has a closed form, y − α/diag(G⁻¹) with
    G = K + ridge·I and α = G⁻¹y (settings are chosen with the global mean of tags), so that choosing costs
    no refits. With more than ``max_landmarks`` pictures, this many are the basis of the regression (Nyström:
    Williams and Seeger, NIPS 2001), which is still fitted to all.

    Parameters
    ----------
    weights : "learnt" gives every view its own a_v, "equal" one for all.
    distance : as in ``KNN``.
    max_search : number of training pictures on which a_v is chosen; the ridge is chosen again on all.
    max_landmarks : largest number of basis pictures. Memory: 16 × landmarks² bytes (1.6 GB at 10,000), and
        8 × landmarks × tags for the coefficients; it does not grow with the number of pictures.
    memory_mb : memory limit for distances, in addition to that.
    random_state : which pictures are sampled for the search and as landmarks, if not all are used.

    Attributes
    ----------
    coefficients_ : landmarks × tags. ``means_``: share of pictures with each tag. ``ridge_``,
        ``view_weights_``: the values chosen. ``loo_accuracy_``: their leave-one-out accuracy on all pictures.
    leverages_ : h of each training picture, the derivative of its score by its own target.
    constants_ : 1̂, the score of each training picture if all targets were 1.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> ridge = KernelRidge().fit(sample.bags[:100])
    >>> bool(ridge.score(sample.bags[100:]) > 0.6)
    True
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        **PictureLearner.SCHEMA,
        "coefficients_": Array(("references", "tags")),
        "means_": Array(("tags",), 0, 1),
        "ridge_": Number(0, 1e60),
        "loo_accuracy_": Number(0, 1),
        "leverages_": Array(("pictures",)),
        "constants_": Array(("pictures",)),
    }
    storable_as_expert = True
    coefficients_: Floats
    means_: Floats
    ridge_: float
    loo_accuracy_: float
    leverages_: Floats
    constants_: Floats
    _side_by_side: Floats | None
    _half_lengths: Floats | None

    def __init__(
        self,
        *,
        weights: str = "learnt",
        distance: str = "hellinger",
        max_search: int = 1500,
        max_landmarks: int = 10_000,
        memory_mb: float = 512.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.weights = weights
        self.distance = distance
        self.max_search = max_search
        self.max_landmarks = max_landmarks
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _fit(self, bags: Bags) -> None:
        check_choice("weights", self.weights, ("equal", "learnt"))
        check_number("max_search", self.max_search, 2, 20_000, whole=True)
        check_number("max_landmarks", self.max_landmarks, 2, 10**6, whole=True)
        reference, tags = self._describe(bags), bags.captions
        rng = check_random_state(self.random_state)
        searched = _sample_rows(len(reference), self.max_search, rng)
        weights, ridge = self._search(reference, tags, searched)
        landmarks = _sample_rows(len(reference), self.max_landmarks, rng)
        fit = exact if len(landmarks) == len(reference) else by_landmarks
        ridges = [ridge * factor for factor in RIDGES_AROUND]
        fitted = fit(reference, tags, landmarks, weights, ridges)
        # In the memory order of a stored file: products in another order differ in their last bits
        self.coefficients_ = np.ascontiguousarray(fitted.coefficients)
        self.ridge_, self.loo_accuracy_, self.leverages_, self.constants_ = fitted[1:]
        self.means_ = _means(tags)
        self._keep(
            ReferenceSet(
                taken(reference.views, landmarks), reference.scales, self.distance, reference.memory
            ),
            weights,
        )
        self._prepare()

    def _search(self, reference: ReferenceSet, tags: Counts, rows: Ints) -> tuple[Floats, float]:
        """Return the best view weights and ridge on these pictures only."""
        n_views = len(reference.views)
        part = ReferenceSet(
            taken(reference.views, rows), reference.scales, reference.distance, reference.memory
        )
        apart, truth = part.between(part.views).astype(np.float32), csr_array(tags[rows])
        # Single precision costs half and is sufficient to choose settings.
        centred: Any = (truth.toarray() - _means(tags)).astype(np.float32)
        tried: dict[tuple[float, ...], float] = {}

        def value(logs: Floats) -> float:
            if np.abs(logs).max() > LOG_RANGE:
                return -np.inf
            key = tuple(logs)
            if key not in tried:
                kernel = np.exp(-np.tensordot((2.0 ** logs[:-1]).astype(np.float32), apart, axes=1))
                scores = left_out(kernel, centred, 2.0 ** logs[-1])[1] + _means(tags)
                tried[key] = accuracy(scores, truth)
            return tried[key]

        directions = [np.append(np.ones(n_views), 0.0), np.append(np.zeros(n_views), 1.0)]
        if n_views > 1 and self.weights == "learnt":
            directions += list(np.eye(n_views + 1)[:-1])
        start = np.append(np.full(n_views, np.log2(START_WEIGHT)), np.log2(START_RIDGE))
        best = pattern_search(value, start, np.array(directions), (1.0, 0.5))
        return 2.0 ** best[:-1], float(2.0 ** best[-1])

    def _scores(self, bags: Bags) -> Floats:
        out = np.empty((len(bags), len(self.means_)))
        for rows, apart in self._apart(bags):
            kernel = np.exp(np.negative(apart, out=apart), out=apart)
            out[rows] = kernel @ self.coefficients_ + self.means_
        return out

    def _apart(self, bags: Bags) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and their weighted distances to the landmarks, from what ``_prepare`` has kept."""
        if self._side_by_side is None:
            yield from self._combined(bags)
            return
        reference, weights = self._references(), self._weights()
        views = self._queries(reference, bags)
        for start in range(0, len(bags), step := reference.rows_at_once()):
            rows = slice(start, min(start + step, len(bags)))
            some = reference.side_by_side(taken(views, rows), weights)
            yield rows, half_squares(some, self._side_by_side, self._half_lengths)

    def _prepare(self) -> None:
        """Keep the landmarks' views side by side if they fit into memory: a batch then costs one product."""
        reference = self._references()
        width = sum(view.shape[1] for view in self.reference_.values())
        fits = self.distance == "hellinger" and 8.0 * len(reference) * width <= reference.memory
        self._side_by_side = reference.side_by_side(reference.views, self._weights()) if fits else None
        self._half_lengths = None if self._side_by_side is None else squares(self._side_by_side) / 2

    def _check_state(self) -> None:
        super()._check_state()
        self._prepare()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what ``_prepare`` makes of the rest."""
        state: dict[str, Any] = super().__getstate__()
        return {name: own for name, own in state.items() if name not in ("_side_by_side", "_half_lengths")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "reference_" in state:
            self._prepare()

    def left_out_scores(self, bags: Bags, rows: Ints, duplicates: Ints) -> Floats:
        """Return the scores of these training pictures without themselves and their duplicates.

        m duplicates have the same leverage h on each other's scores, so that the score is (ŷ − h Σy)/(1 − mh)
        with the sum over their tags y. The other pictures are centred on their own mean, because the global
        mean leaks the excluded label; then the global mean is added, a constant for all pictures.
        """
        _, group, sizes = np.unique(duplicates, return_inverse=True, return_counts=True)
        members = csr_array((np.ones(len(duplicates)), (group, np.arange(len(duplicates)))))
        own_group = group[rows]
        tags, m = (members @ bags.captions)[own_group].toarray(), sizes[own_group, None]
        leverage, constant = self.leverages_[rows, None], self.constants_[rows, None]
        left = np.maximum(1 - m * leverage, SMALLEST_LEFT)
        scores = (self._fitted(bags, rows) - leverage * tags) / left
        shift = (tags - m * self.means_) / np.maximum(len(bags) - m, 1)
        recentred: Floats = scores + (constant - m * leverage) / left * shift
        return recentred

    def _fitted(self, bags: Bags, rows: Ints) -> Floats:
        """Return the scores of training pictures; if all are landmarks, from (K + ridge·I)α = y − ȳ."""
        if len(self.coefficients_) == len(bags):
            return bags.captions[rows].toarray() - self.ridge_ * self.coefficients_[rows]
        return self._scores(bags[rows])


def _sample_rows(n: int, most: int, rng: Any) -> Ints:
    """Return at most ``most`` of n rows, sorted."""
    return np.arange(n) if n <= most else np.sort(rng.permutation(n)[:most])


def _means(tags: Counts) -> Floats:
    return np.bincount(tags.indices, minlength=tags.shape[1]) / tags.shape[0]


class Fit(NamedTuple):
    """A regression: coefficients, ridge, leave-one-out accuracy; h and 1̂ per picture."""

    coefficients: Floats
    ridge: float
    accuracy: float
    leverages: Floats
    constants: Floats


def left_out(kernel: Floats, targets: Floats, ridge: float) -> tuple[Floats, Floats, Floats]:
    """Return coefficients α, the leave-one-out predictions of the targets, and leverages.

    >>> left_out(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [3.0]]), 1.0)[1].round(9).tolist()
    [[0.75], [0.25]]
    """
    factor = kernel.copy()
    factor[np.diag_indices_from(factor)] += ridge
    factor = cholesky(factor, lower=True, overwrite_a=True)
    alpha = cho_solve((factor, True), targets)
    potri: Any = get_lapack_funcs("potri", (factor,))
    inverse, _ = potri(factor, lower=1)
    diagonal = np.diagonal(inverse)
    return alpha, targets - alpha / diagonal[:, None], 1 - ridge * diagonal


def _kernel(reference: ReferenceSet, landmarks: ReferenceSet, weights: Floats) -> Floats:
    out = np.empty((len(reference), len(landmarks)))
    for rows, apart in landmarks.weighted_blocks(reference.views, weights):
        out[rows] = np.exp(-apart)
    return out


def exact(
    reference: ReferenceSet, tags: Counts, landmarks: Ints, weights: Floats, ridges: Sequence[float]
) -> Fit:
    """Return the regression with the best of ``ridges``; all pictures are landmarks."""
    kernel, means = _kernel(reference, reference, weights), _means(tags)
    # The last target is 1 for all pictures: its fit gives the effect of a change of the mean.
    targets = np.column_stack([tags.toarray() - means, np.ones(len(reference))])
    best: Fit | None = None
    for ridge in ridges:
        alpha, scores, leverages = left_out(kernel, targets, ridge)
        reached = accuracy(scores[:, :-1] + means, tags)
        if best is None or reached > best.accuracy:
            best = Fit(alpha[:, :-1], ridge, reached, leverages, 1 - ridge * alpha[:, -1])
    if best is None:
        raise ValueError("at least one ridge is needed")
    return best


def by_landmarks(
    reference: ReferenceSet, tags: Counts, landmarks: Ints, weights: Floats, ridges: Sequence[float]
) -> Fit:
    """Return the regression with K ≈ K_nm K_mm⁻¹ K_mn: features φ = L⁻¹k of the landmarks' kernel LLᵀ.

    Two passes over the pictures, in blocks: sums of φφᵀ and φy, then leverages h = φᵀ(Σφφᵀ + ridge)⁻¹φ and
    leave-one-out scores y − (y − ŷ)/(1 − h).
    """
    marks = ReferenceSet(
        taken(reference.views, landmarks), reference.scales, reference.distance, reference.memory
    )
    own = _kernel(marks, marks, weights)
    own[np.diag_indices_from(own)] += JITTER
    root = cholesky(own, lower=True, overwrite_a=True)
    means = _means(tags)
    gram, sums = np.zeros((len(marks), len(marks))), np.zeros((len(marks), tags.shape[1] + 1))
    for _, phi, y in _features(reference, marks, tags, weights, root):
        gram += phi @ phi.T
        sums += phi @ np.column_stack([y - means, np.ones(len(y))])
    best: Fit | None = None
    for ridge in ridges:
        factor = cholesky(gram + ridge * np.eye(len(gram)), lower=True, overwrite_a=True)
        slopes = cho_solve((factor, True), sums)
        n_hits, leverages, constants = 0, np.empty(len(reference)), np.empty(len(reference))
        for rows, phi, y in _features(reference, marks, tags, weights, root):
            leverages[rows] = (solve_triangular(factor, phi, lower=True) ** 2).sum(axis=0)
            fitted, constants[rows] = phi.T @ slopes[:, :-1] + means, phi.T @ slopes[:, -1]
            scores = y - (y - fitted) / np.maximum(1 - leverages[rows], SMALLEST_LEFT)[:, None]
            n_hits += hits(scores, csr_array(tags[rows]))
        if best is None or grade(n_hits, tags) > best.accuracy:
            alpha = solve_triangular(root, slopes[:, :-1], lower=True, trans="T")
            best = Fit(alpha, ridge, grade(n_hits, tags), leverages, constants)
    if best is None:
        raise ValueError("at least one ridge is needed")
    return best


def _features(
    reference: ReferenceSet, marks: ReferenceSet, tags: Counts, weights: Floats, root: Floats
) -> Any:
    for rows, apart in marks.weighted_blocks(reference.views, weights):
        kernel = np.exp(-apart)
        yield rows, solve_triangular(root, kernel.T, lower=True), tags[rows].toarray()
