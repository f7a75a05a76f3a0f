"""The ranking hinge over pairs (own tag, other tag), compiled, without a list of pairs.

In picture n an own tag i has the threshold ``t_i = w_i z̄_ni − 1`` and every other tag j the score
``s_j = w_j z̄_nj >= 0``; the pair (i, j) is violated if ``s_j > t_i``. The *rank* of a score is the
number of thresholds strictly below it: the number of pairs it violates. A threshold below 0 is below
every score, so only thresholds from 0 up (*live*) are compared with scores, and all tags that z̄_n
does not store have the same rank: the number of thresholds that are not live.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints

Columns = NDArray[np.int32]

# Up to this many live thresholds, one vectorised pass per threshold is faster than sorting and searching.
FEW = 8


@njit(cache=True, nogil=True)
def find_own(columns: Columns, starts: Ints, own_columns: Columns, own_starts: Ints) -> Ints:
    """Return the position of each own tag in z̄, or −1; equals ``reference.ranking.find_own``.

    Both matrices have sorted columns within each row.
    """
    own_at = np.full(own_columns.size, -1, np.int64)
    for n in range(starts.size - 1):
        low = starts[n]
        for at in range(own_starts[n], own_starts[n + 1]):
            low += np.searchsorted(columns[low : starts[n + 1]], own_columns[at])
            if low < starts[n + 1] and columns[low] == own_columns[at]:
                own_at[at] = low
    return own_at


@njit(cache=True, nogil=True)
def _longest(starts: Ints, first: int, last: int) -> int:
    """Return the largest number of entries in the rows ``first … last``, to size the workspaces."""
    longest = 0
    for n in range(first, last):
        longest = max(longest, starts[n + 1] - starts[n])
    return longest


@njit(cache=True, nogil=True)
def _pass_live(scores: Floats, thresholds: Floats, ranks: Floats, own_counts: Ints) -> None:
    """Add the number of live thresholds below each score to its rank, in one pass per live threshold.

    The own tag of a live threshold gets the number of scores above it. Cost: live thresholds × scores.
    """
    for i in range(thresholds.size):
        threshold = thresholds[i]
        if threshold >= 0.0:
            count = 0
            for e in range(scores.size):
                above = scores[e] > threshold
                ranks[e] += above
                count += above
            own_counts[i] = count


@njit(cache=True, nogil=True)
def _search_live(scores: Floats, thresholds: Floats, ranks: Floats, own_counts: Ints, tally: Ints) -> None:
    """Compute the same as ``_pass_live`` by binary search among the sorted live thresholds.

    Cost: scores × log(live thresholds). ``tally`` is overwritten.
    """
    live = np.sort(thresholds[thresholds >= 0.0])
    tally[: live.size + 1] = 0
    for e in range(scores.size):
        rank = np.searchsorted(live, scores[e])
        ranks[e] += rank
        tally[rank] += 1
    above = 0
    for rank in range(live.size, -1, -1):
        here = tally[rank]
        tally[rank] = above
        above += here
    for i in range(thresholds.size):
        if thresholds[i] >= 0.0:
            own_counts[i] = tally[np.searchsorted(live, thresholds[i])]


@njit(cache=True, nogil=True)
def _workspace(
    starts: Ints, own_starts: Ints, first: int, last: int
) -> tuple[Floats, Floats, Floats, Ints, Ints]:
    """Return workspaces for scores, ranks, thresholds, own counts and a tally of a range of pictures."""
    longest, widest = _longest(starts, first, last), _longest(own_starts, first, last)
    own_counts, tally = np.empty(widest, np.int64), np.empty(widest + 1, np.int64)
    return np.empty(longest), np.empty(longest), np.empty(widest), own_counts, tally


@njit(cache=True, nogil=True)
def _rank_picture(
    n: int,
    values: Floats,
    columns: Columns,
    starts: Ints,
    own_at: Ints,
    own_columns: Columns,
    own_starts: Ints,
    weights: Floats,
    workspace: tuple[Floats, Floats, Floats, Ints, Ints],
) -> int:
    """Rank the stored scores of picture n and count the violated pairs of its own tags.

    Both are written to the front of their workspaces; own tags have rank 0. Returns the common rank of
    all other tags that are not stored.
    """
    begin, n_stored = starts[n], starts[n + 1] - starts[n]
    own_begin, n_own = own_starts[n], own_starts[n + 1] - own_starts[n]
    scores, ranks, thresholds = workspace[0][:n_stored], workspace[1][:n_stored], workspace[2][:n_own]
    own_counts, tally = workspace[3], workspace[4]
    for e in range(n_stored):
        scores[e] = weights[columns[begin + e]] * values[begin + e]
    lowest = 0
    for i in range(n_own):
        place = own_at[own_begin + i] - begin
        thresholds[i] = -1.0
        if place >= 0:
            thresholds[i] = scores[place] - 1.0
            scores[place] = -1.0  # own tags do not compete: below every live threshold
        lowest += thresholds[i] < 0.0
        own_counts[i] = weights.size - n_own
    ranks[:] = lowest
    if n_own - lowest > FEW:
        _search_live(scores, thresholds, ranks, own_counts, tally)
    elif n_own > lowest:
        _pass_live(scores, thresholds, ranks, own_counts)
    for i in range(n_own):
        place = own_at[own_begin + i] - begin
        if place >= 0:
            ranks[place] = 0.0
    return lowest


@njit(cache=True, nogil=True)
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
    """Write one partial cutting plane per chunk; equals ``reference.ranking.cut`` up to rounding.

    Chunk k consists of the pictures ``chunks[k] … chunks[k + 1]``; its subgradient is written to
    ``slopes[k]`` and its constant to ``levels[k]``, so the sum is the same for any number of threads.
    """
    workspace = _workspace(starts, own_starts, chunks[first], chunks[last])
    ranks, own_counts = workspace[1], workspace[3]
    for chunk in range(first, last):
        slope = slopes[chunk]
        slope[:] = 0.0
        levels[chunk] = 0.0
        for n in range(chunks[chunk], chunks[chunk + 1]):
            begin, own_begin, n_own = starts[n], own_starts[n], own_starts[n + 1] - own_starts[n]
            if n_own in (0, weights.size):
                continue
            _rank_picture(n, values, columns, starts, own_at, own_columns, own_starts, weights, workspace)
            scale = pair_weights[n]
            for e in range(begin, starts[n + 1]):
                slope[columns[e]] += scale * ranks[e - begin] * values[e]
            violated = 0
            for i in range(n_own):
                violated += own_counts[i]
                place = own_at[own_begin + i]
                if place >= 0:
                    slope[columns[place]] -= scale * own_counts[i] * values[place]
            levels[chunk] += scale * violated


@njit(cache=True, nogil=True)
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

    Own tags add to ``own_out``, aligned with ``own_columns``; the others add to ``other_out``, pictures ×
    tags, unless it has no rows. Equals ``reference.ranking.add_counts`` up to rounding.
    """
    workspace = _workspace(starts, own_starts, first, last)
    ranks, own_counts = workspace[1], workspace[3]
    for n in range(first, last):
        own_begin, n_own = own_starts[n], own_starts[n + 1] - own_starts[n]
        if n_own in (0, points.shape[1]):
            continue
        unstored = 0.0
        for k in range(factors.size):
            lowest = _rank_picture(
                n, values, columns, starts, own_at, own_columns, own_starts, points[k], workspace
            )
            for i in range(n_own):
                own_out[own_begin + i] += factors[k] * own_counts[i]
            if other_out.shape[0] > 0:
                unstored += factors[k] * lowest
                for e in range(starts[n], starts[n + 1]):
                    other_out[n, columns[e]] += factors[k] * (ranks[e - starts[n]] - lowest)
        if other_out.shape[0] > 0:
            other_out[n] += unstored
            for i in range(n_own):
                other_out[n, own_columns[own_begin + i]] = 0.0
