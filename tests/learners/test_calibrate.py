"""A probability of .8 is right 8 times in 10, and thresholds show few, right tags."""

import numpy as np
import pytest
from scipy.special import expit

from tagmix import EMM, Bags
from tagmix.evaluation.folds import grouped_folds
from tagmix.learners import emm
from tagmix.learners.calibrate import FOLDS, SMALLEST_SCORE, fit_calibration, log_scores
from tagmix.learners.logistic import fit_tag_logistic
from tagmix.learners.rare_tags import rare_tag_weights_of
from tagmix.learners.shown import (
    SHOWN_PRECISION,
    level_thresholds,
    outcome_of,
    precise_threshold,
    shown_tags,
)

LIMIT = 0.03


def calibration_error(p, truth, above=0.0):
    """Return the mean distance of claimed and true share over ten bins, weighted by their counts."""
    p, truth = p[p > above], truth[p > above]
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(abs((p - truth)[bins == b].sum()) for b in range(10)) / len(p)


def micro_f1(shown, truth):
    return 2 * (shown & truth).sum() / (shown.sum() + truth.sum())


def calibrated(scores, tags, seed=0):
    """Return the calibration of positive scores, no picture a duplicate."""
    return fit_calibration(log_scores(scores), tags, np.arange(len(tags)), seed)[0]


@pytest.fixture(scope="module")
def uncertain(sampled):
    """Topics that share nine words in ten and regions of few words: no learner can be sure."""
    rates = np.linspace(0.5, 3.0, 16)
    return sampled(1800, n_tags=16, overlap=0.9, n_words=80, words_per_region=14, rates=rates, seed=4).bags


@pytest.fixture(scope="module")
def model(uncertain):
    return EMM(learning="likelihood", calibration_folds=3).fit(uncertain[:800])


@pytest.fixture(scope="module")
def fresh(uncertain, model):
    """Of pictures that no training has seen: calibrated p, raw score, truth."""
    held_out = uncertain[800:]
    truth = held_out.captions.toarray().astype(bool)
    return model.predict_marginals(held_out), model.predict_proba(held_out), truth


def test_the_sample_is_uncertain_and_the_probabilities_spread(fresh):
    p, _, truth = fresh
    between = (p > 0.1) & (p < 0.9)
    assert between.mean() > 0.4
    assert np.ptp(np.quantile(p, [0.05, 0.95])) > 0.3
    assert 0.1 < truth[between].mean() < 0.9


def test_calibrated_probabilities_are_right_as_often_as_they_state_and_raw_scores_are_not(fresh):
    p, raw, truth = fresh
    for above in (0.0, 0.05):
        assert calibration_error(p, truth, above) <= LIMIT
        assert calibration_error(raw, truth, above) > 3 * LIMIT


def test_calibrated_probabilities_predict_more_than_the_frequency_of_each_tag(fresh):
    p, _, truth = fresh
    frequency = np.broadcast_to(truth.mean(axis=0), p.shape)
    assert ((p - truth) ** 2).mean() < 0.9 * ((frequency - truth) ** 2).mean()


def test_a_better_score_never_makes_a_tag_less_probable(fresh):
    p, raw, _ = fresh
    for tag in range(p.shape[1]):
        order = np.argsort(raw[:, tag], kind="stable")
        assert np.all(np.diff(p[order, tag]) >= 0)
        assert p[order[-1], tag] > p[order[0], tag]


def test_thresholds_show_better_tags_than_five_for_everyone(uncertain, model, fresh):
    p, raw, truth = fresh
    shown = model.predict(uncertain[800:]).astype(bool)
    np.testing.assert_array_equal(shown, shown_tags(p, model.calibration_.thresholds))
    assert truth[shown].mean() > SHOWN_PRECISION - 0.05
    five = np.zeros_like(truth)
    np.put_along_axis(five, np.argsort(-raw, axis=1)[:, :5], True, axis=1)
    assert micro_f1(shown, truth) > micro_f1(five, truth) + 0.02


def test_every_fold_is_scored_by_a_model_that_has_not_seen_it(train, monkeypatch):
    seen, scored = [], []
    fit, predict_proba = EMM.fit, EMM.predict_proba

    def spy_fit(self, X, y=None, **how):
        seen.append(set(X.ids))
        return fit(self, X, y, **how)

    def spy_scores(self, X, **how):
        scored.append(set(X.ids))
        return predict_proba(self, X, **how)

    monkeypatch.setattr(EMM, "fit", spy_fit)
    monkeypatch.setattr(EMM, "predict_proba", spy_scores)
    EMM(learning="likelihood", calibration_folds=3).fit(train)
    whole, *folds = seen
    assert len(folds) == len(scored) == 3
    assert all(not trained & tested for trained, tested in zip(folds, scored, strict=True))
    assert set.union(*scored) == whole == set(train.ids)


def test_scores_of_folds_meet_the_captions_and_groups_of_their_own_pictures(train, monkeypatch):
    """Every picture's score names the picture, so that a row out of order is seen."""
    caught = {}
    names = {name: n for n, name in enumerate(train.ids)}

    def named(self, X, **how):
        return np.tile(np.exp(-np.array([names[name] for name in X.ids]) / 100.0), (X.n_tags, 1)).T

    def watched(features, tags, groups, seed, known):
        caught.update(rows=np.rint(-100 * features[0][:, 0]).astype(int), tags=tags, groups=groups)
        return fit_calibration(features, tags, groups, seed, known)

    monkeypatch.setattr(EMM, "predict_proba", named)
    monkeypatch.setattr(emm, "fit_calibration", watched)
    monkeypatch.setattr(emm, "duplicate_groups", lambda bags: 7 * np.arange(len(bags)))
    EMM(learning="likelihood", calibration_folds=2).fit(train[:40])
    assert sorted(caught["rows"]) == list(range(40))
    np.testing.assert_array_equal(caught["tags"], train.captions.toarray()[caught["rows"]])
    np.testing.assert_array_equal(caught["groups"], 7 * caught["rows"])


