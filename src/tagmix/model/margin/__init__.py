"""The margin problem: tag weights that rank each picture's own tags first, with a certified gap."""

from tagmix.model.margin.duals import label_duals, own_label_duals
from tagmix.model.margin.oracle import Plane, cut_plane, primal_objective
from tagmix.model.margin.problem import MarginData, prepare
from tagmix.model.margin.solver import MarginSolution, solve_margin

__all__ = [
    "MarginData",
    "MarginSolution",
    "Plane",
    "cut_plane",
    "label_duals",
    "own_label_duals",
    "prepare",
    "primal_objective",
    "solve_margin",
]
