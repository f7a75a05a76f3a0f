"""An unknown tag is not a "no": what learners learn where not every pair (picture, tag) is known."""

import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold

import tagmix
from tagmix import EMM, KNN, Bags, KernelRidge, LinearRanker, TopicRidge, TwoPassKNN, top_k_accuracy
from tagmix.evaluation.folds import Fold, grouped_folds
from tagmix.learners import emm, rare_tags
from tagmix.learners.calibrate import fit_calibration, precise_threshold
from tagmix.learners.linear import features_of, pooled_views
from tagmix.learners.linear_solver import logistic_loss, rates_of
from tagmix.learners.logistic import BIAS_PRECISION, SLOPE_PRECISION, cross_fitted, fit_tag_logistic
from tagmix.learners.pictures.distances import reference_set_of
from tagmix.learners.pictures.knn import LEFT_OUT_FOLDS
from tagmix.learners.pictures.ridge_fits import Tagging, by_landmarks, exact, left_out
from tagmix.learners.rare_tags import rare_tag_weights_of
from tagmix.learners.shown import level_thresholds, outcome_of
from tagmix.learners.targets import Targets, targets_of
from tagmix.learners.whole_pictures import whole_pictures

HALF_OF_TAGS = np.where(np.arange(12) % 2, 0.0, 0.9)


def hidden(bags, rates, seed=0):
    """Return the bags with this share of each tag's pairs unknown, and which pairs these are."""
    unknown = np.random.default_rng(seed).random((len(bags), bags.n_tags)) < rates
    unknown[np.flatnonzero((bags.tags.toarray() * ~unknown).sum(axis=1) == 0)] = False  # keep every picture
    return bags.with_tags(bags.tags.toarray() * ~unknown, bags.tag_names, unknown=unknown), unknown


@pytest.fixture(scope="module")
def half_known(train):
    return hidden(train, 0.5)


@pytest.fixture(scope="module")
def hard(sampled):
    """Pictures whose tags are not easily told apart, so that many of the best ones are wrong."""
    return hidden(sampled(120, n_tags=16, overlap=0.9, words_per_region=8).bags, 0.4)


def test_rejected_tags_stay_0_where_absent_ones_are_given_the_benefit_of_the_doubt():
    more = {"rejected": [[0, 1, 0, 0]], "unknown": [[0, 0, 1, 0]]}
    y, known = targets_of(Bags(np.ones((1, 1), int), [0, 1], [[1, 0, 0, 0]], **more), absent=0.2)
    assert (y.tolist(), known.tolist()) == ([[1.0, 0.0, 0.0, 0.2]], [[True, True, False, True]])


@pytest.mark.parametrize(
    ("learner", "gain", "loss"),
    [(LinearRanker, 0.08, 0.02), (KernelRidge, 0.04, 0.1), (KNN, 0.1, 0.05), (TwoPassKNN, 0.02, 0.12)],
)
def test_half_of_the_tags_learn_from_the_pairs_that_are_known_and_nothing_from_shuffled_ones(
    sampled, learner, gain, loss
):
    """.9 of the pairs of every other tag are unknown: taken for "no", these tags are never shown."""
    gained, lost, learnt = [], [], []
    for seed in range(2):
        bags = sampled(360, n_tags=12, overlap=0.6, seed=seed).bags
        train, test = bags[:240], bags[240:]
        known, unknown = hidden(train, HALF_OF_TAGS, seed)
        order = np.random.default_rng(seed).permutation(len(train))
        control = known.with_tags(known.tags[order], known.tag_names, unknown=unknown[order])
        taken_for_no = known.with_tags(known.tags, known.tag_names)
        score = [learner().fit(part).score(test) for part in (train, known, taken_for_no, control)]
        lost.append(score[0] - score[1])
        gained.append(score[1] - score[2])
        learnt.append(score[1] - score[3])
    assert np.mean(gained) > gain
    assert np.mean(lost) < loss
    assert np.mean(learnt) > 0.25


@pytest.mark.parametrize("learner", [LinearRanker, KernelRidge, KNN, TwoPassKNN, TopicRidge])
def test_unknown_is_not_absent_and_a_file_keeps_the_difference(half_known, test, tmp_path, learner):
    known, unknown = half_known
    fitted = learner().fit(known)
    scores = fitted.decision_scores(test)
    assert np.abs(learner().fit(known.with_tags(known.tags)).decision_scores(test) - scores).max() > 0.01
    fitted.save(tmp_path / "learner")
    np.testing.assert_array_equal(tagmix.load(tmp_path / "learner").decision_scores(test), scores)
    assert fitted.score(known) == top_k_accuracy(known.tags, fitted.decision_scores(known), 5, unknown)
    assert fitted.score(known) != fitted.score(known.with_tags(known.tags))


