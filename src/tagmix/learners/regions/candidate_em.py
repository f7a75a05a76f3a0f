"""A softmax over regions whose tag is one of their picture's: learning with candidate sets by EM."""

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

# Steps of L-BFGS in one M-step: it need not be solved, only be better than before.
STEPS = 10
# Largest gradients of the mean loss at which the first M-step is solved, and a later one has nothing to do.
SETTLED, FLAT = 1e-4, 1e-8


class CandidateEM(SoftmaxRegions):
    """Learn which tag of its picture each region has, by EM over a multinomial logistic regression.

    The method is that of [1]_.
    The likelihood of a region is the probability that its tag is in the caption, Σ_{c ∈ Y} p(c | x).
    E-step: q(c) ∝ p(c | x)·[c ∈ Y]. M-step: multinomial logistic regression towards q with a ridge, a few
    steps of L-BFGS from where it was (a generalised EM; the first M-step, towards equal shares, is solved: it
    is ``NaiveRegions``). The penalised likelihood never falls. A picture's tags are ranked by the mean of
    p(tag | region) over its regions. Nothing asks that every tag of a caption is used, so frequent tags may
    take the regions of rare ones that come with them.

    Memory: the features of the regions, 32 MB a shard of scores, and features × tags some twenty times.

    Parameters
    ----------
    ridge : the weight of ½‖w‖² against the summed loss of the regions; None chooses it by the top-k accuracy
        of held-out pictures.
    folds : how many parts the training pictures are held out in to choose the ridge.
    tol : stop when an iteration of EM gains less than this share of the objective.
    max_iter : iterations of EM at most.
    random_state : how pictures are dealt to the folds; nothing else is drawn.

    Attributes
    ----------
    weights_ : features and bias × tags. ``scaling_`` : mean and scale of each dense view.
    ridge_ : the ridge used. ``ridge_scores_`` : held-out accuracy of those of ``grid`` that were tried.
    history_ : the penalised log-likelihood after each M-step; it never falls. ``n_iter_`` : their number.

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

    def __init__(
        self,
        *,
        ridge: float | None = None,
        folds: int = 3,
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.ridge = ridge
        self.folds = folds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, bags: Bags, features: Features, ridge: float, start: Floats | None) -> Learnt:
        # The first M-step is convex: a start from another ridge saves time and leads to the same place.
        targets = shared_tags(bags)
        weights = first_weights(bags, features) if start is None else start
        weights, _ = fit_softmax(features, targets, weights, ridge, SETTLED, 200)
        history = []
        for _ in range(self.max_iter):
            targets, likelihood = posterior(features, targets, weights)
            history.append(likelihood - ridge / 2 * float((weights[:-1] ** 2).sum()))
            if len(history) > 1 and history[-1] - history[-2] < self.tol * abs(history[-2]):
                break
            weights, _ = fit_softmax(features, targets, weights, ridge, FLAT, STEPS)
        return weights, {"n_iter_": len(history), "history_": np.array(history)}


def posterior(features: Features, candidates: Any, weights: Floats) -> tuple[Any, float]:
    """Return q(tag of each region), sparse over its candidates, and Σ log p(the tag is a candidate).

    ``candidates`` is a CSR matrix regions × tags, at least one tag a region; its values do not matter.
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
