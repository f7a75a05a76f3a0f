"""The pool against SciPy's minimiser, planted slopes and a shuffled control."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from tagmix.learners.context import pool as pooling
from tagmix.learners.context.pool import BIAS_PRECISION, FLOOR, SLOPE_PRECISION, fit_pool


def standard(x):
    return (x - x.mean()) / x.std()


def slopes_by_hand(theta, scores, tags):
    """Return the slope of each standardised feature, and the bias, of each tag, by the formula."""
    n_tags, counts = tags.shape[1], tags.sum(axis=0)
    share = (counts + 0.5) / (len(tags) + 1)
    frequency = standard(np.log(counts + 1))
    bias, slopes = theta[0] + theta[1] * frequency + theta[-n_tags:], []
    for k, s in enumerate(scores):
        own = theta[2 + 5 * k : 7 + 5 * k]
        spread = standard(
            np.log(np.maximum(np.clip(s, 0, None).std(axis=0), FLOOR) / np.sqrt(share * (1 - share)))
        )
        bias = bias + own[0] * spread
        slopes += [own[1] + own[3] * frequency + own[4] * spread, np.full(n_tags, own[2])]
    return bias, slopes


def smooth(rng):
    scores = [rng.random((60, 5)), rng.normal(0.2, 0.2, (60, 5))]
    return scores, (rng.random((60, 5)) < np.array([0.9, 0.6, 0.3, 0.3, 0.1]) * scores[0]).astype(float)


def sharp(rng):
    """Rare tags with high scores, low ones for almost all others: Newton's whole steps lead astray."""
    tags = (rng.random((200, 5)) < np.array([0.01, 0.02, 0.02, 0.03, 0.05])).astype(float)
    scores = np.where(tags > 0, 0.9, 1e-4 * rng.random((200, 5)))
    scores[:3] = 0.9
    return [scores], tags


@pytest.mark.parametrize("sampled", [smooth, sharp])
def test_slopes_and_biases_are_those_that_a_general_minimiser_finds(sampled):
    scores, tags = sampled(np.random.default_rng(0))
    features = [f for s in scores for f in (np.log(np.maximum(s, FLOOR)), s)]
    z, start = [standard(f) for f in features], logit((tags.sum() + 0.5) / (tags.size + 1))
    n = 2 + 5 * len(scores)

    def loss(theta):
        bias, slopes = slopes_by_hand(theta, scores, tags)
        logits = bias + sum(a * f for a, f in zip(slopes, z, strict=True))
        away = theta[:n] - np.append(start, np.zeros(n - 1))
        prior = SLOPE_PRECISION * (away**2).sum() + BIAS_PRECISION * (theta[n:] ** 2).sum()
        return (np.logaddexp(0, logits) - tags * logits).sum() + prior / 2

    best = minimize(loss, np.append(start, np.zeros(n + 4)), options={"gtol": 1e-7, "maxiter": 5000}).x
    bias, slopes = slopes_by_hand(best, scores, tags)
    found = fit_pool(scores, tags)
    away = [found.slopes[i] * f.std() - slopes[i] for i, f in enumerate(features)]
    own_bias = found.biases + sum(a * f.mean() for a, f in zip(found.slopes, features, strict=True))
    np.testing.assert_allclose(away, 0, atol=1e-4)  # the minimiser's differences are no better
    np.testing.assert_allclose(own_bias, bias, atol=1e-4)


def test_a_step_is_that_of_the_whole_system():
    """Biases are eliminated first; a dense solve over coefficients and biases must go the same way."""
    rng = np.random.default_rng(0)
    scores = [rng.random((40, 5)), rng.normal(size=(40, 5))]
    tags = (rng.random((40, 5)) < 0.3).astype(float)
    terms, z = pooling.terms_of(scores, tags), [standard(f) for f in pooling._features(scores)]
    prior, theta, biases = rng.normal(size=len(terms)), rng.normal(size=len(terms)), rng.normal(size=5)
    features = [np.ones_like(tags), *z]
    columns = [features[t.feature] * t.known for t in terms] + [np.tile(e, (40, 1)) for e in np.eye(5)]
    X, both = np.stack(columns, -1).reshape(200, -1), np.append(theta, biases)
    precision = np.repeat([SLOPE_PRECISION, BIAS_PRECISION], [len(terms), 5])
    p = expit(X @ both)
    down = X.T @ (tags.ravel() - p) - precision * (both - np.append(prior, np.zeros(5)))
    step = np.linalg.solve((X.T * (p * (1 - p))) @ X + np.diag(precision), down)
    found = np.concatenate(pooling._step(z, tags, terms, theta, biases, prior))
    np.testing.assert_allclose(found, step, rtol=1e-7, atol=1e-9)


