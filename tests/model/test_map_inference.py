"""The most probable mixture through its public function: symmetries, threads, refusals, region posterior."""

from itertools import pairwise

import numpy as np
import pytest

from tagmix.errors import ParameterError
from tagmix.kernels.reference import sparse_coding as reference
from tagmix.model.map_inference import infer_map, region_posterior

N_TAGS = 60
SIZES = np.array([5, 0, 1, 9, 12, 3, 7, 4, 10, 2] * 3)


@pytest.fixture
def evidence():
    return 2.0 * np.random.default_rng(0).normal(size=(SIZES.sum(), N_TAGS))


@pytest.fixture
def starts():
    return np.concatenate([[0], np.cumsum(SIZES)])


@pytest.fixture
def rates():
    return np.random.default_rng(1).uniform(0.5, 2.0, size=N_TAGS)


def test_every_image_reaches_the_tolerance_and_spends_its_number_of_regions(evidence, starts, rates):
    found = infer_map(evidence, starts, rates)
    assert found.residual.max() <= 1e-6
    assert found.gap.min() >= 0.0
    assert np.all(found.gap <= SIZES * 1e-6)
    np.testing.assert_allclose(found.theta @ rates, SIZES, rtol=1e-13)


def test_rates_times_s_give_theta_over_s(evidence, starts, rates):
    theta = infer_map(evidence, starts, rates).theta
    np.testing.assert_allclose(infer_map(evidence, starts, 7.0 * rates).theta, theta / 7.0, rtol=0, atol=1e-7)


def test_a_constant_added_to_the_evidence_of_a_region_changes_nothing(evidence, starts, rates):
    theta = infer_map(evidence, starts, rates).theta
    constants = np.random.default_rng(2).uniform(-400.0, 400.0, size=(len(evidence), 1))
    np.testing.assert_allclose(infer_map(evidence + constants, starts, rates).theta, theta, rtol=0, atol=1e-7)


def test_permuted_tags_give_permuted_theta(evidence, starts, rates):
    theta = infer_map(evidence, starts, rates).theta
    order = np.random.default_rng(3).permutation(N_TAGS)
    permuted = infer_map(evidence[:, order], starts, rates[order]).theta
    np.testing.assert_allclose(permuted, theta[:, order], rtol=0, atol=1e-7)


def test_the_order_of_the_regions_of_an_image_does_not_matter(evidence, starts, rates):
    last = slice(starts[3], starts[4])
    turned = evidence.copy()
    turned[last] = evidence[last][::-1]
    np.testing.assert_allclose(
        infer_map(turned, starts, rates).theta, infer_map(evidence, starts, rates).theta, rtol=0, atol=1e-7
    )


def test_one_and_two_threads_give_the_same_bits(evidence, starts, rates):
    one, two = (infer_map(evidence, starts, rates, n_threads=n) for n in (1, 2))
    for left, right in zip(one, two, strict=True):
        np.testing.assert_array_equal(left, right)


def test_rates_of_each_image_equal_one_call_an_image(evidence, starts):
    rates = np.random.default_rng(4).uniform(0.5, 2.0, size=(SIZES.size, N_TAGS))
    together = infer_map(evidence, starts, rates)
    for n, (first, last) in enumerate(pairwise(starts)):
        alone = infer_map(evidence[first:last], np.array([0, last - first]), rates[n])
        np.testing.assert_array_equal(together.theta[n], alone.theta[0])
        assert (together.residual[n], together.gap[n]) == (alone.residual[0], alone.gap[0])


def test_the_reference_kernels_can_be_passed_and_agree(evidence, starts, rates):
    plain = infer_map(evidence, starts, rates, kernels=reference)
    np.testing.assert_allclose(infer_map(evidence, starts, rates).theta, plain.theta, rtol=0, atol=1e-7)


def test_evidence_in_single_precision_and_not_contiguous_is_taken(evidence, starts, rates):
    turned = np.asfortranarray(evidence.astype(np.float32))
    same = infer_map(turned.astype(np.float64), starts, rates).theta
    np.testing.assert_array_equal(infer_map(turned, starts, rates).theta, same)


def test_no_images_give_an_empty_result():
    found = infer_map(np.empty((0, 3)), np.array([0]), np.ones(3))
    assert found.theta.shape == (0, 3)
    assert infer_map(np.empty((0, 3)), np.array([0]), np.ones((0, 3))).residual.shape == (0,)


