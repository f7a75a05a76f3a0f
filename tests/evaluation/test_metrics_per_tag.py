"""Per-tag precision, recall, F1 and N+: by hand, and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from tagmix.evaluation.metrics import (
    macro_f1,
    n_plus,
    per_tag_f1,
    per_tag_precision,
    per_tag_recall,
    top_tags,
)
from tagmix.evaluation.per_tag import tag_counts

#             sky sea dog car     one tag shown each: sky, sky, sea, dog
TAGS = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
SCORES = np.array([[9, 1, 0, 0], [9, 1, 0, 0], [1, 9, 0, 0], [1, 0, 9, 0.0]])


def test_counts_of_each_tag_by_hand():
    counts = tag_counts(TAGS, SCORES, 1)
    assert counts.hits.tolist() == [2, 0, 0, 0]
    assert counts.shown.tolist() == [2, 1, 1, 0]
    assert counts.given.tolist() == [3, 2, 0, 0]
    assert counts.precision.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert counts.recall.tolist() == [2 / 3, 0.0, 0.0, 0.0]
    assert counts.f1.tolist() == [0.8, 0.0, 0.0, 0.0]


def test_means_run_over_the_two_tags_that_occur():
    assert per_tag_precision(TAGS, SCORES, 1) == (1 + 0) / 2
    assert per_tag_recall(TAGS, SCORES, 1) == (2 / 3 + 0) / 2
    assert per_tag_f1(TAGS, SCORES, 1) == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3), rel=1e-12)
    assert macro_f1(TAGS, SCORES, 1) == 0.8 / 2
    assert n_plus(TAGS, SCORES, 1) == 1


def test_a_tag_that_occurs_and_is_never_shown_has_precision_0_and_stays_in_the_mean():
    tags, scores = np.array([[1, 1]]), np.array([[0.9, 0.1]])
    assert per_tag_precision(tags, scores, 1) == 0.5


def test_a_tag_that_no_picture_has_changes_nothing_unless_it_is_shown_instead_of_another():
    wider, low = np.hstack([TAGS, np.zeros((4, 1))]), np.hstack([SCORES, np.full((4, 1), -1.0)])
    for metric in (per_tag_precision, per_tag_recall, per_tag_f1, macro_f1, n_plus):
        assert metric(wider, low, 1) == metric(TAGS, SCORES, 1)


def test_means_agree_with_scikit_learn_over_the_tags_that_occur():
    rng = np.random.default_rng(5)
    tags, scores = rng.random((60, 14)) < 0.15, rng.random((60, 14))
    tags[:, 3] = False
    shown = np.zeros(tags.shape, dtype=bool)
    np.put_along_axis(shown, top_tags(scores, 5), values=True, axis=1)
    occurs = np.flatnonzero(tags.any(axis=0))
    p, r, f, _ = precision_recall_fscore_support(
        tags, shown, labels=occurs, average="macro", zero_division=0.0
    )
    assert per_tag_precision(tags, scores) == pytest.approx(p, rel=1e-12)
    assert per_tag_recall(tags, scores) == pytest.approx(r, rel=1e-12)
    assert macro_f1(tags, scores) == pytest.approx(f, rel=1e-12)
    assert n_plus(tags, scores) == np.count_nonzero((tags & shown).any(axis=0))


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_the_f1_of_the_means_is_never_below_the_mean_f1(seed, k):
    rng = np.random.default_rng(seed)
    tags, scores = rng.random((8, 5)) < 0.4, rng.random((8, 5))
    tags[0, 0] = True
    assert macro_f1(tags, scores, k) <= per_tag_f1(tags, scores, k) + 1e-12


def test_nothing_to_measure_is_nan_and_nothing_found_is_0():
    assert np.isnan(per_tag_f1(np.zeros((2, 3)), np.ones((2, 3))))
    assert per_tag_f1(np.array([[0, 1]]), np.array([[1.0, 0.0]]), 1) == 0.0
