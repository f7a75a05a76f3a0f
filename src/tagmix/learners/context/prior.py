"""The context prior: π, the probability of each tag of a picture, by experts and the scorer of regions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.utils import check_random_state

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.folds import Fold, duplicate_groups, grouped_folds
from tagmix.evaluation.metrics import default_k, top_k_accuracy
from tagmix.learners.base import TagLearner
from tagmix.learners.context.expected import ExpectedTags, Training
from tagmix.learners.context.experts import cross_validated_scores, experts_of
from tagmix.learners.logistic import TagLogistic, cross_fitted, fit_tag_logistic
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.learners.targets import Targets, targets_of

# Folds of all cross-fitting here: scorers, pools, κ. Of many pictures a half is enough to learn from.
FOLDS, FOLDS_OF_MANY, MANY = 3, 2, 2000
# Scores below this count as equal in logarithms: least squares gives zeros and less.
SMALLEST_SCORE = 1e-3
# Cross-validated scores that a pool is fitted to, at most: 8 bytes each, about six arrays per expert.
MOST_SCORES = 20_000_000


class ContextPrior(NamedTuple):
    """Fitted experts, the scorer of regions, and the pool of their scores.

    logit π_nc = b_c + Σ_e (a_ec log g_nce + a'_ec g_nce) + a_c s_nc, g the scores of the experts, s those of
    the scorer. The logarithm separates small scores of experts, the score itself large ones.
    """

    experts: tuple[TagLearner, ...]
    scorer: RegionScorer
    pool: TagLogistic

    def logits(self, bags: Bags) -> Floats:
        """Return logit π, pictures × tags."""
        scores: list[Floats] = []
        of_scorer = self.scorer.decision_scores(bags)
        for expert in self.experts:
            reads_tags = isinstance(expert, ExpectedTags)
            own = expert.bags_of(pool_features(scores, of_scorer)) if reads_tags else bags
            scores.append(expert.decision_scores(own))
        return self.pool.logits(pool_features(scores, of_scorer))

    def fits_together(self) -> bool:
        """Return whether each pool has two slopes for every expert that it reads, and one more."""
        last, n = self.experts[-1], len(self.experts)
        first = len(last.first_pool_.slopes) if isinstance(last, ExpectedTags) else 2 * n - 1
        return len(self.pool.slopes) == 2 * n + 1 and first == 2 * n - 1


class PriorOfTraining(NamedTuple):
    """Training pictures and logit π of each, by experts, scorers and a pool that were fitted without it.

    ``rows`` are the pictures that the pool was fitted to, in order: all, or as many as memory allows.
    ``logits`` are theirs, ``log_pi`` is log π of all training pictures. ``groups`` numbers the training
    pictures, duplicates alike, and ``scorers`` holds the scorer of each of the ``folds``. What experts choose
    beforehand (widths, ridges) they choose on all pictures. ``features`` are what the pool was fitted to.
    """

    rows: Ints
    logits: Floats
    log_pi: Floats
    groups: Ints
    folds: list[Fold]
    scorers: list[RegionScorer]
    targets: Targets
    features: list[Floats]


class Learnt(NamedTuple):
    """What a fit leaves beside the model: its pictures, their cross-validated scores, and its seed."""

    bags: Bags
    of_training: PriorOfTraining
    seed: int


def n_folds(n_pictures: int) -> int:
    """Return into how many folds pictures are split, wherever ``ContextEMM`` cross-validates."""
    most = FOLDS if n_pictures <= MANY else FOLDS_OF_MANY
    return max(2, min(most, n_pictures // 2))


def fit_experts(context: Any, bags: Bags, seed: int) -> tuple[TagLearner, ...]:
    """Return the experts that ``context`` names, fitted."""
    if len(bags) < 2:
        raise BagsError(
            "a context is cross-validated and needs at least 2 pictures with tags and regions, got "
            f"{len(bags)}: add some, or use EMM, which has no context."
        )
    experts = experts_of(context, seed)
    # What reads the tags that others expect is fitted when these have been asked.
    return tuple(expert if isinstance(expert, ExpectedTags) else expert.fit(bags) for expert in experts)


def fit_prior(
    experts: Sequence[TagLearner],
    scorer: RegionScorer,
    bags: Bags,
    seed: int,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[ContextPrior, PriorOfTraining]:
    """Return the prior, and what it would have given to training pictures had it not seen them."""
    groups = duplicate_groups(bags)
    folds = grouped_folds(groups, n_folds(len(bags)), seed)
    scorer = clone(scorer)
    scorers, held = scorer.fit_with_folds(bags, folds, report)
    if not groups.any():
        held[:] = 0.0  # all pictures are alike: a score would tell a picture's tags by what it lacks
    most = max(2 * FOLDS, int(MOST_SCORES / (bags.n_tags * (len(experts) + 1))))
    rows = np.sort(check_random_state(seed).permutation(len(bags))[:most]).astype(np.int64)
    own = bags if len(rows) == len(bags) else bags[rows]
    targets = targets_of(own)
    own_folds = grouped_folds(groups[rows], n_folds(len(rows)), seed)
    plain = [expert for expert in experts if not isinstance(expert, ExpectedTags)]
    scores = _left_out(plain, bags, rows, seed, groups)
    for expert in experts[len(plain) :]:
        told = Training(pool_features(scores, held[rows]), own, *targets, own_folds, groups[rows])
        scores.append(expert.learn_from(told))
    features = pool_features(scores, held[rows])
    logits = cross_fitted(features, targets.y, own_folds, targets.known)
    prior = ContextPrior(tuple(experts), scorer, fit_tag_logistic(features, *targets))
    log_pi = _log_pi(prior, bags, rows, logits, held)
    return prior, PriorOfTraining(rows, logits, log_pi, groups, folds, scorers, targets, features)


def _left_out(experts: Sequence[TagLearner], bags: Bags, rows: Ints, seed: int, groups: Ints) -> list[Floats]:
    """Return each expert's scores of these pictures without them."""
    if groups.any():
        return [cross_validated_scores(expert, bags, rows, seed, groups) for expert in experts]
    # All pictures are alike: no expert can say anything, and none could be left out.
    return [np.zeros((len(rows), bags.n_tags)) for _ in experts]


def _log_pi(prior: ContextPrior, bags: Bags, rows: Ints, logits: Floats, held: Floats) -> Floats:
    """Return log π of all training pictures; those the pool was not fitted to get the scorer's part alone."""
    if len(rows) == len(bags):
        log_pi: Floats = log_expit(logits)
        return log_pi
    out = log_expit(held)
    out[rows] = log_expit(logits)
    return out


def pool_features(scores: Sequence[Floats], scorer: Floats) -> list[Floats]:
    """Return what a pool reads: two features of each expert's scores, and the scorer's log odds."""
    return [feature for g in scores for feature in (np.log(np.maximum(g, SMALLEST_SCORE)), g)] + [scorer]


def frequency_accuracy(truth: Floats, unknown: Counts | None = None) -> float:
    """Return the top-k accuracy of ranking by tag frequency, each picture's own caption left out.

    >>> round(frequency_accuracy(np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]])), 3)
    0.4
    """
    return top_k_accuracy(truth, truth.sum(axis=0) - truth, default_k(truth.shape[1]), unknown)
