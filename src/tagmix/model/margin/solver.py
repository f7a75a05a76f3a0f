"""The margin problem (Eq. 4 of the paper, one weight per tag) by cutting planes, with a certified gap.

min over w >= 0 of ν₁/2 ‖w − c‖² + R(w), where c is 0 in the paper and may be 1 (D20), and R is ν₂ times the
mean over pictures of the mean hinge loss of their (own, other) pairs. Every plane cut from R bounds it from
below; the master problem over the planes bounds the optimum from below, and the best weights so far bound it
from above.
"""

import warnings
from functools import cache
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from tagmix.arrays import Counts, Floats, Ints
from tagmix.errors import ParameterError
from tagmix.model.margin.master import Master, solve_master
from tagmix.model.margin.oracle import cut_plane
from tagmix.model.margin.problem import MarginData, prepare

# A plane that the master has not used for this many rounds is dropped.
IDLE_ROUNDS = 20
# The next cut lies at this fraction of the way from the best weights to the master's, which overshoot while
# planes are few; the fraction grows after a cut that improved the weights and shrinks otherwise. Measured on
# five kinds of problem with ν₁ from 1e-4 to 1e-8: at most 1.5 times the rounds of the best fixed fraction,
# which depends on the problem; a badly chosen one costs three times as many.
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 0.5, 0.1, 0.5
GROW, SHRINK = 1.25, 0.8
# The master is solved to this fraction of the remaining gap: more precision does not save rounds.
MASTER_SHARE = 0.1


class MarginSolution(NamedTuple):
    """Weights, the cutting planes that certify them, and the gap.

    ``plane_duals[k]`` is the dual of the plane cut at ``plane_points[k]``; they sum to at most 1.
    ``primal`` is the objective at ``weights``, ``dual`` a lower bound on the optimum, ``gap`` their
    difference relative to ``primal``; ``history`` has one row (best primal, dual) per round.
    """

    weights: Floats
    plane_points: Floats
    plane_duals: Floats
    primal: float
    dual: float
    gap: float
    history: Floats
    n_iter: int
    converged: bool
    peak_planes: int
    n_pictures: int
    nu2: float


class _Bundle(NamedTuple):
    """The active planes: where each was cut, its slope, level and dual, and the rounds without use."""

    points: list[Floats]
    slopes: Floats
    levels: Floats
    duals: Floats
    idle: Ints


