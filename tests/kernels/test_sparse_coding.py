"""The solver of the most probable mixture: optimality, exact zeros, screening, compiled against reference."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from tagmix.arrays import Floats, Ints
from tagmix.kernels.compiled import sparse_coding as compiled
from tagmix.kernels.compiled import sparse_shares
from tagmix.kernels.compiled.exponential import exponentiate
from tagmix.kernels.reference import sparse_coding as reference

TOLERANCE = 1e-6


class Solved(NamedTuple):
    theta: Floats
    residual: Floats
    gap: Floats


def solve(evidence, region_starts, rates, *, kernels=compiled, tolerance=TOLERANCE, max_iter=200) -> Solved:
    n_pictures = region_starts.size - 1
    found = Solved(np.empty((n_pictures, evidence.shape[1])), np.empty(n_pictures), np.empty(n_pictures))
    kernels.map_pictures(evidence, region_starts, rates, tolerance, max_iter, *found, 0, n_pictures)
    return found


def word_evidence(n_pictures, n_tags, n_regions, kappa, seed) -> tuple[Floats, Ints]:
    """Return κ x log β of regions of 60 words from one of the picture's few topics β ~ Dirichlet(0.05)."""
    rng = np.random.default_rng(seed)
    topics = np.maximum(rng.gamma(0.05, size=(n_tags, 1000)), 1e-250)
    topics /= topics.sum(axis=1, keepdims=True)
    picture_tags = rng.integers(n_tags, size=(n_pictures, max(1, n_regions // 2)))
    region_tags = picture_tags[:, rng.integers(picture_tags.shape[1], size=n_regions)].ravel()
    words = np.array([rng.multinomial(60, topics[tag]) for tag in region_tags])
    return kappa * (words @ np.log(topics).T), np.arange(n_pictures + 1) * n_regions


def normal_evidence(n_pictures, n_tags, n_regions, spread, seed) -> tuple[Floats, Ints]:
    """Evidence without structure: mixtures that fit a region are many, supports are large."""
    rng = np.random.default_rng(seed)
    return spread * rng.normal(size=(n_pictures * n_regions, n_tags)), np.arange(n_pictures + 1) * n_regions


def some_rates(n_tags, seed=0) -> Floats:
    return np.random.default_rng(seed).uniform(0.3, 3.0, size=(1, n_tags))


def log_mixture(evidence, theta) -> Floats:
    """log Σ_c θ_c p_mc from the definition, in logs throughout."""
    used = theta > 0
    return logsumexp(evidence[:, used] + np.log(theta[used]), axis=1)


def objective(evidence, rates, theta) -> float:
    return float(log_mixture(evidence, theta).sum() - rates @ theta)


def scores(evidence, rates, theta) -> Floats:
    """g_c = Σ_m p_mc / (λ_c d_m) from the definition, in logs throughout."""
    return np.exp(logsumexp(evidence - log_mixture(evidence, theta)[:, None], axis=0) - np.log(rates))


def kkt_residual(evidence, rates, theta) -> float:
    g = scores(evidence, rates, theta)
    return max(g.max() - 1.0, np.abs(g[theta > 0] - 1.0).max())


def pictures(evidence, region_starts):
    return [evidence[a:b] for a, b in pairwise(region_starts)]


@pytest.mark.parametrize("kernels", [compiled, reference], ids=["compiled", "reference"])
@pytest.mark.parametrize("n_regions", [1, 3, 10])
@pytest.mark.parametrize("n_tags", [2, 5, 50, 2000])
@pytest.mark.parametrize("kappa", [1.0, 0.1, 0.02])
def test_the_optimality_conditions_hold_for_pictures_of_words(kernels, kappa, n_tags, n_regions):
    evidence, starts = word_evidence(10, n_tags, n_regions, kappa, seed=n_tags + n_regions)
    rates = some_rates(n_tags)
    found = solve(evidence, starts, rates, kernels=kernels)
    assert found.theta.min() >= 0.0
    np.testing.assert_allclose(found.theta @ rates[0], n_regions, rtol=1e-13)
    for picture, theta, residual in zip(pictures(evidence, starts), found.theta, found.residual, strict=True):
        recomputed = kkt_residual(picture, rates[0], theta)
        assert recomputed <= TOLERANCE
        np.testing.assert_allclose(residual, recomputed, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n_regions", [3, 10, 50])
@pytest.mark.parametrize("n_tags", [5, 50, 1000])
@pytest.mark.parametrize("spread", [0.01, 0.3, 1.0, 5.0, 100.0])
def test_the_optimality_conditions_hold_for_evidence_without_structure(spread, n_tags, n_regions):
    evidence, starts = normal_evidence(20, n_tags, n_regions, spread, seed=n_regions)
    rates = some_rates(n_tags)
    theta = solve(evidence, starts, rates).theta
    assert max(map(lambda x, t: kkt_residual(x, rates[0], t), pictures(evidence, starts), theta)) <= TOLERANCE


@pytest.mark.parametrize("n_tags", [5, 50, 1000])
@pytest.mark.parametrize("spread", [0.1, 1.0, 30.0])
def test_compiled_and_reference_reach_the_same_optimum(spread, n_tags):
    evidence, starts = normal_evidence(10, n_tags, 10, spread, seed=3)
    rates = some_rates(n_tags)
    fast, plain = solve(evidence, starts, rates), solve(evidence, starts, rates, kernels=reference)
    np.testing.assert_allclose(fast.theta, plain.theta, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(fast.theta > 0, plain.theta > 0)
    for picture, mine, theirs in zip(pictures(evidence, starts), fast.theta, plain.theta, strict=True):
        difference = objective(picture, rates[0], mine) - objective(picture, rates[0], theirs)
        assert abs(difference) <= 1e-9


def dense_optimum(evidence, rates) -> Floats:
    """θ by a general solver (SLSQP over the whole simplex-like cone), sharing no code with ours."""
    shift = evidence.max(axis=1, keepdims=True)
    p = np.exp(evidence - shift)

    def loss(theta):
        return rates @ theta - np.log(p @ theta).sum()

    def slope(theta):
        return rates - (p / (p @ theta)[:, None]).sum(axis=0)

    start = len(evidence) / evidence.shape[1] / rates
    floor = [(1e-14, None)] * rates.size
    options = {"ftol": 1e-16, "maxiter": 2000}
    return minimize(loss, start, jac=slope, method="SLSQP", bounds=floor, options=options).x


@pytest.mark.parametrize(("n_tags", "n_regions"), [(2, 3), (5, 3), (5, 10), (30, 10)])
@pytest.mark.parametrize("kappa", [0.02, 0.002])
def test_a_general_solver_finds_the_same_optimum(kappa, n_tags, n_regions):
    evidence, starts = word_evidence(5, n_tags, n_regions, kappa, seed=1)
    rates = some_rates(n_tags)
    found = solve(evidence, starts, rates)
    for picture, theta, gap in zip(pictures(evidence, starts), found.theta, found.gap, strict=True):
        other = dense_optimum(picture, rates[0])
        ours, theirs = objective(picture, rates[0], theta), objective(picture, rates[0], other)
        assert ours >= theirs - 1e-9
        assert theirs >= ours - 1e-7
        assert theirs - ours <= gap + 1e-9
        np.testing.assert_allclose(
            log_mixture(picture, theta), log_mixture(picture, other), rtol=0, atol=1e-3
        )


def test_the_gap_bounds_what_is_missing_when_the_sweeps_run_out():
    evidence, starts = normal_evidence(40, 500, 20, 1.0, seed=2)
    rates = some_rates(500)
    best, early = solve(evidence, starts, rates), solve(evidence, starts, rates, max_iter=1)
    assert np.all(early.gap >= 0.0)
    assert np.any(early.residual > TOLERANCE)
    for n, picture in enumerate(pictures(evidence, starts)):
        missing = objective(picture, rates[0], best.theta[n]) - objective(picture, rates[0], early.theta[n])
        assert -1e-9 <= missing <= early.gap[n] + 1e-9
        recomputed = kkt_residual(picture, rates[0], early.theta[n])
        np.testing.assert_allclose(early.residual[n], recomputed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
def test_no_tag_that_the_unscreened_optimum_uses_is_screened_at_any_point(spread):
    evidence, starts = normal_evidence(20, 300, 10, spread, seed=4)
    plain = solve(evidence, starts, np.ones((1, 300)), kernels=reference, tolerance=1e-10).theta
    rng = np.random.default_rng(5)
    n_screened = 0
    for picture, optimum in zip(pictures(evidence, starts), plain, strict=True):
        for closeness in (0.0, 0.9, 0.999, 0.99999):
            point = closeness * optimum + (1 - closeness) * 10 * rng.dirichlet(np.ones(300))
            g = scores(picture, np.ones(300), point)
            screened = g < g.max() * compiled._least_ratio(10 * np.log(g.max()))
            n_screened += screened.sum()
            assert not np.any(screened & (optimum > 0))
    assert n_screened > 1000


def test_the_ascent_with_screening_ends_where_the_ascent_without_ends():
    shares = np.exp(normal_evidence(1, 400, 10, 1.0, seed=13)[0]).T
    shares /= shares.max(axis=0)
    start = np.unique(shares.argmax(axis=0))
    weights = np.full(start.size, 10 / start.size)
    ends = [compiled._ascend(shares, start, weights, 1e-9, 50, screen) for screen in (True, False)]
    assert ends[0][2] >= 2  # sweeps after a screening
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-12)


def test_the_screening_ratio_is_just_below_the_root_of_its_equation():
    for gap in [1e-14, 1e-9, 1e-3, 0.2, 0.499, 0.5, 1.0, 7.0, 100.0]:
        t = -np.log(compiled._least_ratio(gap))
        assert t + np.expm1(-t) >= gap * (1 - 1e-6)
        np.testing.assert_allclose(t + np.expm1(-t), gap, rtol=1e-6)


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_tags_dropped_before_solving_have_shares_that_sum_below_one(spread):
    evidence, _ = normal_evidence(1, 3000, 7, spread, seed=6)
    log_rates = np.log(some_rates(3000)[0])
    tags, columns = np.empty(3000, np.int64), np.empty((3000, 7))
    n_possible, leaders = sparse_shares.possible_tags(evidence, log_rates, tags, columns)
    scaled = evidence - log_rates
    shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    np.testing.assert_array_equal(tags[:n_possible], np.flatnonzero(shares.sum(axis=0) >= 1.0))
    np.testing.assert_allclose(columns[:n_possible], shares[:, tags[:n_possible]].T, rtol=1e-14)
    np.testing.assert_array_equal(tags[leaders], scaled.argmax(axis=1))
    assert n_possible < 3000


def test_the_vector_exponential_agrees_with_numpy_and_ends_in_zero():
    rng = np.random.default_rng(7)
    x = np.concatenate([-700.0 * rng.random(1000), [0.0, -1e-300, -707.9, -708.1, -np.inf]])
    values = x.copy()
    exponentiate(values, np.empty(x.size))
    np.testing.assert_allclose(values[:-2], np.exp(x[:-2]), rtol=5e-16)
    assert values[-2:].tolist() == [0.0, 0.0]


def test_a_direction_that_does_not_rise_gives_no_step():
    ratios = np.array([[0.9, 0.3], [0.2, 0.6]])
    ascent = ratios.sum(axis=1) - 1.0
    weights = np.ones(2)
    uphill = compiled._newton_direction(ratios, ascent)
    assert compiled._safe_step(weights, uphill, ratios)[0] > 0.0
    assert compiled._safe_step(weights, -uphill, ratios) == (0.0, -1)
    assert reference._safe_step(weights, -uphill, ratios.T) is None


def test_more_than_nine_in_ten_of_two_thousand_tags_are_exactly_zero():
    evidence, starts = word_evidence(20, 2000, 10, 1.0, seed=8)
    theta = solve(evidence, starts, some_rates(2000)).theta
    assert np.mean(theta == 0.0) > 0.9
    assert np.all(np.count_nonzero(theta, axis=1) <= 10)


def test_the_solution_is_a_fixed_point_of_the_multiplicative_update():
    evidence, starts = normal_evidence(20, 200, 10, 1.0, seed=9)
    rates = some_rates(200)
    for picture, theta in zip(pictures(evidence, starts), solve(evidence, starts, rates).theta, strict=True):
        np.testing.assert_allclose(theta * scores(picture, rates[0], theta), theta, rtol=TOLERANCE)


@pytest.mark.parametrize("kernels", [compiled, reference], ids=["compiled", "reference"])
class TestDegeneratePictures:
    def test_no_regions_give_no_tags(self, kernels):
        found = solve(np.empty((0, 3)), np.array([0, 0]), np.ones((1, 3)), kernels=kernels)
        assert found.theta.tolist() == [[0.0, 0.0, 0.0]]
        assert (found.residual.tolist(), found.gap.tolist()) == ([0.0], [0.0])

    def test_one_region_takes_the_tag_with_the_best_ratio_to_its_rate(self, kernels):
        evidence, rates = np.log([[0.3, 0.5, 0.2]]), np.array([[1.0, 4.0, 0.5]])
        found = solve(evidence, np.array([0, 1]), rates, kernels=kernels)
        np.testing.assert_allclose(found.theta, [[0.0, 0.0, 2.0]], rtol=1e-14)

    def test_one_tag_takes_all_regions(self, kernels):
        found = solve(np.array([[-3.0], [-900.0]]), np.array([0, 2]), np.array([[4.0]]), kernels=kernels)
        assert found.theta.tolist() == [[0.5]]

    def test_identical_regions_take_one_tag(self, kernels):
        evidence = np.tile(np.log([0.2, 0.5, 0.3]), (6, 1))
        found = solve(evidence, np.array([0, 6]), np.ones((1, 3)), kernels=kernels)
        np.testing.assert_allclose(found.theta, [[0.0, 6.0, 0.0]], rtol=1e-14)

    def test_copies_of_a_tag_leave_the_mixture_as_it_was(self, kernels):
        evidence, starts = normal_evidence(10, 20, 8, 1.0, seed=10)
        single = solve(evidence, starts, np.ones((1, 20)), kernels=kernels)
        tripled = np.tile(evidence, (1, 3))
        copied = solve(tripled, starts, np.ones((1, 60)), kernels=kernels)
        assert copied.residual.max() <= TOLERANCE
        summed = copied.theta.reshape(10, 3, 20).sum(axis=1)
        np.testing.assert_allclose(summed, single.theta, rtol=0, atol=1e-6)

    def test_ties_and_dependent_columns_are_solved(self, kernels):
        evidence = np.log(np.random.default_rng(11).integers(1, 3, size=(200, 40)))
        found = solve(evidence, np.arange(21) * 10, np.ones((1, 40)), kernels=kernels)
        residuals = [
            kkt_residual(evidence[10 * n : 10 * n + 10], np.ones(40), found.theta[n]) for n in range(20)
        ]
        assert max(residuals) <= TOLERANCE

    def test_tags_without_probability_stay_zero(self, kernels):
        evidence, starts = normal_evidence(10, 12, 6, 1.0, seed=12)
        evidence[:, 3] = -np.inf
        evidence[::2, 5] = -np.inf
        found = solve(evidence, starts, np.ones((1, 12)), kernels=kernels)
        assert np.all(found.theta[:, 3] == 0.0)
        residuals = map(lambda x, t: kkt_residual(x, np.ones(12), t), pictures(evidence, starts), found.theta)
        assert max(residuals) <= TOLERANCE

    def test_evidence_thousands_of_nats_apart_is_solved(self, kernels):
        evidence = -5000.0 * (1.0 - np.eye(4)) - 1e5
        found = solve(evidence, np.array([0, 4]), np.ones((1, 4)), kernels=kernels)
        np.testing.assert_allclose(found.theta, np.ones((1, 4)), rtol=1e-12)
