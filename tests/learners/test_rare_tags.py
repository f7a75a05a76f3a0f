"""Rare tags count as much as frequent ones: probabilities divided by powers of spread and frequency."""

import numpy as np
import pytest

from tagmix.evaluation.metrics import top_tags
from tagmix.learners import rare_tags
from tagmix.learners.rare_tags import (
    AT_A_TIME,
    FREQUENCY_POWERS,
    LEAST_SPREAD,
    SPREAD_POWERS,
    rare_tag_weights_of,
)


def uneven_album(n=1200, n_tags=40, seed=0):
    """Return tags of which some are on half of the pictures and some on one in a hundred, and true odds."""
    rng = np.random.default_rng(seed)
    shares = np.geomspace(0.5, 0.01, n_tags)
    logits = np.log(shares / (1 - shares)) + 1.5 * rng.standard_normal((n, n_tags))
    p = 1 / (1 + np.exp(-logits))
    return p, (rng.random((n, n_tags)) < p).astype(np.float64)


def mean_f1(tags, scores, k=5):
    """Return the literature's F1 by a loop over tags: 2PR/(P+R) of mean precision and mean recall."""
    shown = np.zeros_like(tags)
    for row, best in zip(shown, top_tags(scores, k), strict=True):
        row[best] = 1
    precision, recall = [], []
    for own, offered in zip(tags.T, shown.T, strict=True):
        if own.any():
            hits = float((own * offered).sum())
            precision.append(hits / max(1.0, offered.sum()))
            recall.append(hits / own.sum())
    p, r = np.mean(precision), np.mean(recall)
    return 2 * p * r / (p + r)


def factor(p, tags, a, b):
    return p.std(axis=0) ** -a * (tags.sum(axis=0) + 1) ** -b


def best_powers(p, tags, parts):
    """Return the best pair by a plain search; of equals the one that changes least."""
    pairs = [(a, b) for a in SPREAD_POWERS for b in FREQUENCY_POWERS]

    def reached(pair):
        own = factor(p, tags, *pair)
        return sum(mean_f1(tags[rows], p[rows] * own) for rows in parts)

    return max(sorted(pairs, key=lambda pair: abs(pair[0]) + abs(pair[1])), key=reached)


def test_the_powers_are_the_best_of_all_by_the_mean_f1_of_tags():
    p, tags = uneven_album(n=AT_A_TIME)  # one part, so that a plain search over powers tells
    best = best_powers(p, tags, [slice(None)])
    assert best != (0, 0)
    np.testing.assert_allclose(rare_tag_weights_of(p, tags), factor(p, tags, *best))


def test_pictures_are_scored_in_parts():
    p, tags = uneven_album(n=2 * AT_A_TIME, seed=1)
    parts = np.array_split(np.random.default_rng(0).permutation(len(p)), 2)
    np.testing.assert_allclose(rare_tag_weights_of(p, tags), factor(p, tags, *best_powers(p, tags, parts)))


def test_parts_without_any_tag_are_left_out(monkeypatch):
    monkeypatch.setattr(rare_tags, "AT_A_TIME", 50)
    p, tags = uneven_album(n=500, seed=2)
    parts = np.array_split(np.random.default_rng(0).permutation(len(p)), 10)
    tags[parts[3]] = 0
    best = best_powers(p, tags, [rows for rows in parts if tags[rows].any()])
    assert best != (0, 0)
    np.testing.assert_allclose(rare_tag_weights_of(p, tags), factor(p, tags, *best))


def test_a_tag_whose_probability_never_changes_does_not_stand_out():
    p, tags = uneven_album(n=500, seed=3)
    p[:, -1] = 1e-4
    factors = rare_tag_weights_of(p, tags)
    assert factors[-1] <= LEAST_SPREAD ** -max(SPREAD_POWERS) * (tags[:, -1].sum() + 1) ** 0.4
    assert not (top_tags(p * factors, 5) == p.shape[1] - 1).any()


def test_hard_tags_are_shown_too_although_all_are_as_frequent():
    """Tags of one frequency: frequency cannot balance them, the spread of their probabilities can."""
    rng = np.random.default_rng(4)
    sure = np.linspace(0.5, 3.0, 40)
    z = rng.standard_normal((1000, 40))
    logits = sure * z - 2.5 - sure**2 / 4
    p = 1 / (1 + np.exp(-logits))
    tags = (rng.random(p.shape) < p).astype(float)
    half, other = slice(None, 500), slice(500, None)
    factors = rare_tag_weights_of(p[half], tags[half])
    assert mean_f1(tags[other], p[other] * factors) > mean_f1(tags[other], p[other]) + 0.01


@pytest.mark.parametrize(("n", "n_parts"), [(AT_A_TIME, 1), (AT_A_TIME + 1, 2), (2 * AT_A_TIME, 2)])
def test_parts_are_as_few_as_can_be_and_dealt_by_the_seed(monkeypatch, n, n_parts):
    parts = []
    monkeypatch.setattr(rare_tags, "per_tag_f1", lambda tags, scores, k, unknown: parts.append(tags) or 0.0)
    p, tags = uneven_album(n=n)
    rare_tag_weights_of(p, tags, seed=3)
    assert len(parts) == n_parts * len(SPREAD_POWERS) * len(FREQUENCY_POWERS)
    order = np.random.default_rng(3).permutation(n)
    np.testing.assert_array_equal(np.vstack(parts[:n_parts]), tags[order])


def test_balanced_rankings_find_more_tags_on_pictures_that_were_not_seen():
    p, tags = uneven_album(n=1000)
    fresh, truth = uneven_album(n=500, seed=9)
    factors = rare_tag_weights_of(p, tags)
    assert mean_f1(truth, fresh * factors) > mean_f1(truth, fresh) + 0.02


def test_tags_of_one_frequency_and_spread_keep_their_order():
    rng = np.random.default_rng(0)
    column = rng.random(10)
    p = np.array([np.roll(np.repeat(column, 6), 7 * tag) for tag in range(6)]).T  # of one spread, too
    tags = np.tile(np.eye(6), (10, 1))
    factors = rare_tag_weights_of(p, tags)
    np.testing.assert_array_equal(np.argsort(p * factors, axis=1), np.argsort(p, axis=1))


def test_no_tag_anywhere_leaves_the_order_alone():
    np.testing.assert_array_equal(rare_tag_weights_of(np.full((3, 4), 0.5), np.zeros((3, 4))), np.ones(4))


def test_where_every_power_is_as_good_probabilities_stay_as_they_are():
    tags = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(rare_tag_weights_of(tags, tags), [1.0, 1.0])


def test_balanced_scores_are_probabilities_times_the_weights_of_tags(fitted, test):
    scores = fitted.predict_marginals(test) * fitted.calibration_.rare_tag_weights
    np.testing.assert_array_equal(fitted.balanced_scores(test), scores)
    np.testing.assert_array_equal(fitted.top_tags(test, 3, balanced=True), top_tags(scores, 3))
