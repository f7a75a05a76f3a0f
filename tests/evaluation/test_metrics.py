"""Metrics by hand, and what must hold of them for every ranking."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array
from sklearn.metrics import ndcg_score, top_k_accuracy_score

from tagmix import ParameterError, top_k_accuracy
from tagmix.evaluation.metrics import (
    ndcg_at_k,
    precision_at_k,
    region_top_k_accuracy,
    top_k_ceiling,
    top_tags,
)

steady = settings(derandomize=True, deadline=None, max_examples=100)
shapes = st.tuples(st.integers(1, 5), st.integers(1, 6))


@st.composite
def cases(draw):
    shape = draw(shapes)
    tags = draw(hnp.arrays(bool, shape))
    scores = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))  # ties
    return tags, scores, draw(st.integers(1, 8))


def test_two_of_three_tags_found_among_five_shown():
    tags = np.array([[1, 1, 1, 0, 0, 0, 0]])
    scores = np.array([[7, 6, 1, 5, 4, 3, 2.0]])
    assert top_k_accuracy(tags, scores, 5) == 2 * 2 / (5 + 3)


def test_counts_are_summed_over_images_before_dividing():
    tags = np.array([[1, 0], [1, 1]])
    scores = np.array([[0.9, 0.1], [0.9, 0.1]])
    assert top_k_accuracy(tags, scores, 1) == 2 * 2 / (2 + 3)


def test_a_perfect_ranking_of_exactly_k_tags_scores_1_and_a_reversed_one_0():
    tags = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    assert top_k_accuracy(tags, tags.astype(float), 2) == 1.0
    assert top_k_accuracy(tags, -tags.astype(float), 2) == 0.0


def test_images_without_tags_count_what_they_were_shown():
    scores = np.array([[0.9, 0.1], [0.9, 0.1]])
    assert top_k_accuracy(np.array([[1, 0], [0, 0]]), scores, 1) == 2 * 1 / (2 + 1)
    assert top_k_accuracy(np.zeros((2, 2)), scores, 1) == 0.0


def test_no_images_score_0():
    assert top_k_accuracy(np.zeros((0, 3)), np.zeros((0, 3)), 5) == 0.0


def test_ties_go_to_the_lower_column():
    assert top_tags(np.array([[0.5, 0.5, 0.5], [0.1, 0.5, 0.5]]), 2).tolist() == [[0, 1], [1, 2]]


def test_lists_and_whole_numbers_are_scores_too():
    assert top_tags([[1, 3, 2]], 2).tolist() == [[1, 2]]
    assert top_k_accuracy([[0, 1, 0]], np.array([[0, 255, 7]], dtype=np.uint8), 1) == 1.0


@steady
@given(cases())
def test_the_score_is_a_share_and_sparse_tags_give_the_same(case):
    tags, scores, k = case
    value = top_k_accuracy(tags, scores, k)
    assert 0.0 <= value <= 1.0
    assert value == top_k_accuracy(csr_array(tags), scores, k)


@steady
@given(cases())
def test_no_ranking_beats_the_truth_itself(case):
    tags, scores, k = case
    assert top_k_accuracy(tags, scores, k) <= top_k_ceiling(tags, k)
    assert top_k_ceiling(tags, k) == top_k_accuracy(tags, tags.astype(float), k)


@steady
@given(cases())
def test_only_the_order_of_scores_matters(case):
    tags, scores, k = case
    assert top_k_accuracy(tags, scores, k) == top_k_accuracy(tags, 3.0 * scores - 7.0, k)


@steady
@given(cases())
def test_best_tags_are_distinct_columns_in_falling_order_and_none_better_is_left(case):
    _, scores, k = case
    best = top_tags(scores, k)
    assert best.shape == (len(scores), min(k, scores.shape[1]))
    for row, columns in zip(scores, best, strict=True):
        assert len(set(columns)) == len(columns)
        assert np.all(np.diff(row[columns]) <= 0)
        rest = np.delete(row, columns)
        assert not rest.size or rest.max() <= row[columns].min()


@steady
@given(cases())
def test_the_fast_choice_of_the_best_is_that_of_a_full_stable_sort(case):
    _, scores, k = case
    wide = np.tile(scores, 4)  # more columns than 2·k: the partition is used, with many ties
    assert np.array_equal(top_tags(wide, k), np.argsort(-wide, axis=1, kind="stable")[:, :k])


def test_tags_that_are_shut_out_and_tags_without_a_number_come_last():
    assert top_tags(np.array([[-np.inf, 0.5, np.nan, 0.1, 0.2, 0.3, -np.inf]]), 7).tolist() == [
        [1, 5, 4, 3, 0, 6, 2]
    ]
    assert top_tags(np.array([[np.nan] * 5 + [1.0]]), 2).tolist() == [[5, 0]]
    assert top_tags(np.full((1, 9), -np.inf), 2).tolist() == [[0, 1]]


def test_sparse_scores_are_scores_too():
    scores = np.array([[0, 0.5, 0, 0.2], [0, 0, 0, 0]])
    assert top_tags(csr_array(scores), 2).tolist() == [[1, 3], [0, 1]]
    assert top_k_accuracy(scores > 0, csr_array(scores), 2) == 2 * 2 / (4 + 2)


def test_the_ceiling_of_pictures_with_1_2_and_7_tags_at_5_shown():
    tags = np.zeros((3, 10))
    tags[0, :1] = tags[1, :2] = tags[2, :7] = 1
    assert top_k_ceiling(tags, 5) == 2 * (1 + 2 + 5) / (3 * 5 + 10)
    assert top_k_ceiling(np.zeros((0, 4))) == 0.0
    assert top_k_ceiling(np.ones((2, 3)), 5) == 1.0  # no more can be shown than there are


def test_precision_counts_pictures_without_tags_as_wrong_and_divides_by_what_can_be_shown():
    scores = np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    assert precision_at_k(np.array([[1, 0, 1], [0, 0, 0]]), scores, 2) == (1 / 2 + 0) / 2
    assert precision_at_k(np.ones((2, 3)), scores, 5) == 1.0


def test_discounted_gain_by_hand_and_without_pictures_that_have_no_tags():
    scores = np.array([[0.9, 0.5, 0.1, 0.3], [0.9, 0.5, 0.1, 0.3]])
    tags = np.array([[1, 0, 1, 0], [0, 0, 0, 0]])  # own tags in the places 1 and 4
    ideal = 1 + 1 / np.log2(3)
    assert ndcg_at_k(tags, scores, 4) == pytest.approx((1 + 1 / np.log2(5)) / ideal, rel=1e-12)
    assert ndcg_at_k(tags, scores, 3) == pytest.approx(1 / ideal, rel=1e-12)


def test_discounted_gain_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    tags, scores = rng.random((40, 12)) < 0.3, rng.random((40, 12))
    tags[:, 0] |= ~tags.any(axis=1)
    for k in (1, 3, 5, 12):
        assert ndcg_at_k(tags, scores, k) == pytest.approx(ndcg_score(tags, scores, k=k), rel=1e-12)


def test_regions_are_right_when_their_tag_is_among_the_best_and_unknown_ones_do_not_count():
    scores = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.2, 0.5, 0.3], [1, 0, 0]])
    assert region_top_k_accuracy([0, 1, 0, -1], scores, 1) == 1 / 3
    assert region_top_k_accuracy([0, 1, 0, -1], scores, 2) == 2 / 3
    assert region_top_k_accuracy([0, 1, 0, -1], scores, 3) == 1.0
    assert np.isnan(region_top_k_accuracy([-1, -1, -1, -1], scores, 1))


def test_region_accuracy_agrees_with_scikit_learn():
    rng = np.random.default_rng(1)
    truth, scores = rng.integers(0, 6, 80), rng.random((80, 6))
    for k in (1, 2, 4):
        theirs = top_k_accuracy_score(truth, scores, k=k, labels=np.arange(6))
        assert region_top_k_accuracy(truth, scores, k) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([0], r"truth must be 2 whole numbers, one per region, got int64 of shape \(1,\)"),
        ([0.0, 1.0], r"truth must be 2 whole numbers, one per region, got float64"),
        ([0, 3], r"truth must lie between -1 and 2, got 0 to 3: number the tags"),
        ([-2, 0], r"truth must lie between -1 and 2, got -2 to 0"),
    ],
)
def test_truth_that_names_no_column_is_refused(truth, message):
    with pytest.raises(ParameterError, match=message):
        region_top_k_accuracy(truth, np.ones((2, 3)))


@pytest.mark.parametrize("k", [0, -3, 2.5, None, True])
def test_k_that_is_no_number_of_tags_is_refused(k):
    with pytest.raises(ParameterError, match=r"k must be a whole number >= 1, got .*: pass 1 or more"):
        top_tags(np.ones((1, 2)), k)


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ParameterError, match=r"one shape, got \(1, 2\) and \(1, 3\): score the same"):
        top_k_accuracy(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ParameterError, match=r"scores must be pictures × tags, got 1 dimension\(s\)"):
        top_tags(np.ones(3), 1)
