"""The pool against SciPy's minimiser, planted slopes and a shuffled control."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from tagmix.learners.context import pool as pooling
from tagmix.learners.context.pool import BIAS_PRECISION, FLOOR, SLOPE_PRECISION, fit_pool


def features_of(scores):
    found = [f for s in scores for f in (np.log(np.maximum(s, FLOOR)), s)]
    return [(f - f.mean()) / f.std() for f in found]


def smooth(rng):
    scores = [rng.random((60, 5)), rng.normal(0.2, 0.2, (60, 5))]
    return scores, (rng.random((60, 5)) < 0.6 * scores[0]).astype(float)


def sharp(rng):
    """Rare tags with high scores, low ones for almost all others: Newton's whole steps lead astray."""
    tags = (rng.random((200, 5)) < 0.02).astype(float)
    scores = np.where(tags > 0, 0.9, 1e-4 * rng.random((200, 5)))
    scores[:3] = 0.9
    return [scores], tags


@pytest.mark.parametrize("sampled", [smooth, sharp])
def test_slopes_and_biases_are_those_that_a_general_minimiser_finds(sampled):
    scores, tags = sampled(np.random.default_rng(0))
    z, start = features_of(scores), logit((tags.sum() + 0.5) / (tags.size + 1))

    def loss(theta):
        slopes, biases = theta[:-5], theta[-5:]
        logits = slopes[0] + sum(a * f for a, f in zip(slopes[1:], z, strict=True)) + biases
        away = slopes - np.append(start, np.zeros(len(z)))
        prior = SLOPE_PRECISION * (away**2).sum() + BIAS_PRECISION * (biases**2).sum()
        return (np.logaddexp(0, logits) - tags * logits).sum() + prior / 2

    best = minimize(loss, np.append(start, np.zeros(len(z) + 5)), options={"gtol": 1e-8})
    found = fit_pool(scores, tags)
    np.testing.assert_allclose(np.concatenate([found.slopes, found.biases]), best.x, atol=1e-5)


def planted(rng, n=4000):
    scores = [expit(rng.normal(-1, 1.5, (n, 4))), rng.random((n, 4))]
    logits = -0.5 + np.log(scores[0]) + 2 * scores[0] + np.array([1.0, 0.0, 0.0, -1.0])
    return scores, logits, (rng.random((n, 4)) < expit(logits)).astype(float)


def test_a_planted_pool_is_found_and_an_expert_of_noise_is_turned_down():
    scores, logits, tags = planted(np.random.default_rng(1))
    pool = fit_pool(scores, tags)
    assert np.abs(expit(pool.logits(scores)) - expit(logits)).mean() < 0.02
    assert np.abs(pool.slopes[3:]).max() < 0.2 < np.abs(pool.slopes[1:3]).max()


def test_scores_that_were_shuffled_say_nothing():
    rng = np.random.default_rng(2)
    scores, _, tags = planted(rng)
    shuffled = [s[rng.permutation(len(s))] for s in scores]
    p = expit(fit_pool(shuffled, tags).logits(shuffled))
    assert p.std(axis=0).max() < 0.05
    np.testing.assert_allclose(p.mean(axis=0), tags.mean(axis=0), atol=0.02)


@pytest.mark.parametrize("tags", [np.zeros((20, 3)), np.ones((20, 3))])
def test_tags_that_nobody_or_everybody_has_leave_finite_numbers(tags):
    scores = [np.random.default_rng(3).normal(size=(20, 3))]
    pool = fit_pool(scores, tags)
    p = expit(pool.logits(scores))
    assert np.isfinite(pool.slopes).all()
    assert np.abs(p - tags).max() < 0.1


def test_constant_scores_give_the_shares_of_tags():
    tags = np.zeros((400, 2))
    tags[:100, 0] = 1
    p = expit(fit_pool([np.full((400, 2), 0.3)], tags).logits([np.full((1, 2), 0.3)]))
    assert p[0, 0] == pytest.approx(0.25, abs=0.03)
    assert p[0, 1] < 0.03


def test_a_pool_that_has_settled_needs_no_more_rounds(monkeypatch):
    scores, _, tags = planted(np.random.default_rng(4), 300)
    settled = fit_pool(scores, tags)
    monkeypatch.setattr(pooling, "ROUNDS", 500)
    np.testing.assert_array_equal(fit_pool(scores, tags).slopes, settled.slopes)


def test_a_link_that_slopes_cannot_follow_is_followed_by_the_curve():
    """True odds rise in a step: the slopes' probabilities are far off, those of the curve are not."""
    rng = np.random.default_rng(4)
    scores = rng.random((6000, 3))
    true = np.where(scores > 0.6, 0.8, 0.05)
    tags = (rng.random(scores.shape) < true).astype(float)
    pool = fit_pool([scores], tags)
    z = features_of([scores])
    slopes_alone = pool.slopes[0] + pool.slopes[1] * z[0] + pool.slopes[2] * z[1] + pool.biases
    away = np.abs(expit(pool.logits([scores])) - true).mean()
    assert away < 0.03 < 2 * away + 0.03 < np.abs(expit(slopes_alone) - true).mean()


def test_the_curve_keeps_the_order():
    scores, _, tags = planted(np.random.default_rng(5), n=300)
    pool = fit_pool(scores, tags)
    flat = pool._replace(knots=np.zeros(1), levels=np.full(1, 0.5))
    raw, curved = flat.logits(scores).ravel(), pool.logits(scores).ravel()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(curved[order]) >= 0).all()


def test_where_the_steps_begin_does_not_change_where_they_end(monkeypatch):
    scores, _, tags = planted(np.random.default_rng(6), n=500)
    plain = fit_pool(scores, tags)
    monkeypatch.setattr(pooling, "MANY", 100)
    begun = fit_pool(scores, tags)
    np.testing.assert_allclose(begun.slopes, plain.slopes, atol=1e-5)
    np.testing.assert_allclose(begun.biases, plain.biases, atol=1e-5)


def test_scores_unlike_any_other_lead_no_further_than_the_surest_logit():
    scores, _, tags = planted(np.random.default_rng(7), n=300)
    far = fit_pool(scores, tags).logits([1e6 * (s - 0.5) for s in scores])
    assert np.abs(far).max() == pooling.SUREST
