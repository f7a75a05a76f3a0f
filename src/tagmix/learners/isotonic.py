"""A rising curve that turns logits into true ones: what a model calls likelier stays likelier."""

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import isotonic_regression

from tagmix.arrays import Floats

# The curve never rests on fewer expected tags. On sampled bags 10 leaves a calibration
# error of .016, 25 of .018 and 100 of .023.
POSITIVES_PER_BIN = 10.0
SURE = 1e-6  # nobody is surer than that
APART = 1e-9  # knots that are closer are one


def isotonic_logits(raw: Floats, knots: Floats, levels: Floats) -> Floats:
    """Return logits on the curve: straight between its knots, beyond them with slope one.

    >>> isotonic_logits(np.array([-1.0, 0.5, 3.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])).tolist()
    [-1.0, 0.0, 2.0]
    """
    beyond = np.minimum(raw - knots[0], 0.0) + np.maximum(raw - knots[-1], 0.0)
    on_curve: Floats = np.interp(raw, knots, logit(np.clip(levels, SURE, 1 - SURE))) + beyond
    return on_curve


def fit_isotonic(raw: Floats, tags: Floats) -> tuple[Floats, Floats]:
    """Return knots (logits) and levels (probabilities) of a rising curve through bins of the data.

    Between knots it is straight in logits, and beyond them it has slope one: it corrects by an offset, and
    never changes an order.
    """
    order = np.argsort(raw, kind="stable")
    raw, tags = raw[order], tags[order]
    p = expit(raw)
    expected = np.cumsum(p) / POSITIVES_PER_BIN
    n_bins = max(1, int(expected[-1]))
    starts = np.unique(np.searchsorted(expected, np.arange(n_bins)))
    starts = np.unique(np.searchsorted(raw, raw[starts]))  # equals stay together
    sizes = np.diff([*starts, len(raw)]).astype(np.float64)
    knots = np.add.reduceat(raw, starts) / sizes
    levels, expected = np.add.reduceat(tags, starts) / sizes, np.add.reduceat(p, starts) / sizes
    knots, levels, expected, sizes = _pooled(knots, levels, expected, sizes)
    # One more picture that is as the model expects, so that no stretch is surer than its size allows;
    # that may turn two around, hence once more.
    levels = (sizes * levels + expected) / (sizes + 1)
    knots, levels, _, _ = _pooled(knots, levels, expected, sizes)
    return knots, levels


def _pooled(knots: Floats, levels: Floats, expected: Floats, sizes: Floats) -> tuple[Floats, ...]:
    """Return the same with levels that rise: a stretch where they do not becomes one knot in its middle."""
    smooth = isotonic_regression(levels, sample_weight=sizes, y_min=0.0, y_max=1.0)
    rises = (np.diff(smooth) > APART) & (np.diff(knots) > APART)
    stretch = np.concatenate([[0], np.cumsum(rises)])
    weight = np.bincount(stretch, sizes).astype(np.float64)
    means = (np.bincount(stretch, sizes * values) / weight for values in (knots, smooth, expected))
    return (*means, weight)
