"""The context prior of a picture: π, the probability of each tag before its regions are looked at."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.folds import duplicate_groups, grouped_folds
from tagmix.learners.base import TagLearner
from tagmix.learners.context.experts import FOLDS, experts_of, held_out_scores
from tagmix.learners.context.pool import Pool, fit_pool

# Of many pictures, halves teach as well.
FOLDS_OF_MANY, MANY = 2, 2000
# Held-out scores that a pool is fitted on, at most: 8 bytes each, about six arrays for an expert.
MOST_SCORES = 20_000_000


class ContextPrior(NamedTuple):
    """Fitted experts and the pool of their scores."""

    experts: tuple[TagLearner, ...]
    pool: Pool

    def logits(self, bags: Bags) -> Floats:
        """Return logit π, pictures × tags."""
        return self.pool.logits([expert.decision_scores(bags) for expert in self.experts])


class HeldOut(NamedTuple):
    """Training pictures, in their order, and logit π of each by experts and a pool fitted without it.

    What experts chose beforehand (widths, ridges, the mean of tags) they chose on all pictures.

    ``duplicates`` numbers all training pictures, those described alike by one number: no fold parts them.
    """

    rows: Ints
    logits: Floats
    duplicates: Ints


def fit_prior(context: Any, bags: Bags, random_state: Any) -> tuple[ContextPrior, HeldOut]:
    """Return the prior learnt from these pictures, and what it would have said of them unseen."""
    if len(bags) < 2:
        raise BagsError(
            "a context is learnt on pictures held out in turn and needs at least 2 with tags and regions, "
            f"got {len(bags)}: add some, or set context to None."
        )
    rng = check_random_state(random_state)
    seed = int(rng.randint(2**31 - 1))
    experts = experts_of(context, seed)
    for expert in experts:
        expert.fit(bags)
    most = max(2 * FOLDS, int(MOST_SCORES / (bags.n_tags * len(experts))))
    rows = np.sort(rng.permutation(len(bags))[:most]).astype(np.int64)
    duplicates = duplicate_groups(bags)
    if duplicates.any():
        scores = [held_out_scores(expert, bags, rows, seed, duplicates) for expert in experts]
    else:  # all alike: nobody can say anything, and somebody must be left
        scores = [np.zeros((len(rows), bags.n_tags)) for _ in experts]
        duplicates = np.arange(len(bags))
    truth = bags[rows].captions.toarray().astype(np.float64)
    whole, logits = fit_pool(scores, truth), np.empty_like(truth)
    for train, test in grouped_folds(duplicates[rows], FOLDS_OF_MANY if len(rows) > MANY else FOLDS, seed):
        pool = fit_pool([score[train] for score in scores], truth[train])
        logits[test] = pool.logits([score[test] for score in scores])
    return ContextPrior(tuple(experts), whole), HeldOut(rows, logits, duplicates)
