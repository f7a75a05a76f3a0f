"""Pool the scores of experts into one probability a tag.

logit π_nc = a₀ + Σ_k (a_k log s_nck + a'_k s_nck) + b_c: slopes that all tags share, because most tags are
too rare to have their own, and a bias a tag, held near 0. The logarithm tells small scores apart, the score
itself large ones. What is still too sure or not sure enough, whatever the tag, is put right by a rising curve
over all pairs. Fitted on scores that the experts gave to pictures they had not seen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tagmix.arrays import Floats
from tagmix.learners.correction import corrected, fit_correction

# Scores below this count as equal: least squares gives zeros and less.
FLOOR = 1e-3
# The prior's precision of a tag's bias, and of a standardised slope: small enough to change no pool of many.
BIAS_PRECISION, SLOPE_PRECISION = 5.0, 1e-2
# A logit beyond says no more: pictures unlike any other lead that far, where exponentials are no numbers.
SUREST = 30.0
ROUNDS, SETTLED, SHORTEST = 50, 1e-6, 1e-6
MANY = 2000  # pictures


class Pool(NamedTuple):
    """Slopes, the intercept first, of features that ``centres`` and ``scales`` standardise; a bias a tag.

    ``knots`` and ``levels`` are the curve of ``correction.corrected``.
    """

    slopes: Floats
    centres: Floats
    scales: Floats
    biases: Floats
    knots: Floats
    levels: Floats

    def logits(self, scores: Sequence[Floats]) -> Floats:
        """Return logit π of pictures × tags from each expert's scores."""
        out = self.slopes[0] + np.tile(self.biases, (len(scores[0]), 1))
        parts = zip(self.slopes[1:], self.centres, self.scales, _features(scores), strict=True)
        for slope, centre, scale, feature in parts:
            out += slope / scale * (feature - centre)
        return np.clip(corrected(out, self.knots, self.levels), -SUREST, SUREST)


def _features(scores: Sequence[Floats]) -> list[Floats]:
    return [feature for s in scores for feature in (np.log(np.maximum(s, FLOOR)), s)]


def fit_pool(scores: Sequence[Floats], tags: Floats) -> Pool:
    """Return the pool that makes the tags most probable, by Newton's method."""
    features = _features(scores)
    centres = np.array([feature.mean() for feature in features])
    scales = np.array([max(float(feature.std()), 1e-12) for feature in features])
    z = [(f - centre) / scale for f, centre, scale in zip(features, centres, scales, strict=True)]
    prior = np.zeros(len(z) + 1)
    # Slopes are held loosely near it: all tags or none would drive them off.
    prior[0] = logit((tags.sum() + 0.5) / (tags.size + 1))
    slopes, biases = prior, np.zeros(tags.shape[1])
    if len(tags) > MANY:  # most of the way is gone with few pictures
        few = slice(None, None, len(tags) // (MANY // 4))
        slopes, biases = _climbed([f[few] for f in z], tags[few], slopes, biases, prior)
    slopes, biases = _climbed(z, tags, slopes, biases, prior)
    curve = fit_correction(_logits(z, slopes, biases).ravel(), tags.ravel())
    return Pool(slopes, centres, scales, biases, *curve)


def _climbed(
    z: Sequence[Floats], tags: Floats, slopes: Floats, biases: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """Return the best slopes and biases, by Newton's steps from these."""
    here = _loss(z, tags, slopes, biases, prior)
    for _ in range(ROUNDS):
        along, turn = _step(z, tags, slopes, biases, prior)
        if max(np.abs(along).max(), np.abs(turn).max()) < SETTLED:
            return slopes + along, biases + turn
        # Far from the optimum Newton's step may be too long: it is halved until it leads down.
        part = 1.0
        while (there := _loss(z, tags, slopes + part * along, biases + part * turn, prior)) > here * (
            1 + 1e-12
        ):
            part /= 2
            if part <= SHORTEST:
                break
        slopes, biases, here = slopes + part * along, biases + part * turn, there
    return slopes, biases


def _logits(z: Sequence[Floats], slopes: Floats, biases: Floats) -> Floats:
    logits = slopes[0] + np.tile(biases, (len(z[0]), 1))
    for slope, feature in zip(slopes[1:], z, strict=True):
        logits += slope * feature
    return logits


def _loss(z: Sequence[Floats], tags: Floats, slopes: Floats, biases: Floats, prior: Floats) -> float:
    """Return −log p(tags), and what the priors add."""
    logits = _logits(z, slopes, biases)
    away = SLOPE_PRECISION * ((slopes - prior) ** 2).sum() + BIAS_PRECISION * (biases**2).sum()
    return float((np.logaddexp(0, logits) - tags * logits).sum() + away / 2)


def _step(
    z: Sequence[Floats], tags: Floats, slopes: Floats, biases: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """Return Newton's step of slopes and biases.

    Second derivatives between biases are diagonal (a pair has one tag), so that they are eliminated first:
    (A − BD⁻¹Bᵀ) Δslopes = g − BD⁻¹h, then Δbiases = D⁻¹(h − BᵀΔslopes).
    """
    p = expit(_logits(z, slopes, biases))
    weight, residual = p * (1 - p), tags - p
    per_tag = [weight.sum(axis=0)]  # B, a row a slope
    g = [residual.sum()]
    A = SLOPE_PRECISION * np.eye(len(slopes))
    A[0, 0] += per_tag[0].sum()
    for i, left in enumerate(z, start=1):
        weighted = weight * left
        per_tag.append(weighted.sum(axis=0))
        g.append(float((residual * left).sum()))
        A[0, i] = A[i, 0] = per_tag[-1].sum()
        for j, right in enumerate(z[:i], start=1):
            A[i, j] += (weighted * right).sum()
            A[j, i] = A[i, j]
    B, D = np.array(per_tag), per_tag[0] + BIAS_PRECISION
    h = residual.sum(axis=0) - BIAS_PRECISION * biases
    along = np.linalg.solve(A - (B / D) @ B.T, np.array(g) - SLOPE_PRECISION * (slopes - prior) - B @ (h / D))
    return along, (h - along @ B) / D
