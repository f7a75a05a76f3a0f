"""Pooled scores of regions: the compiled kernel against its definition, and both against hand cases."""

import numpy as np
import pytest

from tagmix.kernels.compiled import pooling as compiled
from tagmix.kernels.reference import pooling as reference


@pytest.mark.parametrize("sharpness", [1.0, 4.0, np.inf])
def test_the_compiled_kernel_equals_its_definition(sharpness):
    rng = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 6, 40))])
    scores = rng.normal(0, 3, (starts[-1], 17))
    scores[starts[3] : starts[4]] = 0.5  # all regions tie
    scores[starts[5], 2], scores[starts[5] - 1, 2] = 900.0, -900.0  # beyond what exponentials reach
    for ours, theirs in zip(
        compiled.pool_regions(scores, starts, sharpness),
        reference.pool_regions(scores, starts, sharpness),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernels", [compiled, reference])
@pytest.mark.parametrize("sharpness", [1.5, np.inf])
def test_single_precision_changes_the_last_digits_of_shares_only(kernels, sharpness):
    rng = np.random.default_rng(1)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 30, 20))])
    scores = rng.normal(0, 9, (starts[-1], 5)).astype(np.float32)
    best, shares = kernels.pool_regions(scores, starts, sharpness)
    exact, exact_shares = kernels.pool_regions(scores.astype(np.float64), starts, sharpness)
    assert (best.dtype, shares.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(best, exact, rtol=1e-12)
    np.testing.assert_allclose(shares, exact_shares, rtol=1e-6)


@pytest.mark.parametrize("kernels", [compiled, reference])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_slopes_of_a_picture_are_spread_over_its_regions(kernels, kind):
    shares = np.array([[0.25, 1.0], [0.75, 0.0], [1.0, 0.5]], kind)
    kernels.spread_slopes(shares, np.array([0, 2, 3]), np.array([[-4.0, 2.0], [3.0, 10.0]]))
    assert shares.tolist() == [[-1.0, 2.0], [-3.0, 0.0], [3.0, 5.0]]
    assert shares.dtype == kind


@pytest.mark.parametrize("kernels", [compiled, reference])
def test_two_regions_by_hand(kernels):
    # mean of 1 and 3 is 2: log 2; shares 1/4 and 3/4. The second picture has one region.
    scores = np.log(np.array([[1.0], [3.0], [5.0]]))
    best, shares = kernels.pool_regions(scores, np.array([0, 2, 3]), 1.0)
    np.testing.assert_allclose(best, np.log([[2.0], [5.0]]), rtol=1e-12)
    np.testing.assert_allclose(shares, [[0.25], [0.75], [1.0]], rtol=1e-12)
    best, shares = kernels.pool_regions(scores, np.array([0, 2, 3]), np.inf)
    np.testing.assert_allclose(best, np.log([[3.0], [5.0]]), rtol=1e-12)
    np.testing.assert_array_equal(shares, [[0.0], [1.0], [1.0]])


@pytest.mark.parametrize("kernels", [compiled, reference])
def test_regions_that_tie_for_the_maximum_share_it(kernels):
    scores = np.array([[1.0], [3.0], [3.0], [-2.0]])
    best, shares = kernels.pool_regions(scores, np.array([0, 3, 4]), np.inf)
    assert best.ravel().tolist() == [3.0, -2.0]
    assert shares.ravel().tolist() == [0.0, 0.5, 0.5, 1.0]


@pytest.mark.parametrize("kernels", [compiled, reference])
def test_the_maximum_is_exact(kernels):
    shares = kernels.pool_regions(np.array([[1.0], [1.0 - 1e-9]]), np.array([0, 2]), np.inf)[1]
    assert shares.ravel().tolist() == [1.0, 0.0]
