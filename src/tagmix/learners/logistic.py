"""Logistic regression of many tags at once: slopes follow from how frequent a tag is.

logit p_nc = b_c + Σ_f a_fc x_ncf with a_fc = a_f + a'_f q_c and b_c = b + b' q_c + ε_c, where q_c is the
standardised log frequency of the tag. Most tags are too rare for slopes of their own; a line in q_c, with
coefficients that all tags share, is what they can support, and ε_c leaves it a little. An isotonic curve over
all pairs then corrects what is too sure or not sure enough. The prior, the combination of context and
regions, and the calibration of ``EMM`` are all this one model, with other features.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tagmix.arrays import Floats
from tagmix.evaluation.folds import Fold
from tagmix.learners.isotonic import fit_isotonic, isotonic_logits
from tagmix.learners.targets import Known, frequencies, of_known

# The precision of a tag's own bias, and of a coefficient on standardised features. Freer biases rank
# cross-validated pictures of Corel5k worse than none.
BIAS_PRECISION, SLOPE_PRECISION = 100.0, 1e-2
# A logit beyond says no more: pictures unlike any other lead that far, where exponentials overflow.
MAX_LOGIT = 30.0
MAX_ITER, SMALLEST_STEP, ROUNDING = 50, 1e-6, 1e-7
# Newton squares its error: a step this small is the last one.
TOLERANCE = 1e-3


class TagLogistic(NamedTuple):
    """Slopes, features × tags, a bias per tag, and the isotonic curve (``isotonic_logits``)."""

    slopes: Floats
    biases: Floats
    knots: Floats
    levels: Floats

    def logits(self, features: Sequence[Floats]) -> Floats:
        """Return logit p of pictures × tags from features, each pictures × tags."""
        raw = _linear(features, np.vstack([self.biases, self.slopes]))
        return np.clip(isotonic_logits(raw, self.knots, self.levels), -MAX_LOGIT, MAX_LOGIT)

    def probabilities(self, features: Sequence[Floats]) -> Floats:
        """Return p of pictures × tags."""
        p: Floats = expit(self.logits(features))
        return p


def fit_tag_logistic(features: Sequence[Floats], tags: Floats, known: Known = None) -> TagLogistic:
    """Return the maximiser of the penalised likelihood of ``tags``, and the curve fitted after it.

    Pairs that are not ``known`` do not enter.
    """
    centres, scales, _, rows, linear = shared_coefficients(features, tags, known)
    curve = fit_isotonic(of_known(linear, known), of_known(tags, known))
    slopes = rows[1:] / scales[:, None]
    return TagLogistic(slopes, rows[0] - centres @ slopes, *curve)


def shared_coefficients(
    features: Sequence[Floats], tags: Floats, known: Known = None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return centres and scales of the features, θ, biases and slopes per tag, and logits before the curve.

    θ, (1 + features) × 2, has the coefficients of 1 and q that all tags share.
    """
    centres = np.array([of_known(feature, known).mean() for feature in features])
    scales = np.array([spread_of(of_known(feature, known)) for feature in features])
    z = [(f - centre) / scale for f, centre, scale in zip(features, centres, scales, strict=True)]
    theta, rows = _coefficients(z, tags, known)
    return centres, scales, theta, rows, _linear(z, rows)


def cross_fitted(
    features: Sequence[Floats], tags: Floats, folds: Iterable[Fold], known: Known = None
) -> Floats:
    """Return the logits of each fold's pictures by the model that was fitted to the other folds."""
    out = np.empty_like(tags)
    for train, test in folds:
        told = None if known is None else known[train]
        fitted = fit_tag_logistic([feature[train] for feature in features], tags[train], told)
        out[test] = fitted.logits([feature[test] for feature in features])
    return out


def _linear(features: Sequence[Floats], rows: Floats) -> Floats:
    """Return Σ rows × features, tag by tag; the first row is the constant's."""
    out = np.tile(rows[0], (len(features[0]), 1))
    for slope, feature in zip(rows[1:], features, strict=True):
        out += slope * feature
    return out


