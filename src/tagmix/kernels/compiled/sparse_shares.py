"""The tags that can be positive in a picture, and their shares: the first part of ``sparse_coding``.

The share of tag c in region m is a_mc = p_mc / (λ_c max_c' p_mc'/λ_c'). A tag with Σ_m a_mc < 1 is zero
at every optimum (proof: ``sparse_coding``); max_m a_mc < 1/M is a sufficient test without an exponential.
"""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled.exponential import exponentiate

# Columns per block: those of ten regions stay in the second-level cache for the second pass.
BLOCK = 1024
# A tag this close below the threshold is kept, because of rounding.
SLACK = 1e-9


@njit(cache=True, nogil=True)
def possible_tags(regions: Floats, log_rates: Floats, tags: Ints, columns: Floats) -> tuple[int, Ints]:
    """Return the number of tags that can be positive, and the position of each region's best tag among them.

    Fills the first rows of ``tags`` (their indices, increasing) and of ``columns`` (their shares).
    """
    peaks, leaders = np.full(regions.shape[0], -np.inf), np.zeros(regions.shape[0], np.int64)
    n_candidates = _candidates(regions, log_rates, tags, peaks, leaders)
    n_possible = _fill_shares(regions, log_rates, peaks, tags, n_candidates, columns)
    return n_possible, np.searchsorted(tags[:n_possible], leaders)


@njit(cache=True, nogil=True)
def _candidates(regions: Floats, log_rates: Floats, tags: Ints, peaks: Floats, leaders: Ints) -> int:
    """Return the number of tags within a factor M of some region's best so far; fill their indices.

    The evidence is read from memory once. The best so far is at most the final best, so no tag is lost;
    a few superfluous tags of the first blocks are dropped when their shares are summed.
    """
    n_regions, n_tags = regions.shape
    threshold = -math.log(n_regions) - SLACK
    highest = np.empty(BLOCK)
    homes = np.zeros(n_regions, np.int64)
    n_candidates = 0
    for first in range(0, n_tags, BLOCK):
        last = min(first + BLOCK, n_tags)
        highest[:] = -np.inf
        for m in range(n_regions):
            peak = _peak(regions[m, first:last], log_rates[first:last])
            if peak > peaks[m]:
                peaks[m], homes[m] = peak, first
            _raise_to(highest, regions[m, first:last], log_rates[first:last], peaks[m])
        for c in range(first, last):
            tags[n_candidates] = c
            n_candidates += highest[c - first] >= threshold
    for m in range(n_regions):
        leaders[m] = homes[m]
        while regions[m, leaders[m]] - log_rates[leaders[m]] < peaks[m]:
            leaders[m] += 1
    return n_candidates


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _peak(evidence: Floats, log_rates: Floats) -> float:
    """Return max_c (evidence_c − log λ_c); the flags allow a vectorised maximum (there is no NaN)."""
    peak = -np.inf
    for c in range(evidence.size):
        peak = max(peak, evidence[c] - log_rates[c])
    return peak


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _raise_to(highest: Floats, evidence: Floats, log_rates: Floats, peak: float) -> None:
    """Set ``highest`` to its maximum with the log shares of one region."""
    for c in range(evidence.size):
        highest[c] = max(highest[c], evidence[c] - log_rates[c] - peak)


@njit(cache=True, nogil=True)
def _fill_shares(
    regions: Floats, log_rates: Floats, peaks: Floats, tags: Ints, n_candidates: int, columns: Floats
) -> int:
    """Return the number of candidates with Σ_m a_mc ≥ 1; compact ``tags`` and fill ``columns`` with them."""
    n_regions = peaks.size
    shares = np.empty((n_regions, BLOCK))
    bits = np.empty(BLOCK)
    n_possible = 0
    for first in range(0, n_candidates, BLOCK):
        chunk = tags[first : min(first + BLOCK, n_candidates)]
        totals = np.zeros(chunk.size)
        for m in range(n_regions):
            for i in range(chunk.size):
                shares[m, i] = regions[m, chunk[i]] - log_rates[chunk[i]] - peaks[m]
            exponentiate(shares[m, : chunk.size], bits)
            totals += shares[m, : chunk.size]
        for i in range(chunk.size):
            if totals[i] >= 1.0 - SLACK:
                tags[n_possible] = chunk[i]
                for m in range(n_regions):
                    columns[n_possible, m] = shares[m, i]
                n_possible += 1
    return n_possible
