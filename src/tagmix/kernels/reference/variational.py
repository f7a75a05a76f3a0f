"""Variational inference, picture by picture: phi, S, and the rate r = M/ζ.

With γ = 1 + S and ρ = 1/(λ + r) in closed form (D1–D3 in docs/maths/deviations.md), inference
is a loop of two steps per picture: φ_mc ∝ e^{evidence_mc} ρ_c e^{Ψ(1+S_c)}, then S = Σ_m φ_m and the r
that solves Σ_c (1+S_c) r/(λ_c + r) = M. Tags outside the picture's entries have S = 0.
"""

import numpy as np
from scipy.special import digamma, gammaln

from tagmix.arrays import Floats, Ints
from tagmix.kernels.reference.special import softplus_sum

NEWTON_STEPS = 60
NEWTON_TOLERANCE = 1e-13


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
    """Turn evidence into phi in place, picture by picture; fill S, r, the bound and the steps taken.

    ``S`` contains the initial value (regions per entry); ``entry_guide`` is added to the evidence of
    every region of the entry's picture. ``rates`` is 1 × tags for all pictures or
    pictures × tags. The loop ends when no S moves by more than ``tolerance`` regions.
    """
    for n in range(len(block_starts) - 1):
        own = slice(entry_starts[n], entry_starts[n + 1])
        width = own.stop - own.start
        part = block[block_starts[n] : block_starts[n + 1]]
        log_rates = np.log(rates[n if len(rates) > 1 else 0])
        if part.size == 0:  # no region or no tag: the prior
            S[own], r[n], bound[n], n_iter[n] = 0.0, 0.0, 0.0, 0
            continue
        evidence = part.reshape(-1, width) + entry_guide[own]
        phi, S[own], r[n], bound[n], n_iter[n] = _infer_picture(
            evidence, np.log(entry_rates[own]), log_rates, bounded, tolerance, max_iter, S[own]
        )
        part[:] = phi.ravel()


def _infer_picture(
    evidence: Floats,
    own: Floats,
    log_rates: Floats,
    bounded: bool,
    tolerance: float,
    max_iter: int,
    S: Floats,
) -> tuple[Floats, Floats, float, float, int]:
    n_regions = len(evidence)
    u = solve_rate(S, own, log_rates, n_regions, np.inf) if bounded else -np.inf
    step = 0
    while True:
        step += 1
        E_log_theta = digamma(1 + S) - np.logaddexp(own, u)
        logits = evidence + E_log_theta
        log_norm = np.logaddexp.reduce(logits, axis=1, keepdims=True)
        phi = np.exp(logits - log_norm)
        moved = np.abs(phi.sum(axis=0) - S).max()
        S = phi.sum(axis=0)
        u = solve_rate(S, own, log_rates, n_regions, u) if bounded else u
        if moved <= tolerance or step >= max_iter:
            break
    value = float(log_norm.sum() - S @ E_log_theta - S @ np.logaddexp(own, u) + gammaln(1 + S).sum())
    if bounded:
        value += n_regions * (1 - np.log(n_regions) + u) - softplus_sum(log_rates, u)[0]
    return phi, S, float(np.exp(u)), value, step


def solve_rate(S: Floats, own: Floats, log_rates: Floats, n_regions: int, u: float) -> float:
    """Return u = log r with Σ_c (1+S_c) σ(u − log λ_c) = M, by Newton in r where the sum is concave.

    From the left of the root, Newton's steps stay left and converge; from the right, one step leads to
    the left, or is clipped to the bracket given by the smallest rate.
    """
    low = float(log_rates.min() + np.log(n_regions / len(log_rates)))
    u = low if not np.isfinite(u) else u
    for _ in range(NEWTON_STEPS):
        sigmoid = 1 / (1 + np.exp(own - u))
        _, total, slope = softplus_sum(log_rates, u)
        error = total + float(S @ sigmoid) - n_regions
        if abs(error) <= NEWTON_TOLERANCE * n_regions:
            break
        slope += float(S @ (sigmoid * (1 - sigmoid)))
        relative_step = error / slope  # in r: Δr/r
        u = max(u + float(np.log1p(-relative_step)), low) if relative_step < 1 else low
    return u


def explain_given(
    block: Floats,
    block_starts: Ints,
    entry_starts: Ints,
    log_shares: Floats,
    S: Floats,
    bound: Floats,
    n_threads: int = 1,
) -> None:
    """Turn evidence into phi in place for given shares of the entries: φ ∝ share · e^{evidence}.

    The regions are then independent: S is the sum of φ, and the bound is the likelihood itself.
    """
    for n in range(len(block_starts) - 1):
        own = slice(entry_starts[n], entry_starts[n + 1])
        part = block[block_starts[n] : block_starts[n + 1]]
        S[own], bound[n] = 0.0, 0.0
        if part.size:
            logits = part.reshape(-1, own.stop - own.start) + log_shares[own]
            log_norm = np.logaddexp.reduce(logits, axis=1, keepdims=True)
            phi = np.exp(logits - log_norm)
            S[own], bound[n] = phi.sum(axis=0), log_norm.sum()
            part[:] = phi.ravel()


def theta_sums(S: Floats, entry_tags: Ints, entry_pictures: Ints, rates: Floats, r: Floats) -> Floats:
    """Return Σ_n γ_nc ρ_nc = Σ_n (1 + S_nc)/(λ_c + r_n) per tag; ``rates`` is one row."""
    sums = (1 / (rates[None, :] + r[:, None])).sum(axis=0)
    np.add.at(sums, entry_tags, S / (rates[entry_tags] + r[entry_pictures]))
    return sums
