"""The margin problem: its certificate, its agreement with an independent solver, its duals."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from tagmix.errors import ParameterError
from tagmix.model.margin import (
    cut_plane,
    label_duals,
    own_label_duals,
    prepare,
    primal_objective,
    solve_margin,
)
from tagmix.model.margin.master import exact_length, solve_master
from tagmix.model.margin.problem import chunk_cuts


def small_problem(seed: int, n_pictures: int = 8, n_tags: int = 5):
    """Shares with some empty rows; one image without tags and one with all of them."""
    rng = np.random.default_rng(seed)
    own = rng.random((n_pictures, n_tags)) < 0.35
    own[0], own[1] = False, True
    # An own tag has the larger share now and then, so that the problem is neither trivial nor separable.
    zbar = rng.dirichlet(np.full(n_tags, 0.4), n_pictures) * (rng.random((n_pictures, n_tags)) < 0.8)
    zbar = (zbar + own * rng.random((n_pictures, n_tags))) / (1 + n_tags)
    zbar[rng.integers(2, n_pictures)] = 0.0
    return csr_array(6.0 * zbar), csr_array(own.astype(float))


def captioned_pictures(*, dense: bool, n_pictures: int = 4500, n_tags: int = 374):
    """Zipf-like tags, 3.5 an image, and shares that lean to an image's own tags."""
    rng = np.random.default_rng(11)
    popularity = (np.arange(n_tags) + 5.0) ** -0.8
    own = rng.random((n_pictures, n_tags)) < 3.5 * popularity / popularity.sum()
    if dense:
        shares = rng.gamma(0.02 + 0.1 * n_tags * popularity / popularity.sum() + 0.7 * own)
    else:
        seen = rng.random((n_pictures, n_tags)) < np.maximum(8 * popularity / popularity.sum(), 0.7 * own)
        shares = rng.gamma(1.0, 1.0 + 1.5 * own) * seen
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    return csr_array(shares), csr_array(own.astype(float))


def listed_pairs(zbar, tags):
    """List all pairs as (image, own tag, other tag, weight in the risk)."""
    own = tags.toarray() > 0
    listed = []
    for n in range(own.shape[0]):
        ours, theirs = np.flatnonzero(own[n]), np.flatnonzero(~own[n])
        listed += [(n, i, j, 1 / (own.shape[0] * ours.size * theirs.size)) for i, j in product(ours, theirs)]
    return listed


