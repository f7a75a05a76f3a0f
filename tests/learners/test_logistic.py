"""The logistic of all tags against SciPy's minimiser, planted slopes and a shuffled control."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from tagmix.evaluation.folds import Fold
from tagmix.learners import logistic
from tagmix.learners.logistic import (
    BIAS_PRECISION,
    MAX_LOGIT,
    SLOPE_PRECISION,
    cross_fitted,
    fit_tag_logistic,
)


def standard(x):
    return (x - x.mean()) / x.std()


def rows_by_hand(flat, n_features, tags):
    """Return bias and slopes of each standardised feature, (1 + features) × tags, by the formula."""
    frequency = standard(np.log(tags.sum(axis=0) + 1))
    theta, own = flat[: 2 * (n_features + 1)].reshape(-1, 2), flat[2 * (n_features + 1) :]
    rows = theta[:, :1] + theta[:, 1:] * frequency
    rows[0] += own
    return rows


def loss_by_hand(flat, z, tags, start):
    rows = rows_by_hand(flat, len(z), tags)
    logits = rows[0] + sum(slope * feature for slope, feature in zip(rows[1:], z, strict=True))
    shared = flat[: 2 * (len(z) + 1)] - np.append(start, np.zeros(2 * len(z) + 1))
    penalty = SLOPE_PRECISION * (shared**2).sum() + BIAS_PRECISION * (flat[len(shared) :] ** 2).sum()
    return (np.logaddexp(0, logits) - tags * logits).sum() + penalty / 2


def smooth(rng):
    features = [rng.normal(2.0, 3.0, (60, 5)), rng.random((60, 5))]
    shares = np.array([0.9, 0.6, 0.3, 0.3, 0.1])
    return features, (rng.random((60, 5)) < shares * features[1]).astype(float)


def sharp(rng):
    """Rare tags with high scores, low ones for almost all others: Newton's whole steps go up."""
    tags = (rng.random((200, 5)) < np.array([0.01, 0.02, 0.02, 0.03, 0.05])).astype(float)
    scores = np.where(tags > 0, 0.9, 1e-4 * rng.random((200, 5)))
    scores[:3] = 0.9
    return [scores, np.log(scores + 1e-3)], tags


@pytest.mark.parametrize("case", [smooth, sharp])
def test_slopes_and_biases_are_those_that_a_general_minimiser_finds(case):
    features, tags = case(np.random.default_rng(0))
    z, start = [standard(f) for f in features], logit((tags.sum() + 0.5) / (tags.size + 1))
    zero = np.append(start, np.zeros(2 * len(z) + 1 + tags.shape[1]))
    best = minimize(loss_by_hand, zero, (z, tags, start), options={"gtol": 1e-7, "maxiter": 5000}).x
    rows = rows_by_hand(best, len(z), tags)
    found = fit_tag_logistic(features, tags)
    slopes = found.slopes * np.array([[f.std()] for f in features])
    biases = found.biases + sum(a * f.mean() for a, f in zip(found.slopes, features, strict=True))
    np.testing.assert_allclose(slopes, rows[1:], atol=1e-4)  # the minimiser's differences are no better
    np.testing.assert_allclose(biases, rows[0], atol=1e-4)


def test_a_step_solves_the_whole_newton_system():
    """The tags' own biases are eliminated first; a dense solve over all unknowns must give the same step."""
    rng = np.random.default_rng(0)
    z, tags = [rng.normal(size=(40, 5)), rng.random((40, 5))], (rng.random((40, 5)) < 0.3).astype(float)
    design = logistic._design_of(tags, None)
    prior, theta, own = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=5)
    columns = [f * k for f in (np.ones((40, 5)), *z) for k in design]
    columns += [np.tile(e, (40, 1)) for e in np.eye(5)]
    X, both = np.stack(columns, -1).reshape(200, -1), np.append(theta, own)
    precision = np.repeat([SLOPE_PRECISION, BIAS_PRECISION], [6, 5])
    p = expit(X @ both)
    down = X.T @ (tags.ravel() - p) - precision * (both - np.append(prior, np.zeros(5)))
    expected = np.linalg.solve((X.T * (p * (1 - p))) @ X + np.diag(precision), down)
    step, turn = logistic._newton_step(z, tags, design, theta, own, prior)
    np.testing.assert_allclose(np.append(step, turn), expected, rtol=1e-7, atol=1e-9)


def test_backtracking_never_goes_up(monkeypatch):
    features, tags = sharp(np.random.default_rng(0))
    z, start = [standard(f) for f in features], logit((tags.sum() + 0.5) / (tags.size + 1))
    losses, tried, step, loss = [], [], logistic._newton_step, logistic._loss

    def watched_step(z, tags, design, theta, own, prior, known):
        losses.append(loss_by_hand(np.append(theta, own), z, tags, start))
        return step(z, tags, design, theta, own, prior, known)

    monkeypatch.setattr(logistic, "_newton_step", watched_step)
    monkeypatch.setattr(logistic, "_loss", lambda *where: tried.append(loss(*where)) or tried[-1])
    logistic._coefficients(z, tags)
    assert (np.diff(losses) < 0).all()
    assert all(np.isclose(tried, value, rtol=1e-12, atol=0).any() for value in losses)
    assert len(tried) > len(losses)  # a whole step was too long at least once


def planted(rng, n=4000):
    scores = [expit(rng.normal(-1, 1.5, (n, 4))), rng.random((n, 4))]
    features = [f for s in scores for f in (np.log(s), s)]
    logits = -0.5 + features[0] + 2 * features[1] + np.array([1.0, 0.0, 0.0, -1.0])
    return features, logits, (rng.random((n, 4)) < expit(logits)).astype(float)


