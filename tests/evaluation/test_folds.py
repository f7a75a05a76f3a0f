"""Folds part pictures, each tested once, and never the pictures of a group."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagmix import Bags, ParameterError
from tagmix.evaluation.folds import checked_folds, duplicate_groups, picture_folds, repeated_folds

steady = settings(derandomize=True, deadline=None, max_examples=60)


@steady
@given(st.integers(2, 60), st.data())
def test_each_picture_is_tested_once_and_learnt_from_otherwise(n, data):
    n_folds = data.draw(st.integers(2, n))
    folds = picture_folds(n, n_folds, seed=data.draw(st.integers(0, 9)))
    assert sorted(np.concatenate([f.test for f in folds])) == list(range(n))
    for fold in folds:
        assert sorted([*fold.train, *fold.test]) == list(range(n))
    sizes = [len(f.test) for f in folds]
    assert max(sizes) - min(sizes) <= 1


@steady
@given(
    st.lists(st.integers(0, 6), min_size=8, max_size=40).filter(lambda g: len(set(g)) >= 3), st.integers(0, 9)
)
def test_pictures_of_a_group_are_never_on_both_sides(groups, seed):
    names = np.array(groups)
    for fold in repeated_folds(len(groups), 3, 2, seed=seed, groups=groups):
        assert not set(names[fold.train]) & set(names[fold.test])
        assert len(fold.test)


def test_a_large_group_is_alone_in_its_fold():
    folds = picture_folds(8, 2, groups=["burst"] * 4 + [1, 2, 3, 4])
    assert sorted(len(f.test) for f in folds) == [4, 4]


def test_a_seed_repeats_and_another_one_differs():
    def tests(**how):
        return [f.test.tolist() for f in picture_folds(30, 3, **how)]

    assert tests(seed=1) == tests(seed=1) != tests(seed=2)


def test_repeats_start_with_the_plain_folds_and_differ_from_each_other():
    plain, twice = picture_folds(30, 3, seed=4), repeated_folds(30, 3, 2, seed=4)
    assert [f.test.tolist() for f in twice[:3]] == [f.test.tolist() for f in plain]
    assert [f.test.tolist() for f in twice[3:]] != [f.test.tolist() for f in plain]


def test_pictures_with_the_same_regions_or_the_same_id_are_one_group():
    words = np.array([[1, 0], [2, 0], [1, 0], [2, 0], [2, 0], [1, 0], [9, 9]])
    bags = Bags(words, [0, 2, 4, 6, 7])  # the third has the regions of the first in another order
    assert duplicate_groups(bags).tolist() == [0, 0, 1, 2]
    assert duplicate_groups(bags[[3, 0, 3]]).tolist() == [0, 1, 0]


def test_a_chain_of_same_id_and_same_regions_is_one_group():
    first = Bags(np.array([[1, 0], [5, 5]]), [0, 1, 2], ids=["a", "b"])
    other = Bags(np.array([[5, 5], [7, 7]]), [0, 1, 2], ids=["c", "d"])
    both = Bags.concat([first, other])
    assert duplicate_groups(both).tolist() == [0, 1, 1, 2]


def test_the_same_numbers_cut_into_other_regions_or_views_are_other_pictures():
    one = Bags(np.array([[1, 1], [1, 1], [1, 1]]), [0, 1, 3])
    assert duplicate_groups(one).tolist() == [0, 1]
    dense = Bags({"a": np.array([[1.0], [2.0]]), "b": np.array([[2.0], [1.0]])}, [0, 1, 2])
    assert duplicate_groups(dense).tolist() == [0, 1]


def test_pictures_without_regions_are_not_taken_for_the_same_unless_their_features_are():
    empty = Bags(np.zeros((0, 2), dtype=int), [0, 0, 0])
    assert duplicate_groups(empty).tolist() == [0, 1]
    alike = Bags(np.zeros((0, 2), dtype=int), [0, 0, 0], pictures={"net": np.ones((2, 3))})
    assert duplicate_groups(alike).tolist() == [0, 0]


def test_folds_given_as_numbers_or_masks_are_taken_as_they_are():
    mask = np.array([True, False, True])
    (fold,) = checked_folds([(mask, ~mask)], 3)
    assert (fold.train.tolist(), fold.test.tolist()) == ([0, 2], [1])
    assert len(checked_folds(3, 9)) == 3


@pytest.mark.parametrize(
    ("folds", "groups", "message"),
    [
        ([([0, 1], [1, 2])], None, "no picture or group may be on both sides, got picture 1 of fold 0"),
        ([([0, 1], [2])], "aba", "no picture or group may be on both sides, got picture 2 of fold 0"),
        ([([0, 1], [3])], None, "some of the numbers 0 to 2, got"),
        ([([0, 1], [])], None, "at least one per side"),
        ([], None, "a list of \\(train, test\\), got none"),
        (4, None, "from 2 to the 3 pictures or groups, got 4: use fewer"),
        (1, None, "^folds must be a whole number from 2 to the 3 pictures or groups, got 1: 5 is usual"),
        ("2", None, "^folds must be a whole number .* got '2'"),
        (3, "aba", "from 2 to the 2 pictures or groups, got 3"),
        (2, "ab", "group of each of 3 pictures, got 2"),
    ],
)
def test_folds_that_would_leak_or_do_not_exist_are_refused(folds, groups, message):
    with pytest.raises(ParameterError, match=message):
        checked_folds(folds, 3, groups=groups)


def test_a_number_of_folds_is_called_as_it_was_given():
    with pytest.raises(ParameterError, match=r"^n_folds must be a whole number from 2 to the 5"):
        picture_folds(5, 1)


def test_repeats_that_are_none_are_refused():
    with pytest.raises(ParameterError, match="repeats must be a whole number >= 1, got 0"):
        repeated_folds(5, 2, 0)
