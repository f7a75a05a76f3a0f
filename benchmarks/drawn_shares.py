"""Shares of tags that are drawn for each picture, as in the paper, around those that the context gives.

θ_k ~ Gamma(g_k, rate h_k), z_m ~ Mult(θ/Σθ). Two priors have the given shares s as means: g = 1, h = 1/s is
the paper's exponential (any other equal shape g, h = g/s, is less or more spread), and g = A s, h = A has the
shares as base weights: it is Dirichlet(A s). Both tend to the given shares, as g or A → ∞. The bound of a
picture is that of docs/maths/derivation.md with these shapes; its maximum over q(θ) has γ = g + S and
ρ = 1/(h + r), where r solves Σ_k (g_k + S_k) r/(h_k + r) = M, and φ ∝ e^{E + Ψ(γ)} ρ.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, logsumexp

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.model.given import CaptionedShard, Odds, RegionModel, captioned_shard, evidence_of_regions
from tagmix.model.mstep import tempered_divergence
from tagmix.model.params import Settings

NEWTON_STEPS = 100


class Prior(NamedTuple):
    """Shapes and rates of θ, pictures × components; what is no candidate has the rate ∞, or the shape 0."""

    shapes: Floats
    rates: Floats


class Drawn(NamedTuple):
    """q: φ of regions × components, S and E θ of pictures × components, and the bound of each picture."""

    phi: Floats
    S: Floats
    theta: Floats
    bound: Floats


def equal_shapes(shares: Floats, shape: float = 1.0) -> Prior:
    """Return the prior of mean s and one shape; 1 is the exponential of the paper.

    >>> equal_shapes(np.array([[0.5, 0.0]])).rates.tolist()
    [[2.0, inf]]
    """
    with np.errstate(divide="ignore"):
        return Prior(np.full(shares.shape, shape), shape / shares)


def base_weights(shares: Floats, total: float) -> Prior:
    """Return the prior of shapes A s, A the ``total``, and one rate: shares are Dirichlet(A s)."""
    own = shares / shares.sum(axis=1, keepdims=True)
    return Prior(total * own, np.where(own > 0, total, np.inf))


def softmax(logits: Floats) -> Floats:
    """Return exp(logits) with each row scaled to sum to 1."""
    powers: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def infer(
    evidence: Floats,
    offsets: Ints,
    prior: Prior,
    start: Floats | None = None,
    *,
    tolerance: float = 1e-5,
    max_iter: int = 1000,
) -> Drawn:
    """Return q of pictures that have regions; it starts with S, or where the shares are their means.

    The loop ends when no S moves by more than ``tolerance`` regions.
    """
    sizes = np.diff(offsets)
    with np.errstate(divide="ignore"):  # what is no candidate has the mean 0
        log_theta = np.log(prior.shapes / prior.rates) if start is None else _log_theta(start, prior, sizes)
    S = np.zeros(prior.shapes.shape) if start is None else start
    for _ in range(max_iter):
        logits = evidence + np.repeat(log_theta, sizes, axis=0)
        phi = softmax(logits)
        before, S = S, np.add.reduceat(phi, offsets[:-1], axis=0)
        used, log_theta = log_theta, _log_theta(S, prior, sizes)
        if np.abs(S - before).max() <= tolerance:
            break
    r = solve_rate(S, prior, sizes)
    by_region = logsumexp(logits, axis=1)
    bound = np.add.reduceat(by_region, offsets[:-1]) - np.where(S > 0, S * _finite(used), 0.0).sum(axis=1)
    theta = (prior.shapes + S) / (prior.rates + r[:, None])
    return Drawn(phi, S, theta, bound + bound_of_theta(S, r, prior, sizes))


def bound_of_theta(S: Floats, r: Floats, prior: Prior, sizes: Ints) -> Floats:
    """Return the terms of the bound with θ, at the best q(θ) for S; r is M/ζ."""
    used = (prior.shapes > 0) & np.isfinite(prior.rates)
    g, h = np.where(used, prior.shapes, 1.0), np.where(used, prior.rates, 1.0)
    tags = g * np.log(h) - gammaln(g) + gammaln(g + S) - (g + S) * np.log(h + r[:, None])
    total: Floats = np.where(used, tags, 0.0).sum(axis=1) + sizes * (1 - np.log(sizes) + np.log(r))
    return total


def solve_rate(S: Floats, prior: Prior, sizes: Ints) -> Floats:
    """Return the r of each picture: Newton's method from the left never passes the root."""
    weights = prior.shapes + S
    finite = np.isfinite(prior.rates)
    weights, rates = np.where(finite, weights, 0.0), np.where(finite, prior.rates, 1.0)
    least = np.where(weights > 0, rates, np.inf).min(axis=1)
    r: Floats = sizes * least / np.maximum(weights.sum(axis=1) - sizes, 1e-12)
    for _ in range(NEWTON_STEPS):
        parts = weights / (rates + r[:, None])
        missing = sizes - r * parts.sum(axis=1)
        r = r + missing / (parts * rates / (rates + r[:, None])).sum(axis=1)
        if (np.abs(missing) <= 1e-10 * sizes).all():
            break
    return r


