"""The MAP mixture θ of each picture, sparse with exact zeros, and the posterior of its regions."""

from itertools import pairwise
from types import ModuleType
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints
from tagmix.errors import ParameterError
from tagmix.kernels.compiled import sparse_coding as compiled
from tagmix.kernels.threads import over_ranges


class MapResult(NamedTuple):
    """The optimum of each picture, and bounds on the distance to it."""

    theta: Floats  # pictures × tags; unused tags are exactly zero
    residual: Floats  # per picture: the largest violation of the optimality conditions
    gap: Floats  # per picture: F(optimum) − F(theta) is at most this many nats


def infer_map(
    evidence: Floats,
    region_starts: Ints,
    rates: Floats,
    *,
    tolerance: float = 1e-6,
    max_iter: int = 200,
    n_threads: int = 1,
    kernels: ModuleType = compiled,
) -> MapResult:
    """Return the θ ≥ 0 of each picture that maximises Σ_m log Σ_c θ_c p_mc − Σ_c λ_c θ_c.

    ``evidence`` holds log p_mc, regions × tags, the regions of picture n in rows
    ``region_starts[n]:region_starts[n + 1]``; a constant added to a row changes nothing. ``rates`` are the
    λ_c: one row for all pictures, or pictures × tags. Every θ satisfies Σ_c λ_c θ_c = M, the number of
    regions. A residual above ``tolerance`` means that ``max_iter`` sweeps were used up; the gap bounds the
    error.

    >>> result = infer_map(np.log([[0.9, 0.2, 0.1], [0.2, 0.8, 0.1]]), np.array([0, 2]), np.ones(3))
    >>> result.theta.round(6).tolist()
    [[1.047619, 0.952381, 0.0]]
    """
    evidence = np.ascontiguousarray(evidence, dtype=np.float64)
    region_starts = _checked_starts(region_starts, evidence)
    n_pictures, n_tags = region_starts.size - 1, evidence.shape[1]
    rates = _checked_rates(rates, n_pictures, n_tags)
    if not (tolerance > 0.0 and max_iter >= 1):
        raise ParameterError(
            f"expected tolerance > 0 and max_iter >= 1, got {tolerance} and {max_iter}: "
            "omit them to use the defaults"
        )
    result = MapResult(np.empty((n_pictures, n_tags)), np.empty(n_pictures), np.empty(n_pictures))

    def work(start: int, stop: int) -> None:
        kernels.map_pictures(evidence, region_starts, rates, tolerance, max_iter, *result, start, stop)

    over_ranges(work, n_pictures, n_threads)
    return result


def region_posterior(evidence: Floats, theta: Floats, region_starts: Ints | None = None) -> Floats:
    """Return φ_mc = θ_c p_mc / Σ_c' θ_c' p_mc', the tag probabilities of each region; rows sum to 1.

    For one picture ``theta`` is one row and all rows of ``evidence`` are its regions. For several, ``theta``
    is pictures × tags and ``region_starts`` delimits their regions. Only tags with θ_c > 0 are computed, as
    a softmax relative to the maximum, so that no evidence overflows or underflows.

    >>> region_posterior(np.log([[0.5, 0.25], [1e-9, 1e-9]]) - 4000.0, np.array([1.0, 2.0])).round(6).tolist()
    [[0.5, 0.5], [0.333333, 0.666667]]
    """
    evidence = np.asarray(evidence, dtype=np.float64)
    theta = np.atleast_2d(np.asarray(theta, dtype=np.float64))
    starts = np.array([0, len(evidence)]) if region_starts is None else region_starts
    starts = _checked_starts(starts, evidence)
    if theta.shape != (starts.size - 1, evidence.shape[1]) or not np.all(theta >= 0.0):
        raise ParameterError(
            f"expected theta >= 0 of shape {(starts.size - 1, evidence.shape[1])} (pictures, tags), got "
            f"shape {theta.shape} and least value {theta.min(initial=0.0)}: pass the theta of infer_map"
        )
    phi = np.zeros(evidence.shape)
    for n, (first, last) in enumerate(pairwise(starts)):
        used = np.flatnonzero(theta[n])
        if first < last:
            phi[first:last, used] = _softmax(evidence[first:last, used] + np.log(theta[n, used]), n)
    return phi


def _softmax(logits: Floats, picture: int) -> Floats:
    """Return exp(logits) with each row scaled to sum to 1; refuse rows of −inf."""
    peaks = logits.max(axis=1, keepdims=True, initial=-np.inf)
    if not np.all(np.isfinite(peaks)):
        raise ParameterError(
            f"expected a tag with theta > 0 and evidence > -inf for each region, got none for a region of "
            f"picture {picture}: pass the theta that infer_map returned for this evidence"
        )
    powers = np.exp(logits - peaks)
    return powers / powers.sum(axis=1, keepdims=True)


def _checked_starts(region_starts: Ints, evidence: Floats) -> Ints:
    """Return the starts as int64 after checking that they partition the rows of valid evidence."""
    starts = np.ascontiguousarray(region_starts, dtype=np.int64)
    if evidence.ndim != 2 or evidence.shape[1] == 0:
        raise ParameterError(
            f"expected evidence of shape (regions, tags) with at least one tag, got shape {evidence.shape}: "
            "stack the regions of all pictures as rows"
        )
    spans = starts.ndim == 1 and starts.size > 0 and starts[0] == 0 and starts[-1] == len(evidence)
    if not spans or np.any(np.diff(starts) < 0):
        raise ParameterError(
            f"expected region_starts to increase from 0 to the {len(evidence)} rows of evidence, got "
            f"{starts}: pass the cumulative number of regions, starting with 0"
        )
    # One pass: a maximum is NaN if any value is, +inf if any is, and −inf only if all are.
    peaks = evidence.max(axis=1)
    refused = np.flatnonzero(~np.isfinite(peaks))
    if refused.size:
        raise ParameterError(
            "expected log evidence without NaN and +inf and with a finite value for each region, got the "
            f"maximum {peaks[refused[0]]} in row {refused[0]}: check the log probabilities of that region"
        )
    return starts


def _checked_rates(rates: Floats, n_pictures: int, n_tags: int) -> Floats:
    """Return the rates as rows, one for all pictures or one per picture, after checking them."""
    rows = np.ascontiguousarray(np.atleast_2d(np.asarray(rates, dtype=np.float64)))
    if rows.ndim != 2 or rows.shape[1] != n_tags or rows.shape[0] not in (1, n_pictures):
        raise ParameterError(
            f"expected rates of shape ({n_tags},) or ({n_pictures}, {n_tags}), got {np.shape(rates)}: give "
            "one rate per tag, for all pictures or for each"
        )
    if not (np.all(rows > 0.0) and np.all(np.isfinite(rows))):
        raise ParameterError(
            f"expected finite rates > 0, got values from {rows.min()} to {rows.max()}: give a tag that "
            "cannot occur the evidence -inf instead"
        )
    return rows
