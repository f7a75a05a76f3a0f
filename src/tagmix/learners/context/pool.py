"""Pool the scores of experts into one probability a tag.

logit π_nc = b_c + Σ_e (a_ec log g_nce + a'_e g_nce). The logarithm tells small scores apart, the score
itself large ones. Most tags are too rare for slopes of their own, so that a_ec and b_c follow from two things
that are known of a tag: how many pictures have it, and how far an expert's scores of it spread, beside how
far perfect ones would. Both are straight lines in these, with coefficients that all tags share; b_c may leave
its line a little. What is still too sure or not sure enough, whatever the tag, is put right by a rising curve
over all pairs. Fitted on scores that the experts gave to pictures they had not seen.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tagmix.arrays import Floats
from tagmix.learners.isotonic import fit_isotonic, isotonic_logits

# Scores below this count as equal, and spreads too: least squares gives zeros and less.
FLOOR = 1e-3
# The prior's precision of a tag's own bias, and of a coefficient. Free biases (a precision of 5) rank
# held-out pictures of Corel5k worse than none.
BIAS_PRECISION, SLOPE_PRECISION = 100.0, 1e-2
# A logit beyond says no more: pictures unlike any other lead that far, where exponentials are no numbers.
SUREST = 30.0
ROUNDS, SETTLED, SHORTEST, ROUNDING = 50, 1e-6, 1e-6, 1e-7
MANY = 2000  # pictures


class Pool(NamedTuple):
    """Slopes of log g and of g of each expert, features × tags, and a bias a tag.

    ``knots`` and ``levels`` are the curve of ``correction.corrected``.
    """

    slopes: Floats
    biases: Floats
    knots: Floats
    levels: Floats

    def logits(self, scores: Sequence[Floats]) -> Floats:
        """Return logit π of pictures × tags from each expert's scores."""
        out = _logits(_features(scores), np.vstack([self.biases, self.slopes]))
        return np.clip(isotonic_logits(out, self.knots, self.levels), -SUREST, SUREST)


class Term(NamedTuple):
    """One coefficient of the pool: it multiplies a feature (0 is the constant) and a number of each tag."""

    feature: int
    known: Floats


def _features(scores: Sequence[Floats]) -> list[Floats]:
    return [feature for g in scores for feature in (np.log(np.maximum(g, FLOOR)), g)]


def _logits(features: Sequence[Floats], slopes: Floats) -> Floats:
    """Return the sum of features × the slopes of each tag, the constant's first."""
    logits = np.tile(slopes[0], (len(features[0]), 1))
    for slope, feature in zip(slopes[1:], features, strict=True):
        logits += slope * feature
    return logits


