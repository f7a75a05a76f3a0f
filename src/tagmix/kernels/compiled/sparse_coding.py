"""The most probable mixture of an image, compiled: equals ``reference.sparse_coding`` to its tolerance.

With w_c = λ_c θ_c and a_mc = p_mc / (λ_c max_c' p_mc'/λ_c') the problem of an image with M regions is

    max F(w) = Σ_m log d_m − Σ_c w_c  over w ≥ 0,  d_m = Σ_c w_c a_mc,  max_c a_mc = 1.

Optimality: g_c = Σ_m a_mc / d_m ≤ 1, and = 1 where w_c > 0; hence Σ_c w_c = M. Only the tags that may
still matter are visited, because two tests prove others to be zero at *every* optimum.

Before anything is solved. Take the best tag of region m: 1 / d*_m ≤ g*_c ≤ 1, so d*_m ≥ 1 and
g*_c ≤ Σ_m a_mc. A tag with Σ_m a_mc < 1 is zero; max_m a_mc < 1/M proves it without an exponential.
These tags also never decide the largest score V = max_c g_c: V ≥ 1/d_m, so g_c ≤ V Σ_m a_mc < V.

At any w with Σ_c w_c = M. ν = 1/(V d) satisfies Σ_m ν_m a_mc ≤ 1, and log x ≤ x − 1 gives
F(w') ≤ −M − Σ_m log ν_m for every w' ≥ 0: the gap of w is G = M log V. Put q_m = ν_m d*_m. Then
Σ_m q_m = Σ_c w*_c Σ_m ν_m a_mc ≤ M and −Σ_m log q_m ≤ G (the bound at ν less F*), so
Σ_m (q_m − 1 − log q_m) ≤ G. No term is negative, so q_m ≥ q, the root below 1 of q − 1 − log q = G,
and g*_c = Σ_m ν_m a_mc / q_m ≤ g_c / (V q): a tag with g_c < V q is zero.
"""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled.sparse_shares import SLACK, possible_tags

# Added to the diagonal of the Hessian (whose own diagonal lies between 1/M and 1 near the optimum),
# so that dependent columns move to the edge of the cone and are dropped there.
RIDGE = 1e-12
# Newton's error squares at each step: asking the restricted problem for this share is one step more.
INNER_SHARE = 1e-3
MAX_HALVINGS = 60


@njit(cache=True, nogil=True)
def map_images(
    evidence: Floats,
    region_starts: Ints,
    rates: Floats,
    tolerance: float,
    max_iter: int,
    theta: Floats,
    residual: Floats,
    gap: Floats,
    start: int,
    stop: int,
) -> None:
    """Fill theta, residual and gap of images ``start … stop``; equals ``reference.map_images``."""
    n_tags = evidence.shape[1]
    widest = 0
    for image in range(start, stop):
        widest = max(widest, region_starts[image + 1] - region_starts[image])
    columns = np.empty((n_tags, widest))
    tags = np.empty(n_tags, np.int64)
    log_rates = np.empty(0)
    for image in range(start, stop):
        theta[image] = 0.0
        residual[image] = 0.0
        gap[image] = 0.0
        regions = evidence[region_starts[image] : region_starts[image + 1]]
        n_regions = regions.shape[0]
        if n_regions == 0:
            continue
        row = image if rates.shape[0] > 1 else 0
        if rates.shape[0] > 1 or log_rates.size == 0:
            log_rates = np.log(rates[row])
        n_possible, leaders = possible_tags(regions, log_rates, tags, columns)
        shares = columns[:n_possible, :n_regions]
        support, weights, residual[image], gap[image] = _solve(shares, leaders, tolerance, max_iter)
        for i in range(support.size):
            theta[image, tags[support[i]]] += weights[i] / rates[row, tags[support[i]]]


