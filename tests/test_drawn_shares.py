"""Shares that are drawn around given ones: the updates are the maxima of the bound, and the limits hold."""

import numpy as np
import pytest
from benchmarks.drawn_shares import base_weights, equal_shapes, infer, softmax, train
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, logsumexp

from tagmix import ContextEMM, planted_topics, sample_bags
from tagmix.kernels import reference
from tagmix.model.estep import evidence_of

OFFSETS = np.array([0, 4, 7])


def tiny(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, 3)), rng.dirichlet(np.ones(3), 2)


def bound_of(values, evidence, g, h):
    """The bound of one picture line by line, for any φ, γ, ρ and ζ: see docs/maths/derivation.md."""
    n, k = evidence.shape
    phi = softmax(values[: n * k].reshape(n, k))
    gamma, rho = np.exp(values[n * k : n * k + k]), np.exp(values[n * k + k : n * k + 2 * k])
    zeta, mean, S = np.exp(values[-1]), np.exp(values[n * k : n * k + k]) * rho, phi.sum(axis=0)
    log_theta = digamma(gamma) + np.log(rho)
    prior = (g * np.log(h) - gammaln(g) + (g - 1) * log_theta - h * mean).sum()
    entropy = (np.log(rho) + gamma + gammaln(gamma) + (1 - gamma) * digamma(gamma)).sum()
    normaliser = n * (1 - np.log(zeta) - mean.sum() / zeta)
    regions = (phi * (evidence - np.log(phi))).sum()
    return prior + entropy + S @ log_theta + normaliser + regions


@pytest.mark.parametrize(
    "prior_of", [equal_shapes, lambda s: equal_shapes(s, 3.0), lambda s: base_weights(s, 4.0)]
)
def test_the_updates_are_where_numerical_maximisation_ends(prior_of):
    evidence, shares = tiny()
    prior = prior_of(shares)
    found = infer(evidence, OFFSETS, prior, tolerance=1e-10)
    for n, (first, last) in enumerate([(0, 4), (4, 7)]):
        g, h, own = prior.shapes[n], prior.rates[n], evidence[first:last]
        rng = np.random.default_rng(n)
        starts = [rng.normal(size=own.size + 7) for _ in range(5)]
        best = max(-minimize(lambda v, o=own, g=g, h=h: -bound_of(v, o, g, h), s).fun for s in starts)
        assert found.bound[n] == pytest.approx(best, abs=1e-4)


def test_the_exponential_prior_is_that_of_the_papers_kernel():
    evidence, shares = tiny(1)
    found = infer(evidence, OFFSETS, equal_shapes(shares), tolerance=1e-10)
    block, S, rates = evidence.ravel().copy(), shares.ravel() * np.repeat([4.0, 3.0], 3), 1 / shares
    r, bound, steps = np.zeros(2), np.zeros(2), np.zeros(2, dtype=np.int64)
    reference.infer_pictures(
        block, OFFSETS * 3, np.array([0, 3, 6]), rates.ravel(), np.zeros(6), rates, True, 1e-10, 2000,
        S, r, bound, steps,
    )  # fmt: skip
    assert found.phi == pytest.approx(block.reshape(7, 3), abs=1e-6)
    assert found.bound == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("prior_of", [equal_shapes, base_weights])
def test_with_a_large_shape_the_shares_are_given_and_the_bound_is_the_likelihood(prior_of):
    evidence, shares = tiny(2)
    found = infer(evidence, OFFSETS, prior_of(shares, 1e7))
    logits = evidence + np.log(np.repeat(shares, np.diff(OFFSETS), axis=0))
    assert found.phi == pytest.approx(softmax(logits), abs=1e-5)
    assert found.bound == pytest.approx(np.add.reduceat(logsumexp(logits, axis=1), OFFSETS[:-1]), abs=1e-4)


@pytest.mark.parametrize("prior_of", [equal_shapes, lambda s: base_weights(s, 4.0)])
def test_what_is_no_candidate_holds_nothing(prior_of):
    evidence, shares = tiny(3)
    shares[0, 1] = 0.0
    found = infer(evidence, OFFSETS, prior_of(shares))
    assert (found.phi[:4, 1] == 0).all()
    assert np.isfinite(found.bound).all()
    assert found.S.sum(axis=1) == pytest.approx([4, 3])


def test_em_never_lowers_the_bound():
    rng = np.random.default_rng(0)
    bags = sample_bags(planted_topics(5, 40, 0.2, rng), 60, n_regions=4, rng=rng).bags
    emm = ContextEMM(evidence=0.1).fit(bags)
    log_pi = np.log(emm.predict_marginals(bags))
    found = train(emm.regions_, bags, log_pi, emm.settings_, n_iter=8)
    assert np.diff(found.bounds).min() > -1e-3
    assert evidence_of(bags, found.model, emm.settings_).shape == (240, found.model.n_tags)
