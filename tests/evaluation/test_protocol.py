"""Choosing inside the training part, and comparing on the same folds."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tagmix import EMM, ParameterError
from tagmix.evaluation.folds import picture_folds, repeated_folds
from tagmix.evaluation.metrics import METRICS
from tagmix.evaluation.protocol import Comparison, compare
from tagmix.evaluation.selection import choose, held_out_scores
from tests.evaluation.conftest import Means, pictures

GRID = {"trust": [-1.0, 0.0, 1.0]}


class Recording(Means):
    """Remembers what it was given to learn from and asked about."""

    seen: ClassVar = []

    def fit(self, bags, y=None):
        self.own_ = set(bags.ids)
        return super().fit(bags)

    def decision_scores(self, bags):
        Recording.seen.append((self.own_, set(bags.ids), bags.tags))
        return super().decision_scores(bags)


@pytest.fixture
def recording(monkeypatch):
    monkeypatch.setattr(Recording, "seen", [])
    return Recording()


class Chances(BaseEstimator):
    """A learner that has only predict_proba."""

    def fit(self, bags, y=None):
        self.share_ = bags.captions.mean(axis=0)
        return self

    def predict_proba(self, bags):
        return np.tile(self.share_, (len(bags), 1))


def test_the_setting_that_ranks_held_out_pictures_best_is_chosen(album, means):
    choice = choose(means, GRID, album, 3, "top_k_accuracy", 0, k=2)
    assert choice.setting == {"trust": 1.0}
    assert [setting["trust"] for setting, _ in choice.tried] == GRID["trust"]
    assert choice.value == max(value for _, value in choice.tried)
    assert means.trust == 1.0
    assert not hasattr(means, "means_")


def test_the_value_of_a_setting_is_the_mean_over_folds(album):
    folds = picture_folds(len(album), 3)
    ((_, value),) = choose(Means(), [{"trust": 2.0}], album, folds, "ndcg_at_k").tried
    by_hand = [
        METRICS["ndcg_at_k"](
            album[f.test].captions, Means(trust=2.0).fit(album[f.train]).decision_scores(album[f.test]), 5
        )
        for f in folds
    ]
    assert value == np.mean(by_hand)


@pytest.mark.parametrize("metric", ["ranking_loss", "coverage"])
def test_where_less_is_better_the_least_is_chosen(album, means, metric):
    assert choose(means, GRID, album, 3, metric).setting == {"trust": 1.0}


def test_a_metric_of_ones_own_is_made_as_large_as_can_be(album, means):
    def reverse(tags, scores, k):
        return METRICS["ranking_loss"](tags, scores)

    assert choose(means, {"trust": [-1.0, 1.0]}, album, 3, reverse).setting == {"trust": -1.0}


def test_the_earlier_of_two_equal_settings_wins(album, means):
    assert choose(means, {"trust": [3.0, 1.0]}, album, 3).setting == {"trust": 3.0}


def test_choosing_asks_only_about_pictures_that_were_not_learnt_and_without_their_captions(album, recording):
    choose(recording, GRID, album, 3)
    assert len(recording.seen) == 9
    for learnt, asked, tags in recording.seen:
        assert not learnt & asked
        assert tags is None


def test_comparing_chooses_inside_of_the_training_part_only(album, recording):
    folds = picture_folds(len(album), 3)
    compare({"it": recording}, album, folds, grids={"it": GRID}, inner_folds=2)
    per_fold = len(recording.seen) // 3
    for i, fold in enumerate(folds):
        tested = {album.ids[j] for j in fold.test}
        *inner, outer = recording.seen[i * per_fold : (i + 1) * per_fold]
        assert len(inner) == 6
        for learnt, asked, _ in inner:
            assert not (learnt | asked) & tested
        assert outer[1] == tested


def test_learners_are_compared_on_the_same_folds_by_every_metric(album):
    learners = {"means": Means(), "frequency": Chances(), "reversed": Means(trust=-1.0)}
    metrics = ("top_k_accuracy", "ranking_loss", "n_plus")
    found = compare(learners, album, 4, metrics, k=2)
    assert found.scores.shape == (3, 4, 3)
    by_hand = [
        METRICS["n_plus"](album[f.test].captions, held_out_scores(Chances(), album, f.train, f.test), 2)
        for f in picture_folds(len(album), 4)
    ]
    assert found.scores[1, :, 2].tolist() == by_hand
    means, frequency, turned = found.scores.mean(axis=1)
    assert means[0] > frequency[0] > turned[0]
    assert means[1] < frequency[1] < turned[1]


def test_intervals_and_tests_tell_a_good_learner_from_chance(album):
    found = compare({"means": Means(), "frequency": Chances()}, album, 4, k=2)
    metric = "top_k_accuracy"
    folds, every = found.over_folds("means", metric), found.over_pictures("means", metric)
    assert folds.low < folds.mean < folds.high
    assert every.low < every.mean < every.high
    assert folds.mean == pytest.approx(every.mean, abs=0.02)
    assert found.difference("means", "frequency", metric).low > 0
    assert max(found.p_values("means", "frequency", metric).values()) < 0.01
    assert min(found.p_values("means", "means", metric).values()) == 1.0


def test_the_interval_over_folds_is_widened_by_what_they_share(album):
    found = compare({"means": Means()}, album, 4)
    assert found.test_share == pytest.approx(1 / 3, rel=1e-12)
    spread = found.scores[0, :, 0].std(ddof=1) * np.sqrt(1 / 4 + 1 / 3) * 3.182446
    interval = found.over_folds("means", "top_k_accuracy")
    assert interval.high - interval.mean == pytest.approx(spread, rel=1e-6)


def test_a_learner_chosen_in_each_fold_says_what_was_chosen(album):
    found = compare({"a": Means(), "b": Chances()}, album, 3, grids={"a": GRID}, k=2)
    assert found.chosen == {"a": ({"trust": 1.0},) * 3, "b": ({},) * 3}


def test_repeats_count_a_picture_as_often_as_it_was_tested_and_no_more_pictures(album):
    once = compare({"means": Means()}, album, repeated_folds(len(album), 3, 1), k=2)
    often = compare({"means": Means()}, album, repeated_folds(len(album), 3, 4), k=2)
    one, four = (c.parts["top_k_accuracy"]["means"] for c in (once, often))
    assert np.array_equal(four.weight, 4 * one.weight)
    width = [np.ptp(c.over_pictures("means", "top_k_accuracy")[1:]) for c in (once, often)]
    assert width[1] == pytest.approx(width[0], rel=0.25)


def test_groups_are_never_parted_and_count_once(album, recording):
    groups = [i // 3 for i in range(len(album))]
    found = compare({"it": recording}, album, 4, grids={"it": GRID}, inner_folds=2, groups=groups)
    of = dict(zip(album.ids, groups, strict=True))
    for learnt, asked, _ in recording.seen:
        assert not {of[x] for x in learnt} & {of[x] for x in asked}
    assert len(found.parts["top_k_accuracy"]["it"].gain) == len(album) // 3


def test_a_comparison_repeats_by_seed(album):
    first, again, other = (compare({"m": Means()}, album, 3, seed=s).scores for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_model_itself_takes_part():
    bags = pictures(40, seed=5)
    emm = EMM(learning="likelihood", calibration_folds=0)
    found = compare(
        {"emm": emm, "frequency": Chances()}, bags, 2, grids={"emm": {"evidence": [0.1, 0.3]}}, k=2
    )
    assert found.scores[0].mean() > found.scores[1].mean()
    assert {tuple(p) for p in found.chosen["emm"]} == {("evidence",)}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"metrics": ("accuracy",)}, "'accuracy' is not among 'top_k_accuracy', .*: choose one of them"),
        ({"metrics": ()}, "at least one of each, got 1 learners and \\(\\)"),
        ({"metrics": "cover"}, "'cover' is not among 'top_k_accuracy'"),
        (
            {"folds": 1},
            "^folds must be a whole number from 2 to the 60 pictures or groups, got 1: 5 is usual",
        ),
        ({"folds": 2.5}, "^folds must be a whole number from 2 .* got 2.5"),
        ({"inner_folds": 1}, "inner_folds must be a whole number >= 2, got 1"),
        ({"grids": {"other": GRID}}, "'other' is not among 'means'"),
        ({"folds": [([0, 1, 2], [2, 3])]}, "on both sides, got picture 2"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(album, means, how, message):
    with pytest.raises(ParameterError, match=message):
        compare({"means": means}, album, **how)


def test_names_that_were_not_compared_are_refused(album, means):
    found = compare({"means": means}, album, 2, ("n_plus", "coverage"))
    with pytest.raises(ParameterError, match="'emm' is not among 'means'"):
        found.over_folds("emm", "n_plus")
    with pytest.raises(ParameterError, match="'ndcg_at_k' is not among 'n_plus', 'coverage': choose"):
        found.over_pictures("means", "ndcg_at_k")


def test_a_metric_that_is_no_sum_over_pictures_is_sent_to_the_folds(album, means):
    found = compare({"a": means, "b": Chances()}, album, 2, ("per_tag_f1",))
    expected = "got 'per_tag_f1': use over_folds, or compare by one of top_k_accuracy, precision_at_k"
    for ask in (found.difference, found.p_values):
        with pytest.raises(ParameterError, match=expected):
            ask("a", "b", "per_tag_f1")
    with pytest.raises(ParameterError, match=expected):
        found.over_pictures("a", "per_tag_f1")


def test_one_metric_may_be_given_by_its_name_alone(album, means):
    alone, listed = (compare({"m": means}, album, 2, how) for how in ("coverage", ["coverage"]))
    assert alone.metrics == ("coverage",)
    assert np.array_equal(alone.scores, listed.scores)


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ([Means()], r"learners must be named, got a list: pass \{'name': learner\}"),
        ({"m": Means}, r"learner 'm' must be an instance, got the class Means: write Means\(\)"),
        ({"m": "KNN"}, "learner 'm' must have fit, get_params and set_params, got a str"),
    ],
)
def test_what_is_no_named_learner_is_refused_with_the_way_out(album, learners, message):
    with pytest.raises(ParameterError, match=message):
        compare(learners, album)


def test_choosing_among_settings_of_a_class_is_refused(album):
    with pytest.raises(ParameterError, match=r"learner must be an instance, got the class Means"):
        choose(Means, GRID, album)


def test_a_comparison_is_printed_as_a_table_of_means():
    scores = np.array([[[0.25, 30.0], [0.75, 32.0]], [[0.0, 7.0], [0.125, 8.0]]])
    found = Comparison(("KNN", "my own"), ("top_k_accuracy", "n_plus"), scores, {}, {}, 0.5)
    assert str(found).splitlines() == [
        "mean of 2 folds",
        "        top_k_accuracy    n_plus",
        "KNN              0.500    31.000",
        "my own           0.062     7.500",
    ]
    assert repr(found) == str(found)


def test_grids_without_settings_and_folds_without_tags_are_refused(album, means):
    with pytest.raises(ParameterError, match=r"at least one setting, got none: give \{\} to try"):
        choose(means, [], album)
    bare = album.with_tags(np.zeros((len(album), 3)))
    with pytest.raises(ParameterError, match="at least one setting must be measurable, got nan for all 3"):
        choose(means, GRID, bare, 3, "ndcg_at_k")