@njit(cache=True, nogil=True)
def _solve(
    shares: Floats, leaders: Ints, tolerance: float, max_iter: int
) -> tuple[Ints, Floats, float, float]:
    """Return support, weights, residual and gap of one image, starting from the best tag of each region.

    The residual is taken over all possible tags at the end, whatever was screened on the way; should
    a screened tag score above the tolerance there, the ascent goes on with none screened.
    """
    support = np.unique(leaders)
    weights = np.array([np.sum(leaders == tag) * 1.0 for tag in support])  # so d_m ≥ 1
    every_tag = np.arange(shares.shape[0])
    n_left = max_iter
    for screen in (True, False):
        support, weights, n_used = _ascend(shares, support, weights, tolerance, n_left, screen)
        n_left -= n_used
        scores = _scores(shares, every_tag, _mixture(shares, support, weights))
        highest = max(1.0, scores.max())
        residual = max(highest - 1.0, np.abs(scores[support] - 1.0).max())
        if residual <= tolerance:
            break
    return support, weights, residual, shares.shape[1] * math.log(highest)


@njit(cache=True, nogil=True)
def _ascend(
    shares: Floats, support: Ints, weights: Floats, tolerance: float, max_iter: int, screen: bool
) -> tuple[Ints, Floats, int]:
    """Return support, weights and sweeps used once no surviving tag scores above 1 + tolerance."""
    n_regions = shares.shape[1]
    alive = np.arange(shares.shape[0])
    for n_used in range(max_iter + 1):
        support, weights = _restricted_optimum(shares, support, weights, INNER_SHARE * tolerance)
        mixture = _mixture(shares, support, weights)
        scores = _scores(shares, alive, mixture)
        highest = scores.max()
        if highest <= 1.0 + tolerance or n_used == max_iter:
            break
        entering = _violators(shares, alive, scores, mixture, tolerance)
        support, weights = _enter(shares, support, weights, alive[entering], scores[entering], mixture)
        if screen:
            floor = highest * _least_ratio(n_regions * math.log(highest)) - SLACK
            alive = alive[scores >= floor]
    return support, weights, n_used


@njit(cache=True, nogil=True)
def _mixture(shares: Floats, support: Ints, weights: Floats) -> Floats:
    """Return d_m = Σ_c w_c a_mc over the support."""
    mixture = np.zeros(shares.shape[1])
    for i in range(support.size):
        for m in range(mixture.size):
            mixture[m] += weights[i] * shares[support[i], m]
    return mixture


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _scores(shares: Floats, tags: Ints, mixture: Floats) -> Floats:
    """Return g_c = Σ_m a_mc / d_m of the given tags."""
    inverse = 1.0 / mixture
    scores = np.empty(tags.size)
    for i in range(tags.size):
        column = shares[tags[i]]
        score = 0.0
        for m in range(inverse.size):
            score += column[m] * inverse[m]
        scores[i] = score
    return scores


@njit(cache=True, nogil=True)
def _least_ratio(gap: float) -> float:
    """Return a lower bound, tight to rounding, of the root below 1 of q − 1 − log q = gap.

    With q = exp(−t) the function t + expm1(−t) − gap is convex and rising: Newton's method started
    above the root stays above it, so stopping early is safe.
    """
    t = math.sqrt(2.0 * gap) + gap if gap < 0.5 else 1.0 + gap
    for _ in range(6):
        t -= (t + math.expm1(-t) - gap) / -math.expm1(-t)
    return math.exp(-t)


@njit(cache=True, nogil=True)
def _violators(shares: Floats, alive: Ints, scores: Floats, mixture: Floats, tolerance: float) -> Ints:
    """Return positions in ``alive``: for each region the best violator of those it supports the most.

    One tag a region keeps near-copies of one tag from entering together.
    """
    best = np.full(mixture.size, -1)
    for i in range(alive.size):
        if scores[i] > 1.0 + tolerance:
            m = np.argmax(shares[alive[i]] / mixture)
            if best[m] < 0 or scores[i] > scores[best[m]]:
                best[m] = i
    return best[best >= 0]


