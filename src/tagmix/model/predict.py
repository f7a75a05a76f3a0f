"""Prediction: the paper's p(Y|X) for a picture and p(z) for its regions."""

import numpy as np

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.model.estep import Posterior, evidence_of, free_posterior
from tagmix.model.map_inference import infer_map, region_posterior
from tagmix.model.params import Params, Settings


def theta_hat(posterior: Posterior, rates: Floats) -> Floats:
    """Return θ̂_c = [(γ_c − 1)ρ_c]₊ = S_c/(λ_c + r), images × tags."""
    S = posterior.S.reshape(len(posterior.r), -1)
    theta: Floats = S / (rates + posterior.r[:, None])
    return theta


def tag_scores(theta: Floats, weights: Floats, rates: Floats) -> Floats:
    """Return p(Y|X) ≈ w∘θ̂/‖w∘θ̂‖₁; where no tag is left, the prior's share 1/λ.

    >>> tag_scores(np.array([[0.0, 0.0], [1.0, 3.0]]), np.array([1.0, 2.0]), np.ones((1, 2))).tolist()
    [[0.5, 0.5], [0.14285714285714285, 0.8571428571428571]]
    """
    scores = theta * weights
    empty = scores.sum(axis=1) <= 0
    scores[empty] = np.broadcast_to(1 / rates, scores.shape)[empty]
    return scores / scores.sum(axis=1, keepdims=True)


def infer_theta(
    shard: Bags, params: Params, settings: Settings, inference: str, rates: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return θ̂ (images × tags) and φ (regions × tags) of a shard without using its captions."""
    rows = params.rates[None, :] if rates is None else np.atleast_2d(rates)
    if inference == "map":
        evidence = evidence_of(shard, params, settings)
        theta = infer_map(evidence, shard.offsets, rows, n_threads=settings.n_threads).theta
        return theta, region_posterior(evidence, theta, shard.offsets)
    posterior = free_posterior(shard, params, settings, rates)
    return theta_hat(posterior, rows), posterior.phi.reshape(-1, params.n_tags)