def test_no_step_leads_up_and_the_start_does_not_matter(monkeypatch):
    scores, tags = sharp(np.random.default_rng(0))
    terms, z = pooling.terms_of(scores, tags), [standard(f) for f in pooling._features(scores)]
    prior = np.zeros(len(terms))

    def loss(theta, biases):
        logits = pooling._logits(z, pooling._slopes(terms, theta, biases, len(z)))
        away = SLOPE_PRECISION * (theta**2).sum() + BIAS_PRECISION * (biases**2).sum()
        return (np.logaddexp(0, logits) - tags * logits).sum() + away / 2

    ends = []
    for shift in (0.0, 3.0):
        losses = []
        for rounds in (*range(13), 50):
            monkeypatch.setattr(pooling, "ROUNDS", rounds)
            end = pooling._climbed(z, tags, terms, prior + shift, np.full(5, -shift), prior)
            losses.append(loss(*end))
        assert np.diff(losses).max() <= 1e-9 * losses[0]
        ends.append(np.concatenate(end))
    np.testing.assert_allclose(*ends, atol=1e-4)


def test_scores_and_spreads_below_the_floor_are_equal_and_rounding_is_no_spread():
    log_s = pooling._features([np.array([[-1.0, 0.0, 5e-4, 2e-3]])])[0]
    np.testing.assert_allclose(log_s, np.log([[1e-3, 1e-3, 1e-3, 2e-3]]))
    rng = np.random.default_rng(0)
    tags = np.zeros((200, 3))
    tags[:40] = 1
    spread = pooling.terms_of([0.2 + np.array([1e-5, 1e-4, 0.1]) * rng.normal(size=(200, 3))], tags)[2].known
    assert spread[0] == spread[1] < spread[2]
    pool = fit_pool([np.full((50, 4), 1e9 / 3)], (rng.random((50, 4)) < 0.3).astype(float))
    assert np.abs(pool.slopes).max() < 1e-3


def planted(rng, n=4000):
    scores = [expit(rng.normal(-1, 1.5, (n, 4))), rng.random((n, 4))]
    logits = -0.5 + np.log(scores[0]) + 2 * scores[0] + np.array([1.0, 0.0, 0.0, -1.0])
    return scores, logits, (rng.random((n, 4)) < expit(logits)).astype(float)


def test_a_planted_pool_is_found_and_an_expert_of_noise_is_turned_down():
    scores, logits, tags = planted(np.random.default_rng(1))
    pool = fit_pool(scores, tags)
    assert np.abs(expit(pool.logits(scores)) - expit(logits)).mean() < 0.02
    spreads = np.array([[np.log(s).std(), s.std()] for s in scores]).ravel()
    weight = np.abs(pool.slopes) * spreads[:, None]
    assert weight[2:].max() < 0.2 < weight[:2].max()


def unequal(rng, n=3000, n_tags=30):
    """Half of the tags are told well by their scores, half badly: only the former's spread shows it."""
    told = np.arange(n_tags) % 2 == 0
    truth = rng.normal(-2, 1.5, (n, n_tags))
    tags = (rng.random((n, n_tags)) < expit(truth)).astype(float)
    seen = np.where(told, truth, rng.normal(-2, 1.5, (n, n_tags)))
    mean = tags.mean(axis=0)
    return expit(seen) * np.where(told, 1.0, 0.1) + np.where(told, 0.0, mean * 0.9), tags, told


def test_tags_whose_scores_spread_little_get_a_slope_of_their_kind():
    scores, tags, told = unequal(np.random.default_rng(8))
    p = expit(fit_pool([scores], tags).logits([scores]))
    known, vague = p[:, told].std(axis=0), p[:, ~told].std(axis=0)
    assert vague.max() < 0.03 < 0.15 < known.min()
    rng = np.random.default_rng(9)
    shuffled = scores[rng.permutation(len(scores))]
    assert expit(fit_pool([shuffled], tags).logits([shuffled])).std(axis=0).max() < 0.08


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
    slopes_alone = pool.biases + pool.slopes[0] * np.log(np.maximum(scores, FLOOR)) + pool.slopes[1] * scores
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
