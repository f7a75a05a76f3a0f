"""Gaussian and linear instances against SciPy's density, loops, and perturbed parameters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tagmix import Bags
from tagmix.arrays import entries_of
from tagmix.kernels import compiled, reference
from tagmix.model import mstep
from tagmix.model.gaussian import PULL, SHRINKAGE, Gaussian, Projection
from tagmix.model.params import Settings

N_TAGS = 5


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 25))])
    tags = (rng.random((25, N_TAGS)) < 0.4).astype(int)
    tags[3] = 0  # an image without a caption
    mixed = rng.normal(size=(offsets[-1], 6)) @ rng.normal(size=(6, 6)) + 3
    words = rng.poisson(1.0, (offsets[-1], 8))
    return Bags({"net": mixed, "words": words}, offsets, tags=tags)


@pytest.fixture(scope="module")
def model(bags):
    return mstep.start(bags, Settings({"net": 1.0}), 0.1).instances["net"]


def own_blocks(bags, matrix):
    """Return the values of every image's own tags, image after image."""
    tags, starts = bags.captions.toarray() > 0, bags.offsets
    return np.concatenate([matrix[starts[n] : starts[n + 1]][:, tags[n]].ravel() for n in range(len(bags))])


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_evidence_is_the_log_density_of_the_projected_region(bags, model, kernels):
    x = model.projection(bags.views["net"])
    covariance = np.linalg.inv(model.precision)
    expected = np.column_stack([multivariate_normal(m, covariance).logpdf(x) for m in model.means])
    every, entries = np.ones(expected.size), entries_of(bags.captions, bags.offsets)
    own = np.ones(entries.block_starts[-1])
    computed = replace(model, kernels=kernels)
    computed.add_evidence(bags.views["net"], 0.5, bags.offsets, None, every)
    computed.add_evidence(bags.views["net"], 0.5, bags.offsets, entries, own)
    np.testing.assert_allclose(every.reshape(expected.shape), 1 + 0.5 * expected, rtol=1e-9)
    np.testing.assert_allclose(own, 1 + 0.5 * own_blocks(bags, expected), rtol=1e-9)


def log_posterior(model, x, phi, means, covariance):
    """Return Σφ log N + log p(μ | Σ) + log p(Σ), by SciPy, up to a constant."""
    value = sum(
        phi[:, c] @ multivariate_normal(means[c], covariance).logpdf(x)
        + multivariate_normal(np.zeros(len(covariance)), covariance / PULL).logpdf(means[c])
        for c in range(len(means))
    )
    log_determinant = np.linalg.slogdet(covariance)[1]
    trace = np.trace(np.linalg.inv(covariance))
    return value - 0.5 * model.weight * (log_determinant + model.spread * trace)


def updated_by(model, bags, phi):
    statistics = model.empty_statistics()
    model.add_statistics(bags.views["net"], phi.ravel(), bags.offsets, None, statistics)
    return model.updated(statistics, learn_prior=True)


def test_an_update_cannot_be_improved_in_any_direction(bags, model):
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.ones(N_TAGS), bags.n_regions)
    fresh = updated_by(model, bags, phi)
    x, covariance = fresh.projection(bags.views["net"]), np.linalg.inv(fresh.precision)
    best = log_posterior(model, x, phi, fresh.means, covariance)
    for _ in range(20):
        step = rng.normal(size=fresh.means.shape)
        root = np.eye(len(covariance)) + 1e-3 * rng.normal(size=covariance.shape)
        assert log_posterior(model, x, phi, fresh.means + 1e-3 * step, covariance) < best
        assert log_posterior(model, x, phi, fresh.means, root @ covariance @ root.T) < best


def test_the_divergence_is_minus_the_log_prior_up_to_a_constant(bags, model):
    rng = np.random.default_rng(2)
    some = [updated_by(model, bags, rng.dirichlet(np.ones(N_TAGS), bags.n_regions)) for _ in range(3)]

    def expected(one):
        nobody = np.zeros((0, len(one.precision)))
        return log_posterior(one, nobody, np.zeros((0, N_TAGS)), one.means, np.linalg.inv(one.precision))

    differences = [one.divergence() + expected(one) for one in some]
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)