@pytest.mark.parametrize("learner", [LinearRanker, KernelRidge, KNN, TopicRidge])
def test_where_all_is_known_the_numbers_are_those_of_bags_without_the_argument(train, test, learner):
    nothing = train.with_tags(train.tags, train.tag_names, unknown=np.zeros((len(train), train.n_tags)))
    expected = learner().fit(train).decision_scores(test)
    np.testing.assert_array_equal(learner().fit(nothing).decision_scores(test), expected)


@pytest.mark.parametrize("learner", [KernelRidge, KNN])
def test_a_search_compares_settings_by_known_pairs(half_known, monkeypatch, learner):
    known, unknown = half_known
    module, seen = sys.modules[learner.__module__], []
    accuracy = module.accuracy
    monkeypatch.setattr(module, "accuracy", lambda *given: seen.append(given) or accuracy(*given))
    learner().fit(known)
    assert len(seen) > 3
    for _, tags, pairs in seen:
        np.testing.assert_array_equal(tags.toarray(), known.tags.toarray())
        np.testing.assert_array_equal(pairs.toarray() > 0, unknown)


def test_the_ridge_is_chosen_by_known_pairs(hard):
    known, unknown = hard
    ranker = LinearRanker().fit(known)
    scores = np.empty(unknown.shape)
    for train, test in KFold(ranker.folds, shuffle=True, random_state=0).split(scores):
        fold = LinearRanker(ridge=LinearRanker.grid[0]).fit(known[train])
        scores[test] = fold.decision_scores(known[test])
    assert ranker.ridge_scores_[0] == pytest.approx(top_k_accuracy(known.tags, scores, 5, unknown))


def test_neighbours_left_out_abstain_as_those_of_new_pictures_do(half_known):
    known, unknown = half_known
    knn = KNN(k=7, weights="equal").fit(known)
    everyone = np.arange(len(known))
    found = knn.left_out_scores(known, everyone, everyone)
    apart = knn._references().others(everyone)[0] * float(*knn.view_weights_.values())
    for train, test in grouped_folds(everyone, LEFT_OUT_FOLDS, 0):
        for row in test[:3]:
            near = train[np.argsort(apart[row, train])[:7]]
            weight = np.exp(-apart[row, near])[:, None] * ~unknown[near]
            heard = weight.sum(axis=0) > 0
            expected = (weight * known.tags.toarray()[near]).sum(axis=0)[heard] / weight.sum(axis=0)[heard]
            np.testing.assert_allclose(found[row, heard], expected, atol=1e-9)
            assert heard.sum() > 5


def test_emm_calibrates_on_the_pairs_that_are_known(half_known, test, monkeypatch):
    known, unknown = half_known
    caught = {}

    def watched(features, tags, groups, seed, pairs):
        caught.update(tags=tags, known=pairs)
        return fit_calibration(features, tags, groups, seed, pairs)

    monkeypatch.setattr(emm, "fit_calibration", watched)
    model = EMM(learning="likelihood").fit(known)
    p = model.predict_marginals(test)
    assert model.score(known) == top_k_accuracy(known.tags, model.predict_proba(known), 5, unknown)
    assert sorted(map(tuple, caught["known"])) == sorted(map(tuple, ~unknown))
    assert not caught["tags"][~caught["known"]].any()
    as_no = EMM(learning="likelihood").fit(known.with_tags(known.tags)).predict_marginals(test)
    truth = test.tags.toarray()
    assert abs(p.mean() - truth.mean()) < 0.03 < 0.1 < truth.mean() - as_no.mean()


def logistic_by_hand(flat, z, tags, weight, q, start):
    theta, own = flat[:4].reshape(2, 2), flat[4:]
    rows = theta[:, :1] + theta[:, 1:] * q
    logits = rows[0] + own + rows[1] * z
    shared = flat[:4] - np.array([start, 0, 0, 0])
    penalty = SLOPE_PRECISION * (shared**2).sum() + BIAS_PRECISION * (own**2).sum()
    return (weight * (np.logaddexp(0, logits) - tags * logits)).sum() + penalty / 2


def uncertain(seed=0, n=80):
    rng = np.random.default_rng(seed)
    feature = rng.normal(1.0, 2.0, (n, 4))
    tags = (rng.random((n, 4)) < expit(feature - np.array([0.0, 1.0, 2.0, 4.0]))).astype(float)
    return feature, tags, rng.random((n, 4)) < np.array([0.9, 0.3, 0.6, 0.6])


