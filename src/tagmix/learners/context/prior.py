"""The context prior: π, the probability of each tag of a picture before its regions are looked at."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.folds import duplicate_groups, grouped_folds
from tagmix.learners.base import TagLearner
from tagmix.learners.context.experts import cross_validated_scores, experts_of
from tagmix.learners.logistic import TagLogistic, cross_fitted, fit_tag_logistic

# Folds of all cross-fitting here: pools, region models, κ. Of many pictures, halves teach as well. By two,
# three and five folds κ differs with the seed as much as with their number (decision 13).
FOLDS, FOLDS_OF_MANY, MANY = 3, 2, 500
# Scores below this count as equal in logarithms: least squares gives zeros and less.
SMALLEST_SCORE = 1e-3
# Cross-validated scores that a pool is fitted to, at most: 8 bytes each, about six arrays per expert.
MOST_SCORES = 20_000_000


class ContextPrior(NamedTuple):
    """Fitted experts and the pool of their scores: logit π_nc = b_c + Σ_e (a_ec log g_nce + a'_ec g_nce).

    The logarithm tells small scores apart, the score itself large ones.
    """

    experts: tuple[TagLearner, ...]
    pool: TagLogistic

    def logits(self, bags: Bags) -> Floats:
        """Return logit π, pictures × tags."""
        return self.pool.logits(_features([expert.decision_scores(bags) for expert in self.experts]))


class PriorOfTraining(NamedTuple):
    """Training pictures and logit π of each, by experts and a pool that were fitted without it.

    ``rows`` are the pictures, in order: all, or as many as memory allows. ``groups`` numbers all training
    pictures, duplicates alike. What experts choose beforehand (widths, ridges) they choose on all pictures.
    """

    rows: Ints
    logits: Floats
    groups: Ints


def n_folds(n_pictures: int) -> int:
    """Return into how many folds pictures are split, wherever ``ContextEMM`` cross-validates."""
    return FOLDS_OF_MANY if n_pictures > MANY else max(2, min(FOLDS, n_pictures // 2))


def fit_experts(context: Any, bags: Bags, seed: int) -> tuple[TagLearner, ...]:
    """Return the experts that ``context`` names, fitted."""
    if len(bags) < 2:
        raise BagsError(
            "a context is cross-validated and needs at least 2 pictures with tags and regions, got "
            f"{len(bags)}: add some, or use EMM, which has no context."
        )
    return tuple(expert.fit(bags) for expert in experts_of(context, seed))


def fit_prior(experts: Sequence[TagLearner], bags: Bags, seed: int) -> tuple[ContextPrior, PriorOfTraining]:
    """Return the prior, and what it would have given to training pictures had it not seen them."""
    most = max(2 * FOLDS, int(MOST_SCORES / (bags.n_tags * len(experts))))
    rng = check_random_state(seed)
    rows = np.sort(rng.permutation(len(bags))[:most]).astype(np.int64)
    groups = duplicate_groups(bags)
    if groups.any():
        scores = [cross_validated_scores(expert, bags, rows, seed, groups) for expert in experts]
    else:  # all pictures are alike: no expert can say anything, and none could be left out
        scores = [np.zeros((len(rows), bags.n_tags)) for _ in experts]
        groups = np.arange(len(bags))
    features, truth = _features(scores), bags[rows].captions.toarray().astype(np.float64)
    logits = cross_fitted(features, truth, grouped_folds(groups[rows], n_folds(len(rows)), seed))
    return ContextPrior(tuple(experts), fit_tag_logistic(features, truth)), PriorOfTraining(
        rows, logits, groups
    )


def _features(scores: Sequence[Floats]) -> list[Floats]:
    return [feature for g in scores for feature in (np.log(np.maximum(g, SMALLEST_SCORE)), g)]
