"""Metrics with unknown pairs are those of the pairs that are known."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix import Bags, ParameterError, top_k_accuracy
from tagmix.evaluation.metrics import METRICS, PICTURE_PARTS, macro_f1, precision_at_k, top_k_ceiling
from tagmix.evaluation.protocol import compare
from tagmix.evaluation.selection import choose
from tagmix.learners import KNN

BY_TAG = {"per_tag_precision", "per_tag_recall", "per_tag_f1", "macro_f1", "n_plus"}
BY_TAG |= {"mean_average_precision_of_tags"}


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    tags, unknown = rng.random((2, 30, 9)) < 0.3
    return tags & ~unknown, rng.random((30, 9)).round(1), unknown


@pytest.mark.parametrize("name", sorted(METRICS))
def test_no_pairs_unknown_change_nothing_and_no_score_of_an_unknown_pair_does(case, name):
    tags, scores, unknown = case
    metric = METRICS[name]
    assert metric(tags, scores, 3, np.zeros_like(unknown)) == metric(tags, scores, 3)
    value = metric(tags, scores, 3, unknown)
    for other in (-9.0, 9.0, np.where(tags, 1.0, 0.0).mean()):
        changed = np.where(unknown, other, scores)
        for given in (changed, csr_array(changed)):
            for pairs in (unknown, csr_array(unknown.astype(np.uint8))):
                assert metric(csr_array(tags), given, 3, pairs) == value


@pytest.mark.parametrize("name", sorted(set(METRICS) - BY_TAG))
def test_a_metric_of_pictures_is_that_of_each_pictures_known_columns(case, name):
    tags, scores, unknown = case
    unknown = np.arange(9) < np.repeat([0, 2, 7, 3, 9], 6)[:, None]  # some pictures have fewer than 3 left
    tags = tags & ~unknown
    found, weights = 0.0, 0.0
    for own, ranked, gone in zip(tags, scores, unknown, strict=True):
        if gone.all():
            continue
        if name == "top_k_ceiling":
            shown = min(3, (~gone).sum())
            found, weights = found + 2 * min(shown, own.sum()), weights + shown + own.sum()
            continue
        parts = PICTURE_PARTS[name](own[None, ~gone], ranked[None, ~gone], 3)
        found, weights = found + parts.gain.sum(), weights + parts.weight.sum()
    assert METRICS[name](tags, scores, 3, unknown) == pytest.approx(found / weights)


def test_a_metric_of_tags_leaves_pictures_out_of_the_ranking_of_a_tag(case):
    tags, scores, unknown = case
    by_tag = METRICS["mean_average_precision_of_tags"]
    each = [by_tag(tags[~gone, c : c + 1], scores[~gone, c : c + 1]) for c, gone in enumerate(unknown.T)]
    assert by_tag(tags, scores, 3, unknown) == pytest.approx(np.nanmean(each))


def test_an_unknown_tag_ranked_first_is_neither_hit_nor_error_and_the_next_one_is_shown():
    tags, scores = np.array([[0, 1, 0, 0]]), np.array([[0.9, 0.8, 0.7, 0.1]])
    first = np.array([[1, 0, 0, 0]])
    assert top_k_accuracy(tags, scores, 1) == 0.0
    assert top_k_accuracy(tags, scores, 1, first) == 1.0
    assert precision_at_k(tags, scores, 2, first) == 0.5
    assert precision_at_k(tags, scores, 4, np.array([[1, 0, 0, 1]])) == 0.5  # two are known
    assert macro_f1(tags, scores, 4, np.array([[1, 0, 1, 1]])) == 1.0
    assert top_k_ceiling(tags, 3, np.array([[1, 0, 1, 1]])) == 1.0
    both, scores = np.array([[0, 1], [1, 0]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    assert macro_f1(both, scores, 2, np.array([[1, 0], [0, 1]])) == 1.0  # no unknown tag fills the two places


def test_known_tags_of_the_lowest_score_come_before_unknown_ones():
    scores = np.array([[-np.inf, 0.5, -np.inf]])
    assert top_k_accuracy(np.array([[0, 0, 1]]), scores, 2, np.array([[1, 0, 0]])) == 2 / 3


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        (np.ones((1, 2)), r"tags and unknown must have no pair in common, got one in both: remove"),
        (np.zeros((2, 2)), r"unknown must have the shape of tags \(1, 2\), got \(2, 2\)"),
    ],
)
@pytest.mark.parametrize("name", sorted(METRICS))
def test_unknown_pairs_that_do_not_fit_are_refused(name, unknown, message):
    with pytest.raises(ParameterError, match=message):
        METRICS[name](np.array([[1, 0]]), np.array([[0.5, 0.1]]), 1, unknown)


def test_searches_and_comparisons_leave_unknown_pairs_out():
    rng = np.random.default_rng(0)
    tags, unknown = rng.random((2, 40, 6)) < 0.4
    tags[:, 0], unknown[:, 0] = True, False
    bags = Bags(rng.poisson(2.0, (40, 5)), np.arange(41), tags & ~unknown, unknown=unknown)
    without = bags.with_tags(bags.tags)
    folds = [(np.arange(20), np.arange(20, 40))]
    learner, part = KNN(k=5), bags[20:]
    scores = learner.fit(bags[:20]).decision_scores(part)
    expected = top_k_accuracy(part.tags, scores, 2, part.unknown)
    compared = compare({"knn": learner}, bags, folds, k=2)
    assert compared.scores.ravel().tolist() == [pytest.approx(expected)]
    assert compared.over_pictures("knn", "top_k_accuracy").mean == pytest.approx(expected)
    assert choose(learner, {"k": [5]}, bags, folds, k=2).value == pytest.approx(expected)
    assert compare({"knn": learner}, without, folds, k=2).scores.ravel()[0] < expected