def optimum_with_a_slack_for_each_pair(zbar, tags, nu1: float, nu2: float) -> float:
    """Solve the smooth program over weights and one slack a pair with SLSQP."""
    shares, listed = zbar.toarray(), listed_pairs(zbar, tags)
    n_tags = shares.shape[1]
    margins = np.zeros((len(listed), n_tags + len(listed)))
    costs = np.array([nu2 * weight for *_, weight in listed])
    for row, (n, i, j, _) in enumerate(listed):
        margins[row, i], margins[row, j], margins[row, n_tags + row] = shares[n, i], -shares[n, j], 1.0
    found = minimize(
        lambda x: nu1 / 2 * x[:n_tags] @ x[:n_tags] + costs @ x[n_tags:],
        np.r_[np.zeros(n_tags), np.ones(len(listed))],
        jac=lambda x: np.r_[nu1 * x[:n_tags], costs],
        bounds=[(0, None)] * margins.shape[1],
        constraints={"type": "ineq", "fun": lambda x: margins @ x - 1, "jac": lambda x: margins},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert found.success, found.message
    return float(found.fun)


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_agrees_with_an_explicit_program_over_all_pairs(seed):
    zbar, tags = small_problem(seed)
    nu1, nu2 = [0.1, 0.03, 0.01, 0.003][seed % 4], [1.0, 0.5][seed % 2]
    optimum = optimum_with_a_slack_for_each_pair(zbar, tags, nu1, nu2)
    solution = solve_margin(zbar, tags, nu1=nu1, nu2=nu2, tolerance=1e-6)
    assert solution.primal == pytest.approx(optimum, rel=1e-4)
    assert solution.dual <= optimum * (1 + 1e-7)
    assert solution.primal >= optimum * (1 - 1e-7)
    assert solution.converged
    assert optimum < 0.99 * primal_objective(zbar, tags, np.zeros(5), nu1=nu1, nu2=nu2)


@pytest.mark.parametrize("nu1", [1e-1, 1e-3, 1e-5])
def test_the_certificate_is_honest(nu1):
    zbar, tags = small_problem(3, n_pictures=60, n_tags=12)
    solution = solve_margin(zbar, tags, nu1=nu1, tolerance=1e-5)
    assert solution.primal == pytest.approx(
        primal_objective(zbar, tags, solution.weights, nu1=nu1), rel=1e-12
    )
    assert solution.gap == pytest.approx((solution.primal - solution.dual) / solution.primal, abs=1e-15)
    assert 0 <= solution.gap <= 1e-5
    assert np.all(solution.weights >= 0)
    assert solution.weights.max() > 0
    assert np.all(np.diff(solution.history[:, 0]) <= 0)
    assert np.all(np.diff(solution.history[:, 1]) >= -1e-9)
    assert len(solution.history) == solution.n_iter
    # The bound, made again from what is returned: f(α) of the planes cut at the returned points.
    planes = [cut_plane(prepare(zbar, tags, 1.0, 60), point) for point in solution.plane_points]
    pull = -sum(dual * plane.slope for dual, plane in zip(solution.plane_duals, planes, strict=True))
    level = sum(dual * plane.level for dual, plane in zip(solution.plane_duals, planes, strict=True))
    assert solution.dual == pytest.approx(level - (np.maximum(pull, 0) ** 2).sum() / (2 * nu1), rel=1e-9)
    assert np.all(solution.plane_duals > 0)
    assert solution.plane_duals.sum() <= 1 + 1e-9


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
@pytest.mark.parametrize("nu1", [1e-4, 1e-6])
def test_thousands_of_pictures_reach_the_gap(dense, nu1):
    zbar, tags = captioned_pictures(dense=dense)
    solution = solve_margin(zbar, tags, nu1=nu1)
    assert solution.converged
    assert solution.gap <= 1e-3
    assert solution.n_iter < 60
    assert solution.primal == pytest.approx(
        primal_objective(zbar, tags, solution.weights, nu1=nu1), rel=1e-12
    )
    assert solution.primal < 0.99
    assert np.unique(solution.weights.round(3)).size > 100


def test_the_label_duals_are_the_sums_over_listed_pairs():
    zbar, tags = small_problem(7, n_pictures=15, n_tags=8)
    solution = solve_margin(zbar, tags, nu1=0.003, nu2=0.7, tolerance=1e-5)
    shares, expected = zbar.toarray(), np.zeros((15, 8))
    for point, dual in zip(solution.plane_points, solution.plane_duals, strict=True):
        for n, i, j, weight in listed_pairs(zbar, tags):
            if 1 - point[i] * shares[n, i] + point[j] * shares[n, j] > 0:
                expected[n, i] += dual * 0.7 * weight
                expected[n, j] -= dual * 0.7 * weight
    assert solution.plane_duals.size > 3
    delta = label_duals(zbar, tags, solution)
    np.testing.assert_allclose(delta, expected, rtol=1e-10, atol=1e-14)
    picture_of_own = np.repeat(np.arange(15), np.diff(tags.indptr))
    own = own_label_duals(zbar, tags, solution)
    np.testing.assert_allclose(own, expected[picture_of_own, tags.indices], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-7])
def test_the_label_duals_make_the_weights_stationary(tolerance):
    zbar, tags = small_problem(9, n_pictures=80, n_tags=20)
    nu1 = 1e-3
    solution = solve_margin(zbar, tags, nu1=nu1, tolerance=tolerance)
    implied = np.maximum((zbar.toarray() * label_duals(zbar, tags, solution)).sum(axis=0), 0) / nu1
    # Strong convexity turns the gap between the bounds into a distance between the weights.
    distance = nu1 / 2 * ((solution.weights - implied) ** 2).sum()
    assert distance <= (solution.primal - solution.dual) * (1 + 1e-6) + 1e-12
    assert implied.max() > 1


def test_duals_of_shards_are_rows_of_the_whole():
    zbar, tags = small_problem(5, n_pictures=40, n_tags=9)
    solution = solve_margin(zbar, tags, nu1=1e-3)
    whole, own = label_duals(zbar, tags, solution), own_label_duals(zbar, tags, solution)
    parts = [(zbar[rows], tags[rows]) for rows in (slice(0, 7), slice(7, 8), slice(8, 40))]
    shards = [label_duals(z, t, solution, n_total=40) for z, t in parts]
    np.testing.assert_array_equal(np.vstack(shards), whole)
    own_shards = [own_label_duals(z, t, solution) for z, t in parts]
    np.testing.assert_array_equal(np.concatenate(own_shards), own)
    np.testing.assert_allclose(label_duals(*parts[0], solution, n_total=80), whole[:7] / 2, rtol=1e-12)
    assert np.abs(whole).max() > 0


