"""Given shares: the likelihood and the posterior against a list of all assignments, and their limits."""

from itertools import product

import numpy as np
import pytest

from tagmix import Bags
from tagmix.model import estep, given, mstep
from tagmix.model.params import Settings

N_TAGS = 3


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, (7, 4))
    return Bags(counts, [0, 3, 3, 7], tags=[[1, 1, 0], [0, 1, 1], [1, 1, 1]])


def model(bags, kappa):
    settings = Settings({"words": kappa})
    return given.RegionModel(mstep.start(bags, settings, 0.5).instances, N_TAGS), settings


def random_shares(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(N_TAGS), 3)


def enumerated(evidence, shares):
    """Return log Σ_z Π_m share(z_m) e^{evidence(m, z_m)} and p(z_m = c), by listing every z."""
    n_regions, n_tags = evidence.shape
    total, marginals = 0.0, np.zeros(evidence.shape)
    for z in product(range(n_tags), repeat=n_regions):
        weight = np.prod([shares[c] * np.exp(evidence[m, c]) for m, c in enumerate(z)])
        total += weight
        for m, c in enumerate(z):
            marginals[m, c] += weight
    return np.log(total), marginals / total


@pytest.mark.parametrize("kappa", [1.0, 0.2])
def test_free_pictures_have_the_exact_likelihood_and_posterior(bags, kappa):
    regions, settings = model(bags, kappa)
    shares = random_shares(1)
    found = given.posterior_given(bags, regions, settings, np.log(shares))
    evidence = estep.evidence_of(bags, regions, settings)
    for n in range(3):
        part = slice(bags.offsets[n], bags.offsets[n + 1])
        value, phi = enumerated(evidence[part], shares[n])
        assert found.bound[n] == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(found.phi.reshape(-1, N_TAGS)[part], phi, atol=1e-12)
        np.testing.assert_allclose(found.S.reshape(3, N_TAGS)[n], phi.sum(axis=0), atol=1e-12)


def test_a_caption_shares_equally_among_its_own_tags(bags):
    regions, settings = model(bags, 0.5)
    evidence = estep.evidence_of(bags, regions, settings)
    found = given.posterior_of_captions(given.captioned_shard(bags, regions), regions, settings)
    tags = bags.captions.toarray() > 0
    for n in range(3):
        part = evidence[bags.offsets[n] : bags.offsets[n + 1]][:, tags[n]]
        value, phi = enumerated(part, np.full(tags[n].sum(), 1 / tags[n].sum()))
        assert found.bound[n] == pytest.approx(value, abs=1e-10)
        block = found.phi[found.entries.block_starts[n] : found.entries.block_starts[n + 1]]
        np.testing.assert_allclose(block, phi.ravel(), atol=1e-12)


def test_without_evidence_regions_have_the_prior_and_with_a_flat_prior_the_evidence(bags):
    shares = random_shares(2)
    regions, nearly_none = model(bags, 1e-12)
    phi = given.posterior_given(bags, regions, nearly_none, np.log(shares)).phi.reshape(-1, N_TAGS)
    np.testing.assert_allclose(phi, np.repeat(shares, np.diff(bags.offsets), axis=0), atol=1e-9)
    regions, settings = model(bags, 0.5)
    evidence = np.exp(estep.evidence_of(bags, regions, settings))
    flat = np.full((3, N_TAGS), -np.log(N_TAGS))
    phi = given.posterior_given(bags, regions, settings, flat).phi.reshape(-1, N_TAGS)
    np.testing.assert_allclose(phi, evidence / evidence.sum(axis=1, keepdims=True), atol=1e-12)