def test_a_search_cut_short_reports_a_residual_above_the_tolerance():
    evidence = np.random.default_rng(5).normal(size=(20, 2000))
    cut = infer_map(evidence, np.array([0, 20]), np.ones(2000), max_iter=1)
    full = infer_map(evidence, np.array([0, 20]), np.ones(2000))
    assert cut.residual[0] > 1e-6 >= full.residual[0]
    assert cut.gap[0] > full.gap[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"evidence": np.zeros(6)}, r"expected evidence of shape \(regions, tags\)"),
        ({"evidence": np.zeros((2, 0))}, r"expected evidence of shape \(regions, tags\)"),
        ({"evidence": np.array([[0.0, np.nan, 0.0], [0.0, 0.0, 0.0]])}, "maximum nan in row 0"),
        ({"evidence": np.array([[0.0, 0.0, 0.0], [0.0, np.inf, 0.0]])}, "maximum inf in row 1"),
        ({"evidence": np.array([[0.0, 0.0, 0.0], [-np.inf] * 3])}, "maximum -inf in row 1"),
        ({"region_starts": np.array([0, 3])}, "expected region_starts to increase from 0 to the 2 rows"),
        ({"region_starts": np.array([1, 2])}, "expected region_starts to increase"),
        ({"region_starts": np.array([0, 2, 1, 2])}, "expected region_starts to increase"),
        ({"region_starts": np.array([], dtype=np.int64)}, "expected region_starts to increase"),
        ({"rates": np.ones(2)}, r"expected rates of shape \(3,\) or \(1, 3\), got \(2,\)"),
        ({"rates": np.ones((2, 3))}, r"got \(2, 3\)"),
        ({"rates": np.ones((1, 1, 3))}, r"got \(1, 1, 3\)"),
        ({"rates": np.array([1.0, 0.0, 1.0])}, "expected finite rates > 0"),
        ({"rates": np.array([1.0, -2.0, 1.0])}, "got values from -2.0 to 1.0"),
        ({"rates": np.array([1.0, np.nan, 1.0])}, "expected finite rates > 0"),
        ({"rates": np.array([1.0, np.inf, 1.0])}, "expected finite rates > 0"),
        ({"tolerance": 0.0}, "expected tolerance > 0"),
        ({"tolerance": np.nan}, "expected tolerance > 0"),
        ({"max_iter": 0}, "max_iter >= 1"),
    ],
)
def test_bad_arguments_are_refused_with_a_reason(changes, said):
    arguments = {"evidence": np.zeros((2, 3)), "region_starts": np.array([0, 2]), "rates": np.ones(3)}
    with pytest.raises(ParameterError, match=said):
        infer_map(**(arguments | changes))


def test_the_region_posterior_is_the_share_of_each_tag_in_the_mixture(evidence, starts, rates):
    theta = infer_map(evidence, starts, rates).theta
    phi = region_posterior(evidence, theta, starts)
    joint = np.repeat(theta, SIZES, axis=0) * np.exp(evidence)
    np.testing.assert_allclose(phi, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(phi.sum(axis=1), 1.0, rtol=1e-14)


def test_at_the_optimum_the_region_posteriors_sum_to_rate_times_theta(evidence, starts, rates):
    theta = infer_map(evidence, starts, rates).theta
    phi = region_posterior(evidence, theta, starts)
    for n, (first, last) in enumerate(pairwise(starts)):
        np.testing.assert_allclose(phi[first:last].sum(axis=0), rates * theta[n], rtol=0, atol=1e-5)


def test_one_image_needs_no_region_starts(evidence, starts, rates):
    theta = infer_map(evidence, starts, rates).theta
    rows = slice(starts[4], starts[5])
    np.testing.assert_array_equal(
        region_posterior(evidence[rows], theta[4]), region_posterior(evidence, theta, starts)[rows]
    )


def test_the_region_posterior_survives_evidence_thousands_of_nats_down():
    phi = region_posterior(np.array([[-9000.0, -9001.0, -np.inf]]), np.array([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(phi, [[1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0.0]], rtol=1e-12)


@pytest.mark.parametrize(
    ("theta", "said"),
    [
        (np.ones(2), r"expected theta >= 0 of shape \(1, 3\)"),
        (np.array([1.0, -1.0, 0.0]), "least value -1.0"),
        (np.array([1.0, np.nan, 0.0]), "expected theta >= 0"),
        (np.zeros(3), "got none for a region of picture 0"),
        (np.array([0.0, 0.0, 1.0]), "got none for a region of picture 0"),
    ],
)
def test_a_theta_that_explains_no_region_or_does_not_fit_is_refused(theta, said):
    with pytest.raises(ParameterError, match=said):
        region_posterior(np.array([[0.0, 0.0, -np.inf]]), theta)
