"""KernelRidge: ridge regression of tags on a product of kernels, tuned by closed-form leave-one-out."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse import csr_array
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.search import pattern_search
from tagmix.learners.checks import check_choice, check_number
from tagmix.learners.pictures.base import PictureLearner, accuracy
from tagmix.learners.pictures.distances import ReferenceSet, half_squares, squares, taken
from tagmix.learners.pictures.knn import LOG_RANGE
from tagmix.learners.pictures.ridge_fits import SMALLEST_LEFT, Tagging, by_landmarks, exact, left_out
from tagmix.learners.schema import Array, Number
from tagmix.learners.targets import imputed_tags

# The ridge chosen on a sample is multiplied by these factors and chosen again on all pictures.
RIDGES_AROUND = (0.5, 1.0, 2.0)
# Start of the search: a kernel of 1/e at the median distance.
START_WEIGHT, START_RIDGE = 1.0, 0.5


class KernelRidge(PictureLearner):
    """Regress tags on exp(−Σ_v a_v d_v), with a_v and the ridge chosen by leave-one-out.

    Kernel ridge regression (Saunders, Gammerman and Vovk, "Ridge regression learning algorithm in dual
    variables", ICML 1998) on centred tags. The leave-one-out score has a closed form, y − α/diag(G⁻¹) with
    G = K + ridge·I and α = G⁻¹y (settings are chosen with the global mean of tags), so that choosing costs
    no refits. With more than ``max_landmarks`` pictures, this many are the basis of the regression (Nyström:
    Williams and Seeger, NIPS 2001), which is still fitted to all. The target of an unknown tag is the tag's
    mean over the pictures of which it is known, so that all tags share one factor; the accuracy by which
    settings are chosen leaves such pairs out.

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
    coefficients_ : landmarks × tags. ``means_``: share of (known) pictures with each tag. ``ridge_``,
        ``view_weights_``: the values chosen. ``loo_accuracy_``: their leave-one-out accuracy on all pictures.
    leverages_ : h of each training picture, the derivative of its score by its own target.
    constants_ : 1̂, the score of each training picture if all targets were 1; if some tags are unknown, per
        tag, if the known ones were 1 and the others 0.

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
        "constants_": Array(None),
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
        reference, tags = self._describe(bags), Tagging(bags.captions, bags.unknown)
        rng = check_random_state(self.random_state)
        searched = _sample_rows(len(reference), self.max_search, rng)
        # Hundreds of small factorisations: BLAS threads that wait for each other take longer than one alone.
        with threadpool_limits(1, user_api="blas"):
            weights, ridge = self._search(reference, tags, searched)
        landmarks = _sample_rows(len(reference), self.max_landmarks, rng)
        fit = exact if len(landmarks) == len(reference) else by_landmarks
        try:
            fitted = fit(reference, tags, landmarks, weights, self._ridges(ridge))
        except LinAlgError as error:
            raise BagsError(
                "distances between pictures must be precise enough for a kernel, and rounding errors exceed "
                "these: subtract their mean from embeddings that are far from 0."
            ) from error
        # In the memory order of a stored file: products in another order differ in their last bits
        self.coefficients_ = np.ascontiguousarray(fitted.coefficients)
        self.ridge_, self.loo_accuracy_, self.leverages_, self.constants_ = fitted[1:]
        self.means_ = tags.means()
        self._keep(
            ReferenceSet(
                taken(reference.views, landmarks), reference.scales, self.distance, reference.memory
            ),
            weights,
        )
        self._prepare()

    def _search(self, reference: ReferenceSet, tags: Tagging, rows: Ints) -> tuple[Floats, float]:
        """Return the best view weights and ridge on these pictures only."""
        n_views = len(reference.views)
        part = ReferenceSet(
            taken(reference.views, rows), reference.scales, reference.distance, reference.memory
        )
        apart, truth = part.between(part.views).astype(np.float32), tags.at(rows)
        # Single precision costs half and is sufficient to choose settings.
        centred: Any = (truth.targets(tags.means()) - tags.means()).astype(np.float32)
        tried: dict[tuple[float, ...], float] = {}

        def value(logs: Floats) -> float:
            if np.abs(logs).max() > LOG_RANGE:
                return -np.inf
            key = tuple(logs)
            if key not in tried:
                kernel = np.exp(-np.tensordot((2.0 ** logs[:-1]).astype(np.float32), apart, axes=1))
                try:
                    scores = left_out(kernel, centred, 2.0 ** logs[-1])[1] + tags.means()
                    tried[key] = accuracy(scores, *truth)
                except LinAlgError:  # rounding errors of the distances exceed the ridge
                    tried[key] = -np.inf
            return tried[key]

        directions = [np.append(np.ones(n_views), 0.0), np.append(np.zeros(n_views), 1.0)]
        if n_views > 1 and self.weights == "learnt":
            directions += list(np.eye(n_views + 1)[:-1])
        start = np.append(np.full(n_views, np.log2(START_WEIGHT)), np.log2(START_RIDGE))
        best = pattern_search(value, start, np.array(directions), (1.0, 0.5))
        return 2.0 ** best[:-1], float(2.0 ** best[-1])

    def _ridges(self, ridge: float) -> list[float]:
        """Return the ridges to choose from on all pictures, given the best one of a sample."""
        return [ridge * factor for factor in RIDGES_AROUND]

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
        per_picture = self.leverages_.shape
        if self.constants_.shape not in (per_picture, (*per_picture, len(self.tag_names_))):
            raise ValueError(f"constants_ must be one per picture or pair, got shape {self.constants_.shape}")
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
        mean leaks the excluded label; then the global mean is added, a constant for all pictures. Unknown
        pairs, whose targets are the mean, do not enter it.
        """
        _, group, sizes = np.unique(duplicates, return_inverse=True, return_counts=True)
        members = csr_array((np.ones(len(duplicates)), (group, np.arange(len(duplicates)))))
        own_group = group[rows]
        imputed = imputed_tags(bags.captions, bags.unknown)
        tags, m = (members @ imputed)[own_group].toarray(), sizes[own_group, None]
        leverage, constant = self.leverages_[rows, None], self.constants_[rows].reshape(len(rows), -1)
        left = np.maximum(1 - m * leverage, SMALLEST_LEFT)
        scores = (self._fitted(bags, rows) - leverage * tags) / left
        m_known: Any = m
        n_known: Any = len(bags)
        if bags.unknown is not None:
            m_known = m - (members @ bags.unknown)[own_group].toarray()
            n_known = len(bags) - np.bincount(bags.unknown.indices, minlength=bags.n_tags)
        shift = (tags - m * self.means_) / np.maximum(n_known - m_known, 1)
        recentred: Floats = scores + (constant - m_known * leverage) / left * shift
        return recentred

    def _fitted(self, bags: Bags, rows: Ints) -> Floats:
        """Return the scores of training pictures; if all are landmarks, from (K + ridge·I)α = y − ȳ."""
        if len(self.coefficients_) == len(bags):
            tags = imputed_tags(bags.captions, bags.unknown)
            return tags[rows].toarray() - self.ridge_ * self.coefficients_[rows]
        return self._scores(bags[rows])


def _sample_rows(n: int, most: int, rng: Any) -> Ints:
    """Return at most ``most`` of n rows, sorted."""
    return np.arange(n) if n <= most else np.sort(rng.permutation(n)[:most])
