"""A probability of .8 is right 8 times in 10, and thresholds show few, right tags."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tagmix import EMM, Bags
from tagmix.evaluation.folds import Fold
from tagmix.learners import fitting
from tagmix.learners.calibrate import (
    BIAS_SPREAD,
    FOLDS,
    GRID,
    PSEUDO_TAGS,
    SLOPE_SPREAD,
    best_thresholds,
    fit_calibration,
    left_out_probabilities,
    probabilities,
    worth_showing,
)

LIMIT = 0.03


def calibration_error(p, truth, above=0.0):
    """Return the mean distance of claimed and true share over ten bins, weighted by their counts."""
    p, truth = p[p > above], truth[p > above]
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(abs((p - truth)[bins == b].sum()) for b in range(10)) / len(p)


def micro_f1(shown, truth):
    return 2 * (shown & truth).sum() / (shown.sum() + truth.sum())


@pytest.fixture(scope="module")
def uncertain(sampled):
    """Topics that share nine words in ten and regions of few words: nobody can be sure."""
    rates = np.linspace(0.5, 3.0, 16)
    return sampled(3000, n_tags=16, overlap=0.9, n_words=80, words_per_region=14, rates=rates, seed=4).bags


@pytest.fixture(scope="module")
def model(uncertain):
    return EMM().fit(uncertain[:1000])


@pytest.fixture(scope="module")
def fresh(uncertain, model):
    """Of images that no training has seen: calibrated p, raw score, truth."""
    held_out = uncertain[1000:]
    truth = held_out.captions.toarray().astype(bool)
    return model.predict_marginals(held_out), model.predict_proba(held_out), truth


def test_the_sample_is_uncertain_and_the_probabilities_spread(fresh):
    p, _, truth = fresh
    between = (p > 0.1) & (p < 0.9)
    assert between.mean() > 0.4
    assert np.ptp(np.quantile(p, [0.05, 0.95])) > 0.3
    assert 0.1 < truth[between].mean() < 0.9


def test_calibrated_probabilities_are_right_as_often_as_they_say(fresh):
    p, _, truth = fresh
    assert calibration_error(p, truth) <= LIMIT
    assert calibration_error(p, truth, above=0.05) <= LIMIT


def test_raw_scores_are_not(fresh):
    _, raw, truth = fresh
    assert calibration_error(raw, truth) > 3 * LIMIT
    assert calibration_error(raw, truth, above=0.05) > 3 * LIMIT


def test_calibration_says_more_than_how_frequent_each_tag_is(fresh):
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
    _, raw, truth = fresh
    shown = model.predict(uncertain[1000:]).astype(bool)
    five = np.zeros_like(truth)
    np.put_along_axis(five, np.argsort(-raw, axis=1)[:, :5], True, axis=1)
    assert micro_f1(shown, truth) > micro_f1(five, truth) + 0.02


def test_each_threshold_is_where_a_tag_starts_to_be_shown(uncertain, model, fresh):
    p = fresh[0]
    np.testing.assert_array_equal(model.predict(uncertain[1000:]), p >= model.calibration_.thresholds)


def test_every_fold_is_scored_by_a_model_that_never_saw_it(train, monkeypatch):
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


def test_captions_of_held_out_images_change_neither_scores_nor_thresholds(train, test, fitted):
    thresholds = fitted.calibration_.thresholds.copy()
    shuffled = test.with_tags(test.captions.toarray()[::-1])
    for other in (shuffled, test.with_tags(None)):
        np.testing.assert_array_equal(fitted.predict_proba(test), fitted.predict_proba(other))
        np.testing.assert_array_equal(fitted.predict(test), fitted.predict(other))
    np.testing.assert_array_equal(fitted.calibration_.thresholds, thresholds)


def test_scores_that_speak_against_the_truth_still_give_monotone_probabilities():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.01, 1.0, (400, 3))
    tags = (rng.uniform(size=scores.shape) > scores).astype(float)
    p = probabilities(scores, fit_calibration(scores, tags))
    for tag in range(3):
        assert np.all(np.diff(p[np.argsort(scores[:, tag]), tag]) >= 0)


def test_a_frequent_tag_is_more_probable_than_a_rare_one_at_the_same_score():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.01, 1.0, (2000, 2))
    tags = (rng.uniform(size=scores.shape) < [0.6, 0.1] * scores).astype(float)
    p = probabilities(np.full((1, 2), 0.5), fit_calibration(scores, tags))
    np.testing.assert_allclose(p, [[0.3, 0.05]], rtol=0, atol=0.06)


def test_tags_with_few_images_share_a_threshold_and_a_tag_with_many_has_its_own():
    rng = np.random.default_rng(3)
    scores = rng.uniform(0.01, 1.0, (60, 40))
    few = fit_calibration(scores, (rng.uniform(size=scores.shape) < 0.3 * scores).astype(float))
    assert np.ptp(few.thresholds) < 0.1
    scores = rng.uniform(0.01, 1.0, (20_000, 2))
    many = fit_calibration(scores, (rng.uniform(size=scores.shape) < [0.9, 0.2] * scores).astype(float))
    assert many.thresholds[0] > many.thresholds[1] + 0.1


@pytest.mark.parametrize("tags", [0.0, 1.0])
def test_tags_that_nobody_or_everybody_has_give_finite_probabilities(tags):
    scores = np.random.default_rng(2).dirichlet(np.ones(3), 50)
    calibration = fit_calibration(scores, np.full((50, 3), tags))
    p = probabilities(scores, calibration)
    assert np.all(np.isfinite(p))
    assert np.all(np.abs(p - tags) < 0.05)


def test_scores_of_exact_zero_are_legal():
    scores = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]] * 20)
    calibration = fit_calibration(scores, scores)
    p = probabilities(scores, calibration)
    assert np.all(p[scores == 1] > p[scores == 0].max())


@pytest.mark.parametrize("seed", range(40))
def test_scores_that_hardly_differ_still_give_probabilities(seed):
    rng = np.random.default_rng(seed)
    scores = 0.25 + 1e-12 * rng.random((12, 4))
    tags = (rng.random((12, 4)) < 0.4).astype(float)
    found = fit_calibration(scores, tags)
    assert all(np.isfinite(part).all() for part in found)
    assert np.all(np.diff(found.knots) >= 0)


def test_the_correction_keeps_the_order_of_what_it_corrects():
    rng = np.random.default_rng(3)
    scores = rng.dirichlet(np.full(6, 0.5), 200)
    tags = (rng.random((200, 6)) < np.clip(2 * scores, 0, 0.9)).astype(float)
    found = fit_calibration(scores, tags)
    raw = (found.slopes * np.log(np.maximum(scores, 1e-8)) + found.biases).ravel()
    order = np.argsort(raw, kind="stable")
    p = probabilities(scores, found).ravel()[order]
    assert np.all(np.diff(p)[np.diff(raw[order]) > 1e-9] > 0)


def test_few_pictures_with_perfect_scores_keep_their_order():
    truth = np.repeat(np.eye(2), 6, axis=0)
    scores = np.where(truth > 0, 0.99, 0.01)
    p = probabilities(scores, fit_calibration(scores, truth))
    assert p[truth > 0].min() > p[truth == 0].max()


@pytest.mark.parametrize("signal", [2.5, 6.0, 9.0])
def test_strong_scores_are_as_right_as_they_say(signal):
    rng = np.random.default_rng(0)
    logits = rng.normal(-3, signal, (4000, 12))
    scores = np.exp(logits) / (1 + np.exp(logits)).sum(axis=1, keepdims=True)
    tags = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    p = probabilities(scores[2000:], fit_calibration(scores[:2000], tags[:2000]))
    assert p.mean() == pytest.approx(tags[2000:].mean(), rel=0.05)


@pytest.mark.parametrize("precision", [0.2, 0.7])
def test_what_is_worth_showing_has_the_best_f1_of_all_thresholds_that_are_precise(precision):
    rng = np.random.default_rng(7)
    p = np.round(rng.random((50, 8)) ** 2, 2)  # with ties
    tags = (rng.random(p.shape) < p).astype(float)
    found = worth_showing(precision, p, tags)

    def f1(t):
        return 2 * tags[p >= t].sum() / ((p >= t).sum() + tags.sum())

    precise = [t for t in np.unique(p) if tags[p >= t].mean() >= precision]
    assert tags[p >= found].mean() >= precision
    assert f1(found) == max(f1(t) for t in precise)
    assert worth_showing(1.0, p, np.zeros_like(p)) == p.max()


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_slopes_and_biases_of_tags_are_those_that_a_general_minimiser_finds(spread):
    rng = np.random.default_rng(8)
    x = rng.normal(-3.0, 1.0, (80, 4))
    tags = (rng.random(x.shape) < expit(spread * (x + 3.0) + [1.0, 0.0, -1.0, -2.0])).astype(float)
    found = fit_calibration(np.exp(x), tags)
    z = x - x[tags > 0].mean()

    def loss(ab, z, tags):
        logits = ab[0] * z + ab[1]
        return (np.logaddexp(0, logits) - tags * logits).sum()

    common = minimize(loss, [1.0, 0.0], (z, tags), options={"gtol": 1e-6}).x
    for tag in range(4):

        def away(ab, tag=tag):
            pull = ((ab[0] - common[0]) / (SLOPE_SPREAD * common[0])) ** 2 + (
                (ab[1] - common[1]) / BIAS_SPREAD
            ) ** 2
            return loss(ab, z[:, tag], tags[:, tag]) + pull / 2

        slope, bias = minimize(away, common, options={"gtol": 1e-6}).x
        assert slope > 0
        assert found.slopes[tag] == pytest.approx(slope, rel=1e-3)
        assert found.biases[tag] == pytest.approx(bias - slope * x[tags > 0].mean(), rel=1e-3, abs=1e-3)


def test_the_threshold_of_a_tag_has_the_best_f1_of_its_own_and_of_all_tags_together():
    rng = np.random.default_rng(9)
    p = np.round(rng.random((300, 3)) ** 2, 2)
    tags = (rng.random(p.shape) < [1.0, 0.6, 0.2] * p).astype(float)
    share, found = PSEUDO_TAGS / tags.sum(), best_thresholds(p, tags)
    for tag in range(3):

        def f1(t, tag=tag):
            shown = p >= t
            hits, offered = (tags * shown).sum(axis=0), shown.sum(axis=0)
            given = tags.sum(axis=0)
            return (hits[tag] + share * hits.sum()) / (
                offered[tag] + given[tag] + share * (offered.sum() + given.sum())
            )

        assert f1(found[tag]) == pytest.approx(max(f1(t) for t in GRID), rel=1e-12)


def test_a_threshold_that_is_exactly_as_precise_as_asked_for_is_precise_enough():
    p, tags = np.array([[0.9, 0.8, 0.7, 0.6, 0.5]]), np.array([[1.0, 0.0, 1.0, 0.0, 1.0]])
    assert worth_showing(0.6, p, tags) == 0.5


def test_a_tag_whose_scores_speak_against_it_is_as_probable_as_it_is_frequent():
    rng = np.random.default_rng(1)
    x = rng.normal(-2.0, 1.0, (3000, 6))
    x[:, 5] -= 2
    tags = (rng.random(x.shape) < expit([1, 1, 1, 1, 1, -1] * x + [1, 1, 1, 1, 1, -5])).astype(float)
    found = fit_calibration(np.exp(x), tags)
    assert found.slopes[5] == 0
    np.testing.assert_allclose(probabilities(np.exp(x), found).mean(axis=0), tags.mean(axis=0), atol=0.02)


def test_left_out_probabilities_are_those_of_calibrations_that_saw_the_other_fold_alone():
    rng = np.random.default_rng(0)
    scores = rng.random((20, 3))
    truth = (rng.random((20, 3)) < scores).astype(float)
    first, second = np.arange(20)[::2], np.arange(20)[1::2]
    p = left_out_probabilities(scores, truth, [Fold(first, second), Fold(second, first)])
    for known, asked in ((first, second), (second, first)):
        expected = probabilities(scores[asked], fit_calibration(scores[known], truth[known]))
        np.testing.assert_array_equal(p[asked], expected)


def test_without_a_context_too_the_evening_comes_from_pictures_left_out(monkeypatch, uncertain):
    folds, caught = [], []

    def left_out(scores, tags, given):
        folds.extend(given)
        return 0.5 * scores

    def even(p, tags, seed):
        caught.append(p)
        return np.ones(16)

    monkeypatch.setattr(fitting, "left_out_probabilities", left_out)
    monkeypatch.setattr(fitting, "rare_tag_weights_of", even)
    EMM(learning="likelihood", calibration_folds=2).fit(uncertain[:60])
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(60))
    assert len(folds) == FOLDS
    np.testing.assert_allclose(caught[0].sum(axis=1), 0.5)


def test_copies_do_not_make_a_model_without_context_surer_than_it_is():
    rng = np.random.default_rng(0)
    words, tags = rng.poisson(1.0, (360, 40)), (rng.random((360, 4)) < 0.4).astype(int)
    tags[tags.sum(axis=1) == 0, 0] = 1
    once = Bags(words, np.arange(361), tags=tags)
    emm = EMM(learning="likelihood").fit(Bags.concat([once[:60], once[:60]]))
    p, truth, usual = emm.predict_marginals(once[60:]), tags[60:], tags[:60].mean(axis=0)

    def loss(q):
        return -(truth * np.log(q) + (1 - truth) * np.log(1 - q)).mean()

    assert loss(np.clip(p, 1e-9, 1 - 1e-9)) < 1.15 * loss(usual)
