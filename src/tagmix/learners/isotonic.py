"""Isotonic regression of logits: a monotone correction that preserves the ranking."""

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from tagmix.arrays import Floats

# Least number of expected tags per bin. On sampled bags the calibration error is .016 with 10, .018 with 25
# and .023 with 100.
POSITIVES_PER_BIN = 10.0
SURE = 1e-6  # probabilities are clipped to [SURE, 1 − SURE]
APART = 1e-9  # closer knots are merged


def isotonic_logits(raw: Floats, knots: Floats, levels: Floats) -> Floats:
    """Return corrected logits: linear interpolation between the knots, slope 1 outside them.

    >>> isotonic_logits(np.array([-1.0, 0.5, 3.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])).tolist()
    [-1.0, 0.0, 2.0]
    """
    beyond = np.minimum(raw - knots[0], 0.0) + np.maximum(raw - knots[-1], 0.0)
    on_curve: Floats = np.interp(raw, knots, logit(np.clip(levels, SURE, 1 - SURE))) + beyond
    return on_curve


def fit_isotonic(raw: Floats, tags: Floats) -> tuple[Floats, Floats]:
    """Return knots (logits) and levels (probabilities) of an isotonic regression on bins of the data.

    The curve is linear in logits between the knots and has slope 1 outside them, where it only adds an
    offset; it never reverses a ranking.
    """
    order = np.argsort(raw, kind="stable")
    raw, tags = raw[order], tags[order]
    p = expit(raw)
    expected = np.cumsum(p) / POSITIVES_PER_BIN
    n_bins = max(1, int(expected[-1]))
    starts = np.unique(np.searchsorted(expected, np.arange(n_bins)))
    starts = np.unique(np.searchsorted(raw, raw[starts]))  # equal values share a bin
    sizes = np.diff([*starts, len(raw)]).astype(np.float64)
    knots = np.add.reduceat(raw, starts) / sizes
    levels, expected = np.add.reduceat(tags, starts) / sizes, np.add.reduceat(p, starts) / sizes
    knots, levels, expected, sizes = _pooled(knots, levels, expected, sizes)
    # Each bin gets one pseudo-observation at its expected value, which limits the confidence of small bins.
    # This can reverse neighbouring levels, hence the second pooling.
    levels = (sizes * levels + expected) / (sizes + 1)
    knots, levels, _, _ = _pooled(knots, levels, expected, sizes)
    return knots, levels


def _pooled(knots: Floats, levels: Floats, expected: Floats, sizes: Floats) -> tuple[Floats, ...]:
    """Return the arguments with increasing levels: bins that violate the order are pooled into their mean."""
    monotone = isotonic_regression(levels, sample_weight=sizes, y_min=0.0, y_max=1.0)
    rises = (np.diff(monotone) > APART) & (np.diff(knots) > APART)
    pool = np.concatenate([[0], np.cumsum(rises)])
    weight = np.bincount(pool, sizes).astype(np.float64)
    means = (np.bincount(pool, sizes * values) / weight for values in (knots, monotone, expected))
    return (*means, weight)
