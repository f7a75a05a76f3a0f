"""Intervals that hold what they promise, and paired tests checked by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tagmix import ParameterError
from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.significance import (
    bootstrap_interval,
    paired_bootstrap,
    permutation_test,
    sign_test,
    t_interval,
)


def parts(gain, weight=None):
    gain = np.asarray(gain, dtype=float)
    return Parts(gain, np.ones(len(gain)) if weight is None else np.asarray(weight, dtype=float))


def enumerated(first, second):
    """Return the share of all ways to exchange pictures that are at least as far apart."""
    far = []
    for swap in product([False, True], repeat=len(first.gain)):
        a = quotient(Parts(*(np.where(swap, y, x) for x, y in zip(first, second, strict=True))))
        b = quotient(Parts(*(np.where(swap, x, y) for x, y in zip(first, second, strict=True))))
        far.append(abs(a - b))
    return np.mean(np.array(far) >= far[0] - 1e-12)


def test_the_t_interval_agrees_with_scipy():
    values = [0.3, 0.5, 0.4, 0.45, 0.2]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert t_interval(values, level=0.9) == pytest.approx((0.37, low, high), rel=1e-12)


def test_the_t_interval_of_five_folds_is_half_as_wide_again_when_they_share_their_training():
    plain, wide = t_interval([1, 2, 3, 4, 5]), t_interval([1, 2, 3, 4, 5], test_share=0.25)
    ratio = (wide.high - wide.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(np.sqrt((1 / 5 + 1 / 4) / (1 / 5)), rel=1e-12)  # 1.5


def test_one_fold_has_a_mean_and_no_interval():
    interval = t_interval([0.5])
    assert interval.mean == 0.5
    assert np.isnan(interval.low)
    assert np.isnan(interval.high)


def test_the_bootstrap_interval_of_many_pictures_is_that_of_the_normal_law():
    gain = np.random.default_rng(0).random(2000) < 0.3
    mean, low, high = bootstrap_interval(parts(gain), seed=1)
    error = 1.96 * np.sqrt(mean * (1 - mean) / 2000)
    assert mean == gain.mean()
    assert (low, high) == pytest.approx((mean - error, mean + error), abs=0.1 * error)


def test_bootstrap_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(200):
        weight = rng.integers(1, 4, 80)
        _, low, high = bootstrap_interval(parts(rng.binomial(weight, 0.4), weight), draws=300, seed=seed)
        held += low <= 0.4 <= high
    assert 0.89 <= held / 200 <= 0.99


def test_pictures_that_do_not_count_do_not_widen_the_interval():
    gain, weight = [1, 0, 1, 1], [1, 1, 1, 1]
    more = parts([*gain, 0, 0, 0], [*weight, 0, 0, 0])
    assert bootstrap_interval(more) == bootstrap_interval(parts(gain, weight))


def test_two_pictures_drawn_again_by_hand():
    # draws of (0, 1): means 0, 1/2, 1/2, 1, each way a quarter
    _, low, high = bootstrap_interval(parts([0, 1]), level=0.4)
    assert (low, high) == (0.5, 0.5)
    _, low, high = bootstrap_interval(parts([0, 1]), level=0.9)
    assert (low, high) == (0.0, 1.0)


def test_the_paired_bootstrap_sees_what_two_wide_intervals_hide():
    rng = np.random.default_rng(0)
    hard = rng.random(400)
    first, second = parts(hard + 0.02 + 0.05 * rng.random(400)), parts(hard + 0.05 * rng.random(400))
    assert bootstrap_interval(first).low < bootstrap_interval(second).high  # apart, they overlap
    together = paired_bootstrap(first, second)
    assert 0 < together.low < 0.02 < together.high
    assert together.p < 0.01


def test_the_paired_bootstrap_of_two_pictures_by_hand():
    # differences 1 and −1: draws give −1, 0, 0, 1, so three quarters are on either wrong side
    found = paired_bootstrap(parts([1, 0]), parts([0, 1]), draws=4000)
    assert found.mean == 0.0
    assert found.p == 1.0
    # differences 1 and 0: a quarter of the draws is at 0, none below
    assert paired_bootstrap(parts([1, 0]), parts([0, 0]), draws=4000).p == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_the_permutation_test_is_the_enumeration_of_all_exchanges(seed):
    rng = np.random.default_rng(seed)
    first, second = (parts(rng.integers(0, 3, 7), rng.integers(2, 5, 7)) for _ in range(2))
    assert permutation_test(first, second) == pytest.approx(enumerated(first, second), abs=1e-12)


def test_three_pictures_exchanged_by_hand():
    # differences 2, 1, −1: sums of ±2 ±1 ±1 are 4, 2, 2, 0, 0, −2, −2, −4; six are at least 2 from 0
    assert permutation_test(parts([2, 1, 0]), parts([0, 0, 1])) == 6 / 8


def test_random_exchanges_come_near_to_all_of_them_and_repeat_by_seed():
    rng = np.random.default_rng(1)
    first, second = parts(rng.random(12) + 0.2), parts(rng.random(12))
    exact, drawn = permutation_test(first, second), permutation_test(first, second, draws=4000, seed=2)
    assert drawn == pytest.approx(exact, abs=0.03)
    assert drawn == permutation_test(first, second, draws=4000, seed=2)


def test_learners_that_do_not_differ_are_not_told_apart():
    same = parts([0.2, 0.4, 0.9])
    assert permutation_test(same, same) == 1.0
    assert sign_test(same, same) == 1.0
    assert paired_bootstrap(same, same).p == 1.0


def test_tests_of_learners_that_are_alike_reject_about_as_often_as_they_say():
    rng = np.random.default_rng(7)
    p = np.array(
        [
            (permutation_test(a, b, draws=199, seed=i), sign_test(a, b), paired_bootstrap(a, b, draws=199).p)
            for i in range(300)
            for a, b in [(parts(rng.random(40)), parts(rng.random(40)))]
        ]
    )
    assert np.all(np.mean(p <= 0.1, axis=0) < 0.16)
    assert np.all(np.mean(p <= 0.1, axis=0) > 0.04)


def test_the_sign_test_counts_wins_and_leaves_ties_out():
    first, second = parts([1, 1, 1, 1, 0, 0.5, 9]), parts([0, 0, 0, 0, 1, 0.5, 0])
    second.weight[6] = 0  # a picture that only one of them was measured on
    assert sign_test(first, second) == pytest.approx(2 * (1 + 5) / 2**5, rel=1e-12)


def test_pictures_of_which_nothing_was_measured_have_no_p():
    assert np.isnan(permutation_test(parts([0], [0]), parts([0], [0])))
    assert np.isnan(bootstrap_interval(parts([], [])).low)


def test_pairs_of_different_pictures_and_levels_outside_of_0_and_1_are_refused():
    for test in (paired_bootstrap, permutation_test, sign_test):
        with pytest.raises(ParameterError, match="the same pictures, got 2 and 1: test both"):
            test(parts([1, 2]), parts([1]))
    with pytest.raises(ParameterError, match=r"level must lie between 0 and 1, got 95: 0\.95 is customary"):
        t_interval([1, 2], level=95)
    with pytest.raises(ParameterError, match="draws must be >= 1, got 0"):
        bootstrap_interval(parts([1, 2]), draws=0)
