"""Calibration: from scores to probabilities, and to the tags above a threshold.

Everything is fitted to cross-validated scores, those of pictures that the model did not learn from: a
``TagLogistic`` over the scores, one threshold, and a weight per tag for rankings in which rare tags count.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats, Ints
from tagmix.evaluation.folds import grouped_folds
from tagmix.learners.logistic import TagLogistic, cross_fitted, fit_tag_logistic
from tagmix.learners.rare_tags import rare_tag_weights_of
from tagmix.learners.targets import Known, of_known

# Scores below this count as equal: exact zeros have no logarithm.
SMALLEST_SCORE = 1e-8
# Of the tags that are shown, at least this share is to be right.
SHOWN_PRECISION = 0.6
# Thresholds and weights are chosen on probabilities of two-fold cross-fitting.
FOLDS = 2


class Calibration(NamedTuple):
    """Probabilities of scores, the threshold of each tag, and weights by which rare tags count fully."""

    logistic: TagLogistic
    thresholds: Floats
    rare_tag_weights: Floats

    def probabilities(self, features: Sequence[Floats]) -> Floats:
        """Return the probability that each picture has each tag."""
        return self.logistic.probabilities(features)


def log_scores(scores: Floats) -> list[Floats]:
    """Return the one feature that positive scores are calibrated by."""
    return [np.log(np.maximum(scores, SMALLEST_SCORE))]


def fit_calibration(
    features: Sequence[Floats], tags: Floats, groups: Ints, seed: int, known: Known = None
) -> tuple[Calibration, Floats]:
    """Return the calibration of cross-validated features, pictures × tags each, and cross-fitted p.

    ``groups`` numbers the pictures, duplicates alike: no fold separates them. Pairs that are not ``known``
    get a p, but do not enter.
    """
    p = expit(cross_fitted(features, tags, grouped_folds(groups, FOLDS, seed), known))
    threshold = precise_threshold(SHOWN_PRECISION, p, tags, known)
    thresholds, weights = np.full(tags.shape[1], threshold), rare_tag_weights_of(p, tags, seed, known)
    return Calibration(fit_tag_logistic(features, tags, known), thresholds, weights), p


def precise_threshold(precision: float, p: Floats, tags: Floats, known: Known = None) -> float:
    """Return the threshold of best F1 among those at which this share of the shown tags is right.

    One for all tags: among all rules of a precision, one threshold over probabilities finds most right tags.
    Where no threshold is so precise, the highest. Unknown pairs are neither right nor wrong.

    >>> p = np.array([[0.9, 0.8, 0.5, 0.1]])
    >>> precise_threshold(0.6, p, np.array([[1.0, 0.0, 1.0, 0.0]]))
    0.5
    """
    flat, true = of_known(p, known), of_known(tags, known)
    order = np.argsort(-flat, kind="stable")
    levels, right = flat[order], np.cumsum(true[order])
    shown = np.arange(1, len(levels) + 1)
    last = np.append(np.diff(levels) < 0, True)  # equals are shown together
    precise = last & (right >= precision * shown)
    best = int(np.argmax(np.where(precise, right / (shown + true.sum()), -1.0)))  # the first if none is
    return float(levels[best])