def test_two_threads_give_the_same_bits_as_one():
    zbar, tags = captioned_pictures(dense=False, n_pictures=1500, n_tags=120)
    assert chunk_cuts(1500).size > 2
    one, two = (solve_margin(zbar, tags, nu1=1e-5, n_threads=n) for n in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert (one.primal, one.dual, one.n_iter) == (two.primal, two.dual, two.n_iter)
    deltas = [label_duals(zbar, tags, one, n_threads=n).tobytes() for n in (1, 2)]
    assert deltas[0] == deltas[1]


def test_a_good_start_saves_rounds_and_ends_at_the_same_objective():
    zbar, tags = captioned_pictures(dense=False, n_pictures=1500, n_tags=120)
    cold = solve_margin(zbar, tags, nu1=1e-5)
    warm = solve_margin(zbar, tags, nu1=1e-5, start=cold.weights)
    assert warm.n_iter < cold.n_iter
    assert warm.primal == pytest.approx(cold.primal, rel=1e-3)


@pytest.mark.parametrize("n_pictures", [1, 255, 257, 4500, 10**6])
def test_the_chunks_cover_all_images_without_overlap(n_pictures):
    cuts = chunk_cuts(n_pictures)
    assert (cuts[0], cuts[-1]) == (0, n_pictures)
    assert np.all(np.diff(cuts) > 0)
    assert cuts.size - 1 == min(32, -(-n_pictures // 256))


def test_planes_long_unused_are_dropped():
    zbar, tags = captioned_pictures(dense=False, n_pictures=400, n_tags=40)
    solution = solve_margin(zbar, tags, nu1=1e-6, tolerance=1e-4)
    assert solution.peak_planes < 0.8 * solution.n_iter
    assert solution.plane_duals.size <= solution.peak_planes


def test_unsorted_shares_give_the_same_solution():
    zbar, tags = small_problem(2)
    shuffled = csr_array((zbar.data.copy(), zbar.indices.copy(), zbar.indptr.copy()), zbar.shape)
    for n in range(zbar.shape[0]):
        row = slice(zbar.indptr[n], zbar.indptr[n + 1])
        shuffled.indices[row], shuffled.data[row] = zbar.indices[row][::-1], zbar.data[row][::-1]
    assert not shuffled.has_sorted_indices
    expected, got = solve_margin(zbar, tags, nu1=0.01), solve_margin(shuffled, tags, nu1=0.01)
    np.testing.assert_array_equal(got.weights, expected.weights)


@pytest.mark.parametrize("start", [None, np.ones(5)])
def test_without_risk_or_pairs_the_weights_are_zero_and_the_gap_closed(start):
    zbar, tags = small_problem(1)
    for solution in (
        solve_margin(zbar, tags, nu1=0.1, nu2=0.0, start=start),
        solve_margin(zbar, csr_array(np.ones(zbar.shape)), nu1=0.1, start=start),
    ):
        np.testing.assert_array_equal(solution.weights, np.zeros(5))
        assert (solution.primal, solution.gap, solution.converged) == (0.0, 0.0, True)


def test_running_out_of_rounds_warns_and_says_how_wide_the_gap_is():
    zbar, tags = small_problem(3, n_pictures=60, n_tags=12)
    with pytest.warns(ConvergenceWarning, match="after 3 rounds"):
        solution = solve_margin(zbar, tags, nu1=1e-4, max_iter=3)
    assert not solution.converged
    assert solution.gap > 1e-3
    assert solution.n_iter == 3


def test_the_master_is_solved_where_whole_newton_steps_overshoot():
    rng = np.random.default_rng(4)
    slopes, levels, nu1 = rng.normal(0.0, 1.0, (12, 30)), rng.random(12), 0.05
    master = solve_master(slopes, levels, nu1, np.eye(12)[0], 1e-7)
    primal = nu1 / 2 * master.weights @ master.weights + max(0.0, (slopes @ master.weights + levels).max())
    assert 0 <= primal - master.value <= 1e-7
    assert master.value > 0


def test_the_search_stops_where_the_bound_is_highest_on_the_step():
    rng = np.random.default_rng(8)
    grid, inside = np.linspace(0, 1, 2001), 0
    for _ in range(200):
        pull, change = rng.normal(0, 1, 7), 10 ** rng.uniform(-1, 2) * rng.normal(0, 1, 7)
        # At least as steep as the quadratic falls at the start, so that the step is uphill there.
        rise = np.maximum(pull, 0) @ change + rng.exponential() * change.std()
        heights = rise * grid - (np.maximum(pull + grid[:, None] * change, 0) ** 2).sum(axis=1) / 2
        length = exact_length(pull, change, rise, 1.0)
        height = rise * length - (np.maximum(pull + length * change, 0) ** 2).sum() / 2
        assert height >= heights.max() - 1e-9 * abs(heights).max()
        inside += 0 < length < 1
    assert 50 < inside < 200
    assert exact_length(np.ones(2), np.ones(2), 1.0, 1.0) == 0.0  # downhill from the start
    assert exact_length(np.ones(1), -2 * np.ones(1), -1.0, 1.0) == 0.25  # no curvature at the end


def test_the_master_bound_matches_a_fine_grid():
    rng = np.random.default_rng(0)
    slopes, levels, nu1 = rng.normal(-0.3, 1.0, (2, 6)), np.array([0.7, 1.0]), 0.8
    master = solve_master(slopes, levels, nu1, np.zeros(2), 1e-10)
    first, second = np.meshgrid(*[np.linspace(0, 1, 401)] * 2)
    alpha = np.stack([first, second], axis=-1)[first + second <= 1]
    values = alpha @ levels - (np.maximum(-alpha @ slopes, 0) ** 2).sum(axis=1) / (2 * nu1)
    assert master.value == pytest.approx(values.max(), abs=1e-5)
    assert master.value >= values.max() - 1e-10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nu1": 0.0}, "nu1 must be"),
        ({"nu1": np.nan}, "nu1 must be"),
        ({"nu2": -1.0}, "nu2 must be"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"start": np.full(5, -1.0)}, "start must be"),
        ({"start": np.ones(4)}, "start must be"),
        ({"tags": csr_array((8, 6))}, "same pictures × tags"),
        ({"zbar": csr_array(np.full((8, 5), np.inf))}, "finite and nonnegative"),
        ({"zbar": csr_array(-np.ones((8, 5)))}, "finite and nonnegative"),
        ({"zbar": np.ones((8, 5))}, "CSR"),
        ({"tags": csr_array((np.zeros(1), [0], [0, 1, 1, 1, 1, 1, 1, 1, 1]), (8, 5))}, "eliminate_zeros"),
        ({"tags": csr_array((np.ones(2), [3, 1], [0, 2, 2, 2, 2, 2, 2, 2, 2]), (8, 5))}, "sum_duplicates"),
    ],
)
def test_a_bad_input_is_refused_in_one_line(changes, message):
    zbar, tags = small_problem(0)
    given = {"zbar": zbar, "tags": tags, "nu1": 0.1} | changes
    with pytest.raises(ParameterError, match=message) as caught:
        solve_margin(given.pop("zbar"), given.pop("tags"), **given)
    assert "\n" not in str(caught.value)


