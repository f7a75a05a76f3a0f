"""The master problem of the cutting planes: the best weights that the planes found so far allow.

Its dual over α >= 0, Σα <= 1 is f(α) = b·α − ‖[−Aᵀα]₊‖² / (2ν₁), with the planes' slopes as the rows
of A and their levels as b. f is concave and once differentiable, and any α gives a lower bound on the
margin problem, so the bound stays honest however roughly the master is solved.
"""

from typing import NamedTuple

import daqp
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats

# The quadratic of a Newton step is singular when planes outnumber tags; a pull towards the current α
# of this relative size keeps it definite and, unlike a plain ridge, moves no solution.
PROXIMITY = 1e-7
MAX_STEPS = 20
# A dual below this is rounding, or what is left of a plane that the steps have moved away from.
NEGLIGIBLE = 1e-10
UNBOUNDED = 1e30


class Master(NamedTuple):
    """Duals of the planes, the weights they imply and the lower bound f(α)."""

    duals: Floats
    weights: Floats
    value: float


def solve_master(slopes: Floats, levels: Floats, nu1: float, duals: Floats, tolerance: float) -> Master:
    """Return duals whose bound is within ``tolerance`` of the master's optimum, starting from ``duals``.

    Semi-smooth Newton: with the tags of positive weight held fixed f is a quadratic, whose maximum over
    the simplex is a small QP; an exact search on the way there keeps the bound from ever falling.

    >>> master = solve_master(np.array([[-1.0]]), np.array([1.0]), 2.0, np.zeros(1), 1e-6)
    >>> master.duals, round(master.value, 6)
    (array([1.]), 0.75)
    """
    pull = -(slopes.T @ duals)
    for step in range(MAX_STEPS + 1):
        weights = np.maximum(pull, 0.0) / nu1
        square = nu1 / 2 * float(weights @ weights)
        value = float(levels @ duals) - square
        gap = square + max(0.0, float((slopes @ weights + levels).max())) - value
        if gap <= tolerance or step == MAX_STEPS:
            break
        target = _newton_target(slopes, levels, nu1, duals, pull > 0)
        change = target - duals
        pull_change = -(slopes.T @ change)
        length = exact_length(pull, pull_change, float(levels @ change), nu1)
        if length == 0.0:
            break
        # Exact zeros, by which unused planes are known; the bound is then that of the duals as they stand.
        duals = duals + length * change
        duals[duals < NEGLIGIBLE] = 0.0
        pull = -(slopes.T @ duals)
    return Master(duals, weights, value)


def _newton_target(
    slopes: Floats, levels: Floats, nu1: float, duals: Floats, positive: NDArray[np.bool_]
) -> Floats:
    """Return the duals that maximise f's quadratic at the current set of positive tags."""
    active = slopes if positive.all() else slopes[:, positive]
    quadratic = active @ active.T / nu1
    n_planes = levels.size
    scale = max(float(np.trace(quadratic)) / n_planes, float(levels.max()), np.finfo(float).tiny)
    quadratic /= scale
    quadratic[np.diag_indices(n_planes)] += PROXIMITY
    upper, lower = np.full(n_planes + 1, UNBOUNDED), np.zeros(n_planes + 1)
    upper[-1], lower[-1] = 1.0, -UNBOUNDED
    found, _, _, _ = daqp.solve(
        quadratic,
        -levels / scale - PROXIMITY * duals,
        np.ones((1, n_planes)),
        upper,
        lower,
        np.zeros(n_planes + 1, np.int32),
    )
    # The search that follows asks only for a feasible point, so rounding is clipped and nothing more.
    found = np.maximum(np.nan_to_num(found), 0.0)
    return found / max(1.0, float(found.sum()))


def exact_length(pull: Floats, change: Floats, rise: float, nu1: float) -> float:
    """Return the length in [0, 1] that maximises f along the step.

    f's derivative on the way is continuous, falling and piecewise linear: Newton's method inside a
    shrinking bracket finds its zero.
    """

    def derivative(length: float) -> tuple[float, float]:
        bent = pull + length * change
        moving = np.where(bent > 0, change, 0.0)
        return rise - float(bent @ moving) / nu1, -float(moving @ moving) / nu1

    initial, _ = derivative(0.0)
    if initial <= 0:
        return 0.0
    low, high, length = 0.0, 1.0, 1.0
    for _ in range(40):
        slope, curvature = derivative(length)
        if abs(slope) <= 1e-9 * initial or (length == 1.0 and slope >= 0):
            return length
        low, high = (length, high) if slope > 0 else (low, length)
        newton = length - slope / curvature if curvature < 0 else low
        length = newton if low < newton < high else (low + high) / 2
    return low