def _coefficients(z: Sequence[Floats], tags: Floats, known: Known = None) -> tuple[Floats, Floats]:
    """Return θ, and biases and slopes of each tag, by Newton's method with backtracking."""
    design = _design_of(tags, known)
    told = of_known(tags, known)
    theta = np.zeros((len(z) + 1, 2))
    prior = theta.copy()
    # Where all tags, or none, are set, the prior around the overall share keeps the constant finite.
    prior[0, 0] = theta[0, 0] = logit((told.sum() + 0.5) / (told.size + 1))
    own = np.zeros(tags.shape[1])
    here = _loss(z, tags, design, theta, own, prior, known)
    for _ in range(MAX_ITER):
        step, turn = _newton_step(z, tags, design, theta, own, prior, known)
        if max(np.abs(step).max(), np.abs(turn).max()) < TOLERANCE:
            theta, own = theta + step, own + turn
            break
        part = 1.0
        while not (
            there := _loss(z, tags, design, theta + part * step, own + part * turn, prior, known)
        ) <= here * (1 + 1e-12):
            part /= 2
            if part <= SMALLEST_STEP:
                return theta, _rows(design, theta, own)
        theta, own, here = theta + part * step, own + part * turn, there
    return theta, _rows(design, theta, own)


def _design_of(tags: Floats, known: Known) -> Floats:
    """Return 1 and q, the standardised log frequency: 2 × tags."""
    frequency = np.log(frequencies(tags, known) + 1)
    return np.vstack([np.ones(tags.shape[1]), (frequency - frequency.mean()) / spread_of(frequency)])


def spread_of(numbers: Floats) -> float:
    """Return the standard deviation, or 1 where it is only rounding: a constant keeps its scale."""
    spread = float(numbers.std())
    return spread if spread > ROUNDING * max(1.0, float(np.abs(numbers).max(initial=0.0))) else 1.0


def _rows(design: Floats, theta: Floats, own: Floats) -> Floats:
    rows = theta @ design
    rows[0] += own
    return rows


def _loss(
    z: Sequence[Floats],
    tags: Floats,
    design: Floats,
    theta: Floats,
    own: Floats,
    prior: Floats,
    known: Known = None,
) -> float:
    """Return −log p(known tags) plus the penalties."""
    logits = _linear(z, _rows(design, theta, own))
    penalty = SLOPE_PRECISION * ((theta - prior) ** 2).sum() + BIAS_PRECISION * (own**2).sum()
    lost = np.logaddexp(0, logits) - tags * logits
    return float((lost if known is None else lost[known]).sum() + penalty / 2)


def _newton_step(
    z: Sequence[Floats],
    tags: Floats,
    design: Floats,
    theta: Floats,
    own: Floats,
    prior: Floats,
    known: Known = None,
) -> tuple[Floats, Floats]:
    """Return Newton's step of the shared coefficients and of the tags' own biases.

    Derivatives are summed over pictures for each tag first: G of features, H of pairs of features. The
    tags' own biases have a diagonal Hessian D (a pair has one tag) and are eliminated:
    (A − BD⁻¹Bᵀ) Δθ = g − BD⁻¹h, then Δε = D⁻¹(h − BᵀΔθ).
    """
    G, H = _sums(z, tags, _rows(design, theta, own), known)
    n = theta.size
    g = np.einsum("kc,fc->fk", design, G).ravel() - SLOPE_PRECISION * (theta - prior).ravel()
    A = np.einsum("kc,lc,fec->fkel", design, design, H).reshape(n, n)
    A[np.diag_indices_from(A)] += SLOPE_PRECISION
    B, D = (design[None] * H[:, 0, None]).reshape(n, -1), H[0, 0] + BIAS_PRECISION
    h = G[0] - BIAS_PRECISION * own
    step = np.linalg.solve(A - (B / D) @ B.T, g - B @ (h / D))
    return step.reshape(theta.shape), (h - step @ B) / D


def _sums(z: Sequence[Floats], tags: Floats, rows: Floats, known: Known) -> tuple[Floats, Floats]:
    """Return first derivatives of log p(known tags) by each tag's rows, and minus the second ones."""
    p = expit(_linear(z, rows))
    weight, residual = p * (1 - p), tags - p
    if known is not None:
        weight, residual = weight * known, residual * known
    features = [None, *z]  # the constant needs no multiplication
    G = np.empty((len(features), tags.shape[1]))
    H = np.empty((len(features), len(features), tags.shape[1]))
    for i, left in enumerate(features):
        weighted = weight if left is None else weight * left
        G[i] = (residual if left is None else residual * left).sum(axis=0)
        for j, right in enumerate(features[: i + 1]):
            H[i, j] = H[j, i] = (weighted if right is None else weighted * right).sum(axis=0)
    return G, H