def solve_margin(
    zbar: Counts,
    tags: Counts,
    *,
    nu1: float,
    nu2: float = 1.0,
    centre: float = 0.0,
    tolerance: float = 1e-3,
    max_iter: int = 1000,
    start: Floats | None = None,
    n_threads: int = 1,
) -> MarginSolution:
    """Return weights whose objective is certified to be within ``tolerance`` (relative) of the optimum.

    ν₁ pulls every weight to ``centre``, from which the first plane is cut unless ``start`` is given (weights
    of a similar problem save rounds). A tolerance
    below about 1e-6 exceeds the accuracy of the small QP. Warns with ConvergenceWarning if ``max_iter``
    rounds do not close the gap, which is part of the solution.

    >>> from scipy.sparse import csr_array
    >>> zbar, tags = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1, 0], [0, 1]])
    >>> solution = solve_margin(zbar, tags, nu1=0.1, tolerance=1e-6)
    >>> solution.weights.round(1).tolist(), round(solution.primal, 4)
    ([2.5, 1.0], 0.4875)
    """
    _check_settings(nu1, centre, tolerance, max_iter)
    data = prepare(zbar, tags, nu2, zbar.shape[0])
    first = _first_point(start, data.n_tags, centre)
    # The master's matrices are small: threads inside BLAS would cost more than they save.
    with _blas().limit(limits=1, user_api="blas"):
        how = _How(nu1, nu2, centre, tolerance, max_iter, n_threads)
        solution = _cut_until_closed(data, how, first)
    if not solution.converged:
        warnings.warn(
            f"expected a relative gap of {tolerance:.2g}, got {solution.gap:.2g} after {max_iter} rounds; "
            "raise max_iter, tolerance or nu1",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution


class _How(NamedTuple):
    """The settings of one solution."""

    nu1: float
    nu2: float
    centre: float
    tolerance: float
    max_iter: int
    n_threads: int

    def penalty(self, weights: Floats) -> float:
        """Return ν₁/2 ‖w − c‖²."""
        return self.nu1 / 2 * float(((weights - self.centre) ** 2).sum())


def _cut_until_closed(data: MarginData, how: _How, point: Floats) -> MarginSolution:
    """Cut planes between the best weights and the master's until the gap is closed."""
    best = np.zeros(data.n_tags)
    primal = how.penalty(best) + _risk_at_zero(data)
    bundle = _Bundle([], np.empty((0, data.n_tags)), np.empty(0), np.empty(0), np.empty(0, np.int64))
    master = Master(bundle.duals, best, 0.0)
    history: list[tuple[float, float]] = []
    share, peak = FIRST_SHARE, 0
    while len(history) < how.max_iter and (not history or primal - master.value > how.tolerance * primal):
        plane = cut_plane(data, point, how.n_threads)
        reached = how.penalty(point) + plane.risk
        if history:
            share = min(MOST_SHARE, share * GROW) if reached < primal else max(LEAST_SHARE, share * SHRINK)
        if reached < primal:
            best, primal = point, reached
        bundle = _with_plane(bundle, point, plane.slope, plane.level)
        peak = max(peak, bundle.levels.size)
        allowed = MASTER_SHARE * max(primal - master.value, how.tolerance * primal)
        master = solve_master(bundle.slopes, bundle.levels, how.nu1, bundle.duals, allowed, how.centre)
        bundle = _without_idle(bundle, master.duals)
        history.append((primal, master.value))
        point = best + share * (master.weights - best)
    closed = primal - master.value <= how.tolerance * primal
    return _solution(best, bundle, np.array(history), closed, peak, data.n_pictures, how.nu2)


def _solution(
    weights: Floats, bundle: _Bundle, history: Floats, closed: bool, peak: int, n_pictures: int, nu2: float
) -> MarginSolution:
    """Return the solution with the planes that have a dual and the bounds of the last round."""
    used = np.flatnonzero(bundle.duals)
    primal, dual = (float(bound) for bound in history[-1])
    return MarginSolution(
        weights=weights,
        plane_points=np.array([bundle.points[k] for k in used]).reshape(used.size, weights.size),
        plane_duals=bundle.duals[used],
        primal=primal,
        dual=dual,
        gap=(primal - dual) / primal if primal > 0 else 0.0,
        history=history,
        n_iter=len(history),
        converged=closed,
        peak_planes=peak,
        n_pictures=n_pictures,
        nu2=nu2,
    )


def _risk_at_zero(data: MarginData) -> float:
    """Return the risk of zero weights, where every pair is violated by exactly 1."""
    n_own = np.diff(data.own_starts)
    return float((data.pair_weights * n_own * (data.n_tags - n_own)).sum())


def _with_plane(bundle: _Bundle, point: Floats, slope: Floats, level: float) -> _Bundle:
    """Return the bundle with one more plane; the first plane starts with the whole dual mass."""
    return _Bundle(
        [*bundle.points, point],
        np.vstack([bundle.slopes, slope]),
        np.append(bundle.levels, level),
        np.append(bundle.duals, 0.0 if bundle.points else 1.0),
        np.append(bundle.idle, 0),
    )


def _without_idle(bundle: _Bundle, duals: Floats) -> _Bundle:
    """Return the bundle with its new duals, without planes unused for ``IDLE_ROUNDS``."""
    idle = np.where(duals > 0, 0, bundle.idle + 1)
    kept = np.flatnonzero(idle < IDLE_ROUNDS)
    if kept.size == idle.size:
        return bundle._replace(duals=duals, idle=idle)
    points = [bundle.points[k] for k in kept]
    return _Bundle(points, bundle.slopes[kept], bundle.levels[kept], duals[kept], idle[kept])


@cache
def _blas() -> Any:
    """Return the controller of BLAS threads; cached, because finding the libraries takes milliseconds."""
    return ThreadpoolController()


def _check_settings(nu1: float, centre: float, tolerance: float, max_iter: int) -> None:
    """Raise ParameterError unless the settings are valid."""
    if not (isfinite(nu1) and nu1 > 0):
        raise ParameterError(f"nu1 must be finite and above 0, got {nu1}; pass the weight of ‖w‖²/2")
    if not (isfinite(centre) and centre >= 0):
        raise ParameterError(f"centre must be finite and at least 0, got {centre}; 0 is the paper")
    if not (isfinite(tolerance) and tolerance > 0):
        raise ParameterError(f"tolerance must be finite and above 0, got {tolerance}; the default is 1e-3")
    if max_iter < 1:
        raise ParameterError(f"max_iter must be at least 1, got {max_iter}; the default is 1000")


def _first_point(start: Floats | None, n_tags: int, centre: float) -> Floats:
    """Return the point of the first cut: ``start``, checked, or the centre."""
    if start is None:
        return np.full(n_tags, centre)
    point = np.array(start, dtype=np.float64)
    if point.shape != (n_tags,) or not np.all(np.isfinite(point)) or np.any(point < 0):
        raise ParameterError(
            f"start must be {n_tags} finite nonnegative weights, got shape {point.shape}; "
            "pass the weights of an earlier solution or None"
        )
    return point
