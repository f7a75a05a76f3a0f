"""Base of the linear learners: features of regions and of pictures, and a cross-validated ridge.

Counts become the square roots of their shares (the Hellinger map: the dot product of two regions is then the
Bhattacharyya coefficient of their words), embeddings are standardised. In both cases the mean squared norm
of a view is about 1, so that one ridge suits all views.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.model_selection import KFold

from tagmix.arrays import Floats, Ints, centre_and_spread, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.metrics import default_k, top_k_accuracy
from tagmix.learners.base import TagLearner
from tagmix.learners.checks import check_number
from tagmix.learners.schema import Array, ByName, Number
from tagmix.learners.whole_pictures import WHOLE, histograms, picture_views, pooled_views

# A denser block of counts is multiplied faster as a dense array, which takes at most three times its memory.
FULL = 0.2
# Most cells of one array of scores: 32 MB.
CELLS = 2**22
# The ridge if there are too few pictures for cross-validation.
USUAL_RIDGE = 1.0
LARGEST = 1e9


class Features:
    """Feature rows in blocks, one per view, sparse or dense; weights have one more row, the bias.

    ``kept`` caches quantities derived from the features.
    """

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = tuple(blocks)
        self.n_rows = int(self.blocks[0].shape[0])
        self.width = sum(int(block.shape[1]) for block in self.blocks)
        self.kept: dict[str, Any] = {}

    def scores(self, weights: Floats) -> Floats:
        """Return rows × columns: features times weights, plus the bias, as precise as the features."""
        weights = weights.astype(self.blocks[0].dtype, copy=False)
        out = np.repeat(weights[-1:], self.n_rows, axis=0)
        start = 0
        for block in self.blocks:
            stop = start + block.shape[1]
            out += block @ weights[start:stop]
            start = stop
        return out

    def pull(self, residual: Floats) -> Floats:
        """Return the gradient over weights and biases, given that over the scores."""
        parts = [np.asarray(block.T @ residual) for block in self.blocks]
        return np.vstack([*parts, residual.sum(axis=0, keepdims=True, dtype=np.float64)])

    def __getitem__(self, rows: Any) -> "Features":
        if isinstance(rows, slice) and rows == slice(0, self.n_rows):
            return self
        return Features([block[rows] for block in self.blocks])

    def astype(self, kind: Any) -> "Features":
        """Return the features as numbers of this type."""
        return Features([block.astype(kind, copy=False) for block in self.blocks])

    def stacked(self, below: "Features") -> "Features":
        """Return these rows and those of other features of the same views below them."""
        return Features([stack_rows(*pair) for pair in zip(self.blocks, below.blocks, strict=True)])

    def shards(self, n_columns: int) -> Iterator[slice]:
        """Yield slices of rows whose scores take at most 32 MB."""
        size = max(1, CELLS // max(1, n_columns))
        for start in range(0, self.n_rows, size):
            yield slice(start, min(start + size, self.n_rows))


def stack_rows(above: Any, below: Any) -> Any:
    """Return the rows of both blocks, dense unless both are sparse."""
    if is_sparse(above) and is_sparse(below):
        return csr_array(vstack([above, below], format="csr"))
    return np.vstack([block.toarray() if is_sparse(block) else block for block in (above, below)])


def hellinger(counts: Any) -> Any:
    """Return the square roots of each row's shares, rows of norm 1; a row without words stays empty.

    The result is dense if more than a fifth of its cells are nonzero.

    >>> from scipy.sparse import csr_array
    >>> hellinger(csr_array(np.array([[9, 16], [0, 0]]))).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    roots = histograms(counts)
    return roots.toarray() if roots.nnz > FULL * math.prod(roots.shape) else roots


def scaling_of(views: dict[str, Any]) -> dict[str, Floats]:
    """Return mean and scale (2 × dimensions) of each dense view; constant dimensions are not scaled."""
    scaling = {}
    for name, view in views.items():
        if not is_sparse(view):
            centre, spread = centre_and_spread(view)
            scale = np.where(spread > 0, spread, 1.0) * math.sqrt(max(1, view.shape[1]))
            scaling[name] = np.vstack([centre, scale])
    return scaling


