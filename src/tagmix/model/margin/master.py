"""The master problem of the cutting planes: the best weights under the planes cut so far.

Its dual over α >= 0, Σα <= 1 is f(α) = b·α − ‖[ν₁c − Aᵀα]₊‖² / (2ν₁) + ν₁‖c‖²/2, with the planes' slopes as
the rows of A, their levels as b, and c the weights that ν₁ pulls to (0 in the paper). f is concave and once
differentiable, and any α gives a lower bound on the margin problem, so the bound is valid however inexactly
the master is solved.
"""

from typing import NamedTuple

import daqp
import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats

# The quadratic of a Newton step is singular when planes outnumber tags; a proximal term of
# this relative size keeps it definite and, unlike a ridge, does not move the solution.
PROXIMITY = 1e-7
MAX_STEPS = 20
# Smaller duals are rounding errors, or remnants of planes that no longer bind.
NEGLIGIBLE = 1e-10
UNBOUNDED = 1e30


class Master(NamedTuple):
    """Duals of the planes, the weights they imply and the lower bound f(α)."""

    duals: Floats
    weights: Floats
    value: float


def solve_master(
    slopes: Floats, levels: Floats, nu1: float, duals: Floats, tolerance: float, centre: float = 0.0
) -> Master:
    """Return duals whose bound is within ``tolerance`` of the master's optimum, starting from ``duals``.

    Semi-smooth Newton: for a fixed set of tags with positive weight f is a quadratic, whose maximum over
    the simplex is a small QP; an exact line search ensures that the bound never decreases.

    >>> master = solve_master(np.array([[-1.0]]), np.array([1.0]), 2.0, np.zeros(1), 1e-6)
    >>> master.duals, round(master.value, 6)
    (array([1.]), 0.75)
    """
    pull, rest = nu1 * centre - slopes.T @ duals, nu1 / 2 * centre**2 * slopes.shape[1]
    for step in range(MAX_STEPS + 1):
        weights = np.maximum(pull, 0.0) / nu1
        value = float(levels @ duals) - nu1 / 2 * float(weights @ weights) + rest
        penalty = nu1 / 2 * float(((weights - centre) ** 2).sum())
        gap = penalty + max(0.0, float((slopes @ weights + levels).max())) - value
        if gap <= tolerance or step == MAX_STEPS:
            break
        target = _newton_target(slopes, levels, nu1, duals, pull > 0, centre)
        change = target - duals
        pull_change = -(slopes.T @ change)
        length = exact_length(pull, pull_change, float(levels @ change), nu1)
        if length == 0.0:
            break
        # Exact zeros mark unused planes; the bound is that of the truncated duals.
        duals = duals + length * change
        duals[duals < NEGLIGIBLE] = 0.0
        pull = nu1 * centre - slopes.T @ duals
    return Master(duals, weights, value)


def _newton_target(
    slopes: Floats, levels: Floats, nu1: float, duals: Floats, positive: NDArray[np.bool_], centre: float
) -> Floats:
    """Return the duals that maximise f's quadratic at the current set of positive tags."""
    active = slopes if positive.all() else slopes[:, positive]
    levels = levels + centre * active.sum(axis=1)
    quadratic = active @ active.T / nu1
    n_planes = levels.size
    scale = max(float(np.trace(quadratic)) / n_planes, float(np.abs(levels).max()), np.finfo(float).tiny)
    quadratic /= scale
    quadratic[np.diag_indices(n_planes)] += PROXIMITY
    upper, lower = np.full(n_planes + 1, UNBOUNDED), np.zeros(n_planes + 1)
    upper[-1], lower[-1] = 1.0, -UNBOUNDED
    solved, _, _, _ = daqp.solve(
        quadratic,
        -levels / scale - PROXIMITY * duals,
        np.ones((1, n_planes)),
        upper,
        lower,
        np.zeros(n_planes + 1, np.int32),
    )
    # The line search that follows needs only a feasible point, so it is enough to clip rounding errors.
    target = np.maximum(np.nan_to_num(solved), 0.0)
    return target / max(1.0, float(target.sum()))


def exact_length(pull: Floats, change: Floats, rise: float, nu1: float) -> float:
    """Return the length in [0, 1] that maximises f along the step.

    f's derivative along the step is continuous, decreasing and piecewise linear: Newton's method inside a
    shrinking bracket finds its zero.
    """

    def derivative(length: float) -> tuple[float, float]:
        moved = pull + length * change
        moving = np.where(moved > 0, change, 0.0)
        return rise - float(moved @ moving) / nu1, -float(moving @ moving) / nu1

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
