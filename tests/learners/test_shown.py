"""Shown tags are as often right as the rule promises, and few pictures have none."""

import numpy as np
import pytest

from tagmix import ParameterError
from tagmix.learners.shown import (
    FEWEST_SHOWN,
    NEVER,
    PERCENTS,
    SHOWN_PRECISION,
    level_thresholds,
    outcome_of,
    precise_threshold,
    shown_tags,
    threshold_of,
)


def drawn(n_pictures, n_tags, seed, power=3.0):
    """Return probabilities and tags that are true as often as these state; few are sure."""
    rng = np.random.default_rng(seed)
    p = rng.random((n_pictures, n_tags)) ** power
    return p, (rng.random(p.shape) < p).astype(float)


def precision(p, tags, threshold):
    return tags[p >= threshold].mean()


@pytest.mark.parametrize("precision", [0.2, 0.7])
def test_the_precise_threshold_has_the_best_f1_of_all_that_are_precise(precision):
    rng = np.random.default_rng(7)
    p = np.round(rng.random((50, 8)) ** 2, 2)  # with ties
    tags = (rng.random(p.shape) < p).astype(float)
    found = precise_threshold(precision, p, tags)

    def f1(t):
        return 2 * tags[p >= t].sum() / ((p >= t).sum() + tags.sum())

    precise = [t for t in np.unique(p) if tags[p >= t].mean() >= precision]
    assert tags[p >= found].mean() >= precision
    assert f1(found) == max(f1(t) for t in precise)
    assert precise_threshold(1.0, p, np.zeros_like(p)) == p.max()


def test_equal_probabilities_are_shown_together():
    p, tags = np.array([[0.9, 0.5, 0.5]]), np.array([[1.0, 1.0, 0.0]])
    assert precise_threshold(0.7, p, tags) == 0.9  # of the two at .5, half is right
    assert precise_threshold(0.6, p, tags) == 0.5


def test_a_threshold_of_exactly_the_precision_is_precise_enough():
    p, tags = np.array([[0.9, 0.8, 0.7, 0.6, 0.5]]), np.array([[1.0, 0.0, 1.0, 0.0, 1.0]])
    assert precise_threshold(0.6, p, tags) == 0.5


def test_a_picture_without_a_tag_above_the_threshold_shows_its_best_from_half_the_threshold_on():
    p = np.array([[0.6, 0.5, 0.2], [0.59, 0.58, 0.1], [0.3, 0.1, 0.3], [0.29, 0.2, 0.1]])
    shown = shown_tags(p, np.full(3, 0.6))
    assert shown.astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_each_tag_is_held_to_its_own_threshold():
    shown = shown_tags(np.array([[0.5, 0.5], [0.2, 0.1], [0.45, 0.7]]), np.array([0.4, 0.8]))
    assert shown.astype(int).tolist() == [[1, 0], [1, 0], [1, 0]]


def test_of_pictures_with_rare_tags_fewer_are_left_without_any():
    p, tags = drawn(600, 12, seed=1, power=12.0)
    threshold = precise_threshold(SHOWN_PRECISION, p, tags)
    without = (~(p >= threshold).any(axis=1)).mean()
    assert without > 0.3
    found = outcome_of(p, tags, np.full(12, threshold))
    assert 1 - found.tagged / found.pictures < 0.6 * without
    guessed = shown_tags(p, np.full(12, threshold)) & (p < threshold)
    assert found.right_guesses / found.guesses == pytest.approx(p[guessed].mean(), abs=0.08)
    assert found.right_guesses / found.guesses > threshold / 2


def test_an_outcome_counts_what_is_shown():
    p, tags = drawn(200, 8, seed=2)
    thresholds = np.full(8, 0.7)
    shown, found = shown_tags(p, thresholds), outcome_of(p, tags, thresholds)
    assert (found.pictures, found.given, found.shown) == (200, tags.sum(), shown.sum())
    assert (found.right, found.tagged) == (tags[shown].sum(), shown.any(axis=1).sum())
    assert found.expected == pytest.approx(p[shown].sum())
    assert found.shown == (p >= 0.7).sum() + found.guesses
    assert found.right == tags[p >= 0.7].sum() + found.right_guesses


def test_a_level_has_the_lowest_threshold_that_is_so_precise():
    p, tags = drawn(60, 5, seed=3)
    p = np.round(p, 2)  # with ties
    found = level_thresholds(p, tags)
    assert (np.diff(found) >= 0).all()
    levels = [t for t in np.unique(p) if (p >= t).sum() >= FEWEST_SHOWN]
    for asked, threshold in zip(PERCENTS, found, strict=True):
        precise = [t for t in levels if precision(p, tags, t) >= asked]
        assert threshold == (min(precise) if precise else NEVER)


def test_a_precision_asked_for_is_achieved_on_other_pictures():
    p, tags = drawn(1500, 10, seed=4)
    found = level_thresholds(p, tags)
    new, truth = drawn(1500, 10, seed=5)
    for asked in (0.5, 0.6, 0.7, 0.8, 0.9):
        assert precision(new, truth, threshold_of(asked, found)) == pytest.approx(asked, abs=0.03)


def test_a_few_lucky_tags_reach_no_precision():
    p, tags = drawn(300, 6, seed=6, power=8.0)
    tags = (np.random.default_rng(0).random(p.shape) < 0.5 * p).astype(float)
    tags[np.unravel_index(np.argsort(-p, axis=None)[: FEWEST_SHOWN // 2], p.shape)] = 1
    assert precision(p, tags, np.sort(p, axis=None)[-FEWEST_SHOWN // 2]) == 1
    assert level_thresholds(p, tags)[-1] == NEVER


def test_a_level_between_two_percents_is_rounded_up():
    thresholds = PERCENTS / 2
    assert threshold_of(0.6, thresholds) == 0.3
    assert threshold_of(0.601, thresholds) == 0.305
    assert threshold_of(np.float64(0.07), thresholds) == 0.035
    assert threshold_of(1e-9, thresholds) == 0.005


def test_a_level_out_of_reach_is_refused_with_the_most_that_was_reached():
    thresholds = np.where(PERCENTS <= 0.87, PERCENTS, NEVER)
    assert threshold_of(0.87, thresholds) == 0.87
    for asked in (0.88, 0.871, 0.999):
        with pytest.raises(ParameterError, match=r"out of reach.*reach 0\.87 at most.*ask for less"):
            threshold_of(asked, thresholds)


@pytest.mark.parametrize("asked", [0, 1, -0.5, 1.5, 80, float("nan"), True, "0.8", None])
def test_what_is_no_precision_is_refused(asked):
    with pytest.raises(ParameterError, match="a precision must be between 0 and 1, got"):
        threshold_of(asked, PERCENTS)


def test_pictures_without_any_true_tag_have_thresholds_that_show_nothing_more():
    p = drawn(50, 4, seed=7)[0]
    nothing = np.zeros_like(p)
    assert (level_thresholds(p, nothing) == NEVER).all()
    found = outcome_of(p, nothing, np.full(4, precise_threshold(SHOWN_PRECISION, p, nothing)))
    assert (found.right, found.given, found.right_guesses) == (0, 0, 0)
