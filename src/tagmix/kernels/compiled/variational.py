"""Variational inference, compiled; the definition is ``reference.variational``.

The evidence is exponentiated once per picture. Tags outside the picture's entries enter only through
sums over all rates, which come from a table (``special``): the cost depends on the entries, not on all tags.
"""

import math

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled.exponential import exponentiate
from tagmix.kernels.compiled.special import (
    FAST,
    exp_digamma_1p,
    look_up,
    sigmoid_sums,
    softplus,
    softplus_table,
)
from tagmix.kernels.reference.variational import NEWTON_STEPS, NEWTON_TOLERANCE
from tagmix.kernels.threads import over_ranges


def infer_pictures(
    block: Floats,
    block_starts: Ints,
    entry_starts: Ints,
    entry_rates: Floats,
    entry_guide: Floats,
    rates: Floats,
    bounded: bool,
    tolerance: float,
    max_iter: int,
    S: Floats,
    r: Floats,
    bound: Floats,
    n_iter: Ints,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.variational.infer_pictures``."""
    log_rates = np.log(rates)
    table, low = np.zeros((0, 0)), 0.0
    if len(rates) == 1:
        table, low = _table(log_rates, block_starts, entry_starts, n_threads)

    def work(first: int, last: int) -> None:
        _infer(
            block, block_starts, entry_starts, entry_rates, entry_guide, log_rates, table, low, bounded,
            tolerance, max_iter, S, r, bound, n_iter, first, last,
        )  # fmt: skip

    over_ranges(work, len(block_starts) - 1, n_threads)


def _table(log_rates: Floats, block_starts: Ints, entry_starts: Ints, n_threads: int) -> tuple[Floats, float]:
    """Return the table over all u that the rate of a picture can take, and its lower end."""
    n_regions = np.diff(block_starts) // np.maximum(np.diff(entry_starts), 1)
    share = np.log(
        np.array([max(1, n_regions.min(initial=1)), max(1, n_regions.max(initial=1))]) / log_rates.size
    )
    low = float(log_rates.min() + share[0])
    return softplus_table(log_rates[0], low, float(log_rates.max() + share[1]), n_threads), low


@njit(cache=True, nogil=True)
def _over_all_tags(u, log_rates, table, low):  # type: ignore[no-untyped-def]
    """Equal to ``reference.special.softplus_sum(log_rates, u)``."""
    if len(table) > 0:
        return look_up(table, low, u)
    value = total = slope = 0.0
    for c in range(len(log_rates)):
        value += softplus(u - log_rates[c])
        s = 1.0 / (1.0 + math.exp(log_rates[c] - u))
        total += s
        slope += s * (1.0 - s)
    return value, total, slope


@njit(cache=True, nogil=True)
def _solve_rate(S, own, log_rates, table, low, n_regions, floor, u):  # type: ignore[no-untyped-def]
    """Equal to ``reference.variational.solve_rate``, with rates instead of their logs for own tags."""
    for _ in range(NEWTON_STEPS):
        _, total, slope = _over_all_tags(u, log_rates, table, low)
        r = math.exp(u)
        for c in range(len(S)):
            s = r / (own[c] + r)
            total += S[c] * s
            slope += S[c] * s * (1.0 - s)
        error = total - n_regions
        if abs(error) <= NEWTON_TOLERANCE * n_regions:
            break
        step = error / slope
        u = max(u + math.log1p(-step), floor) if step < 1.0 else floor
    return u


@njit(cache=True, nogil=True, fastmath=FAST)
def _weigh(weights, S, own, r):  # type: ignore[no-untyped-def]
    """Equal to ``weights[:] = exp(digamma(1 + S)) / (own + r)``."""
    for c in range(len(S)):
        weights[c] = exp_digamma_1p(S[c]) / (own[c] + r)


@njit(cache=True, nogil=True, fastmath=FAST)
def _share(P, weights, fresh):  # type: ignore[no-untyped-def]
    """Fill fresh with Σ_m φ_mc and return Σ_m log Σ_c P_mc weights_c."""
    fresh[:] = 0.0
    log_norm = 0.0
    for m in range(P.shape[0]):
        row = P[m]
        total = 0.0
        for c in range(P.shape[1]):
            total += row[c] * weights[c]
        log_norm += math.log(total)
        scale = 1.0 / total
        for c in range(P.shape[1]):
            fresh[c] += row[c] * scale
    for c in range(P.shape[1]):
        fresh[c] *= weights[c]
    return log_norm


@njit(cache=True, nogil=True, fastmath=FAST)
def _exponentiate(P, guide, scratch):  # type: ignore[no-untyped-def]
    """Turn evidence into exp(evidence + guide − maximum) per region; return the sum of the maxima."""
    shift = 0.0
    for m in range(P.shape[0]):
        row = P[m]
        top = -np.inf
        for c in range(P.shape[1]):
            row[c] += guide[c]
            top = max(top, row[c])
        shift += top
        for c in range(P.shape[1]):
            row[c] -= top
        exponentiate(row, scratch)
    return shift


@njit(cache=True, nogil=True, fastmath=FAST)
def _normalise(P, weights):  # type: ignore[no-untyped-def]
    """Turn P into φ_mc ∝ P_mc weights_c in place."""
    for m in range(P.shape[0]):
        row = P[m]
        total = 0.0
        for c in range(P.shape[1]):
            row[c] *= weights[c]
            total += row[c]
        for c in range(P.shape[1]):
            row[c] /= total


@njit(cache=True, nogil=True)
def _bound(S, weights, own, u, log_norm):  # type: ignore[no-untyped-def]
    """The terms of the picture's own entries; ``weights`` are those of phi."""
    r = math.exp(u)
    value = log_norm
    for c in range(len(S)):
        value -= S[c] * (math.log(weights[c]) + math.log(own[c] + r))
        value += math.lgamma(1.0 + S[c])
    return value


@njit(cache=True, nogil=True)
def _infer(  # type: ignore[no-untyped-def]
    block, block_starts, entry_starts, entry_rates, guide, log_rates, table, low, bounded, tolerance,
    max_iter, S, r, bound, n_iter, first, last,
):  # fmt: skip
    for n in range(first, last):
        a, b = entry_starts[n], entry_starts[n + 1]
        if block_starts[n + 1] == block_starts[n]:
            S[a:b], r[n], bound[n], n_iter[n] = 0.0, 0.0, 0.0, 0
            continue
        n_regions = (block_starts[n + 1] - block_starts[n]) // (b - a)
        P = block[block_starts[n] : block_starts[n + 1]].reshape(n_regions, b - a)
        own, row = entry_rates[a:b], log_rates[n if len(log_rates) > 1 else 0]
        floor = row.min() + math.log(n_regions / len(row)) if len(table) == 0 else low
        weights, fresh, old = np.empty(b - a), np.empty(b - a), S[a:b].copy()
        shift = _exponentiate(P, guide[a:b], weights)
        u = _solve_rate(old, own, row, table, low, n_regions, floor, floor) if bounded else -np.inf
        step = 0
        while True:
            step += 1
            _weigh(weights, old, own, math.exp(u))
            log_norm = _share(P, weights, fresh)
            moved = np.abs(fresh - old).max()
            old[:] = fresh
            if bounded:
                u = _solve_rate(old, own, row, table, low, n_regions, floor, u)
            if moved <= tolerance or step >= max_iter:
                break
        S[a:b], r[n], n_iter[n] = old, math.exp(u), step
        bound[n] = _bound(old, weights, own, u, log_norm + shift)
        if bounded:
            bound[n] += n_regions * (1.0 - math.log(n_regions) + u) - _over_all_tags(u, row, table, low)[0]
        _normalise(P, weights)


def explain_given(
    block: Floats,
    block_starts: Ints,
    entry_starts: Ints,
    log_shares: Floats,
    S: Floats,
    bound: Floats,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.variational.explain_given``."""

    def work(first: int, last: int) -> None:
        _explain(block, block_starts, entry_starts, log_shares, S, bound, first, last)

    over_ranges(work, len(block_starts) - 1, n_threads)


@njit(cache=True, nogil=True)
def _explain(block, block_starts, entry_starts, log_shares, S, bound, first, last):  # type: ignore[no-untyped-def]
    for n in range(first, last):
        a, b = entry_starts[n], entry_starts[n + 1]
        S[a:b], bound[n] = 0.0, 0.0
        if block_starts[n + 1] == block_starts[n]:
            continue
        n_regions = (block_starts[n + 1] - block_starts[n]) // (b - a)
        P = block[block_starts[n] : block_starts[n + 1]].reshape(n_regions, b - a)
        weights = np.empty(b - a)
        bound[n] = _exponentiate(P, log_shares[a:b], weights)
        weights[:] = 1.0
        bound[n] += _share(P, weights, S[a:b])
        _normalise(P, weights)


def theta_sums(S: Floats, entry_tags: Ints, entry_pictures: Ints, rates: Floats, r: Floats) -> Floats:
    """Equal to ``reference.variational.theta_sums``; pictures with r = 0 have no regions."""
    full = r[r > 0]
    sums = (len(r) - len(full)) / rates
    if len(full):
        sums += sigmoid_sums(np.log(full), np.log(rates)) / rates
    own = S / (rates[entry_tags] + r[entry_pictures])
    return sums + np.bincount(entry_tags, weights=own, minlength=len(rates))
