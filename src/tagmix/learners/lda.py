"""Base of the topic models with a Dirichlet prior of shares: checks, inference, and updates of α.

A picture's shares θ ~ Dir(α) over tags or topics, and every region belongs to one of them. With
γ = α + S, where S counts the regions, the bound's terms in θ are log B(α + S) − log B(α); the other terms
are those of EMM.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import digamma

from tagmix.arrays import Counts, Entries, Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.kernels.compiled import topics
from tagmix.learners.checks import is_number
from tagmix.learners.schema import Array, Flag, Number
from tagmix.model.instance import Multinomial

# Fixed-point steps for α between two E-steps.
ALPHA_STEPS = 100
ALPHA_TOLERANCE = 1e-6
LEAST_EVIDENCE = 1e-9
MOST_THREADS = 10**4
Models = Mapping[str, Multinomial]
# Fitted attributes of every fit by EM.
FIT_SCHEMA: dict[str, Any] = {
    "bound_history_": Array(("iterations",)),
    "n_iter_": Number(1, 10**9, whole=True),
    "converged_": Flag(),
}


class Shares(NamedTuple):
    """q of a shard: φ as a flat block, S per entry, and the bound per picture."""

    phi: Floats
    S: Floats
    bound: Floats


class How(NamedTuple):
    """Settings of inference: κ per view, convergence, and threads."""

    evidence: Mapping[str, float]
    tolerance: float
    max_iter: int
    n_threads: int


def start_alpha(total: Any, width: int) -> Floats:
    """Return equal initial α: 1 each, or with the fixed sum ``total``."""
    if total is None:
        return np.ones(width)
    if not is_number(total, 1e-3, 1e6):
        raise ParameterError(
            f"total_alpha must be a number from 0.001 to 1e6, or None, got {total!r:.60}: None learns it."
        )
    return np.full(width, total / width)


def check_chi(chi: Any) -> tuple[float, float]:
    """Return the shape and rate of the Gamma prior of α, whose mode must be above 0."""
    pair = isinstance(chi, tuple | list) and len(chi) == 2
    if not pair or not all(is_number(x, 1e-6, 1e6) for x in chi) or chi[0] <= 1:
        raise ParameterError(f"chi must be a shape above 1 and a rate above 0, got {chi!r:.60}: (2.0, 1.0).")
    return float(chi[0]), float(chi[1])


def threads(n_jobs: Any) -> int:
    """Return the number of threads for ``n_jobs``."""
    if n_jobs is None:
        return 1
    if not is_number(n_jobs, -MOST_THREADS, MOST_THREADS, whole=True) or n_jobs == 0:
        raise ParameterError(
            f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r:.60}: -1 is all cores."
        )
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


def how_to_infer(learner: Any, bags: Bags) -> How:
    """Return the settings of inference from a learner's parameters; ``evidence`` is one κ or one per view."""
    given, views = learner.evidence, list(bags.views)
    kappa = dict(given) if isinstance(given, Mapping) else dict.fromkeys(views, given)
    if set(kappa) != set(views):
        raise ParameterError(
            f"evidence must name the views {views}, got {sorted(kappa)}: pass one number per view."
        )
    for value in kappa.values():
        if not is_number(value, LEAST_EVIDENCE, 1):
            raise ParameterError(
                f"evidence must be above 0 and at most 1, got {value!r:.60}: 1 is the likelihood itself."
            )
    by_view = {view: float(kappa[view]) for view in views}
    return How(by_view, learner.estep_tol, int(learner.estep_max_iter), threads(learner.n_jobs))


def words_of(mus: Mapping[str, Floats], etas: Mapping[str, Any], n_threads: int) -> Models:
    """Return the word models of a fitted learner, from its fitted attributes."""
    return {view: Multinomial(mu, float(etas[view]), n_threads=n_threads) for view, mu in mus.items()}


def evidence_of(shard: Bags, models: Models, how: How, entries: Entries | None = None) -> Floats:
    """Return Σ_views κ E[log p(x_m | tag or topic)], flat, for all of them or for ``entries``."""
    width = len(next(iter(models.values())).mu)
    block = np.zeros(shard.n_regions * width if entries is None else int(entries.block_starts[-1]))
    for view, model in models.items():
        model.add_evidence(shard.views[view], how.evidence[view], shard.offsets, entries, block)
    return block