def fit_pool(scores: Sequence[Floats], tags: Floats) -> Pool:
    """Return the pool that makes the tags most probable, by Newton's method."""
    features, terms = _features(scores), terms_of(scores, tags)
    centres = np.array([feature.mean() for feature in features])
    scales = np.array([_spread(feature) for feature in features])
    z = [(f - centre) / scale for f, centre, scale in zip(features, centres, scales, strict=True)]
    prior = np.zeros(len(terms))
    # Coefficients are held loosely near it: all tags or none would drive them off.
    prior[0] = logit((tags.sum() + 0.5) / (tags.size + 1))
    theta, biases = prior, np.zeros(tags.shape[1])
    if len(tags) > MANY:  # most of the way is gone with few pictures
        few = slice(None, None, len(tags) // (MANY // 4))
        theta, biases = _climbed([f[few] for f in z], tags[few], terms, theta, biases, prior)
    theta, biases = _climbed(z, tags, terms, theta, biases, prior)
    own = _slopes(terms, theta, biases, len(z))
    curve = fit_isotonic(_logits(z, own).ravel(), tags.ravel())
    slopes = own[1:] / scales[:, None]
    return Pool(slopes, own[0] - centres @ slopes, *curve)


def terms_of(scores: Sequence[Floats], tags: Floats) -> list[Term]:
    """Return the coefficients there are: the constant and log g also by what is known of a tag."""
    counts = tags.sum(axis=0)
    share = (counts + 0.5) / (len(tags) + 1)
    frequency, even = _standard(np.log(counts + 1)), np.ones(tags.shape[1])
    terms = [Term(0, even), Term(0, frequency)]
    for e, g in enumerate(scores):
        spread = np.log(np.maximum(np.maximum(g, 0.0).std(axis=0), FLOOR) / np.sqrt(share * (1 - share)))
        log_g, plain = 2 * e + 1, 2 * e + 2
        terms += [Term(0, _standard(spread)), Term(log_g, even), Term(plain, even)]
        terms += [Term(log_g, frequency), Term(log_g, _standard(spread))]
    return terms


def _standard(known: Floats) -> Floats:
    return (known - known.mean()) / _spread(known)


def _spread(numbers: Floats) -> float:
    """Return the standard deviation, or 1 where it is but rounding: what says nothing keeps its scale."""
    spread = float(numbers.std())
    return spread if spread > ROUNDING * max(1.0, float(np.abs(numbers).max(initial=0.0))) else 1.0


def _slopes(terms: Sequence[Term], theta: Floats, biases: Floats, n_features: int) -> Floats:
    """Return the slopes of each tag, the constant's first."""
    slopes = np.zeros((n_features + 1, len(biases)))
    slopes[0] = biases
    for term, coefficient in zip(terms, theta, strict=True):
        slopes[term.feature] += coefficient * term.known
    return slopes


def _climbed(
    z: Sequence[Floats], tags: Floats, terms: Sequence[Term], theta: Floats, biases: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """Return the best coefficients and biases, by Newton's steps from these."""

    def loss(theta: Floats, biases: Floats) -> float:
        """Return −log p(tags), and what the priors add."""
        logits = _logits(z, _slopes(terms, theta, biases, len(z)))
        away = SLOPE_PRECISION * ((theta - prior) ** 2).sum() + BIAS_PRECISION * (biases**2).sum()
        return float((np.logaddexp(0, logits) - tags * logits).sum() + away / 2)

    here = loss(theta, biases)
    for _ in range(ROUNDS):
        along, turn = _step(z, tags, terms, theta, biases, prior)
        if max(np.abs(along).max(), np.abs(turn).max()) < SETTLED:
            return theta + along, biases + turn
        # Far from the optimum Newton's step may be too long: it is halved until it leads down.
        part = 1.0
        while not (there := loss(theta + part * along, biases + part * turn)) <= here * (1 + 1e-12):
            part /= 2
            if part <= SHORTEST:
                return theta, biases
        theta, biases, here = theta + part * along, biases + part * turn, there
    return theta, biases


def _step(
    z: Sequence[Floats], tags: Floats, terms: Sequence[Term], theta: Floats, biases: Floats, prior: Floats
) -> tuple[Floats, Floats]:
    """Return Newton's step of coefficients and biases.

    Derivatives are summed over the pictures for each tag first, G of features and H of pairs of them; what a
    coefficient adds to that is known of the tag. Second derivatives between biases are diagonal (a pair has
    one tag), so that they are eliminated: (A − BD⁻¹Bᵀ) Δθ = g − BD⁻¹h, then Δbiases = D⁻¹(h − BᵀΔθ).
    """
    G, H = _sums(z, tags, _slopes(terms, theta, biases, len(z)))
    feature, known = [term.feature for term in terms], np.array([term.known for term in terms])
    g = (known * G[feature]).sum(axis=1) - SLOPE_PRECISION * (theta - prior)
    A = np.einsum("ic,jc,ijc->ij", known, known, H[np.ix_(feature, feature)])
    A[np.diag_indices_from(A)] += SLOPE_PRECISION
    B, D = known * H[feature, 0], H[0, 0] + BIAS_PRECISION
    h = G[0] - BIAS_PRECISION * biases
    along = np.linalg.solve(A - (B / D) @ B.T, g - B @ (h / D))
    return along, (h - along @ B) / D


def _sums(z: Sequence[Floats], tags: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the first derivatives of log p(tags) by the slopes of each tag, and minus the second ones."""
    p = expit(_logits(z, slopes))
    weight, residual = p * (1 - p), tags - p
    features = [None, *z]  # the constant needs no multiplication
    G = np.empty((len(features), tags.shape[1]))
    H = np.empty((len(features), len(features), tags.shape[1]))
    for i, left in enumerate(features):
        weighted = weight if left is None else weight * left
        G[i] = (residual if left is None else residual * left).sum(axis=0)
        for j, right in enumerate(features[: i + 1]):
            H[i, j] = H[j, i] = (weighted if right is None else weighted * right).sum(axis=0)
    return G, H
