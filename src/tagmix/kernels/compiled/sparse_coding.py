"""The most probable mixture of a picture, compiled: equals ``reference.sparse_coding`` up to the tolerance.

With w_c = λ_c θ_c and a_mc = p_mc / (λ_c max_c' p_mc'/λ_c') the problem of a picture with M regions is

    max F(w) = Σ_m log d_m − Σ_c w_c  over w ≥ 0,  d_m = Σ_c w_c a_mc,  max_c a_mc = 1.

Optimality: g_c = Σ_m a_mc / d_m ≤ 1, and = 1 where w_c > 0; hence Σ_c w_c = M. Only some tags
are visited, because two tests prove that the others are zero at *every* optimum.

Before solving. For the best tag of region m: 1 / d*_m ≤ g*_c ≤ 1, so d*_m ≥ 1 and
g*_c ≤ Σ_m a_mc. A tag with Σ_m a_mc < 1 is zero; max_m a_mc < 1/M proves it without an exponential.
These tags also never attain the largest score V = max_c g_c: V ≥ 1/d_m, so g_c ≤ V Σ_m a_mc < V.

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

# Added to the diagonal of the Hessian (between 1/M and 1 near the optimum), so that linearly dependent
# columns move to the boundary of the cone, where they are dropped.
RIDGE = 1e-12
# Newton's method converges quadratically: this smaller tolerance costs the restricted problem one step.
INNER_SHARE = 1e-3
MAX_HALVINGS = 60


@njit(cache=True, nogil=True)
def map_pictures(
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
    """Fill theta, residual and gap of pictures ``start … stop``; equals ``reference.map_pictures``."""
    n_tags = evidence.shape[1]
    widest = 0
    for picture in range(start, stop):
        widest = max(widest, region_starts[picture + 1] - region_starts[picture])
    columns = np.empty((n_tags, widest))
    tags = np.empty(n_tags, np.int64)
    log_rates = np.empty(0)
    for picture in range(start, stop):
        theta[picture] = 0.0
        residual[picture] = 0.0
        gap[picture] = 0.0
        regions = evidence[region_starts[picture] : region_starts[picture + 1]]
        n_regions = regions.shape[0]
        if n_regions == 0:
            continue
        row = picture if rates.shape[0] > 1 else 0
        if rates.shape[0] > 1 or log_rates.size == 0:
            log_rates = np.log(rates[row])
        n_possible, leaders = possible_tags(regions, log_rates, tags, columns)
        shares = columns[:n_possible, :n_regions]
        support, weights, residual[picture], gap[picture] = _solve(shares, leaders, tolerance, max_iter)
        for i in range(support.size):
            theta[picture, tags[support[i]]] += weights[i] / rates[row, tags[support[i]]]


@njit(cache=True, nogil=True)
def _solve(
    shares: Floats, leaders: Ints, tolerance: float, max_iter: int
) -> tuple[Ints, Floats, float, float]:
    """Return support, weights, residual and gap of one picture, starting from the best tag of each region.

    The residual is computed over all possible tags at the end, screened or not; if a screened tag
    scores above the tolerance, the ascent continues without screening.
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
    """Return support, weights and number of sweeps once no remaining tag scores above 1 + tolerance."""
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

    With q = exp(−t) the function t + expm1(−t) − gap is convex and increasing: Newton's method started
    above the root stays above it, so early stopping is safe.
    """
    t = math.sqrt(2.0 * gap) + gap if gap < 0.5 else 1.0 + gap
    for _ in range(6):
        t -= (t + math.expm1(-t) - gap) / -math.expm1(-t)
    return math.exp(-t)


@njit(cache=True, nogil=True)
def _violators(shares: Floats, alive: Ints, scores: Floats, mixture: Floats, tolerance: float) -> Ints:
    """Return positions in ``alive``: per region, the best violator among those it supports most.

    One tag per region prevents near-duplicates of a tag from entering together.
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
    """Return support and weights after moving mass to ``tags``: F increases, and each becomes positive.

    The slope of F along the move is positive at 0 and decreases. Backtracking until the slope at the end
    is not negative stops within a factor of two of the maximum, and not beyond it.
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

    Newton's method on the positive tags; a step to the boundary drops the tag that becomes zero (a tag
    that is dropped too early scores above 1 once all others are optimal, and enters again).
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
            weights = weights * scores  # the multiplicative step never decreases F
        kept = np.flatnonzero(weights > 0.0)
        support, weights = support[kept], weights[kept]
    return support, weights * (n_regions / weights.sum())


@njit(cache=True, nogil=True)
def _newton_direction(ratios: Floats, ascent: Floats) -> Floats:
    """Return H⁻¹ × ascent for H = ratios ratiosᵀ + ridge, by a Cholesky factorisation in place of H."""
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
    """Return a step ≤ 1 along ``move`` with sufficient increase, and the tag that becomes zero (or −1).

    The increase is a sum of log1p, which stays accurate for small steps; step 0 means that no step was
    found.
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