def infer(
    block: Floats, offsets: Ints, alpha: Floats, how: How, entries: Entries | None, start: Floats | None
) -> Shares:
    """Return q of pictures; φ overwrites ``block``, the evidence; ``start`` is the initial S."""
    n_pictures, width = len(offsets) - 1, len(alpha)
    if entries is None:
        starts, own = np.arange(n_pictures + 1) * width, np.tile(alpha, n_pictures)
        block_starts = offsets * width
    else:
        starts, own, block_starts = entries.starts, alpha[entries.tags], entries.block_starts
    S = prior_shares(own, starts, offsets) if start is None else start.copy()
    bound, n_iter = np.zeros(n_pictures), np.zeros(n_pictures, dtype=np.int64)
    topics.infer_shares(
        block, block_starts, starts, own, float(alpha.sum()), how.tolerance, how.max_iter, S, bound, n_iter,
        how.n_threads,
    )  # fmt: skip
    return Shares(block, S, bound)


def prior_shares(own_alpha: Floats, starts: Ints, offsets: Ints) -> Floats:
    """Return S under the prior alone: a picture's regions in proportion to α.

    >>> prior_shares(np.array([1.0, 3.0, 2.0]), np.array([0, 2, 3]), np.array([0, 4, 5])).tolist()
    [1.0, 3.0, 1.0]
    """
    sizes = np.diff(starts)
    picture_of = np.repeat(np.arange(len(sizes)), sizes)
    totals = np.bincount(picture_of, weights=own_alpha, minlength=len(sizes))
    return own_alpha * (np.diff(offsets) / np.where(totals > 0, totals, 1.0))[picture_of]


def best_alpha(
    alpha: Floats,
    S: Floats,
    columns: Any,
    n_regions: Ints,
    chi: tuple[float, float],
    total: float | None = None,
    steps: int = ALPHA_STEPS,
    tolerance: float = ALPHA_TOLERANCE,
) -> Floats:
    """Return α after steps towards the maximum of Σ_n log B(α + S_n) − log B(α) + log Gamma(α | χ1, χ2).

    ``S`` and ``columns`` are the value and the column of each entry; missing entries have S = 0 and add
    nothing. Minka's fixed point, with the prior: α_c ← (χ1 − 1 + α_c Σ_n [Ψ(α_c + S_nc) − Ψ(α_c)]) /
    (χ2 + Σ_n [Ψ(A + M_n) − Ψ(A)]). Each step maximises a lower bound that is tight at the previous α, so no
    step decreases the bound. ``total`` fixes A: the same numerators, scaled to this sum.

    >>> one_step = best_alpha(np.ones(2), np.array([1.0]), np.array([0]), np.array([1]), (2.0, 1.0), steps=1)
    >>> one_step.round(3).tolist()  # (1 + 1)/(1 + 1/2) for the tag with the region, (1 + 0)/(1 + 1/2)
    [1.333, 0.667]
    """
    sizes, times = np.unique(n_regions, return_counts=True)
    for _ in range(steps):
        own, A = alpha[columns], alpha.sum()
        gained = np.bincount(columns, weights=digamma(own + S) - digamma(own), minlength=len(alpha))
        spent = float(times @ (digamma(A + sizes) - digamma(A)))
        fresh = (chi[0] - 1 + alpha * gained) / (chi[1] + spent)
        fresh *= 1.0 if total is None else total / fresh.sum()
        moved = float(np.abs(fresh / alpha - 1).max())
        alpha = fresh
        if moved <= tolerance:
            break
    return alpha


def picture_counts(bags: Bags) -> Counts:
    """Return the word counts of whole pictures, pictures × words of all views."""
    words = csr_array(hstack([csr_array(view) for view in bags.views.values()], format="csr"))
    n_pictures = len(bags)
    regions = csr_array(
        (np.ones(bags.n_regions), np.arange(bags.n_regions), bags.offsets), shape=(n_pictures, bags.n_regions)
    )
    return csr_array(regions @ words.astype(np.float64))


def check_views(mus: Mapping[str, Any], etas: Mapping[str, Any], widths: Mapping[str, int]) -> None:
    """Raise ValueError unless every view has word parameters."""
    if not mus.keys() == etas.keys() == widths.keys():
        raise ValueError("there must be word parameters for every view")
