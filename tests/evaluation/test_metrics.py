"""Metrics by hand, and what must hold of them for every ranking."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from tagmix import ParameterError, top_k_accuracy
from tagmix.evaluation.metrics import METRICS, top_tags

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
    assert top_k_accuracy(tags, scores, k) <= top_k_accuracy(tags, tags.astype(float), k)


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


@pytest.mark.parametrize("k", [0, -3, 2.5, None])
def test_k_that_is_no_number_of_tags_is_refused(k):
    with pytest.raises(
        ParameterError, match=r"k must be a whole number >= 1, got .*: ask for one tag or more"
    ):
        top_tags(np.ones((1, 2)), k)


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ParameterError, match=r"one shape, got \(1, 2\) and \(1, 3\): score the same images"):
        top_k_accuracy(np.ones((1, 2)), np.ones((1, 3)))
    with pytest.raises(ParameterError, match=r"scores must be images × tags, got 1 dimension\(s\)"):
        top_tags(np.ones(3), 1)


def test_every_metric_of_the_registry_takes_tags_and_scores():
    for metric in METRICS.values():
        assert 0.0 < metric(np.eye(3), np.eye(3)) <= 1.0