def _log_theta(S: Floats, prior: Prior, sizes: Ints) -> Floats:
    """Return E log θ = Ψ(γ) + log ρ; −∞ for what is no candidate."""
    r = solve_rate(S, prior, sizes)
    log_theta: Floats = digamma(prior.shapes + S) - np.log(prior.rates + r[:, None])
    return log_theta


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)


def captioned_weights(shard: CaptionedShard, model: RegionModel) -> tuple[Floats, Floats, Floats]:
    """Return u of the caption's tags, of tags outside it and of the background, pictures × components."""
    entries, shape = shard.entries, (len(shard.bags), model.n_tags)
    u = np.exp(shard.log_weights)
    last = entries.tags == (model.n_tags - 1 if model.background else -1)
    parts = []
    for chosen in (~shard.outside & ~last, shard.outside, last):
        dense = np.zeros(shape)
        dense[entries.picture_of[chosen], entries.tags[chosen]] = u[chosen]
        parts.append(dense)
    return parts[0], parts[1], parts[2]


def captioned_shares(bags: Bags, model: RegionModel, log_pi: Floats) -> Floats:
    """Return the shares s of captioned pictures up to a factor, 0 for what is no candidate."""
    own, outside, none = captioned_weights(captioned_shard(bags, model, log_pi), model)
    return model.odds.inside * own + model.odds.outside * outside + none


class Trained(NamedTuple):
    """The model that EM found with drawn shares, and the bound before each iteration."""

    model: RegionModel
    bounds: list[float]


def train(
    model: RegionModel,
    bags: Bags,
    log_pi: Floats,
    settings: Settings,
    *,
    shape: float = 1.0,
    n_iter: int = 30,
) -> Trained:
    """Return the model after EM with captions under the prior of one shape, from a fitted model.

    The odds' M-step is closed: with rates g/(a u), a is the mean of E θ/u over the caption's tags.
    """
    own, outside, none = captioned_weights(captioned_shard(bags, model, log_pi), model)
    S, bounds = None, []
    for _ in range(n_iter):
        shares = model.odds.inside * own + model.odds.outside * outside + none
        evidence = evidence_of_regions(bags, model, settings)
        found = infer(evidence, bags.offsets, equal_shapes(shares, shape), S)
        S = found.S
        bounds.append(float(found.bound.sum()) - tempered_divergence(model.instances, settings))
        instances: dict[str, Any] = {}
        for name, instance in model.instances.items():
            sums = instance.empty_statistics()
            instance.add_statistics(bags.views[name], found.phi.ravel(), bags.offsets, None, sums)
            instances[name] = instance.updated(sums, True)
        inside = mean_ratio(found.theta, own) if model.background else model.odds.inside
        odds = Odds(inside, max(mean_ratio(found.theta, outside), 1e-12))
        model = replace(model, instances=instances, odds=odds)
    return Trained(model, bounds)


def mean_ratio(theta: Floats, u: Floats) -> float:
    """Return the mean of E θ/u where u > 0; 0 if it nowhere is."""
    there = u > 0
    return float((theta[there] / u[there]).mean()) if there.any() else 0.0
