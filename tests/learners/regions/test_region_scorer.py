"""RegionScorer: its loss, its minimum against a general solver, and what the zero of its scores separates."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp

from tagmix import Bags, ParameterError
from tagmix.evaluation.folds import Fold, picture_folds
from tagmix.learners import linear_solver
from tagmix.learners.regions.region_scorer import RegionScorer, soft_maximum_loss

TAGS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 1, 0]])
UNKNOWN = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
REJECTED = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
OFFSETS = np.array([0, 2, 5, 6, 8, 10, 11])
STARTS = OFFSETS + np.arange(7)


@pytest.mark.parametrize("sharpness", [0.5, 1.5, 6.0])
def test_the_gradient_is_that_of_finite_differences(sharpness):
    rng = np.random.default_rng(0)
    scores, y, known = rng.normal(0, 2, (STARTS[-1], 3)), rng.random(TAGS.shape), UNKNOWN == 0
    loss = soft_maximum_loss(STARTS, y, known, sharpness, np.array([0.1, 1.0, 3.0]))
    gradient = loss(scores, np.arange(3))[1]
    for c in range(3):
        numeric = approx_fprime(scores[:, c], lambda f, c=c: loss(f[:, None], np.array([c]))[0][0], 1e-7)
        np.testing.assert_allclose(gradient[:, c], numeric, atol=1e-5)
    assert np.abs(gradient[: STARTS[1], 1]).max() == 0  # unknown of the first picture


def tiny(kind):
    """Return bags, and the features of each picture's regions and of the whole, worked out by hand."""
    rng = np.random.default_rng(1)
    counts, net = rng.poisson(2.0, (11, 4)) + 1, rng.normal(size=(11, 2)) * [1, 5] + 3
    views = {"words": counts} if kind == "words" else {"words": counts, "net": net}
    bags = Bags(views, OFFSETS, TAGS, rejected=REJECTED, unknown=UNKNOWN)
    rows = []
    for first, last in itertools.pairwise(OFFSETS):
        if kind == "words":
            own = np.vstack([counts[first:last], counts[first:last].sum(axis=0)])
            rows += list(np.sqrt(own / own.sum(axis=1, keepdims=True)))
        else:  # words are not read beside embeddings
            own = np.vstack([net[first:last], net[first:last].mean(axis=0)])
            rows += list((own - net.mean(axis=0)) / net.std(axis=0) / np.sqrt(2))
    return bags, np.array(rows)


@pytest.mark.parametrize("kind", ["words", "embeddings"])
def test_the_minimum_is_the_one_that_a_general_solver_finds(kind):
    bags, rows = tiny(kind)
    how = {"ridge": 0.4, "sharpness": 2.0, "absent": 0.05}
    learner = RegionScorer(**how, tol=1e-9, max_iter=2000).fit(bags)
    n = TAGS.sum(axis=0)
    for c in range(3):

        def objective(w, c=c):
            f, value = rows @ w[:-1] + w[-1], 0.0
            for i, (first, last) in enumerate(itertools.pairwise(STARTS)):
                s = (logsumexp(2.0 * f[first:last]) - np.log(last - first)) / 2.0
                target = 1.0 if TAGS[i, c] else 0.0 if REJECTED[i, c] else 0.05
                value += 0.0 if UNKNOWN[i, c] else np.logaddexp(0, s) - target * s
            return value + 0.2 * np.sqrt((n[c] + 1) / np.median(n + 1)) * w[:-1] @ w[:-1]

        best = minimize(objective, np.zeros(rows.shape[1] + 1), method="L-BFGS-B", tol=1e-14)
        np.testing.assert_allclose(learner.weights_[:, c], best.x, atol=2e-4)


def test_scores_of_regions_and_pictures_follow_from_the_weights():
    bags, rows = tiny("embeddings")
    learner = RegionScorer().fit(bags)
    f = rows @ learner.weights_[:-1] + learner.weights_[-1]
    of_regions = np.delete(f, STARTS[1:] - 1, axis=0)
    np.testing.assert_allclose(learner.score_regions(bags.views), of_regions, rtol=1e-9)
    p = np.exp(of_regions) / np.exp(of_regions).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(learner.predict_regions(bags), p, rtol=1e-9)
    pooled = [np.log(np.exp(3 * part).mean(axis=0)) / 3 for part in np.split(f, STARTS[1:-1])]
    np.testing.assert_allclose(learner.decision_scores(bags), pooled, rtol=1e-9)


