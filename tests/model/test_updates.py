"""Each coordinate update is the maximiser it claims to be, on lopsided cases."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma, gammaln
from scipy.stats import gamma as gamma_distribution

from tagmix.model.bound import picture_bound, update_gamma, update_phi, update_rho, update_zeta
from tagmix.model.instance import Multinomial, best_eta
from tagmix.model.mstep import best_rates
from tagmix.model.params import log_prior_of_rates

RNG = np.random.default_rng(7)


def state(seed, n_regions=3, n_tags=4):
    rng = np.random.default_rng(seed)
    evidence = rng.normal(-4, 2, (n_regions, n_tags))
    guide = rng.normal(0, 1, n_tags)
    rates = rng.gamma(1.0, 2.0, n_tags) + 0.1
    phi = rng.dirichlet(np.ones(n_tags), n_regions)
    return (
        phi,
        rng.gamma(2.0, 1.0, n_tags) + 0.3,
        rng.gamma(2.0, 0.5, n_tags) + 0.1,
        2.7,
        rates,
        evidence,
        guide,
    )


def total(phi, gamma, rho, zeta, rates, evidence, guide):
    return picture_bound(phi, gamma, rho, zeta, rates, evidence, guide).total


@pytest.mark.parametrize("seed", range(5))
def test_no_move_of_phi_towards_a_tag_raises_the_bound(seed):
    phi, gamma, rho, zeta, *rest = state(seed)
    phi = update_phi(rest[1], gamma, rho, rest[2])
    best = total(phi, gamma, rho, zeta, *rest)
    for m, c in itertools.product(range(3), range(4)):
        other = phi.copy()
        other[m] = 0.99 * phi[m] + 0.01 * np.eye(4)[c]
        assert total(other, gamma, rho, zeta, *rest) < best


def test_phi_of_a_lopsided_hand_case():
    # exp(Ψ(1)) = e^-γ cancels; 1/4·2 against 3/4·1/2·e^log4: 1/2 to 3/2.
    phi = update_phi(np.log([[0.25, 0.75]]), np.ones(2), np.array([2.0, 0.5]), np.log([1.0, 4.0]))
    np.testing.assert_allclose(phi, [[0.25, 0.75]], rtol=1e-12)


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_gamma_and_rho_are_the_joint_maximiser_that_scipy_finds(seed, dropped):
    phi, _, _, zeta, *rest = state(seed)
    zeta = None if dropped else zeta
    gamma = update_gamma(phi)
    rho = update_rho(gamma, phi, rest[0], zeta)

    def loss(x):
        return -total(phi, np.exp(x[:4]), np.exp(x[4:]), zeta, *rest)

    found = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(np.exp(found.x), [*gamma, *rho], rtol=1e-4)  # finite differences
    assert -found.fun <= total(phi, gamma, rho, zeta, *rest) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_zeta_is_the_maximiser_given_gamma_and_rho(seed):
    phi, gamma, rho, _, *rest = state(seed)
    best = update_zeta(gamma, rho)
    found = minimize_scalar(
        lambda z: -total(phi, gamma, rho, z, *rest),
        bounds=(1e-3, 100),
        method="bounded",
        options={"xatol": 1e-9},
    )
    np.testing.assert_allclose(best, found.x, rtol=1e-5)  # flat at the top


@pytest.mark.parametrize("seed", range(20))
def test_the_printed_equation_7_lowers_the_bound(seed):
    # D1: as printed, ρ is the reciprocal of what maximises.
    phi, _, _, zeta, *rest = state(seed)
    gamma = update_gamma(phi)
    right = update_rho(gamma, phi, rest[0], None)
    printed = rest[0] * gamma / (1 + phi.sum(axis=0))
    assert total(phi, gamma, printed, None, *rest) < total(phi, gamma, right, None, *rest)
    assert np.all(np.abs(np.log(printed * right)) < 1e-12)  # reciprocals
    # From the right state, applying the printed update makes the bound fall for every rate but 1.
    assert total(phi, gamma, printed, zeta, *rest) < total(
        phi, gamma, update_rho(gamma, phi, rest[0], zeta), zeta, *rest
    )


@pytest.mark.parametrize("seed", range(5))
def test_equation_10_holds_at_the_closed_form(seed):
    # D2: with ρ = 1/λ, (S − γ + 1)Ψ'(γ) + 1 − λρ vanishes at γ = 1 + S, with no Newton step.
    phi, *_, rates, _, _ = state(seed)
    gamma = update_gamma(phi)
    rho = update_rho(gamma, phi, rates, None)
    np.testing.assert_allclose(phi.sum(axis=0) - gamma + 1, 0, atol=1e-15)
    np.testing.assert_allclose(rates * rho, 1, rtol=1e-14)


def words_objective(mu, eta, statistics):
    """E[log p(x|z, β)] − KL(Dir(μ) ‖ Dir(η)) written out, apart from the package."""
    value = 0.0
    for m, x in zip(mu, statistics, strict=True):
        e = digamma(m) - digamma(m.sum())
        kl = gammaln(m.sum()) - gammaln(m).sum() - gammaln(len(m) * eta) + len(m) * gammaln(eta)
        value += x @ e - kl - (m - eta) @ e
    return value


def test_mu_is_the_maximiser_that_scipy_finds():
    statistics = np.array([[3.0, 0.0, 0.5], [0.0, 0.2, 9.0]])
    model = Multinomial.empty(2, 3, 0.3).updated(statistics, learn_prior=False)
    found = minimize(
        lambda x: -words_objective(np.exp(x).reshape(2, 3), 0.3, statistics), np.zeros(6), method="BFGS"
    )
    np.testing.assert_allclose(model.mu, np.exp(found.x).reshape(2, 3), rtol=1e-3)  # finite differences
    for i, j in itertools.product(range(2), range(3)):
        for factor in (0.98, 1.02):
            other = model.mu.copy()
            other[i, j] *= factor
            assert words_objective(other, 0.3, statistics) < words_objective(model.mu, 0.3, statistics)


def test_mu_is_updated_with_the_eta_just_learnt():
    before, statistics = Multinomial(RNG.gamma(1.0, 2.0, (3, 4)) + 0.1, 5.0), RNG.gamma(1.0, 2.0, (3, 4))
    after = before.updated(statistics, learn_prior=True)
    assert after.eta == best_eta(before.E_log_beta)
    assert abs(after.eta - before.eta) > 1
    np.testing.assert_allclose(after.mu, after.eta + statistics, rtol=1e-14)
    kept = before.updated(statistics, learn_prior=False)
    np.testing.assert_allclose(kept.mu, 5.0 + statistics, rtol=1e-14)


def test_the_divergence_of_words_is_the_one_written_out():
    model = Multinomial(RNG.gamma(1.0, 2.0, (3, 4)) + 0.1, 0.3)
    np.testing.assert_allclose(
        model.divergence(), -words_objective(model.mu, 0.3, np.zeros((3, 4))), rtol=1e-12
    )


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_eta_is_the_maximiser_that_scipy_finds(spread):
    mu = np.random.default_rng(3).gamma(0.5, spread, (6, 9)) + 0.01
    model = Multinomial(mu, 1.0)
    found = minimize_scalar(
        lambda t: -words_objective(mu, np.exp(t), np.zeros_like(mu)), bounds=(-12, 12), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    np.testing.assert_allclose(best_eta(model.E_log_beta), np.exp(found.x), rtol=1e-5)


def test_eta_of_certain_words_stays_inside_its_range():
    assert 1e-6 <= best_eta(np.full((2, 3), -1e9)) < 1e-5
    assert 1e5 < best_eta(np.full((2, 3), np.log(1 / 3))) <= 1e6


@pytest.mark.parametrize("seed", range(5))
def test_lambda_is_the_maximiser_that_scipy_finds(seed):
    rng = np.random.default_rng(seed)
    theta, n_pictures, chi = rng.gamma(1.0, 5.0, 3), 17, (2.5, 0.7)

    def loss(x):
        rates = np.exp(x)
        return -(n_pictures * np.log(rates).sum() - rates @ theta + log_prior_of_rates(rates, chi))

    found = minimize(loss, np.zeros(3), method="BFGS")
    np.testing.assert_allclose(best_rates(theta, n_pictures, chi), np.exp(found.x), rtol=1e-4)  # differences


def test_the_prior_of_lambda_is_the_gamma_density_of_scipy():
    rates = np.array([0.3, 1.7])
    np.testing.assert_allclose(
        log_prior_of_rates(rates, (2.5, 0.7)),
        gamma_distribution.logpdf(rates, 2.5, scale=1 / 0.7).sum(),
        rtol=1e-12,
    )
