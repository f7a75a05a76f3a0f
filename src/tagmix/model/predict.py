"""Prediction: the paper's p(Y|X) of pictures and p(z) of their regions."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.model.estep import Posterior, evidence_of, posterior_uncaptioned
from tagmix.model.map_inference import infer_map, region_posterior
from tagmix.model.params import Params, Settings

WIDEST_GAP = 1e-3  # nats


def theta_hat(posterior: Posterior, rates: Floats) -> Floats:
    """Return θ̂_c = [(γ_c − 1)ρ_c]₊ = S_c/(λ_c + r), pictures × tags."""
    S = posterior.S.reshape(len(posterior.r), -1)
    theta: Floats = S / (rates + posterior.r[:, None])
    return theta


def tag_scores(held: Floats, weights: Floats, rates: Floats) -> Floats:
    """Return p(Y|X) ∝ w∘held, rows summing to 1; rows of zeros become the prior's shares, 1/λ.

    >>> tag_scores(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([1.0, 2.0]), np.ones((1, 2))).tolist()
    [[0.5, 0.5], [0.14285714285714285, 0.8571428571428571]]
    """
    scores = held * weights
    empty = scores.sum(axis=1) <= 0
    scores[empty] = np.broadcast_to(1 / rates, scores.shape)[empty]
    return scores / scores.sum(axis=1, keepdims=True)


class Inferred(NamedTuple):
    """The values that rank tags (``held``, pictures × tags) and φ (regions × tags)."""

    held: Floats
    phi: Floats


def infer(
    shard: Bags, params: Params, settings: Settings, inference: str, ranking: str = "shares"
) -> Inferred:
    """Return the posterior of uncaptioned pictures, for their tags and their regions.

    ``held`` is E[z̄] = S/M for "shares", the share of regions per tag, on which the margins are learnt, and
    the paper's θ̂ for "theta", which applies the prior a second time (D16).
    """
    if inference == "map":
        evidence = evidence_of(shard, params, settings)
        theta = _most_probable(evidence, shard, settings, params.rates)
        # at the optimum S = λθ
        held = theta if ranking == "theta" else _per_region(theta * params.rates, shard)
        return Inferred(held, region_posterior(evidence, theta, shard.offsets))
    posterior = posterior_uncaptioned(shard, params, settings)
    S = posterior.S.reshape(len(shard), -1)
    held = theta_hat(posterior, params.rates) if ranking == "theta" else _per_region(S, shard)
    return Inferred(held, posterior.phi.reshape(-1, params.n_tags))


def _most_probable(evidence: Floats, shard: Bags, settings: Settings, rates: Floats) -> Floats:
    """Return the MAP θ of each picture; warn if a gap exceeds ``WIDEST_GAP``."""
    result = infer_map(evidence, shard.offsets, rates, n_threads=settings.n_threads)
    gap = float(result.gap.max(initial=0.0))
    if gap > WIDEST_GAP:
        warnings.warn(
            f"MAP inference stopped {gap:.2g} nats from the optimum on at least one picture: use variational "
            "inference, or fewer regions.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return result.theta


def _per_region(S: Floats, shard: Bags) -> Floats:
    """Return S/M; 0 for a picture without regions."""
    shares: Floats = S / np.maximum(np.diff(shard.offsets), 1)[:, None]
    return shares
