"""Pool and calibration with shared coefficients that were chosen: each tag's own bias is solved again.

The slopes of all tags follow from how frequent a tag is (``learners.logistic``); these coefficients and the
isotonic curve stay. What belongs to one tag, its frequency and its bias ε, follows from the verdicts of now.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats, Ints
from tagmix.learners.isotonic import fit_isotonic
from tagmix.learners.logistic import (
    BIAS_PRECISION,
    TagLogistic,
    shared_coefficients,
    spread_of,
)
from tagmix.learners.targets import Targets, frequencies, of_known

# Newton's method ends at steps this small, where its error is their square.
MAX_ITER, SMALLEST = 60, 1e-9


class Shared(NamedTuple):
    """What all tags share: scales of features, coefficients, the place of a frequency, and the curve."""

    centres: Floats
    scales: Floats
    theta: Floats
    centre: float
    spread: float
    knots: Floats
    levels: Floats

    def of(self, features: Sequence[Floats], targets: Targets) -> TagLogistic:
        """Return the model of these pictures: slopes by the tags' frequencies, and each tag's own bias."""
        rows = self.theta @ self._design(targets)
        slopes = rows[1:] / self.scales[:, None]
        biases = rows[0] - self.centres @ slopes
        logits = np.tile(biases, (len(targets.y), 1))
        for slope, feature in zip(slopes, features, strict=True):
            logits += slope * feature
        own = own_biases(logits, targets)
        return TagLogistic(slopes, biases + own, self.knots, self.levels)

    def _design(self, targets: Targets) -> Floats:
        frequency = np.log(frequencies(*targets) + 1)
        return np.vstack([np.ones(len(frequency)), (frequency - self.centre) / self.spread])


def own_biases(logits: Floats, targets: Targets) -> Floats:
    """Return ε of each tag, the maximiser of its likelihood with these logits + ε and the prior of ε."""
    y, known = targets
    own = np.zeros(y.shape[1])
    for _ in range(MAX_ITER):
        p = expit(logits + own)
        lost, weight = (y - p, p * (1 - p)) if known is None else ((y - p) * known, p * (1 - p) * known)
        step = (lost.sum(axis=0) - BIAS_PRECISION * own) / (weight.sum(axis=0) + BIAS_PRECISION)
        own = own + np.clip(step, -1.0, 1.0)
        if np.abs(step).max(initial=0.0) < SMALLEST:
            break
    return own


def shared_of(features: Sequence[Floats], targets: Targets) -> Shared:
    """Return what ``fit_tag_logistic`` chooses for all tags together."""
    centres, scales, theta, _, linear = shared_coefficients(features, *targets)
    frequency = np.log(frequencies(*targets) + 1)
    curve = fit_isotonic(of_known(linear, targets.known), of_known(targets.y, targets.known))
    return Shared(centres, scales, theta, float(frequency.mean()), spread_of(frequency), *curve)


class Fitted(NamedTuple):
    """A model for new pictures, and the logits of each training picture by one that did not learn from it."""

    logistic: TagLogistic
    logits: Floats


def fitted(shared: Sequence[Shared], features: Sequence[Floats], targets: Targets, folds: Ints) -> Fitted:
    """Return the models with these shared parts: the first of all pictures, then one without each fold."""
    logits = np.empty_like(targets.y)
    for fold, own in enumerate(shared[1:]):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        model = own.of([feature[train] for feature in features], targets.of(train))
        logits[test] = model.logits([feature[test] for feature in features])
    return Fitted(shared[0].of(features, targets), logits)


def all_shared(features: Sequence[Floats], targets: Targets, folds: Ints) -> list[Shared]:
    """Return the shared parts of all pictures, then those without each fold."""
    rows = [np.flatnonzero(folds != fold) for fold in range(int(folds.max(initial=-1)) + 1)]
    without = [shared_of([feature[own] for feature in features], targets.of(own)) for own in rows]
    return [shared_of(features, targets), *without]
