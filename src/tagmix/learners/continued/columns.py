"""Columns of the scorer, solved again: one step of Newton's method from the chosen ones.

``fit`` stops after 8 steps, so its column w⁰ is no minimum: the loss L⁰ of that time has a gradient g⁰ =
∇L⁰(w⁰) there. The same stop, for the loss L of now, is the minimum of L(w) − g⁰·w, which w⁰ is if nothing
changed. One step leads close to it,

    w = w⁰ − H⁻¹(∇L(w⁰) − g⁰),   H = Σ_n h_n x̄_n x̄_nᵀ + ν,   h_n = max(p_n(1 − p_n), ¼|p_n − q_n|),

with x̄_n the mean of the picture's regions by their shares in its score. The second part of h_n keeps the
step short where the loss bends on the way. A scorer without a fold has the same sum, times its share of the
pictures. w depends on pictures and verdicts alone, not on the order they came in.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.special import expit

from tagmix.arrays import Floats, Ints
from tagmix.learners.continued.instances import Kept
from tagmix.learners.continued.verdicts import YES, Codes, targets
from tagmix.learners.regions.region_scorer import SHARPER, TILT, RegionScorer
from tagmix.learners.targets import Known

# Bytes of the matrices H of tags that are solved for at once, and of the x̄ of a block of pictures.
MOST_H, MOST_MEANS = 2.0**28, 2.0**26
# Pictures whose scores of regions stay in the cache.
AT_ONCE = 32
BEND = 0.25


class Columns(NamedTuple):
    """Weights of the scorer and of the scorers of folds: (1 + folds) × (features and bias) × tags.

    ``medians`` are those of the pictures per tag (plus 1) of the whole and without each fold, on which the
    penalties of ``fit`` depend.
    """

    weights: Floats
    tilts: Floats
    medians: Floats


class Losses(NamedTuple):
    """What the losses of all columns follow from: the pictures, their folds, and the verdicts."""

    kept: Kept
    folds: Ints
    codes: Codes
    scorer: RegionScorer

    def penalties(self, columns: Columns) -> Floats:
        """Return ν, (1 + folds) × tags."""
        given = self.codes == YES
        counts = [given[rows].sum(axis=0) for rows in self.pictures_of(len(columns.medians))]
        nu: Floats = self.scorer.ridge * ((np.array(counts) + 1) / columns.medians[:, None]) ** TILT
        return nu

    def pictures_of(self, n_columns: int) -> list[Ints]:
        """Return the pictures that the scorer and those of the folds learn from."""
        every = np.arange(len(self.folds))
        return [every, *(np.flatnonzero(self.folds != fold) for fold in range(n_columns - 1))]


def gradients(losses: Losses, columns: Columns, tags: Ints) -> Floats:
    """Return ∇L at the weights of these tags."""
    return _derivatives(losses, columns, tags, False)[0]


def solved(losses: Losses, chosen: Columns, tags: Ints) -> Floats:
    """Return the weights of these tags, (1 + folds) × (features and bias) × tags."""
    out = np.empty((*chosen.weights.shape[:2], len(tags)))
    step = max(1, int(MOST_H / (8.0 * chosen.weights.shape[1] ** 2)))
    for start in range(0, len(tags), step):
        own = tags[start : start + step]
        slopes, curves = _derivatives(losses, chosen, own, True)
        change, nu = slopes - chosen.tilts[:, :, own], losses.penalties(chosen)[:, own]
        parts = [len(rows) / len(losses.folds) for rows in losses.pictures_of(len(change))]
        inside = np.arange(change.shape[1] - 1)
        for f, t in np.ndindex(len(change), len(own)):
            H = parts[f] * curves[t]
            H[inside, inside] += nu[f, t]
            factor = cho_factor(H, lower=False, overwrite_a=True, check_finite=False)
            out[f, :, start + t] = chosen.weights[f, :, own[t]] - cho_solve(factor, change[f, :, t])
    return out


def scores(losses: Losses, weights: Floats) -> tuple[Floats, Floats]:
    """Return cross-validated scores of these columns, and those of the scorer itself: pictures × tags."""
    n_tags = weights.shape[2]
    held, pooled = (np.empty((len(losses.kept), n_tags)) for _ in range(2))
    sharpness = SHARPER * losses.scorer.sharpness
    for fold in range(len(weights) - 1):
        own = np.flatnonzero(losses.folds == fold)
        both = np.hstack([weights[fold + 1], weights[0]])
        for part, x, starts in losses.kept.blocks(own, AT_ONCE):
            best, _ = _soft_maximum(x, starts, both, sharpness)
            held[own[part]], pooled[own[part]] = best[:, :n_tags], best[:, n_tags:]
    return held, pooled


def _derivatives(losses: Losses, columns: Columns, tags: Ints, second: bool) -> tuple[Floats, Floats]:
    """Return the gradients of L at the weights of these tags, and if asked Σ h x̄x̄ᵀ (upper halves)."""
    weights, nu = columns.weights[:, :, tags], losses.penalties(columns)[:, tags]
    n_columns, width, n_tags = weights.shape
    slopes = nu[:, None] * weights
    slopes[:, -1] = 0.0
    curves = np.zeros((n_tags, width, width) if second else (0, 0, 0))
    for fold in range(n_columns - 1):
        own = np.flatnonzero(losses.folds == fold)
        used = [f for f in range(n_columns) if f != fold + 1]
        stacked = np.hstack([weights[f] for f in used])
        room = int(np.clip(MOST_MEANS / (8.0 * width * n_tags), AT_ONCE, 256)) // AT_ONCE * AT_ONCE
        for start in range(0, len(own), room):
            rows = own[start : start + room]
            slope = _add_pictures(losses, rows, tags, stacked, curves)
            slopes[used] += slope.reshape(width, len(used), n_tags).swapaxes(0, 1)
    return slopes, curves


def _add_pictures(losses: Losses, rows: Ints, tags: Ints, stacked: Floats, curves: Floats) -> Floats:
    """Return the gradients of these pictures by stacked weights; add Σ h x̄x̄ᵀ of the first to ``curves``."""
    n_tags = len(curves)
    own, times = (
        targets(losses.codes[np.ix_(rows, tags)], losses.scorer.absent),
        stacked.shape[1] // len(tags),
    )
    y, known = np.tile(own.y, times), None if own.known is None else np.tile(own.known, times)
    slope = np.zeros_like(stacked)
    means, bends = np.ones((n_tags, len(rows), len(stacked))), np.empty((len(rows), n_tags))
    for part, x, starts in losses.kept.blocks(rows, AT_ONCE):
        best, shares = _soft_maximum(x, starts, stacked, losses.scorer.sharpness)
        lost, bend = _residuals(expit(best), y[part], None if known is None else known[part])
        bends[part] = bend[:, :n_tags]
        for n, (first, last) in enumerate(pairwise(starts.tolist())):
            means[:, part.start + n, :-1] = shares[first:last, :n_tags].T @ x[first:last]
        shares *= np.repeat(lost, np.diff(starts), axis=0)
        slope[:-1] += x.T @ shares
        slope[-1] += lost.sum(axis=0)
    for t in range(n_tags):
        scaled = means[t] * np.sqrt(bends[:, t])[:, None]
        # Rows of a C-ordered matrix are the columns that BLAS reads: its lower half is our upper one
        dsyrk(1.0, scaled.T, beta=1.0, c=curves[t].T, overwrite_c=1, lower=1)
    return slope


def _residuals(p: Floats, y: Floats, known: Known) -> tuple[Floats, Floats]:
    """Return the derivative of the loss by the score, and h."""
    lost = p - y
    bend = np.maximum(p * (1 - p), BEND * np.abs(lost))
    return (lost, bend) if known is None else (lost * known, bend * known)


def _soft_maximum(x: Floats, starts: Ints, weights: Floats, sharpness: float) -> tuple[Floats, Floats]:
    """Return the soft maximum over the rows of each picture, and the share of each row in it."""
    f = x @ weights[:-1] + weights[-1]
    sizes = np.diff(starts)
    top = np.maximum.reduceat(f, starts[:-1], axis=0)
    shares = np.exp(sharpness * (f - np.repeat(top, sizes, axis=0)))
    total = np.add.reduceat(shares, starts[:-1], axis=0)
    best = top + np.log(total / sizes[:, None]) / sharpness
    return best, shares / np.repeat(total, sizes, axis=0)
