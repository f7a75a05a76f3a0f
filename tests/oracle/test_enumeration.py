"""The bound against the exact evidence, on cases where every assignment can be listed."""

import numpy as np
import pytest
from scipy.integrate import dblquad

from tagmix import Bags
from tagmix.kernels import compiled, reference
from tagmix.model import estep, mstep
from tagmix.model.bound import picture_bound
from tagmix.model.params import Params, Settings
from tests.oracle.evidence import (
    log_evidence,
    log_evidence_of_bags,
    log_moment,
    log_moment_unnormalised,
)

SHAPES = [(1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3)]


def infer(evidence, rates, bounded, kernels=compiled):
    """Run the kernel on one image with all its tags; return phi, S, r and the bound."""
    n_regions, n_tags = evidence.shape
    block, S = evidence.ravel().copy(), np.full(n_tags, n_regions / n_tags)
    r, bound, n_iter = np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64)
    starts = np.array([0, n_regions * n_tags]), np.array([0, n_tags])
    kernels.infer_pictures(
        block, *starts, rates, np.zeros(n_tags), rates[None], bounded, 1e-10, 5000, S, r, bound, n_iter
    )
    return block.reshape(n_regions, n_tags), S, float(r[0]), float(bound[0])


def lopsided(seed, n_regions, n_tags):
    rng = np.random.default_rng(seed)
    return rng.normal(-5, 3, (n_regions, n_tags)), rng.gamma(2.0, 1.0, n_tags) + 0.2


def test_the_simplex_integral_equals_the_integral_over_theta_itself():
    rates, counts = np.array([0.7, 2.3]), np.array([2, 1])

    def inside(b, a):
        share = np.array([a, b]) / (a + b)
        return np.prod(rates) * np.exp(-rates @ [a, b]) * np.prod(share**counts)

    direct, _ = dblquad(inside, 0, 60, 0, 60, epsabs=1e-10, epsrel=1e-8)
    np.testing.assert_allclose(np.exp(log_moment(counts, rates)), direct, rtol=1e-6)


@pytest.mark.parametrize(("n_regions", "n_tags"), SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_stays_below_the_exact_evidence_and_comes_near_it(seed, n_regions, n_tags):
    evidence, rates = lopsided(seed, n_regions, n_tags)
    bound = infer(evidence, rates, bounded=True)[3]
    exact = log_evidence(evidence, rates)
    assert bound <= exact
    assert bound > exact - 1.5  # a bound with a constant lost would be far off on one side or the other


@pytest.mark.parametrize("n_tags", [2, 3])
def test_one_region_of_certain_tag_shows_how_loose_zeta_is_and_no_more(n_tags):
    # z is certain, so only q(θ) and ζ are approximate: E[share_0] = 1/C against the bound.
    evidence, rates = np.full((1, n_tags), -1e4), np.ones(n_tags)
    evidence[0, 0] = 0.0
    exact = np.log(1 / n_tags)
    bound = infer(evidence, rates, bounded=True)[3]
    assert exact - 0.35 < bound < exact


@pytest.mark.parametrize("seed", range(4))
def test_the_printed_bound_stays_below_the_evidence_of_its_own_unnormalised_model(seed):
    evidence, rates = lopsided(seed, 3, 3)
    bound = infer(evidence, rates, bounded=False)[3]
    exact = log_evidence(evidence, rates, moment=log_moment_unnormalised)
    assert bound <= exact
    assert bound > exact - 1.5


def test_the_printed_bound_is_no_bound_of_the_evidence():
    # D3: small rates make θ large, and θ is never divided by its sum in the printed form.
    evidence, rates = lopsided(0, 3, 2)[0], np.array([0.05, 0.1])
    assert infer(evidence, rates, bounded=False)[3] > log_evidence(evidence, rates) + 1.0
    assert infer(evidence, rates, bounded=True)[3] <= log_evidence(evidence, rates)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("kernels", [reference, compiled])
def test_the_kernels_closed_form_equals_the_bound_line_by_line(kernels, bounded):
    for seed, (n_regions, n_tags) in enumerate(SHAPES):
        evidence, rates = lopsided(seed, n_regions, n_tags)
        phi, S, r, bound = infer(evidence, rates, bounded, kernels)
        zeta = n_regions / r if bounded else None
        lines = picture_bound(phi, 1 + S, 1 / (rates + r), zeta, rates, evidence, np.zeros(n_tags))
        np.testing.assert_allclose(bound, lines.total, rtol=1e-12)


COUNTS = np.array([[2, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 2]])
OFFSETS = np.array([0, 2, 4])
TAGS = np.array([[1, 1, 0], [0, 1, 1]])


@pytest.mark.parametrize("kappa", [1.0, 0.4])
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("bounded", [True, False])
def test_the_whole_bound_stays_below_the_evidence_with_words_and_captions(kappa, hard, bounded):
    bags = Bags(COUNTS, OFFSETS, tags=TAGS)
    rates = np.array([0.8, 1.5, 3.0])
    settings = Settings({"words": kappa}, hard=hard, bounded=bounded, tolerance=1e-9, max_iter=2000)
    moment = log_moment if bounded else log_moment_unnormalised
    params, S, bounds = mstep.start(bags, settings, 0.5), None, []
    params = Params(rates, params.instances, params.weights)
    for _ in range(30):
        posterior = estep.posterior_captioned(bags, params, settings, start=S)
        total = estep.accumulate(bags, posterior, params, settings, estep.Statistics.of_nothing(params))
        bounds.append(mstep.total_bound(params, total, settings, learnt_rates=False))
        params, S = mstep.update(params, total, settings, learn_eta=False, learn_rates=False), posterior.S
    allowed = [np.flatnonzero(row) if hard else np.arange(3) for row in TAGS]
    exact = log_evidence_of_bags(COUNTS, OFFSETS, TAGS, rates, 0.5, kappa, allowed, moment)
    assert max(bounds) <= exact
    assert bounds[-1] > exact - 4.0
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])


@pytest.mark.parametrize("kappa", [1.0, 0.4])
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("bounded", [True, False])
def test_with_a_background_the_bound_stays_below_the_evidence_in_which_every_region_may_be_none(
    kappa, hard, bounded
):
    bags = Bags(COUNTS, OFFSETS, tags=[[1, 0], [0, 1]])
    rates = np.array([0.8, 1.5, 0.4])
    settings = Settings(
        {"words": kappa}, hard=hard, bounded=bounded, background=True, tolerance=1e-9, max_iter=2000
    )
    moment = log_moment if bounded else log_moment_unnormalised
    params, S, bounds = mstep.start(bags, settings, 0.5), None, []
    params = Params(rates, params.instances, params.weights)
    for _ in range(30):
        posterior = estep.posterior_captioned(bags, params, settings, start=S)
        total = estep.accumulate(bags, posterior, params, settings, estep.Statistics.of_nothing(params))
        bounds.append(mstep.total_bound(params, total, settings, learnt_rates=False))
        params, S = mstep.update(params, total, settings, learn_eta=False, learn_rates=False), posterior.S
    tags = np.array([[1, 0, 1], [0, 1, 1]])
    allowed = [np.flatnonzero(row) if hard else np.arange(3) for row in tags]
    exact = log_evidence_of_bags(COUNTS, OFFSETS, tags, rates, 0.5, kappa, allowed, moment)
    assert max(bounds) <= exact
    assert bounds[-1] > exact - 4.0
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])