def test_of_several_embeddings_the_wide_ones_are_read_and_others_may_be_missing():
    rng = np.random.default_rng(2)
    views = {
        "narrow": rng.normal(size=(11, 3)),
        "wide": rng.normal(size=(11, 8)),
        "also": rng.random((11, 4)),
    }
    several = Bags(views, OFFSETS, TAGS)
    learner = RegionScorer().fit(several)
    assert learner.widths_ == {"wide": 8, "also": 4}
    alone = Bags({name: views[name] for name in ("wide", "also")}, OFFSETS, TAGS)
    np.testing.assert_array_equal(learner.weights_, RegionScorer().fit(alone).weights_)
    np.testing.assert_array_equal(learner.decision_scores(alone), learner.decision_scores(several))


@pytest.mark.parametrize("kind", ["words", "embeddings"])
def test_folds_are_fitted_to_their_pictures_alone_and_the_rest_to_all(sampled, kind):
    bags = sampled(60, n_regions=3).bags
    if kind == "embeddings":
        counts = bags.views["words"].toarray().astype(float)
        bags = Bags({"map": np.sqrt(counts)}, bags.offsets, bags.tags, bags.tag_names)
    folds = picture_folds(len(bags), 3, seed=0)
    learner, told = RegionScorer(tol=1e-6, max_iter=400), []
    scorers, held = learner.fit_with_folds(bags, folds, lambda *done: told.append(done))
    alone = RegionScorer(tol=1e-6, max_iter=400).fit(bags)
    np.testing.assert_array_equal(learner.weights_, alone.weights_)
    assert told == [(i, 4) for i in range(4)]
    for (train, test), scorer in zip(folds, scorers, strict=True):
        np.testing.assert_allclose(held[test], scorer.decision_scores(bags[test]), atol=1e-4)
        changed = bags.with_tags(flipped(bags, test), bags.tag_names)
        again = RegionScorer(tol=1e-6, max_iter=400).fit_with_folds(changed, [Fold(train, test)])[0][0]
        np.testing.assert_array_equal(again.weights_, scorer.weights_)
        if kind == "words":  # they are not scaled by all pictures
            fitted = RegionScorer(tol=1e-6, max_iter=400).fit(bags[train])
            np.testing.assert_allclose(scorer.weights_, fitted.weights_, atol=1e-3)


def flipped(bags, pictures):
    tags = bags.captions.toarray()
    tags[pictures] = 1 - tags[pictures]
    return tags


def test_tags_fitted_in_parts_are_those_fitted_together(train, monkeypatch):
    whole = RegionScorer(tol=1e-5, max_iter=500).fit(train)
    monkeypatch.setattr(linear_solver, "CELLS", 3000)  # a few tags at a time
    parts = RegionScorer(tol=1e-5, max_iter=500).fit(train)
    np.testing.assert_allclose(parts.weights_, whole.weights_, atol=1e-2)


def test_zero_separates_the_regions_of_a_tag_from_background_and_shuffled_captions_teach_no_such_zero(
    sampled,
):
    sample = sampled(200, n_tags=9, background=0.5)  # the last topic is no tag
    train, test, truth = sample.bags[:150], sample.bags[150:], sample.region_tags[sample.bags.offsets[150] :]
    shuffled = train.with_tags(train.captions[np.random.default_rng(0).permutation(150)])

    def positive(bags):
        scores = RegionScorer().fit(bags).score_regions(test.views)
        own = np.mean([(scores[truth == c, c] > 0).mean() for c in range(8)])
        return own, (scores[truth == -1] > 0).mean()

    own, background = positive(train)
    assert own > 0.95
    assert background < 0.02
    own, background = positive(shuffled)
    assert own < 0.4


def test_an_absent_tag_counts_less_the_higher_its_target(train):
    strict, mild = (RegionScorer(absent=absent).fit(train).decision_scores(train) for absent in (0.0, 0.2))
    missing = train.captions.toarray() == 0
    assert mild[missing].mean() > strict[missing].mean() + 0.5


@pytest.mark.parametrize(
    "wrong", [{"ridge": 0.0}, {"sharpness": -1.0}, {"absent": 0.7}, {"tol": 2.0}, {"max_iter": 0}]
)
def test_parameters_without_meaning_are_refused_in_one_line(train, wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} must be") as caught:
        RegionScorer(**wrong).fit(train)
    assert "\n" not in str(caught.value)