def test_captions_of_new_pictures_change_neither_scores_nor_thresholds(test, fitted):
    thresholds = fitted.calibration_.thresholds.copy()
    shuffled = test.with_tags(test.captions.toarray()[::-1])
    for other in (shuffled, test.with_tags(None)):
        np.testing.assert_array_equal(fitted.predict_proba(test), fitted.predict_proba(other))
        np.testing.assert_array_equal(fitted.predict(test), fitted.predict(other))
    np.testing.assert_array_equal(fitted.calibration_.thresholds, thresholds)


def test_the_calibration_is_made_of_its_parts_and_p_is_cross_fitted():
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(30, 4)), rng.random((30, 4))]
    tags = (rng.random((30, 4)) < expit(features[0])).astype(float)
    groups = np.repeat(np.arange(15), 2)
    found, p = fit_calibration(features, tags, groups, seed=5)
    folds = grouped_folds(groups, FOLDS, 5)
    assert len(folds) == 2
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        alone = fit_tag_logistic([f[train] for f in features], tags[train])
        np.testing.assert_array_equal(p[test], alone.probabilities([f[test] for f in features]))
    whole = fit_tag_logistic(features, tags)
    for own, expected in zip(found.logistic, whole, strict=True):
        np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(found.probabilities(features), whole.probabilities(features))
    assert found.thresholds.tolist() == [precise_threshold(SHOWN_PRECISION, p, tags)] * 4
    np.testing.assert_array_equal(found.rare_tag_weights, rare_tag_weights_of(p, tags, 5))
    np.testing.assert_array_equal(found.level_thresholds, level_thresholds(p, tags))
    assert found.outcome == outcome_of(p, tags, found.thresholds)


def test_a_frequent_tag_is_more_probable_than_a_rare_one_at_the_same_score():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.01, 1.0, (2000, 2))
    tags = (rng.uniform(size=scores.shape) < [0.6, 0.1] * scores).astype(float)
    p = calibrated(scores, tags).probabilities(log_scores(np.full((1, 2), 0.5)))
    np.testing.assert_allclose(p, [[0.3, 0.05]], rtol=0, atol=0.06)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_tags_that_nobody_or_everybody_has_give_finite_probabilities(share):
    scores = np.random.default_rng(2).dirichlet(np.ones(3), 50)
    found = calibrated(scores, np.full((50, 3), share))
    assert np.isfinite(found.thresholds).all()
    assert np.abs(found.probabilities(log_scores(scores)) - share).max() < 0.05


def test_scores_of_exact_zero_are_legal_and_equal_to_the_smallest():
    assert log_scores(np.array([[0.0, SMALLEST_SCORE, 1.0]]))[0].tolist() == [
        [np.log(SMALLEST_SCORE)] * 2 + [0.0]
    ]
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] * 20)
    p = calibrated(scores, scores).probabilities(log_scores(scores))
    assert np.all(p[scores == 1] > p[scores == 0].max())


def test_scores_that_hardly_differ_still_give_probabilities():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = 0.25 + 1e-12 * rng.random((12, 4))
        found = calibrated(scores, (rng.random((12, 4)) < 0.4).astype(float))
        assert all(np.isfinite(part).all() for part in (*found.logistic, *found[1:4]))
        assert np.all(np.diff(found.logistic.knots) >= 0)


def test_few_pictures_with_perfect_scores_keep_their_order():
    truth = np.repeat(np.eye(2), 6, axis=0)
    scores = np.where(truth > 0, 0.99, 0.01)
    p = calibrated(scores, truth).probabilities(log_scores(scores))
    assert p[truth > 0].min() > p[truth == 0].max()


@pytest.mark.parametrize("signal", [2.5, 9.0])
def test_strong_scores_are_as_right_as_they_state(signal):
    rng = np.random.default_rng(0)
    logits = rng.normal(-3, signal, (2000, 12))
    scores = np.exp(logits) / (1 + np.exp(logits)).sum(axis=1, keepdims=True)
    tags = (rng.random(logits.shape) < expit(logits)).astype(float)
    p = calibrated(scores[:1000], tags[:1000]).probabilities(log_scores(scores[1000:]))
    assert p.mean() == pytest.approx(tags[1000:].mean(), rel=0.05)


def test_duplicates_do_not_make_a_model_surer_than_it_is():
    rng = np.random.default_rng(0)
    words, tags = rng.poisson(1.0, (360, 40)), (rng.random((360, 4)) < 0.4).astype(int)
    tags[tags.sum(axis=1) == 0, 0] = 1
    once = Bags(words, np.arange(361), tags=tags)
    model = EMM(learning="likelihood").fit(Bags.concat([once[:60], once[:60]]))
    p, truth, usual = model.predict_marginals(once[60:]), tags[60:], tags[:60].mean(axis=0)

    def loss(q):
        return -(truth * np.log(q) + (1 - truth) * np.log(1 - q)).mean()

    assert loss(np.clip(p, 1e-9, 1 - 1e-9)) < 1.15 * loss(usual)