def test_a_shard_that_cannot_be_part_of_the_problem_is_refused():
    zbar, tags = small_problem(0)
    solution = solve_margin(zbar, tags, nu1=0.1)
    with pytest.raises(ParameterError, match="pass rows"):
        label_duals(zbar, tags, solution, n_total=7)
    with pytest.raises(ParameterError, match="pass rows"):
        own_label_duals(zbar[:, :4], tags[:, :4], solution)


@pytest.mark.parametrize("nu1", [1e-3, 1e-2, 0.3, 50.0])
@pytest.mark.parametrize("centre", [0.4, 1.0])
def test_weights_around_a_centre_agree_with_a_general_minimiser(nu1, centre):
    zbar, tags = small_problem(3, n_pictures=25)
    found = solve_margin(zbar, tags, nu1=nu1, centre=centre, tolerance=1e-6)
    assert found.dual <= found.primal <= found.dual * (1 + 1e-6) + 1e-12

    def objective(weights):
        return primal_objective(zbar, tags, np.abs(weights), nu1=nu1, centre=centre)

    np.testing.assert_allclose(found.primal, objective(found.weights), rtol=1e-12)
    how = {"method": "Nelder-Mead", "options": {"maxfev": 10_000, "xatol": 1e-7, "fatol": 1e-9}}
    for start in (np.full(5, centre), found.weights + 0.1):
        assert minimize(objective, start, **how).fun >= found.dual - 1e-9
    pull = np.asarray(zbar.multiply(label_duals(zbar, tags, found)).sum(axis=0)).ravel()
    np.testing.assert_allclose(found.weights, np.maximum(centre + pull / nu1, 0), atol=2e-2 / np.sqrt(nu1))


def test_a_centre_below_0_or_without_end_is_refused():
    zbar, tags = small_problem(0)
    for centre in (-1.0, np.inf):
        with pytest.raises(ParameterError, match="centre must be finite and at least 0"):
            solve_margin(zbar, tags, nu1=1.0, centre=centre)
