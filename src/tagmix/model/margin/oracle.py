"""The risk of the margin problem and its cutting planes."""

from typing import NamedTuple

import numpy as np

from tagmix.arrays import Counts, Floats
from tagmix.kernels.compiled.ranking import cut
from tagmix.kernels.threads import over_ranges
from tagmix.model.margin.problem import MarginData, chunk_cuts, prepare


class Plane(NamedTuple):
    """A plane below the risk: ``slope · w + level <= risk(w)`` for all w, with equality where it was cut."""

    slope: Floats
    level: float
    risk: float


def cut_plane(data: MarginData, weights: Floats, n_threads: int = 1) -> Plane:
    """Return the cutting plane of the risk at ``weights``; its slope is a subgradient there.

    The result does not depend on ``n_threads``: each chunk of pictures has its own partial plane, and these
    are summed in order.
    """
    chunks = chunk_cuts(data.n_pictures)
    slopes, levels = np.empty((chunks.size - 1, data.n_tags)), np.empty(chunks.size - 1)

    def cut_chunks(first: int, last: int) -> None:
        cut(*data[:-1], weights, chunks, first, last, slopes, levels)

    over_ranges(cut_chunks, chunks.size - 1, n_threads)
    slope, level = slopes.sum(axis=0), float(levels.sum())
    # The hinge of a violated pair is linear, so the plane's value is the risk, to rounding.
    return Plane(slope, level, max(0.0, float(slope @ weights) + level))


def primal_objective(
    zbar: Counts,
    tags: Counts,
    weights: Floats,
    *,
    nu1: float,
    nu2: float = 1.0,
    centre: float = 0.0,
    n_threads: int = 1,
) -> float:
    """Return P(w), the margin problem's objective, at any nonnegative ``weights``.

    >>> from scipy.sparse import csr_array
    >>> zbar, tags = csr_array([[0.5, 0.5]]), csr_array([[1, 0]])
    >>> primal_objective(zbar, tags, np.array([1.0, 0.0]), nu1=0.1)
    0.55
    """
    data = prepare(zbar, tags, nu2, zbar.shape[0])
    penalty = nu1 / 2 * float(((weights - centre) ** 2).sum())
    return penalty + cut_plane(data, weights, n_threads).risk
