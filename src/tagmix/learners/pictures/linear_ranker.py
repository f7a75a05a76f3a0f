"""One-versus-rest logistic regression on whole pictures, all tags at once."""

from typing import ClassVar, NamedTuple

import numpy as np

from tagmix.arrays import Floats, is_sparse
from tagmix.bags import Bags
from tagmix.learners.linear import Features, Learnt, LinearLearner
from tagmix.learners.linear_solver import biases_only, logistic_loss, minimise, rates_of
from tagmix.learners.targets import targets_of

# Up to this many features, a rotation to their principal axes costs less than the steps it saves.
WIDEST = 4096
# Most cells of dense features: 512 MB.
LARGEST_DENSE = 2**26


class LinearRanker(LinearLearner):
    """Rank the tags of a picture by linear scores, one logistic regression per tag.

    The simplest discriminative method: without regions, tags independent. Features are the square roots of
    the shares of the picture's words (Hellinger map) and standardised embeddings, of regions and of whole
    pictures. All tags are fitted at once by one L-BFGS with separate steps per tag [1]_. Unknown tags do not
    enter the loss.

    Memory: pictures × features twice, up to 512 MB each, beyond which sparse features stay sparse; as
    much again per fold while the ridge is chosen; and 300 MB for the tags that are fitted together.

    Parameters
    ----------
    ridge : the weight of ½‖w‖² against the summed logistic loss (1/C of scikit-learn); None chooses it by
        cross-validated top-k accuracy.
    folds : number of folds to choose the ridge.
    tol : a tag has converged if its largest gradient is below this fraction of its number of pictures; None
        is 0.001.
    max_iter : largest number of steps; None is 200.
    random_state : the assignment of pictures to folds; nothing else is random.

    Attributes
    ----------
    weights_ : features and bias × tags. ``scaling_`` : mean and scale of each dense view.
    ridge_ : the ridge used. ``ridge_scores_`` : cross-validated accuracy of the values of ``grid`` tried.
    n_iter_ : steps of the slowest tag.

    References
    ----------
    .. [1] D. C. Liu and J. Nocedal. On the limited memory BFGS method for large scale optimization.
       Mathematical Programming 45 (1989).

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> bags = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng).bags
    >>> bool(LinearRanker().fit(bags[:100]).score(bags[100:]) > 0.6)
    True
    """

    whole_pictures: ClassVar[bool] = True
    reads_pictures: ClassVar[bool] = True

    storable_as_expert = True

    own_tol: ClassVar[float] = 0.001
    own_max_iter: ClassVar[int] = 200

    def _learn(self, bags: Bags, features: Features, ridge: float, start: Floats | None) -> Learnt:
        targets = targets_of(bags)
        loss, rates = logistic_loss(targets), rates_of(targets)
        weights = biases_only(features.width, rates) if start is None else start
        tol = self._tol * (1 + targets.y.sum(axis=0))
        if features.width > WIDEST or features.width * features.n_rows > LARGEST_DENSE:
            weights, n_iter = minimise(features, loss, weights, ridge, tol, self._max_iter)
            return weights, {"n_iter_": n_iter}
        if "axes" not in features.kept:  # the same for every ridge
            features.kept["axes"] = _principal_axes(features)
        axes: _Axes = features.kept["axes"]
        # Along principal axes the Hessian of a tag is nearly diagonal: its mean p(1 − p) times the spread.
        spread = np.append(axes.spread, len(bags))[:, None]
        inverse = 1 / (np.maximum(rates * (1 - rates), 1e-4) * spread + ridge)
        turned, n_iter = minimise(
            axes.features, loss, axes.turn(weights), ridge, tol, self._max_iter, inverse
        )
        return axes.turn_back(turned), {"n_iter_": n_iter}

    def _rank(self, bags: Bags, scores: Floats, biases: Floats) -> Floats:
        bare = np.diff(bags.offsets) == 0
        return np.where(bare[:, None], biases, scores)


class _Axes(NamedTuple):
    """Centred features in the basis of their principal axes: the same problem in other coordinates."""

    features: Features
    mean: Floats
    axes: Floats
    spread: Floats

    def turn(self, weights: Floats) -> Floats:
        bias = weights[-1:] + self.mean @ weights[:-1]
        return np.vstack([self.axes.T @ weights[:-1], bias])

    def turn_back(self, weights: Floats) -> Floats:
        own = self.axes @ weights[:-1]
        return np.vstack([own, weights[-1:] - self.mean @ own])


def _principal_axes(features: Features) -> _Axes:
    """Return the principal axes, from the Gram matrix of rows or of columns, whichever is smaller."""
    matrix = np.hstack([b.toarray() if is_sparse(b) else b for b in features.blocks])
    mean = matrix.mean(axis=0)
    matrix -= mean
    wide = matrix.shape[0] < matrix.shape[1]
    spread, vectors = np.linalg.eigh(matrix @ matrix.T if wide else matrix.T @ matrix)
    # Axes without variance get no weight.
    varying = spread > 1e-10 * max(spread[-1], 1e-300)
    spread, vectors = spread[varying], vectors[:, varying]
    axes = matrix.T @ (vectors / np.sqrt(spread)) if wide else vectors
    return _Axes(Features([matrix @ axes]), mean, axes, spread)
