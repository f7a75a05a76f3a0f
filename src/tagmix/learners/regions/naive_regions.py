"""NaiveRegions: every region gets all tags of its picture as labels."""

from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.learners.base import RegionLearner
from tagmix.learners.linear import (
    Features,
    Learnt,
    LinearLearner,
    picture_of,
    pooled,
)


class SoftmaxRegions(LinearLearner, RegionLearner):
    """p(tag | region) is a softmax over linear scores; pictures are scored by the mean over regions."""

    for_regions = True  # compared where the tags of regions are known

    def _rank(self, bags: Bags, scores: Floats, biases: Floats) -> Floats:
        sums = pooled(bags, softmax(scores, axis=1), np.add, softmax(biases))
        return sums / np.maximum(np.diff(bags.offsets), 1)[:, None]

    def _region_scores(self, bags: Bags) -> Floats:
        scores = self._features(bags).scores(self.weights_)
        return scores - logsumexp(scores, axis=1, keepdims=True)


class NaiveRegions(SoftmaxRegions):
    """Learn the tags of regions as if each region had an equal share of every tag of its picture.

    Multinomial logistic regression with the targets ``y/|Y|`` for each region of the picture: single-instance
    learning, the baseline that Ray and Craven [1]_ found hard to beat. A picture's tags are ranked by the
    mean of p(tag | region) over its regions, the expected share of the regions per tag.

    Memory: the features of the regions, 32 MB per shard of scores, and some twenty arrays of features × tags.

    Parameters
    ----------
    ridge : the weight of ½‖w‖² against the summed cross-entropy of the regions; None chooses it by
        cross-validated top-k accuracy.
    folds : number of folds to choose the ridge.
    tol : stop if the largest gradient of the mean loss is below this value; None is 0.0001.
    max_iter : largest number of L-BFGS steps; None is 200.
    random_state : the assignment of pictures to folds; nothing else is random.

    Attributes
    ----------
    weights_ : features and bias × tags. ``scaling_`` : mean and scale of each dense view.
    ridge_ : the ridge used. ``ridge_scores_`` : cross-validated accuracy of the values of ``grid`` tried.
    n_iter_ : steps taken.

    References
    ----------
    .. [1] S. Ray and M. Craven. Supervised versus multiple instance learning: an empirical comparison.
       ICML (2005).

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> learner = NaiveRegions(ridge=1.0).fit(sample.bags[:100])
    >>> bool(learner.score(sample.bags[100:]) > 0.6)
    True
    >>> learner.top_region_tags(sample.bags[:1], captioned=True).shape
    (4, 1)
    """

    own_tol: ClassVar[float] = 0.0001
    own_max_iter: ClassVar[int] = 200

    def _learn(self, bags: Bags, features: Features, ridge: float, start: Floats | None) -> Learnt:
        weights = first_weights(bags, features) if start is None else start
        weights, n_iter = fit_softmax(features, shared_tags(bags), weights, ridge, self._tol, self._max_iter)
        return weights, {"n_iter_": n_iter}


def shared_tags(bags: Bags) -> Any:
    """Return regions × tags, sparse: equal shares for the tags of the region's picture.

    >>> bags = Bags(np.ones((3, 2), int), [0, 2, 3], tags=[["sea", "sky"], ["sky"]])
    >>> shared_tags(bags).toarray().tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    """
    captions = bags.captions
    n_own = np.diff(captions.indptr)
    shares = csr_array((1 / np.repeat(n_own, n_own), captions.indices, captions.indptr), captions.shape)
    return shares[picture_of(bags)]


def first_weights(bags: Bags, features: Features) -> Floats:
    """Return weights of 0, with biases that predict the share of regions of each tag."""
    weights = np.zeros((features.width + 1, bags.n_tags))
    shares = np.asarray(shared_tags(bags).mean(axis=0)).ravel()
    weights[-1] = np.log(np.maximum(shares, 1e-4))
    return weights


def fit_softmax(
    features: Features, targets: Any, start: Floats, ridge: float, tol: float, max_iter: int
) -> tuple[Floats, int]:
    """Minimise −Σ targets·log softmax(scores) + ridge/2·‖w‖² by L-BFGS; biases are not penalised."""
    n = features.n_rows

    def objective(flat: Floats) -> tuple[float, Floats]:
        value, gradient = softmax_loss(features, targets, flat.reshape(start.shape), ridge)
        return value / n, gradient.ravel() / n

    options: Any = {
        "maxiter": max_iter,
        "maxfun": 2 * max_iter + 20,
        "gtol": tol,
        "ftol": 1e-12,
        "maxcor": 10,
    }
    optimum = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return optimum.x.reshape(start.shape), int(optimum.nit)


def softmax_loss(features: Features, targets: Any, weights: Floats, ridge: float) -> tuple[float, Floats]:
    """Return −Σ targets·log softmax(scores) + ridge/2·‖w‖² (without biases) and its gradient."""
    gradient = np.zeros_like(weights)
    gradient[:-1] = ridge * weights[:-1]
    value = ridge / 2 * float((weights[:-1] ** 2).sum())
    for rows in features.shards(weights.shape[1]):
        part, own = features[rows], targets[rows].toarray()
        scores = part.scores(weights)
        scores -= scores.max(axis=1, keepdims=True)
        value -= float((own * scores).sum())
        p = np.exp(scores, out=scores)
        total, held = p.sum(axis=1, keepdims=True), own.sum(axis=1, keepdims=True)
        value += float((held * np.log(total)).sum())
        p *= held / total
        gradient += part.pull(np.subtract(p, own, out=p))
    return value, gradient