def test_statistics_of_own_tags_are_those_of_all_with_nothing_elsewhere(bags, model):
    rng = np.random.default_rng(3)
    entries = entries_of(bags.captions, bags.offsets)
    owner = np.repeat(np.arange(len(bags)), np.diff(bags.offsets))
    held = (bags.captions.toarray() > 0)[owner]
    phi = rng.random(held.shape) * held
    phi /= np.maximum(phi.sum(axis=1, keepdims=True), 1e-300)
    every, own = model.empty_statistics(), model.empty_statistics()
    model.add_statistics(bags.views["net"], phi.ravel(), bags.offsets, None, every)
    model.add_statistics(bags.views["net"], own_blocks(bags, phi), bags.offsets, entries, own)
    assert not held[owner == 3].any()
    np.testing.assert_allclose(own, every, rtol=1e-9, atol=1e-9)
    x = model.projection(bags.views["net"])[held.any(axis=1)]
    np.testing.assert_allclose(own[N_TAGS:, :-1], x.T @ x, rtol=1e-9, atol=1e-9)


def test_a_prior_of_nobody_has_the_spread_of_the_regions_and_shrinks_as_promised(bags):
    empty = Gaussian.empty(N_TAGS, bags.views["net"])
    x = empty.projection(bags.views["net"])
    assert empty.spread == pytest.approx(x.var(axis=0).mean())
    n = bags.n_regions + N_TAGS
    assert empty.weight / (empty.weight + n) == pytest.approx(SHRINKAGE)


def test_directions_are_the_principal_ones_of_standardised_columns(bags):
    view = bags.views["net"]
    small = Projection.of(view, 3)(view)
    scaled = (view - view.mean(axis=0)) / view.std(axis=0)
    singular = np.linalg.svd(scaled, compute_uv=False)[:3]
    np.testing.assert_allclose(small.T @ small, np.diag(singular**2), atol=1e-8)


def test_constant_columns_and_more_directions_than_columns_do_no_harm():
    view = np.column_stack([np.ones(9), np.arange(9.0), np.arange(9.0) ** 2, np.full(9, 1e12)])
    small = Projection.of(view, 64)(view)
    assert small.shape == (9, 2)
    assert np.isfinite(small).all()
    assert Projection.of(np.ones((4, 3)))(np.ones((4, 3))).tolist() == [[0.0]] * 4


def test_learning_starts_with_every_region_shared_equally_by_its_own_tags(bags):
    settings = Settings({"words": 1.0, "net": 0.5}, kernels=reference)
    instances = mstep.start_instances(bags, settings, 0.3)
    tags, mu, shares = bags.captions.toarray(), np.full((N_TAGS, 8), 0.3), []
    assert sorted(set(tags.sum(axis=1))) == [0, 1, 2, 3, 4]
    for n in range(len(bags)):
        for x in bags.views["words"].toarray()[bags.offsets[n] : bags.offsets[n + 1]]:
            shares.append(tags[n] / max(tags[n].sum(), 1))
            mu += np.outer(shares[-1], x)
    np.testing.assert_allclose(instances["words"].mu, mu, rtol=1e-12)
    assert instances["words"].eta == 0.3
    net = instances["net"]
    assert net.kernels is reference
    shares = np.array(shares)
    x = net.projection(bags.views["net"])
    means = shares.T @ x / (shares.sum(axis=0) + PULL)[:, None]
    np.testing.assert_allclose(net.means, means, rtol=1e-9, atol=1e-12)
    assert list(instances) == list(settings.evidence)
    params = mstep.start(bags, Settings({"words": 1.0}), 0.3)
    np.testing.assert_allclose(params.instances["words"].mu, mu, rtol=1e-12)
    assert params.rates.tolist() == params.weights.tolist() == [1.0] * N_TAGS


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9, 1e14])
def test_columns_that_vary_by_rounding_only_are_constant_at_any_size(size):
    rng = np.random.default_rng(7)
    varying = size * (1 + 1e-6 * rng.normal(size=(40, 2)))
    noisy = size * (1 + 1e-15 * rng.integers(-2, 3, (40, 1)))
    assert np.ptp(noisy) > 0
    view = np.hstack([varying, noisy, rng.normal(size=(40, 1))])
    projection = Projection.of(view)
    assert np.abs(projection.axes[2]).max() == 0
    assert projection.axes.shape == (4, 3)
    np.testing.assert_allclose(projection(view).var(axis=0).sum(), 3.0, rtol=1e-6)


def test_columns_that_others_add_up_to_bring_no_direction_of_their_own():
    rng = np.random.default_rng(8)
    view = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 12))
    assert Projection.of(view).axes.shape == (12, 2)
    assert Gaussian.empty(N_TAGS, view).spread == pytest.approx(6.0)