def test_the_logistic_is_the_one_that_a_general_minimiser_finds_with_weight_0_for_unknown_pairs():
    feature, tags, known = uncertain()
    z = (feature - feature[known].mean()) / feature[known].std()
    # Each tag as frequent as if it were known as often as the one that is known most.
    counts = (tags * known).sum(axis=0) / known.mean(axis=0) * known.mean(axis=0).max()
    q = (np.log(counts + 1) - np.log(counts + 1).mean()) / np.log(counts + 1).std()
    share = (tags[known].sum() + 0.5) / (known.sum() + 1)
    start = np.log(share / (1 - share))
    by_hand = minimize(
        logistic_by_hand, np.append(start, np.zeros(7)), (z, tags, known, q, start), options={"gtol": 1e-7}
    ).x
    found = fit_tag_logistic([feature], tags, known)
    slopes = found.slopes[0] * feature[known].std()
    np.testing.assert_allclose(slopes, by_hand[2] + by_hand[3] * q, atol=1e-4)
    biases = found.biases + found.slopes[0] * feature[known].mean()
    np.testing.assert_allclose(biases, by_hand[0] + by_hand[1] * q + by_hand[4:], atol=1e-4)


def test_no_fit_reads_what_is_unknown():
    feature, tags, known = uncertain(1)
    turned = np.where(known, tags, 1 - tags)
    order = np.random.default_rng(0).permutation(len(tags))
    folds = [Fold(order[:40], order[40:]), Fold(order[40:], order[:40])]
    for one, other in zip(
        (*fit_tag_logistic([feature], tags, known), cross_fitted([feature], tags, folds, known)),
        (*fit_tag_logistic([feature], turned, known), cross_fitted([feature], turned, folds, known)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    p = fit_tag_logistic([feature], tags).probabilities([feature])
    assert precise_threshold(0.7, p, tags, known) == precise_threshold(0.7, p, turned, known)
    assert precise_threshold(0.7, p, tags * known) > precise_threshold(0.7, p, tags, known)
    loss, blind = (logistic_loss(Targets(y, known))(p, np.arange(4)) for y in (tags, turned))
    for one, other in zip(loss, blind, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_part_of_a_calibration_leaves_unknown_pairs_out():
    feature, tags, known = uncertain(1, n=400)
    tags = tags * known
    found, p = fit_calibration([feature], tags, np.arange(len(tags)), 0, known)
    assert (found.thresholds == precise_threshold(0.6, p, tags, known)).all()
    np.testing.assert_array_equal(found.rare_tag_weights, rare_tag_weights_of(p, tags, 0, known))
    np.testing.assert_array_equal(found.level_thresholds, level_thresholds(p, tags, known))
    assert found.outcome == outcome_of(p, tags, found.thresholds, known)
    assert not np.allclose(found.rare_tag_weights, rare_tag_weights_of(p, tags, 0))
    assert not np.allclose(found.level_thresholds, level_thresholds(p, tags))
    assert found.outcome.shown < outcome_of(p, tags, found.thresholds).shown


def test_pictures_of_which_nothing_is_known_count_as_if_they_were_left_out():
    feature, tags, _ = uncertain(2)
    rest = np.arange(len(tags)) % 3 > 0
    known = np.repeat(rest[:, None], 4, axis=1)
    for one, other in zip(
        fit_tag_logistic([feature], tags, known), fit_tag_logistic([feature[rest]], tags[rest]), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(rates_of(Targets(tags, known)), tags[rest].mean(axis=0))


def test_weights_of_rare_tags_count_known_pairs_only():
    rng = np.random.default_rng(2)
    p = expit(rng.normal(-2, 1.5, (200, 12)) - np.linspace(0, 3, 12))
    tags = (rng.random(p.shape) < p).astype(float)
    alone = rare_tag_weights_of(p, tags)
    twice = np.vstack([p, np.sort(p, axis=0)])  # the same spread, and pictures with all tags or none
    once = np.vstack([tags, np.zeros_like(tags)])
    known = np.repeat([True, False], len(p))[:, None] & np.ones(12, bool)
    np.testing.assert_allclose(rare_tag_weights_of(twice, once, 0, known), alone)
    assert not np.allclose(rare_tag_weights_of(twice, once), alone)


def test_a_tag_that_is_seldom_known_is_not_rarer_for_that(monkeypatch):
    monkeypatch.setattr(rare_tags, "SPREAD_POWERS", (0.0,))
    monkeypatch.setattr(rare_tags, "FREQUENCY_POWERS", (1.0,))
    tags = np.tile([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], (4, 1))
    known = np.ones(tags.shape, bool)
    known[4:, 0] = False
    weights = rare_tag_weights_of(np.full(tags.shape, 0.5), tags * known, 0, known)
    np.testing.assert_allclose(weights, [1 / 5, 1 / 5, 1 / 5])


def test_calibration_of_hidden_tags_is_that_of_the_truth():
    feature, tags, known = uncertain(4, n=3000)
    groups = np.arange(len(tags))
    whole, part = (
        fit_calibration([feature], *how)[0] for how in ((tags, groups, 0), (tags * known, groups, 0, known))
    )
    no = fit_calibration([feature], tags * known, groups, 0)[0]
    true, found, low = (one.probabilities([feature]) for one in (whole, part, no))
    assert np.abs(found - true).mean() < 0.02 < 0.1 < np.abs(low - true).mean()
    assert abs(part.thresholds[0] - whole.thresholds[0]) < 0.05


def test_linear_rankers_are_scikit_learns_fitted_to_the_pictures_of_which_the_tag_is_known(half_known):
    known, unknown = half_known
    ranker = LinearRanker(ridge=0.5, tol=1e-9, max_iter=2000).fit(known)
    features = np.asarray(features_of(pooled_views(known), {}).blocks[0])
    tags = known.tags.toarray()
    for c in range(known.n_tags):
        own = ~unknown[:, c]
        peer = LogisticRegression(C=2.0, tol=1e-9, max_iter=5000).fit(features[own], tags[own, c])
        np.testing.assert_allclose(ranker.weights_[:-1, c], peer.coef_[0], atol=5e-4)
        assert ranker.weights_[-1, c] == pytest.approx(peer.intercept_[0], abs=5e-4)


def left_out_by_hand(phi, own, ridge, tags, unknown, rest, row):
    """Return the score of a picture by a ridge solved without it, unknown targets at the mean of the rest."""
    means = (tags * ~unknown)[rest].sum(axis=0) / np.maximum((~unknown)[rest].sum(axis=0), 1)
    targets = np.where(unknown[rest], 0.0, tags[rest] - means)
    gram = phi[rest].T @ phi[rest] + ridge * own
    return phi[row] @ np.linalg.lstsq(gram, phi[rest].T @ targets, rcond=None)[0]


@pytest.mark.parametrize("landmarks", [10_000, 40])
def test_kernel_ridge_leaves_out_pictures_as_if_it_had_been_solved_without_them(train, landmarks):
    bags, unknown = hidden(Bags.concat([train[:80], train[:10]]), np.linspace(0.1, 0.9, 10))
    duplicates = np.append(np.arange(80), np.arange(10))
    ridge = KernelRidge(max_landmarks=landmarks, max_search=60).fit(bags)
    found = ridge.left_out_scores(bags, np.arange(90), duplicates)
    marks, weight = ridge._references(), float(*ridge.view_weights_.values())
    phi = np.exp(-weight * marks.between(whole_pictures(bags, "hellinger"))[0])
    own = np.exp(-weight * marks.between(marks.views)[0]) + 1e-9 * np.eye(len(marks))
    for row in range(0, 90, 7):
        rest = duplicates != duplicates[row]
        expected = left_out_by_hand(phi, own, ridge.ridge_, bags.tags.toarray(), unknown, rest, row)
        np.testing.assert_allclose(found[row] - ridge.means_, expected, atol=1e-6)


def test_landmarks_equal_to_all_pictures_give_the_exact_answer_where_pairs_are_unknown(hard):
    bags, _ = hard
    reference = reference_set_of(whole_pictures(bags, "hellinger"), "hellinger", 1e9)
    arguments = reference, Tagging(bags.tags, bags.unknown), np.arange(len(bags)), np.ones(1), [0.5]
    whole, marked = exact(*arguments), by_landmarks(*arguments)
    np.testing.assert_allclose(marked.coefficients, whole.coefficients, atol=1e-6)
    np.testing.assert_allclose(marked.constants, whole.constants, atol=1e-6)
    assert marked.accuracy == pytest.approx(whole.accuracy)


def test_settings_are_chosen_by_the_accuracy_over_known_pairs(hard):
    bags, unknown = hard
    ridge = KernelRidge().fit(bags)
    reference = ridge._references()
    apart = reference.between(whole_pictures(bags, "hellinger"))[0]
    kernel = np.exp(-float(*ridge.view_weights_.values()) * apart)
    targets = np.where(unknown, 0.0, bags.tags.toarray() - ridge.means_)
    scores = left_out(kernel, targets, ridge.ridge_)[1] + ridge.means_
    assert ridge.loo_accuracy_ == pytest.approx(top_k_accuracy(bags.tags, scores, 5, unknown))
    assert ridge.loo_accuracy_ > top_k_accuracy(bags.tags, scores, 5) + 0.02


def test_pictures_as_far_from_each_other_as_can_be_do_not_tell_their_captions():
    rng = np.random.default_rng(0)
    tags = rng.random((300, 8)) < 0.3
    tags[~tags.any(axis=1), 0] = True
    bags = Bags(np.ones((300, 1), int), np.arange(301), tags, pictures={"net": np.eye(300)})
    bags, _ = hidden(bags, np.linspace(0.1, 0.8, 8))
    ridge = KernelRidge().fit(bags)
    away = ridge.left_out_scores(bags, np.arange(300), np.arange(300)) - ridge.means_
    assert np.abs(away).max() < 1e-9
