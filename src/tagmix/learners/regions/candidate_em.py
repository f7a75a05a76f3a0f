"""CandidateEM: a softmax over regions, learnt by EM with the caption as the set of candidate tags."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.learners.linear import Features, Learnt
from tagmix.learners.regions.naive_regions import (
    SoftmaxRegions,
    first_weights,
    fit_softmax,
    shared_tags,
)
from tagmix.learners.schema import Array

# L-BFGS steps per M-step: generalised EM requires an improvement, not a maximum.
STEPS = 10
# Largest gradients of the mean loss at which the first M-step, and a later one, has converged.
SETTLED, FLAT = 1e-4, 1e-8


class CandidateEM(SoftmaxRegions):
    """Learn the tag of each region among those of its picture, by EM for multinomial logistic regression.

    The method is that of [1]_. The likelihood of a region is the probability that its tag is in the caption,
    Σ_{c ∈ Y} p(c | x).
    E-step: q(c) ∝ p(c | x)·[c ∈ Y]. M-step: multinomial logistic regression on q with a ridge, by a few
    steps of L-BFGS (generalised EM; the first M-step, with equal shares as targets, runs to convergence: it
    is ``NaiveRegions``). The penalised likelihood never decreases. Tags are ranked by the mean of
    p(tag | region) over the regions of a picture. No term requires every tag of a caption to be used, so
    frequent tags may take the regions of rare tags that occur with them.

    Memory: the features of the regions, 32 MB per shard of scores, and some twenty arrays of features × tags.

    Parameters
    ----------
    ridge : the weight of ½‖w‖² against the summed loss of the regions; None chooses it by
        cross-validated top-k accuracy.
    folds : number of folds to choose the ridge.
    tol : stop if an iteration of EM improves the objective by less than this fraction; None is 0.001.
    max_iter : largest number of iterations of EM; None is 100.
    random_state : the assignment of pictures to folds; nothing else is random.

    Attributes
    ----------
    weights_ : features and bias × tags. ``scaling_`` : mean and scale of each dense view.
    ridge_ : the ridge used. ``ridge_scores_`` : cross-validated accuracy of the values of ``grid`` tried.
    history_ : the penalised log-likelihood after each M-step; it never decreases. ``n_iter_`` : their number.

    References
    ----------
    .. [1] R. Jin and Z. Ghahramani. Learning with multiple labels. NIPS 15 (2002).

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> learner = CandidateEM(ridge=1.0).fit(sample.bags[:100])
    >>> bool(np.all(np.diff(learner.history_) >= 0))
    True
    >>> learner.top_region_tags(sample.bags[:1], captioned=True).shape
    (4, 1)
    """

    SCHEMA: ClassVar[dict[str, Any]] = {**SoftmaxRegions.SCHEMA, "history_": Array(("iterations",))}

    own_tol: ClassVar[float] = 0.001
    own_max_iter: ClassVar[int] = 100

    def _learn(self, bags: Bags, features: Features, ridge: float, start: Floats | None) -> Learnt:
        # The first M-step is convex: the weights of another ridge save time and lead to the same optimum.
        targets = shared_tags(bags)
        weights = first_weights(bags, features) if start is None else start
        weights, _ = fit_softmax(features, targets, weights, ridge, SETTLED, 200)
        history = []
        for _ in range(self._max_iter):
            targets, likelihood = posterior(features, targets, weights)
            history.append(likelihood - ridge / 2 * float((weights[:-1] ** 2).sum()))
            if len(history) > 1 and history[-1] - history[-2] < self._tol * abs(history[-2]):
                break
            weights, _ = fit_softmax(features, targets, weights, ridge, FLAT, STEPS)
        return weights, {"n_iter_": len(history), "history_": np.array(history)}


def posterior(features: Features, candidates: Any, weights: Floats) -> tuple[Any, float]:
    """Return q(tag of each region), sparse over its candidates, and Σ log p(the tag is a candidate).

    ``candidates`` is a CSR matrix regions × tags, at least one tag per region; its values are ignored.
    """
    q = np.empty(candidates.nnz)
    total = 0.0
    for rows in features.shards(weights.shape[1]):
        scores = features[rows].scores(weights)
        starts = candidates.indptr[rows.start : rows.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        region = np.repeat(np.arange(len(scores)), np.diff(starts))
        log_p = scores - logsumexp(scores, axis=1, keepdims=True)
        own = log_p[region, candidates.indices[entries]]
        top = np.maximum.reduceat(own, starts[:-1] - starts[0])
        within = top + np.log(np.add.reduceat(np.exp(own - top[region]), starts[:-1] - starts[0]))
        q[entries] = np.exp(own - within[region])
        total += float(within.sum())
    return csr_array((q, candidates.indices, candidates.indptr), shape=candidates.shape), total
