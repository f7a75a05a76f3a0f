"""The duals of the margin problem, summed per tag without enumerating the pairs.

The dual of the pair (i, j) of picture n is α_n^ij = Σ_k α_k ν₂ / (N |Y_n| |Y_n°|) [violated at plane k].
δ_nc sums the pairs that contain tag c, with sign + if c is an own tag and − otherwise.
"""

import numpy as np

from tagmix.arrays import Counts, Floats, Ints
from tagmix.errors import ParameterError
from tagmix.kernels.compiled.ranking import add_counts
from tagmix.kernels.threads import over_ranges
from tagmix.model.margin.problem import MarginData, prepare
from tagmix.model.margin.solver import MarginSolution


def label_duals(
    zbar: Counts, tags: Counts, solution: MarginSolution, *, n_total: int | None = None, n_threads: int = 1
) -> Floats:
    """Return δ, dense, pictures × tags, for all pictures or for a shard.

    ``n_total`` is the N of the whole problem, by default that of ``solution``, so that the δ of a shard
    are the rows of the whole.

    >>> from scipy.sparse import csr_array
    >>> from tagmix.model.margin import solve_margin
    >>> zbar, tags = csr_array([[0.5, 0.5], [0.0, 1.0]]), csr_array([[1, 0], [0, 1]])
    >>> label_duals(zbar, tags, solve_margin(zbar, tags, nu1=1.0))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    data = _shard(zbar, tags, solution, n_total)
    delta = np.zeros((data.n_pictures, data.n_tags))
    own = _counts(data, solution, n_threads, delta)
    delta *= -data.pair_weights[:, None]
    delta[_picture_of_own(data), data.own_columns] = own
    return delta


def own_label_duals(
    zbar: Counts, tags: Counts, solution: MarginSolution, *, n_total: int | None = None, n_threads: int = 1
) -> Floats:
    """Return δ of the own tags alone, aligned with ``tags.indices``, without a pictures × tags array."""
    data = _shard(zbar, tags, solution, n_total)
    return _counts(data, solution, n_threads, np.empty((0, data.n_tags)))


def _shard(zbar: Counts, tags: Counts, solution: MarginSolution, n_total: int | None) -> MarginData:
    """Return the arrays of a shard with the pair weights of the whole problem."""
    whole = solution.n_pictures if n_total is None else n_total
    data = prepare(zbar, tags, solution.nu2, max(whole, 1))
    if data.n_tags != solution.weights.size or whole < data.n_pictures:
        raise ParameterError(
            f"expected a shard of {solution.weights.size} tags and at most n_total = {whole} pictures, "
            f"got {zbar.shape}; pass rows of the matrices that were solved"
        )
    return data


def _counts(data: MarginData, solution: MarginSolution, n_threads: int, others: Floats) -> Floats:
    """Return δ of the own tags; add the other tags' weighted pair counts to ``others`` if it has rows."""
    own = np.zeros(data.own_columns.size)

    def add(first: int, last: int) -> None:
        arrays = data[:-2]
        add_counts(*arrays, solution.plane_points, solution.plane_duals, first, last, own, others)

    over_ranges(add, data.n_pictures, n_threads)
    return own * data.pair_weights[_picture_of_own(data)]


def _picture_of_own(data: MarginData) -> Ints:
    """Return the picture of each own tag."""
    return np.repeat(np.arange(data.n_pictures), np.diff(data.own_starts))