def test_a_planted_model_is_recovered_and_an_expert_of_noise_gets_no_weight():
    features, logits, tags = planted(np.random.default_rng(1))
    found = fit_tag_logistic(features, tags)
    assert np.abs(found.probabilities(features) - expit(logits)).mean() < 0.02
    weight = np.abs(found.slopes) * np.array([[f.std()] for f in features])
    assert weight[2:].max() < 0.2 < 1.0 < weight[:2].sum(axis=0).min()


def test_shuffled_features_predict_nothing():
    rng = np.random.default_rng(2)
    features, _, tags = planted(rng)
    shuffled = [f[rng.permutation(len(f))] for f in features]
    p = fit_tag_logistic(shuffled, tags).probabilities(shuffled)
    assert p.std(axis=0).max() < 0.05
    np.testing.assert_allclose(p.mean(axis=0), tags.mean(axis=0), atol=0.02)


def test_slopes_follow_the_frequency_of_a_tag():
    rng = np.random.default_rng(3)
    feature, centres = rng.normal(size=(6000, 8)), np.linspace(-4.0, 1.0, 8)
    slopes = 1.0 + 0.3 * np.arange(8)
    tags = (rng.random(feature.shape) < expit(centres + slopes * feature)).astype(float)
    found = fit_tag_logistic([feature], tags).slopes[0]
    assert (np.diff(found) > 0).all()
    assert np.abs(found - slopes).mean() < 0.25


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_tags_that_nobody_or_everybody_has_leave_finite_numbers(share):
    features = [np.random.default_rng(3).normal(size=(20, 3))]
    found = fit_tag_logistic(features, np.full((20, 3), share))
    assert all(np.isfinite(part).all() for part in found)
    assert np.abs(found.probabilities(features) - share).max() < 0.1


@pytest.mark.parametrize("constant", [0.3, 1e9 / 3])
def test_constant_features_give_the_shares_of_tags(constant):
    tags = np.zeros((400, 2))
    tags[:100, 0] = 1
    features = [np.full((400, 2), constant)]
    found = fit_tag_logistic(features, tags)
    p = found.probabilities([f[:1] for f in features])
    assert np.isfinite(found.slopes).all()
    assert np.abs(found.slopes).max() < 1e-3
    assert p[0, 0] == pytest.approx(0.25, abs=0.03)
    assert p[0, 1] < 0.03


def test_features_that_differ_by_rounding_only_are_constant():
    rng = np.random.default_rng(4)
    tags = (rng.random((60, 3)) < 0.4).astype(float)
    found = fit_tag_logistic([0.25 + 1e-12 * rng.random((60, 3))], tags)
    assert np.abs(found.slopes).max() < 1.0


def test_a_fit_that_has_settled_takes_no_more_steps(monkeypatch):
    features, _, tags = planted(np.random.default_rng(4), 300)
    settled = fit_tag_logistic(features, tags)
    monkeypatch.setattr(logistic, "MAX_ITER", 500)
    np.testing.assert_array_equal(fit_tag_logistic(features, tags).slopes, settled.slopes)


def test_a_link_that_slopes_cannot_follow_is_followed_by_the_curve():
    """True odds rise in a step: the slopes' probabilities are far off, those of the curve are not."""
    rng = np.random.default_rng(4)
    scores = rng.random((6000, 3))
    true = np.where(scores > 0.6, 0.8, 0.05)
    tags = (rng.random(scores.shape) < true).astype(float)
    found = fit_tag_logistic([scores], tags)
    away = np.abs(found.probabilities([scores]) - true).mean()
    assert away < 0.03 < 2 * away + 0.03 < np.abs(expit(found.biases + found.slopes * scores) - true).mean()


def test_the_curve_keeps_the_order():
    features, _, tags = planted(np.random.default_rng(5), n=300)
    found = fit_tag_logistic(features, tags)
    raw = (found.biases + sum(a * f for a, f in zip(found.slopes, features, strict=True))).ravel()
    order = np.argsort(raw, kind="stable")
    curved = found.logits(features).ravel()[order]
    assert (np.diff(curved)[np.diff(raw[order]) > 1e-9] > 0).all()


def test_features_unlike_any_other_lead_to_the_largest_logit():
    features, _, tags = planted(np.random.default_rng(7), n=300)
    far = fit_tag_logistic(features, tags).logits([1e6 * (f - 0.5) for f in features])
    assert np.abs(far).max() == MAX_LOGIT


def test_cross_fitting_never_shows_a_model_its_own_fold(monkeypatch):
    features, _, tags = planted(np.random.default_rng(8), n=60)
    order = np.random.default_rng(0).permutation(60)
    parts = order[:15], order[15:40], order[40:]
    folds = [Fold(np.setdiff1d(order, part), part) for part in parts]
    out = cross_fitted(features, tags, folds)
    for train, test in folds:
        alone = fit_tag_logistic([f[train] for f in features], tags[train])
        np.testing.assert_array_equal(out[test], alone.logits([f[test] for f in features]))
    changed = tags.copy()
    changed[parts[0]] = 1 - changed[parts[0]]  # a fold's own tags do not enter its logits
    np.testing.assert_array_equal(cross_fitted(features, changed, folds)[parts[0]], out[parts[0]])
    assert not np.array_equal(cross_fitted(features, changed, folds)[parts[1]], out[parts[1]])
