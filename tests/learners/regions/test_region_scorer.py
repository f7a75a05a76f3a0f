"""RegionScorer: its loss, its minimum against a general solver, and what the zero of its scores separates."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp

from tagmix import Bags, ParameterError
from tagmix.evaluation.folds import Fold, picture_folds
from tagmix.learners import linear_solver
from tagmix.learners.regions import instances, region_scorer
from tagmix.learners.regions.instances import along_axes, scaling_of_all
from tagmix.learners.regions.region_scorer import RegionScorer, inverse_hessian, soft_maximum_loss

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
def test_the_order_of_the_views_of_new_pictures_changes_nothing(kind):
    rng = np.random.default_rng(3)
    draw = (lambda *shape: rng.poisson(2.0, shape)) if kind == "words" else (lambda *shape: rng.random(shape))
    bags = Bags({"one": draw(11, 3), "other": draw(11, 5)}, OFFSETS, TAGS)
    turned = Bags({name: bags.views[name] for name in ("other", "one")}, OFFSETS)
    learner = RegionScorer().fit(bags)
    np.testing.assert_array_equal(learner.score_regions(turned.views), learner.score_regions(bags.views))
    np.testing.assert_array_equal(learner.decision_scores(turned), learner.decision_scores(bags))


def test_at_the_end_no_gradient_exceeds_its_tags_share_of_the_tolerance():
    bags, rows = tiny("words")
    y = np.where(TAGS > 0, 1.0, np.where(REJECTED > 0, 0.0, 0.015))
    loss = soft_maximum_loss(STARTS, y, UNKNOWN == 0, 1.5, np.ones(3))
    n = TAGS.sum(axis=0)
    for ridge in (0.05, 30.0):
        w = RegionScorer(ridge=ridge, tol=0.01, max_iter=1000).fit(bags).weights_
        slopes = loss(rows @ w[:-1] + w[-1], np.arange(3))[1]
        ridges = ridge * np.sqrt((n + 1) / np.median(n + 1))
        gradient = np.vstack([rows.T @ slopes + ridges * w[:-1], slopes.sum(axis=0)])
        assert (np.abs(gradient).max(axis=0) <= 0.0101 * (1 + n)).all()


@pytest.mark.parametrize("kind", ["words", "embeddings"])
def test_a_tag_of_every_picture_is_given_to_every_picture(kind):
    bags, _ = tiny(kind)
    always = np.column_stack([np.ones(6, dtype=int), TAGS])
    scores = RegionScorer().fit(bags.with_tags(always)).decision_scores(bags)
    assert np.isfinite(scores).all()
    assert (scores[:, 0] > 1).all()


def test_a_state_with_embeddings_and_words_is_refused():
    maps = {"one": np.random.default_rng(0).random((11, 3)), "other": np.ones((11, 3))}
    learner = RegionScorer().fit(Bags(maps, OFFSETS, TAGS))
    learner._check_state()
    del learner.scaling_["other"]
    with pytest.raises(ValueError, match="must read embeddings alone, or words alone"):
        learner._check_state()


def test_a_score_does_not_depend_on_the_pictures_beside_it():
    bags, _ = tiny("embeddings")
    learner = RegionScorer().fit(bags)
    together = learner.decision_scores(bags)
    alone = np.vstack([learner.decision_scores(bags[[n]]) for n in range(len(bags))])
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_where_embeddings_are_centred_changes_nothing():
    bags, _ = tiny("embeddings")
    far = Bags({"net": bags.views["net"] + 1e8}, OFFSETS, TAGS)
    near = Bags({"net": bags.views["net"]}, OFFSETS, TAGS)
    moved, learner = RegionScorer().fit(far), RegionScorer().fit(near)
    np.testing.assert_allclose(moved.decision_scores(far), learner.decision_scores(near), atol=1e-4)


def test_the_inverse_hessian_is_that_of_finite_differences_for_pictures_of_one_region():
    rng = np.random.default_rng(4)
    bags = Bags({"map": rng.normal(size=(50, 4)) * [1, 2, 3, 4]}, np.arange(51))
    instances = along_axes(bags, scaling_of_all(bags.views))
    rows = instances.features.blocks[0].astype(float)
    rates, ridges, y = np.array([0.1, 0.4]), np.array([0.2, 3.0]), np.zeros((50, 2))
    loss = soft_maximum_loss(instances.starts, y, None, 1.5, ridges)

    def gradient(w, c):
        slopes = loss((rows @ w[:-1] + w[-1])[:, None].repeat(2, axis=1), np.arange(2))[1][:, c]
        return np.append(rows.T @ slopes + w[:-1], slopes.sum())

    for c in range(2):
        start = np.append(np.zeros(4), np.log(rates[c] / (1 - rates[c])))
        steps = 1e-4 * np.eye(5)
        bends = [(gradient(start + step, c) - gradient(start - step, c)) / 2e-4 for step in steps]
        found = inverse_hessian(instances, rates * (1 - rates) / ridges)[:, c]
        np.testing.assert_allclose(found, 1 / np.diag(bends), rtol=1e-4)


def test_along_axes_eight_steps_come_near_the_minimum():
    rng = np.random.default_rng(0)
    n, width = 200, 30
    spread = 1 / np.arange(1, width + 1)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    rows = (rng.normal(size=(n, 4, width)) + rng.normal(size=(n, 1, width))) * spread
    slopes = rng.normal(size=(width, 6)) / spread[:, None] * 0.3
    odds = rows.mean(axis=1) @ slopes - 0.6 * np.arange(6)
    tags = (rng.random((n, 6)) < 1 / (1 + np.exp(-odds))).astype(int)
    bags = Bags({"map": rows.reshape(-1, width) @ turn}, np.arange(n + 1) * 4, tags)
    best = RegionScorer(tol=1e-9, max_iter=3000).fit(bags).weights_
    found = RegionScorer().fit(bags).weights_
    assert np.linalg.norm(found - best) < 0.03 * np.linalg.norm(best)


@pytest.mark.parametrize("cells", [2**22, 500])  # all tags together, or one at a time
def test_along_axes_a_first_step_is_newtons_where_regions_say_little(cells, monkeypatch):
    monkeypatch.setattr(linear_solver, "CELLS", cells)
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 5)) * [1, 2, 3, 4, 5]
    tags = (rng.random((400, 3)) < [0.02, 0.1, 0.5]).astype(int)
    bags = Bags({"map": rows}, np.arange(401), tags)
    best, first = (
        RegionScorer(ridge=30.0, tol=1e-9, max_iter=steps).fit(bags).weights_[:-1] for steps in (3000, 1)
    )
    assert (np.linalg.norm(first - best, axis=0) < 0.1 * np.linalg.norm(best, axis=0)).all()


def test_scales_are_those_of_a_sample_of_the_pictures(monkeypatch):
    monkeypatch.setattr(instances, "ROWS", 20)
    rows = np.random.default_rng(6).normal(size=(100, 3))
    tags = np.tile([[1, 0], [0, 1]], (50, 1))
    bags = Bags({"map": rows}, np.arange(101), tags)
    found = RegionScorer().fit(bags).scaling_["map"]
    np.testing.assert_array_equal(found, scaling_of_all(instances.sample_of(bags).views)["map"])
    assert (found != scaling_of_all(bags.views)["map"]).all()


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


@pytest.mark.parametrize("kind", ["words", "embeddings"])
def test_folds_learn_from_drawn_regions_and_score_all_and_the_rest_learns_from_all(
    sampled, kind, monkeypatch
):
    bags = sampled(60).bags
    if kind == "embeddings":
        bags = Bags({"map": np.sqrt(bags.views["words"].toarray())}, bags.offsets, bags.tags, bags.tag_names)
    folds = picture_folds(len(bags), 3, seed=0)
    whole = RegionScorer().fit_with_folds(bags, folds)[0]
    monkeypatch.setattr(region_scorer, "REGIONS_OF_FOLDS", 1)
    learner = RegionScorer()
    scorers, held = learner.fit_with_folds(bags, folds)
    np.testing.assert_array_equal(learner.weights_, RegionScorer().fit(bags).weights_)
    for (_, test), scorer, other in zip(folds, scorers, whole, strict=True):
        np.testing.assert_allclose(held[test], scorer.decision_scores(bags[test]), atol=1e-4)
        assert np.abs(scorer.weights_ - other.weights_).max() > 0.1


def test_folds_leave_unknown_tags_of_their_pictures_out(sampled):
    bags = sampled(60, n_regions=3).bags
    folds = picture_folds(len(bags), 3, seed=0)
    unknown = (np.random.default_rng(0).random(bags.tags.shape) < 0.3) & (bags.captions.toarray() == 0)
    own = Bags(bags.views, bags.offsets, bags.tags, bags.tag_names, unknown=unknown.astype(int))
    how = {"tol": 1e-6, "max_iter": 400}
    for (train, _), scorer in zip(folds, RegionScorer(**how).fit_with_folds(own, folds)[0], strict=True):
        np.testing.assert_allclose(scorer.weights_, RegionScorer(**how).fit(own[train]).weights_, atol=1e-3)


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
