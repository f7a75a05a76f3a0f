"""Time the certified margin solver against L-BFGS-B, which certifies nothing, on the same primal.

Both call the same compiled oracle. L-BFGS-B runs with SciPy's stopping defaults and bounds w >= 0; it
takes the objective for smooth, so where it stops is not proved to be anywhere near the optimum.
"""

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix.arrays import Counts, Floats
from tagmix.model.margin import cut_plane, prepare, solve_margin

N_IMAGES, N_TAGS, TAGS_AN_IMAGE = 4500, 374, 3.5
STRENGTHS = (1e-3, 1e-4, 1e-5, 1e-6)
REPEATS = 3
TOLERANCE = 1e-3


class Timed(NamedTuple):
    """The best CPU and wall seconds of a few runs, and what the last run returned."""

    cpu: float
    wall: float
    result: Any


def captioned_pictures(*, dense: bool, seed: int = 0) -> tuple[Counts, Counts]:
    """Return topic shares that favour the right tags, and Zipf-like tags, of synthetic pictures."""
    rng = np.random.default_rng(seed)
    popularity = (np.arange(N_TAGS) + 5.0) ** -0.8
    popularity /= popularity.sum()
    own = rng.random((N_IMAGES, N_TAGS)) < np.minimum(TAGS_AN_IMAGE * popularity, 1.0)
    if dense:
        shares = rng.gamma(0.02 + 0.1 * N_TAGS * popularity + 0.7 * own)
    else:
        seen = rng.random(own.shape) < np.maximum(8 * popularity, 0.7 * own)
        shares = rng.gamma(1.0, 1.0 + 1.5 * own) * seen
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    return csr_array(shares), csr_array(own.astype(np.float64))


def best_of(work: Callable[[], Any]) -> Timed:
    """Return the least CPU and wall time of a few calls."""
    times = []
    for _ in range(REPEATS):
        cpu, wall = process_time(), perf_counter()
        result = work()
        times.append((process_time() - cpu, perf_counter() - wall))
    return Timed(min(cpu for cpu, _ in times), min(wall for _, wall in times), result)


def by_lbfgsb(zbar: Counts, tags: Counts, nu1: float) -> Any:
    """Return SciPy's result for the same primal, from the same oracle and the same start."""
    data = prepare(zbar, tags, 1.0, N_IMAGES)

    def objective(weights: Floats) -> tuple[float, Floats]:
        plane = cut_plane(data, weights)
        return nu1 / 2 * float(weights @ weights) + plane.risk, plane.slope + nu1 * weights

    return minimize(objective, np.zeros(N_TAGS), jac=True, method="L-BFGS-B", bounds=[(0, None)] * N_TAGS)


def compare(kind: str, zbar: Counts, tags: Counts, nu1: float) -> dict[str, Any]:
    """Return times, objectives and effort of both solvers on one problem."""
    ours = best_of(lambda: solve_margin(zbar, tags, nu1=nu1, tolerance=TOLERANCE))
    theirs = best_of(lambda: by_lbfgsb(zbar, tags, nu1))
    solution, lbfgsb = ours.result, theirs.result
    return {
        "what": f"margin problem, {kind} shares, nu1 {nu1:g}",
        "ours": f"{ours.cpu * 1e3:.0f} ms CPU, certified gap {solution.gap:.1e}, {solution.n_iter} rounds",
        "peer": f"L-BFGS-B {theirs.cpu * 1e3:.0f} ms CPU, {lbfgsb.nfev} calls, no certificate",
        "ratio": theirs.cpu / ours.cpu,
        "promise": 1.0,
        "shares": kind,
        "nu1": nu1,
        "margin_cpu_s": ours.cpu,
        "margin_wall_s": ours.wall,
        "lbfgsb_cpu_s": theirs.cpu,
        "lbfgsb_wall_s": theirs.wall,
        "cpu_ratio": ours.cpu / theirs.cpu,
        "margin_objective": solution.primal,
        "margin_gap": solution.gap,
        "lbfgsb_objective": float(lbfgsb.fun),
        "margin_rounds": solution.n_iter,
        "lbfgsb_calls": int(lbfgsb.nfev),
        "peak_planes": solution.peak_planes,
    }


def run() -> list[dict[str, Any]]:
    """Return one record for each kind of shares and each ν₁."""
    records = []
    # BLAS threads that wait for work would be charged to whoever is being timed.
    with threadpool_limits(limits=1, user_api="blas"):
        for kind in ("sparse", "dense"):
            zbar, tags = captioned_pictures(dense=kind == "dense")
            solve_margin(zbar, tags, nu1=1e-3)  # compile before timing
            records += [compare(kind, zbar, tags, nu1) for nu1 in STRENGTHS]
    return records


if __name__ == "__main__":
    for record in run():
        print("  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in record.items()))
