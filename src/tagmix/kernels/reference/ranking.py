"""The ranking hinge over pairs (own tag, other tag), one picture at a time: the definition.

In picture n an own tag i has the threshold ``t_i = w_i z̄_ni − 1`` and every other tag j the score
``s_j = w_j z̄_nj >= 0``; the pair (i, j) is violated if ``s_j > t_i``. The *rank* of a score (the
number of thresholds strictly below it) is the number of pairs that it violates.
"""

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints

Columns = NDArray[np.int32]


def find_own(columns: Columns, starts: Ints, own_columns: Columns, own_starts: Ints) -> Ints:
    """Return the position of each own tag in z̄, or −1 where z̄ is zero.

    >>> find_own(np.array([1, 3]), np.array([0, 2]), np.array([2, 3]), np.array([0, 2]))
    array([-1,  1])
    """
    own_at = np.full(own_columns.size, -1, np.int64)
    for n in range(starts.size - 1):
        place_of = {int(columns[e]): e for e in range(starts[n], starts[n + 1])}
        for at in range(own_starts[n], own_starts[n + 1]):
            own_at[at] = place_of.get(int(own_columns[at]), -1)
    return own_at


def _violations(
    n: int,
    values: Floats,
    columns: Columns,
    starts: Ints,
    own_columns: Columns,
    own_starts: Ints,
    weights: Floats,
) -> tuple[Floats, Ints]:
    """Return the dense row of z̄ of picture n and the signed number of violated pairs per tag.

    Positive for own tags, negative for others; a picture without tags, or with all of them, has no
    pairs.
    """
    dense = np.zeros(weights.size)
    entries = slice(starts[n], starts[n + 1])
    dense[columns[entries]] = values[entries]
    own = np.zeros(weights.size, bool)
    own[own_columns[own_starts[n] : own_starts[n + 1]]] = True
    thresholds = np.sort((weights * dense)[own] - 1.0)
    scores = np.sort((weights * dense)[~own])
    signed = np.empty(weights.size, np.int64)
    signed[own] = scores.size - np.searchsorted(scores, (weights * dense)[own] - 1.0, side="right")
    signed[~own] = -np.searchsorted(thresholds, (weights * dense)[~own], side="left")
    return dense, signed


def cut(
    values: Floats,
    columns: Columns,
    starts: Ints,
    own_at: Ints,
    own_columns: Columns,
    own_starts: Ints,
    pair_weights: Floats,
    weights: Floats,
    chunks: Ints,
    first: int,
    last: int,
    slopes: Floats,
    levels: Floats,
) -> None:
    """Write the cutting plane at ``weights`` of each chunk ``first … last`` of pictures.

    The risk of the pictures is at least ``slope · w + level`` for all w, with equality at ``weights``;
    ``pair_weights[n]`` is the weight of a violated pair of picture n. Chunk k consists of the pictures
    ``chunks[k] … chunks[k + 1]`` and writes only to ``slopes[k]`` and ``levels[k]``.
    """
    for chunk in range(first, last):
        slopes[chunk], levels[chunk] = 0.0, 0.0
        for n in range(chunks[chunk], chunks[chunk + 1]):
            dense, signed = _violations(n, values, columns, starts, own_columns, own_starts, weights)
            slopes[chunk] -= pair_weights[n] * signed * dense
            levels[chunk] += pair_weights[n] * signed[signed > 0].sum()


def add_counts(
    values: Floats,
    columns: Columns,
    starts: Ints,
    own_at: Ints,
    own_columns: Columns,
    own_starts: Ints,
    points: Floats,
    factors: Floats,
    first: int,
    last: int,
    own_out: Floats,
    other_out: Floats,
) -> None:
    """Add Σ_k factor_k · (violated pairs at point k) of pictures ``first … last``, tag by tag.

    Own tags add to ``own_out``, flat and aligned with ``own_columns``; the others add to ``other_out``,
    pictures × tags, unless it has no rows. With one point and the factor 1 these are the counts.
    """
    for n in range(first, last):
        own = slice(own_starts[n], own_starts[n + 1])
        for point, factor in zip(points, factors, strict=True):
            _, signed = _violations(n, values, columns, starts, own_columns, own_starts, point)
            own_out[own] += factor * np.maximum(signed[own_columns[own]], 0)
            if other_out.shape[0] > 0:
                other_out[n] += factor * np.maximum(-signed, 0)
