"""Turn ranking scores into probabilities that mean what they say, and into few, right tags.

Fitted on scores of images that the model did not see: logit p = a_c·log score + b_c, with a slope and
a bias for each tag, held near those of all tags by a Gaussian prior (rare tags have little to say for
themselves; a tag whose scores say nothing gets a flat slope), then a monotone correction over all tags
together (isotonic), then a threshold a tag.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tagmix.arrays import Floats
from tagmix.evaluation.folds import Fold
from tagmix.learners.isotonic import fit_isotonic, isotonic_logits

FLOOR = 1e-8  # scores below count as equal: exact zeros have no logarithm
# A tag's threshold listens to all tags as if they were this many of its own. On sampled bags 20 gives
# a micro-F1 of .61, 100 of .63, 500 of .64, and one threshold for all tags .64 too.
PSEUDO_TAGS = 500.0
# Folds of calibrations that judge each other: what is learnt, half of the images would tell.
FOLDS = 2
GRID = np.linspace(0.02, 0.98, 97)
ROUNDS = 30
# How far a tag may lie from all tags, as a standard deviation: in units of the common slope, in nats.
SLOPE_SPREAD, BIAS_SPREAD = 0.5, 1.0


class Calibration(NamedTuple):
    """A slope and a bias over log scores a tag, the correction's knots, a threshold and an evening a tag.

    Ranked by probability × evening, rare tags count as much as frequent ones (see ``evening.py``).
    """

    slopes: Floats
    biases: Floats
    knots: Floats
    levels: Floats
    thresholds: Floats
    evening: Floats


def fit_calibration(scores: Floats, tags: Floats) -> Calibration:
    """Return the calibration of held-out scores (images × tags) against what was true."""
    x = np.log(np.maximum(scores, FLOOR))
    slopes, biases = _fit_logistic(x, tags)
    knots, levels = fit_isotonic((slopes * x + biases).ravel(), tags.ravel())
    blank = np.ones(len(slopes))
    unfinished = Calibration(slopes, biases, knots, levels, thresholds=blank, evening=blank)
    return unfinished._replace(thresholds=best_thresholds(probabilities(scores, unfinished), tags))


def probabilities(scores: Floats, calibration: Calibration) -> Floats:
    """Return the probability that each image has each tag."""
    raw = calibration.slopes * np.log(np.maximum(scores, FLOOR)) + calibration.biases
    return expit(isotonic_logits(raw, calibration.knots, calibration.levels))


def left_out_probabilities(scores: Floats, tags: Floats, folds: Iterable[Fold]) -> Floats:
    """Return the probabilities of each fold's images by the calibration of the others."""
    p = np.empty_like(scores)
    for train, test in folds:
        p[test] = probabilities(scores[test], fit_calibration(scores[train], tags[train]))
    return p


def _fit_logistic(x: Floats, tags: Floats) -> tuple[Floats, Floats]:
    """Return a slope and a bias a tag: all tags' first, then each one's own, held near it."""
    # From the scores of true tags a slope turns about the middle of what matters, not about far zeros.
    centre = float(x[tags > 0].mean()) if tags.any() else 0.0
    z = x - centre
    common = np.array([[0.0], [logit(np.clip(tags.mean(), 1e-6, 1 - 1e-6))]])
    loose = np.full((2, 1), 1e-6)
    common = _newton(z.reshape(-1, 1), tags.reshape(-1, 1), common, common, loose)
    tight = 1 / np.array([[SLOPE_SPREAD * max(common[0, 0], 1e-3)], [BIAS_SPREAD]]) ** 2
    own = _newton(z, tags, np.repeat(common, x.shape[1], axis=1), common, tight)
    return own[0], own[1] - own[0] * centre


def _newton(z: Floats, tags: Floats, start: Floats, mean: Floats, precision: Floats) -> Floats:
    """Maximise Σ log p(tag | slope·z + bias) − precision/2·(slope, bias − mean)², a column a problem."""
    ab = start.copy()
    for _ in range(ROUNDS):
        p = expit(ab[0] * z + ab[1])
        weight, residual = p * (1 - p), tags - p
        pull = precision * (ab - mean)
        g0, g1 = (residual * z).sum(axis=0) - pull[0], residual.sum(axis=0) - pull[1]
        h00, h11 = (weight * z * z).sum(axis=0) + precision[0], weight.sum(axis=0) + precision[1]
        h01 = (weight * z).sum(axis=0)
        determinant = h00 * h11 - h01 * h01
        step = np.array([h11 * g0 - h01 * g1, h00 * g1 - h01 * g0]) / determinant
        # A slope that is held at 0 does not move, and the bias moves as if it were alone.
        step = np.where((ab[0] <= 0) & (g0 < 0), np.array([np.zeros_like(g0), g1 / h11]), step)
        ab = ab + np.clip(step, -1.0, 1.0)
        ab[0] = np.maximum(ab[0], 0.0)  # a better score never makes a tag less probable
        if np.abs(step).max() < 1e-6:
            break
    return ab


def best_thresholds(p: Floats, tags: Floats) -> Floats:
    """Return, for each tag, the threshold with the best F1, shrunk towards all tags' curve."""
    bins = np.searchsorted(GRID, p, side="right")
    n_tags, size = p.shape[1], len(GRID) + 1
    flat = (bins + np.arange(n_tags) * size).ravel()

    def at_least(weights: Floats | None) -> Floats:
        counts = np.bincount(flat, weights=weights, minlength=n_tags * size).reshape(n_tags, size)
        return np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:].astype(np.float64)

    offered, hits = at_least(None), at_least(tags.ravel().astype(np.float64))
    given = tags.sum(axis=0).astype(np.float64)
    scale = PSEUDO_TAGS / max(given.sum(), 1.0)
    total = offered + given[:, None] + scale * (offered.sum(axis=0) + given.sum())
    f1 = (hits + scale * hits.sum(axis=0)) / np.maximum(total, 1.0)  # below 1 there is neither
    return GRID[np.argmax(f1, axis=1)]


def worth_showing(precision: float, p: Floats, tags: Floats) -> float:
    """Return the threshold of best F1 among those at which so large a share of the shown tags is right.

    One for all tags: among all rules of a precision, one threshold over probabilities finds most right tags.
    Where no threshold is so precise, the highest.

    >>> p = np.array([[0.9, 0.8, 0.5, 0.1]])
    >>> worth_showing(0.6, p, np.array([[1.0, 0.0, 1.0, 0.0]]))
    0.5
    """
    order = np.argsort(-p, axis=None, kind="stable")
    levels, right = p.ravel()[order], np.cumsum(tags.ravel()[order])
    shown = np.arange(1, len(levels) + 1)
    last = np.append(np.diff(levels) < 0, True)  # equals are shown together
    precise = last & (right >= precision * shown)
    best = int(np.argmax(np.where(precise, right / (shown + tags.sum()), -1.0)))  # the first if none is
    return float(levels[best])
