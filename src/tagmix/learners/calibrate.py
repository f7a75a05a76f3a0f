"""Calibration: from scores to probabilities, and to the tags above a threshold.

Everything is fitted to cross-validated scores, those of pictures that the model did not learn from: a
``TagLogistic`` over the scores, thresholds (``shown``), and a weight per tag for rankings in which rare tags
count.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats, Ints
from tagmix.evaluation.folds import grouped_folds
from tagmix.learners.logistic import TagLogistic, cross_fitted, fit_tag_logistic
from tagmix.learners.quality import TagQuality, quality_of
from tagmix.learners.rare_tags import rare_tag_weights_of
from tagmix.learners.shown import (
    SHOWN_PRECISION,
    Outcome,
    Shown,
    level_thresholds,
    outcome_of,
    precise_threshold,
    shown_tags,
    threshold_of,
)
from tagmix.learners.targets import Known

# Scores below this count as equal: exact zeros have no logarithm.
SMALLEST_SCORE = 1e-8
# Thresholds and weights are chosen on probabilities of two-fold cross-fitting.
FOLDS = 2


class Calibration(NamedTuple):
    """Probabilities of scores, thresholds, and weights by which rare tags count fully.

    ``thresholds`` has one value per tag, ``level_thresholds`` one per precision of 1 %, 2 %, …;
    ``outcome`` is what the rule showed on cross-validated pictures, ``quality`` the same and more per tag
    (None in older files).
    """

    logistic: TagLogistic
    thresholds: Floats
    rare_tag_weights: Floats
    level_thresholds: Floats
    outcome: Outcome
    quality: TagQuality | None = None

    def probabilities(self, features: Sequence[Floats]) -> Floats:
        """Return the probability that each picture has each tag."""
        return self.logistic.probabilities(features)

    def shown(self, p: Floats, precision: float | None = None) -> Shown:
        """Return the tags to show, pictures × tags, by the rule or at this expected precision."""
        return shown_tags(p, self.thresholds) if precision is None else p >= self.threshold(precision)

    def threshold(self, precision: float) -> float:
        """Return the threshold of a precision; ParameterError if the model does not reach it."""
        return threshold_of(precision, self.level_thresholds)


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
    thresholds = np.full(tags.shape[1], precise_threshold(SHOWN_PRECISION, p, tags, known))
    calibration = Calibration(
        fit_tag_logistic(features, tags, known),
        thresholds,
        rare_tag_weights_of(p, tags, seed, known),
        level_thresholds(p, tags, known),
        outcome_of(p, tags, thresholds, known),
        quality_of(p, tags, thresholds, known),
    )
    return calibration, p
