"""Given shares: the likelihood and the posterior against a list of all assignments, their limits, and EM."""

from itertools import product

import numpy as np
import pytest
from tagmix.model.linear import Linear

from tagmix import Bags
from tagmix.kernels import compiled, reference
from tagmix.model import estep, given, mstep
from tagmix.model.params import Settings

N_TAGS = 3


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    views = {"words": rng.poisson(2.0, (7, 4)), "net": rng.normal(size=(7, 2))}
    return Bags(views, [0, 3, 3, 7], tags=[[1, 1, 0], [0, 1, 1], [1, 1, 1]])


def model(bags, kappa, kernels=compiled):
    settings = Settings({"words": kappa, "net": kappa}, kernels=kernels)
    return given.RegionModel(mstep.start_instances(bags, settings, 0.5), N_TAGS), settings


def log_shares(seed):
    return given.log_shares_of(np.log(np.random.default_rng(seed).uniform(0.05, 1.0, (3, N_TAGS))), 1.5)


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


def test_shares_are_the_power_of_the_prior_and_sum_to_one():
    prior = np.array([[0.5, 0.2, 0.1]])
    expected = prior**1.5 / (prior**1.5).sum()
    np.testing.assert_allclose(np.exp(given.log_shares_of(np.log(prior), 1.5)), expected, rtol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
@pytest.mark.parametrize("kappa", [1.0, 0.2])
def test_given_shares_lead_to_the_exact_likelihood_and_posterior(bags, kappa, kernels):
    regions, settings = model(bags, kappa, kernels)
    shares = log_shares(1)
    found = given.posterior_given(bags, regions, settings, shares)
    evidence = estep.evidence_of(bags, regions, settings)
    for n in range(3):
        part = slice(bags.offsets[n], bags.offsets[n + 1])
        value, phi = enumerated(evidence[part], np.exp(shares[n]))
        assert found.bound[n] == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(found.phi.reshape(-1, N_TAGS)[part], phi, atol=1e-12)
        np.testing.assert_allclose(found.S.reshape(3, N_TAGS)[n], phi.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_a_caption_shares_equally_among_its_own_tags(bags, kernels):
    regions, settings = model(bags, 0.5, kernels)
    found = given.posterior_of_captions(given.captioned_shard(bags, regions), regions, settings)
    evidence = estep.evidence_of(bags, regions, settings)
    tags, entries = bags.captions.toarray() > 0, found.entries
    for n in range(3):
        part = evidence[bags.offsets[n] : bags.offsets[n + 1]][:, tags[n]]
        value, phi = enumerated(part, np.full(tags[n].sum(), 1 / tags[n].sum()))
        assert found.bound[n] == pytest.approx(value, abs=1e-10)
        block = found.phi[entries.block_starts[n] : entries.block_starts[n + 1]]
        np.testing.assert_allclose(block, phi.ravel(), atol=1e-12)
        np.testing.assert_allclose(
            found.S[entries.starts[n] : entries.starts[n + 1]], phi.sum(axis=0), atol=1e-12
        )


def test_without_evidence_regions_are_the_context_and_without_context_they_are_the_evidence(bags):
    regions, nearly_none = model(bags, 1e-12)
    shares = log_shares(2)
    phi = given.posterior_given(bags, regions, nearly_none, shares).phi.reshape(-1, N_TAGS)
    np.testing.assert_allclose(phi, np.repeat(np.exp(shares), np.diff(bags.offsets), axis=0), atol=1e-9)
    regions, settings = model(bags, 0.5)
    evidence = np.exp(estep.evidence_of(bags, regions, settings))
    equal = np.full((3, N_TAGS), -np.log(N_TAGS))
    phi = given.posterior_given(bags, regions, settings, equal).phi.reshape(-1, N_TAGS)
    np.testing.assert_allclose(phi, evidence / evidence.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.fixture(scope="module")
def album():
    """Enough captioned pictures for EM to move, of words, embeddings and a linear scorer."""
    rng = np.random.default_rng(3)
    tags = np.vstack([np.eye(N_TAGS, dtype=int), rng.integers(0, 2, (21, N_TAGS))])
    tags[tags.sum(axis=1) == 0, 0] = 1
    own = np.concatenate([rng.choice(np.flatnonzero(row), 3) for row in tags])
    views = {"words": rng.poisson(1.0, (72, 6)), "net": rng.normal(size=(72, 3)) + 3 * np.eye(3)[own]}
    return Bags(views, np.arange(0, 73, 3), tags=tags)


def iterations(album, kappa, parts, n=12):
    settings = Settings(kappa)
    scorers = {"net:linear": Linear(np.zeros(3), np.ones(3), np.arange(12.0).reshape(3, 4) / 6)}
    regions = given.RegionModel(mstep.start_instances(album, settings, 0.3, scorers), N_TAGS)
    shards = [given.captioned_shard(album[part], regions) for part in parts]
    bounds = []
    for _ in range(n):
        regions, bound = given.em_step(regions, shards, settings)
        bounds.append(bound)
    return regions, bounds


@pytest.mark.parametrize(
    "kappa",
    [{"words": 1.0}, {"words": 0.3}, {"net": 0.6}, {"words": 0.3, "net": 0.6, "net:linear": 0.8}],
    ids="+".join,
)
def test_every_step_of_em_raises_the_bound(album, kappa):
    _, bounds = iterations(album, kappa, [slice(None)])
    assert min(np.diff(bounds)) > -1e-9 * abs(bounds[0])
    assert bounds[-1] > bounds[0] + 0.1


def test_the_bound_is_the_enumerated_likelihood_of_captions_minus_the_divergence(bags):
    regions, settings = model(bags, 0.5)
    _, bound = given.em_step(regions, [given.captioned_shard(bags, regions)], settings)
    evidence, tags = estep.evidence_of(bags, regions, settings), bags.captions.toarray() > 0
    total = -sum(0.5 * own.divergence() for own in regions.instances.values())
    for n in range(3):
        part = evidence[bags.offsets[n] : bags.offsets[n + 1]][:, tags[n]]
        total += enumerated(part, np.full(tags[n].sum(), 1 / tags[n].sum()))[0]
    assert bound == pytest.approx(total, rel=1e-12)


def test_shards_add_up_to_the_whole(album):
    kappa = {"words": 0.3, "net": 0.6}
    whole, bounds = iterations(album, kappa, [slice(None)], n=3)
    parts, of_parts = iterations(album, kappa, [slice(0, 5), slice(5, 24)], n=3)
    np.testing.assert_allclose(of_parts, bounds, rtol=1e-12)
    np.testing.assert_allclose(parts.instances["words"].mu, whole.instances["words"].mu, rtol=1e-9)
    np.testing.assert_allclose(parts.instances["net"].means, whole.instances["net"].means, atol=1e-9)


def test_a_scorer_that_is_trained_already_is_left_as_it_is(album):
    regions, _ = iterations(album, {"net": 0.5, "net:linear": 0.5}, [slice(None)], n=2)
    np.testing.assert_array_equal(regions.instances["net:linear"].weights, np.arange(12.0).reshape(3, 4) / 6)