@njit(cache=True, nogil=True)
def _enter(
    shares: Floats, support: Ints, weights: Floats, tags: Ints, scores: Floats, mixture: Floats
) -> tuple[Ints, Floats]:
    """Return support and weights after moving mass to ``tags``: F rises, and each becomes positive.

    The slope of F along the move is positive at 0 and falls; halving the step until the slope at its
    end is not negative stops within a factor of two of the maximum and cannot pass it.
    """
    n_regions = mixture.size
    target = (scores - 1.0) * (n_regions / np.sum(scores - 1.0))
    towards = _mixture(shares, tags, target) - mixture
    step = 0.5
    for _ in range(MAX_HALVINGS):
        if np.sum(towards / (mixture + step * towards)) >= 0.0:
            break
        step *= 0.5
    merged = np.concatenate((support, tags))
    mass = np.concatenate(((1.0 - step) * weights, step * target))
    return merged, mass


@njit(cache=True, nogil=True)
def _restricted_optimum(
    shares: Floats, support: Ints, weights: Floats, tolerance: float
) -> tuple[Ints, Floats]:
    """Return the maximum of F over the tags of ``support``: its positive part, scaled to Σ_c w_c = M.

    Newton's method on the positive tags; a step that reaches the edge drops the tag it meets there
    (once all others are optimal, a tag dropped too early scores above 1 and enters again).
    """
    n_regions = shares.shape[1]
    for _ in range(50 + 2 * support.size):
        ratios = shares[support] / _mixture(shares, support, weights)
        scores = ratios.sum(axis=1)
        if np.abs(scores - 1.0).max() <= tolerance:
            break
        move = _newton_direction(ratios, scores - 1.0)
        step, edge = _safe_step(weights, move, ratios)
        if step > 0.0:
            weights = weights + step * move
            if edge >= 0:
                weights[edge] = 0.0
        else:
            weights = weights * scores  # the multiplicative step never lowers F
        kept = np.flatnonzero(weights > 0.0)
        support, weights = support[kept], weights[kept]
    return support, weights * (n_regions / weights.sum())


@njit(cache=True, nogil=True)
def _newton_direction(ratios: Floats, ascent: Floats) -> Floats:
    """Return H⁻¹ × ascent for H = ratios ratiosᵀ + ridge, by a Cholesky factor written over H."""
    size = ascent.size
    H = ratios @ ratios.T
    move = ascent.copy()
    for i in range(size):
        H[i, i] += RIDGE
        for j in range(i + 1):
            rest = H[i, j]
            for k in range(j):
                rest -= H[i, k] * H[j, k]
            H[i, j] = rest / H[j, j] if j < i else math.sqrt(max(rest, RIDGE))
    for i in range(size):
        for k in range(i):
            move[i] -= H[i, k] * move[k]
        move[i] /= H[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            move[i] -= H[k, i] * move[k]
        move[i] /= H[i, i]
    return move


@njit(cache=True, nogil=True)
def _safe_step(weights: Floats, move: Floats, ratios: Floats) -> tuple[float, int]:
    """Return a step ≤ 1 along ``move`` that raises F enough, and the tag that it makes zero (or −1).

    The rise is summed from log1p so that it keeps its digits when the steps get small; step 0 says
    that no step was found.
    """
    step, edge = 1.0, -1
    for i in range(move.size):
        if weights[i] + step * move[i] <= 0.0:
            step, edge = -weights[i] / move[i], i
    change = move @ ratios
    slope = change.sum() - move.sum()
    for _ in range(MAX_HALVINGS):
        rise = -step * move.sum()
        for m in range(change.size):
            rise += math.log1p(step * change[m])
        if rise >= 1e-4 * step * slope and slope > 0.0:
            return step, edge
        step, edge = 0.5 * step, -1
    return 0.0, -1
