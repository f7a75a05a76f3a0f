"""The most probable mixture of a picture in NumPy: the definition, without screening.

A picture has regions m = 1 … M with evidence log p_mc (up to a constant per region) and rates λ_c > 0:

    max F(θ) = Σ_m log Σ_c θ_c p_mc − Σ_c λ_c θ_c  over θ ≥ 0.

With w_c = λ_c θ_c and the shares a_mc = p_mc / (λ_c max_c' p_mc'/λ_c') this is, up to a constant,

    max Σ_m log d_m − Σ_c w_c,  d_m = Σ_c w_c a_mc.

F is concave; w is optimal if g_c = Σ_m a_mc / d_m ≤ 1 for all tags, = 1 where w_c > 0. Then
Σ_c w_c = Σ_c w_c g_c = M. From log x ≤ x − 1, every w' ≥ 0 and V = max_c g_c satisfy
F(w') ≤ M log V + Σ_m log d_m − M, so a w with Σ_c w_c = M is within ``M log V`` of the optimum.
"""

import numpy as np

from tagmix.arrays import Floats, Ints

RIDGE = 1e-12
INNER_SHARE = 1e-3
MAX_HALVINGS = 60


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
    """Fill the optimal θ (exact zeros), the optimality residual and the gap of pictures ``start … stop``.

    The residual is max(max_c g_c − 1, max over θ_c > 0 of |g_c − 1|); the gap bounds F* − F in nats.
    Both are the values reached, even if ``max_iter`` sweeps were not enough for ``tolerance``.

    >>> theta, residual, gap = np.empty((1, 3)), np.empty(1), np.empty(1)
    >>> evidence = np.log([[0.9, 0.2, 0.1], [0.2, 0.8, 0.1]])
    >>> map_pictures(evidence, np.array([0, 2]), np.ones((1, 3)), 1e-9, 9, theta, residual, gap, 0, 1)
    >>> theta.round(6).tolist(), bool(residual[0] <= 1e-9)
    ([[1.047619, 0.952381, 0.0]], True)
    """
    theta[start:stop] = 0.0
    residual[start:stop] = 0.0
    gap[start:stop] = 0.0
    for picture in range(start, stop):
        first, last = region_starts[picture], region_starts[picture + 1]
        if first == last:
            continue
        picture_rates = rates[picture if len(rates) > 1 else 0]
        scaled = evidence[first:last] - np.log(picture_rates)
        shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        weights = _solve(shares, tolerance, max_iter)
        scores = _scores(shares, weights)
        highest = max(1.0, scores.max())
        theta[picture] = weights / picture_rates
        residual[picture] = max(highest - 1.0, np.abs(scores[weights > 0.0] - 1.0).max())
        gap[picture] = (last - first) * np.log(highest)


def _scores(shares: Floats, weights: Floats) -> Floats:
    """Return g_c = Σ_m a_mc / d_m per tag."""
    return (1.0 / (shares @ weights)) @ shares


def _solve(shares: Floats, tolerance: float, max_iter: int) -> Floats:
    """Return the optimal w: start from the best tag of each region, then add violators."""
    n_regions, n_tags = shares.shape
    weights = np.bincount(shares.argmax(axis=1), minlength=n_tags).astype(np.float64)
    for _ in range(max_iter):
        weights = _restricted_optimum(shares, weights, INNER_SHARE * tolerance)
        scores = _scores(shares, weights)
        violators = np.flatnonzero(scores > 1.0 + tolerance)
        if violators.size == 0:
            break
        owner = (shares[:, violators] / (shares @ weights)[:, None]).argmax(axis=0)
        entering = [violators[owner == m][scores[violators[owner == m]].argmax()] for m in np.unique(owner)]
        target = np.zeros(n_tags)
        target[entering] = scores[entering] - 1.0
        weights = _move_towards(shares, weights, target * (n_regions / target.sum()))
    return _restricted_optimum(shares, weights, INNER_SHARE * tolerance)


def _move_towards(shares: Floats, weights: Floats, target: Floats) -> Floats:
    """Return a point between ``weights`` and ``target`` at which the slope of F is not negative."""
    mixture = shares @ weights
    towards = shares @ target - mixture
    step = 0.5
    for _ in range(MAX_HALVINGS):
        if np.sum(towards / (mixture + step * towards)) >= 0.0:
            break
        step *= 0.5
    return (1.0 - step) * weights + step * target


def _restricted_optimum(shares: Floats, weights: Floats, tolerance: float) -> Floats:
    """Return the maximum of F over the tags that are positive in ``weights``, with Σ_c w_c = M.

    Newton's method on the positive tags; a step to the boundary drops the tag that becomes zero. If no
    Newton step increases F, the multiplicative step w_c g_c is taken (it never decreases F).
    """
    weights = weights.copy()
    for _ in range(50 + 2 * np.count_nonzero(weights)):
        on = np.flatnonzero(weights)
        ratios = shares[:, on] / (shares @ weights)[:, None]
        ascent = ratios.sum(axis=0) - 1.0
        if np.abs(ascent).max() <= tolerance:
            break
        move = np.linalg.solve(ratios.T @ ratios + RIDGE * np.eye(on.size), ascent)
        moved = _safe_step(weights[on], move, ratios)
        weights[on] = weights[on] * (1.0 + ascent) if moved is None else moved
    return weights * (len(shares) / weights.sum())


def _safe_step(weights: Floats, move: Floats, ratios: Floats) -> Floats | None:
    """Return the weights after a step ≤ 1 along ``move`` with sufficient increase of F, or None."""
    limits = np.divide(weights, -move, out=np.full(weights.shape, np.inf), where=move < 0.0)
    edge = int(limits.argmin())
    step = min(1.0, limits[edge])
    change = ratios @ move
    slope = change.sum() - move.sum()
    for halvings in range(MAX_HALVINGS if slope > 0.0 else 0):
        if step * change.min() > -1.0:
            rise = np.log1p(step * change).sum() - step * move.sum()
            if rise >= 1e-4 * step * slope:
                moved = weights + step * move
                if halvings == 0 and limits[edge] <= 1.0:
                    moved[edge] = 0.0
                return np.maximum(moved, 0.0)
        step *= 0.5
    return None