def features_of(views: dict[str, Any], scaling: dict[str, Floats]) -> Features:
    """Return the features of these rows: counts by ``hellinger``, embeddings by ``scaling``."""
    blocks = []
    for name, view in views.items():
        if is_sparse(view) == (name in scaling):
            kinds = ("dense floats", "word counts") if name in scaling else ("word counts", "dense floats")
            raise BagsError(
                f"the learner was fitted with {kinds[0]} in view {name!r}, these bags have {kinds[1]}: "
                "describe them as the training pictures were."
            )
        mean, scale = scaling.get(name, (0.0, 1.0))
        blocks.append(hellinger(view) if is_sparse(view) else (view - mean) / scale)
    return Features(blocks)


# Weights, and further fitted attributes by name.
Learnt: TypeAlias = tuple[Floats, dict[str, Any]]


class LinearLearner(TagLearner):
    """A linear learner with a cross-validated ridge; subclasses define ``_learn`` and ``_rank``.

    ``whole_pictures``: whether the rows of the features are pictures or regions.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        "weights_": Array(("features + bias", "tags")),
        "scaling_": ByName(Array(None)),
        "ridge_": Number(0, 1e60),
        "ridge_scores_": Array(("ridges?",), 0, 1),
        "n_iter_": Number(0, 10**9, whole=True),
    }

    reads_dense: ClassVar[bool] = True
    whole_pictures: ClassVar[bool] = False
    # From strong to weak: each fit starts from the weights of the previous one.
    grid: ClassVar[tuple[float, ...]] = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)

    # Where ``tol`` and ``max_iter`` are None.
    own_tol: ClassVar[float] = 1e-3
    own_max_iter: ClassVar[int] = 100

    def __init__(
        self,
        *,
        ridge: float | None = None,
        folds: int = 3,
        tol: float | None = None,
        max_iter: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.ridge = ridge
        self.folds = folds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @property
    def _tol(self) -> float:
        return self.own_tol if self.tol is None else self.tol

    @property
    def _max_iter(self) -> int:
        return self.own_max_iter if self.max_iter is None else self.max_iter

    @abstractmethod
    def _learn(self, bags: Bags, features: Features, ridge: float, start: Floats | None) -> Learnt:
        """Return the weights (features and bias × tags); ``start``: the weights for a stronger ridge."""

    @abstractmethod
    def _rank(self, bags: Bags, scores: Floats, biases: Floats) -> Floats:
        """Return pictures × tags from the scores of feature rows; pictures without regions get the biases."""

    def _views(self, bags: Bags) -> dict[str, Any]:
        return pooled_views(bags) if self.whole_pictures else bags.views

    def _features(self, bags: Bags) -> Features:
        """Return the features of new bags, in the order of the fitted views."""
        views = self._views(bags)
        return features_of({name: views[name] for name in self._widths()}, self.scaling_)

    def _widths(self) -> dict[str, int]:
        """Return the width of every view read by ``fit``; for views of whole pictures, from their scaling."""
        whole = {name: scaling.shape[1] for name, scaling in self.scaling_.items()}
        return {**self.widths_, **{name: n for name, n in whole.items() if name not in self.widths_}}

    def _fit(self, bags: Bags) -> None:
        self._check_settings()
        ridge, accuracies = self._choose_ridge(bags)
        views = self._views(bags)
        scaling = scaling_of(views)
        weights, attributes = self._learn(bags, features_of(views, scaling), ridge, None)
        self.ridge_, self.ridge_scores_, self.scaling_, self.weights_ = ridge, accuracies, scaling, weights
        for name, value in attributes.items():
            setattr(self, name, value)

    def _choose_ridge(self, bags: Bags) -> tuple[float, Floats]:
        """Return the ridge with the best cross-validated accuracy, and the accuracy of each one tried.

        The search goes from strong to weak and stops at the first loss: weaker ridges need the most steps.
        """
        if self.ridge is not None:
            return float(self.ridge), np.zeros(0)
        if len(bags) < 2 * self.folds:
            return USUAL_RIDGE, np.zeros(0)
        splits = KFold(self.folds, shuffle=True, random_state=self.random_state).split(np.arange(len(bags)))
        paths = [(test, self._path(bags[train], bags[test])) for train, test in splits]
        accuracies: list[float] = []
        scores = np.empty((len(bags), bags.n_tags))
        for _ in self.grid:
            for test, path in paths:
                scores[test] = next(path)
            accuracies.append(top_k_accuracy(bags.tags, scores, default_k(bags.n_tags), bags.unknown))
            if accuracies[-1] < max(accuracies):
                break
        return self.grid[int(np.argmax(accuracies))], np.array(accuracies)

    def _path(self, train: Bags, test: Bags) -> Iterator[Floats]:
        """Yield the scores of the test fold for each ridge of the grid."""
        views = self._views(train)
        scaling = scaling_of(views)
        features, test_features = features_of(views, scaling), features_of(self._views(test), scaling)
        weights = None
        for ridge in self.grid:
            weights, _ = self._learn(train, features, ridge, weights)
            yield self._rank(test, test_features.scores(weights), weights[-1])

    def _scores(self, bags: Bags) -> Floats:
        out = np.empty((len(bags), len(self.tag_names_)))
        for where in bags.shards(max(1, CELLS // len(self.tag_names_))):
            part = bags[where]
            scores = self._features(part).scores(self.weights_)
            out[where] = self._rank(part, scores, self.weights_[-1])
        return out

    def _checked(self, X: Any) -> Bags:
        bags = super()._checked(X)
        if self.whole_pictures:
            got = {name: view.shape[1] for name, view in picture_views(bags).items()}
            expected = {name: n for name, n in self._widths().items() if name not in self.widths_}
            if got != expected:
                raise BagsError(
                    f"the learner was fitted with the views {expected} of whole pictures, these bags have "
                    f"{got}: describe them as the training pictures were."
                )
        return bags

    def _check_settings(self) -> None:
        check_number("folds", self.folds, 2, 1000, whole=True)
        check_number("max_iter", self._max_iter, 1, 10**6, whole=True)
        check_number("tol", self._tol, 1e-12, 1.0)
        if self.ridge is not None:
            check_number(
                "ridge", self.ridge, 1 / LARGEST, LARGEST, way_out="None chooses it by cross-validation."
            )

    def _check_state(self) -> None:
        widths = self._widths()
        width = sum(widths.values()) + 1
        if self.weights_.shape != (width, len(self.tag_names_)):
            raise ValueError(f"weights_ must be {width} × {len(self.tag_names_)}, got {self.weights_.shape}")
        for name, scaling in self.scaling_.items():
            if name not in self.widths_ and not (self.whole_pictures and name.startswith(WHOLE)):
                raise ValueError(f"scaling_ names the view {name!r:.60}, which was not read")
            if scaling.shape != (2, widths[name]) or not (scaling[1] > 0).all():
                raise ValueError(f"scaling_ of view {name!r:.60} must be 2 × {widths[name]}, scales positive")


def picture_of(bags: Bags) -> Ints:
    """Return the index of each region's picture."""
    return np.repeat(np.arange(len(bags)), np.diff(bags.offsets))


def pooled(bags: Bags, values: Floats, by: np.ufunc, otherwise: Floats) -> Floats:
    """Reduce the regions of each picture with ``by``, pictures × columns; ``otherwise`` without regions.

    >>> bags = Bags(np.ones((3, 1), int), [0, 2, 2, 3])
    >>> pooled(bags, np.array([[1.0], [5.0], [2.0]]), np.maximum, np.array([7.0])).ravel().tolist()
    [5.0, 7.0, 2.0]
    """
    has_regions = np.diff(bags.offsets) > 0
    out = np.repeat(otherwise[None, :], len(bags), axis=0)
    if has_regions.any():
        out[has_regions] = by.reduceat(values, bags.offsets[:-1][has_regions], axis=0)
    return out
