"""The intervals of a contest are those of the package's own tests, over all pictures together."""

from itertools import pairwise

import numpy as np
import pytest

from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import bootstrap_interval, paired_bootstrap
from tagmix.report.comparison import intervals as numbers
from tagmix.report.comparison.intervals import (
    aligned,
    differ,
    difference,
    drawn,
    gain,
    interval,
    intervals,
    lost,
)


def parts(seed, n=40, skill=0.5):
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, n).astype(float)
    return Parts(rng.binomial(weight.astype(int), skill).astype(float), weight)


def cut(whole, *places):
    """Return one set of pictures as the folds that it was tested in."""
    ends = [0, *places, len(whole.gain)]
    return {
        (i, tuple(map(str, range(a, b)))): Parts(whole.gain[a:b], whole.weight[a:b])
        for i, (a, b) in enumerate(pairwise(ends))
    }


def test_an_interval_over_folds_is_the_bootstrap_of_their_pooled_pictures():
    whole = parts(1)
    assert interval(cut(whole, 7, 30)) == pytest.approx(bootstrap_interval(whole), rel=1e-12)


def test_a_difference_is_the_paired_bootstrap_of_pooled_pictures():
    first, second = parts(1), parts(2, skill=0.3)
    expected = paired_bootstrap(first, second)
    assert difference(cut(first, 11), cut(second, 11)) == pytest.approx(expected, rel=1e-12)


def test_blocks_of_draws_change_nothing(monkeypatch):
    before = drawn([parts(1), parts(2)], 50)
    monkeypatch.setattr(numbers, "_KEPT", 0)
    monkeypatch.setattr(numbers, "_BLOCK", 7 * 40)
    np.testing.assert_allclose(drawn([parts(1), parts(2)], 50), before, rtol=1e-12)


def test_a_difference_counts_only_the_folds_that_both_have():
    first = cut(parts(1), 10, 25)
    second = dict(list(cut(parts(2), 10, 25).items())[1:])
    ours = {unit: first[unit] for unit in second}
    assert difference(first, second) == difference(ours, second)


def test_methods_without_a_common_picture_cannot_be_compared():
    first, second = {(0, ("a",)): parts(1)}, {(0, ("b",)): parts(2)}
    assert np.isnan(difference(first, second)).all()
    assert np.isnan(gain(first, second)).all()


@pytest.mark.parametrize(("n", "apart"), [(5, False), (6, True)])
def test_no_two_methods_are_told_apart_by_five_pictures(n, apart):
    one = np.ones(n)
    better, worse = cut(Parts(3 * one, 4 * one)), cut(Parts(2 * one, 4 * one))
    assert differ(better, worse) == differ(worse, better) == apart


def test_methods_are_told_apart_by_the_pictures_on_which_they_differ():
    # 100 pictures, but the two differ on 5
    ours, theirs = np.ones(100), np.ones(100)
    theirs[:5] = 0
    weight = np.ones(100)
    assert not differ(cut(Parts(ours, weight)), cut(Parts(theirs, weight)))
    assert not differ(cut(Parts(ours, weight)), cut(Parts(ours, weight)))
    assert not differ({(0, ("a",)): parts(1)}, {(0, ("b",)): parts(2)})


def test_a_gain_is_relative_and_sure_where_pictures_agree():
    # 3 of 4 against 2 of 4 on every picture: half as much again, whatever is drawn
    one = np.ones(6)
    found = gain(cut(Parts(3 * one, 4 * one)), cut(Parts(2 * one, 4 * one)))
    assert found == pytest.approx((0.5, 0.5, 0.5))


def test_a_gain_over_nothing_is_not_known():
    one = np.ones(6)
    assert np.isnan(gain(cut(Parts(one, one)), cut(Parts(0 * one, one)))).all()


def test_what_is_lost_is_a_share_and_compares_with_another_method():
    one = np.ones(6)
    full, half, quarter = (cut(Parts(g * one, 4 * one)) for g in (4, 2, 1))
    assert lost(full, half) == pytest.approx((0.5, 0.5, 0.5))
    assert lost(full, half, full, quarter) == pytest.approx((-0.25, -0.25, -0.25))


def test_many_intervals_share_their_draws():
    whole = parts(3)
    first, second = intervals([cut(whole), cut(whole)])
    assert first == second == interval(cut(whole))


def test_points_with_other_pictures_are_drawn_together():
    many = parts(1)
    few = {(0, ("b", "c")): Parts(many.gain[1:3], many.weight[1:3])}
    both = {(0, ("a", "b", "c")): Parts(many.gain[:3], many.weight[:3])}
    one, other = aligned([few, both])
    assert one.weight.tolist() == [0, *many.weight[1:3]]
    assert other.gain.tolist() == many.gain[:3].tolist()


def test_folds_that_one_method_lacks_count_for_neither():
    whole = parts(1)
    few, many = cut(whole, 11), cut(parts(2), 11)
    lacking = {unit: own for unit, own in few.items() if unit[0] == 0}
    only = {unit: own for unit, own in many.items() if unit[0] == 0}
    assert lost(few, many, lacking, only) == pytest.approx((0, 0, 0), abs=1e-12)
