"""Predictions are distributions, agree with each other, and can say why."""

import copy

import numpy as np
import pytest

from tagmix import EMM, Bags, ParameterError, load, planted_topics, sample_bags, top_k_accuracy
from tagmix.model.predict import infer

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}
WAYS = [{}, {"inference": "map"}, {"supervision": 1.0}]


@pytest.fixture(scope="module", params=WAYS, ids=["variational", "map", "soft"])
def model(request, train):
    return EMM(**LIKELIHOOD, **request.param).fit(train)


@pytest.fixture(scope="module")
def mixed(test):
    """Images with and without tags, one of them without regions."""
    bare = Bags(test.views["words"][:0], [0, 0], test.captions[:1], test.tag_names)
    tags = test.captions.toarray()
    tags[::3] = 0
    return Bags.concat([test.with_tags(tags), bare])


def test_shares_of_a_picture_sum_to_1_and_best_tags_come_first(model, mixed):
    scores = model.predict_proba(mixed)
    assert scores.shape == (len(mixed), mixed.n_tags)
    assert scores.min() >= 0
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-12)
    best = model.top_tags(mixed, 4)
    ranked = np.take_along_axis(scores, best, axis=1)
    assert np.all(np.diff(ranked, axis=1) <= 0)
    np.testing.assert_array_equal(ranked[:, 0], scores.max(axis=1))


@pytest.mark.parametrize("captioned", [False, True])
def test_shares_of_a_region_sum_to_1_and_best_tags_agree_with_them(model, mixed, captioned):
    phi = model.predict_regions(mixed, captioned)
    assert phi.shape == (mixed.n_regions, mixed.n_tags)
    assert phi.min() >= 0
    np.testing.assert_allclose(phi.sum(axis=1), 1.0, rtol=1e-9)
    best = model.top_region_tags(mixed, 3, captioned)
    np.testing.assert_array_equal(best, np.argsort(-phi, axis=1, kind="stable")[:, :3])


def test_map_leaves_most_tags_at_exactly_zero(train, test):
    sparse = EMM(**LIKELIHOOD, inference="map").fit(train).predict_proba(test)
    dense = EMM(**LIKELIHOOD).fit(train).predict_proba(test)
    assert (sparse == 0).mean() > 0.3
    assert (dense == 0).mean() < 0.01


def test_captioned_regions_keep_to_their_own_tags_and_untagged_images_fall_back(plain, mixed):
    free, captioned = plain.predict_regions(mixed), plain.predict_regions(mixed, captioned=True)
    for n in range(len(mixed)):
        part = slice(mixed.offsets[n], mixed.offsets[n + 1])
        own = mixed.captions.toarray()[n].astype(bool)
        if own.any():
            assert np.all(captioned[part][:, ~own] == 0)
        else:
            np.testing.assert_array_equal(captioned[part], free[part])
    assert not np.array_equal(free, captioned)


def test_captions_find_the_regions_of_their_tags(plain, sampled):
    drawn = sampled(160)
    right = plain.top_region_tags(drawn.bags, captioned=True)[:, 0] == drawn.region_tags
    assert right.mean() > 0.95


@pytest.mark.parametrize("inference", ["variational", "map"])
def test_soft_captions_are_heard_by_tagged_images_only(train, mixed, inference):
    soft = EMM(**LIKELIHOOD, supervision=20.0, evidence=0.02, tol=1e-3, inference=inference).fit(train)
    free, captioned = soft.predict_regions(mixed), soft.predict_regions(mixed, captioned=True)
    tagged = np.repeat(np.diff(mixed.captions.indptr) > 0, np.diff(mixed.offsets))
    np.testing.assert_array_equal(free[~tagged], captioned[~tagged])
    assert not np.allclose(free[tagged], captioned[tagged])


def test_a_picture_without_regions_gets_the_prior(model, mixed):
    prior = 1 / model.params_.rates
    np.testing.assert_allclose(model.predict_proba(mixed)[-1], prior / prior.sum(), rtol=1e-12)


def test_no_pictures_give_no_rows(fitted, test):
    nothing = test[[]]
    assert fitted.predict_proba(nothing).shape == (0, test.n_tags)
    assert fitted.predict(nothing).shape == (0, test.n_tags)
    assert fitted.predict_regions(nothing).shape == (0, test.n_tags)
    assert fitted.explain(nothing, 0) == []


def test_one_picture_at_a_time_gives_what_all_together_do(model, test):
    alone = np.vstack([model.predict_proba(one) for one in test])
    np.testing.assert_allclose(alone, model.predict_proba(test), rtol=1e-9, atol=1e-15)


def test_an_explanation_has_the_regions_of_its_tag(plain, test):
    phi = plain.predict_regions(test)
    for n, why in enumerate(plain.explain(test, "tag3")):
        assert (why.picture, why.tag) == (test.ids[n], "tag3")
        np.testing.assert_array_equal(why.regions, phi[test.offsets[n] : test.offsets[n + 1], 3])
        assert np.all(np.diff(why.gains["words"]) <= 0)
        assert np.all(why.gains["words"] > 0)


def test_explanations_of_all_tags_share_out_every_region(plain, test):
    total = sum(plain.explain(test, tag)[0].regions for tag in range(test.n_tags))
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_the_planted_words_of_a_tag_speak_for_it(plain, test):
    own_words = np.array_split(np.arange(60), 10)
    images = np.flatnonzero(test.captions.toarray()[:, 4])
    assert len(images) > 3
    for why in plain.explain(test[images], 4, n_words=3):
        assert np.isin(why.words["words"], own_words[4]).all()
        assert why.gains["words"][0] > 1.0


def test_n_words_limits_the_words(plain, test):
    assert all(len(why.words["words"]) <= 2 for why in plain.explain(test, 0, n_words=2))
    for wrong in (-3, 1.5, "all"):
        with pytest.raises(ParameterError, match="n_words must be a whole number"):
            plain.explain(test, 0, n_words=wrong)


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("cow", r"must be one of the model's 10, got 'cow': choose one of tag_names_"),
        ("Tag3", r"must be one of the model's 10, got 'Tag3': did you mean 'tag3'\?"),
        (10, r"a name or an index from 0 to 9, got 10"),
        (-1, r"a name or an index from 0 to 9, got -1"),
        (1.5, r"a name or an index from 0 to 9, got 1.5"),
        (True, r"a name or an index from 0 to 9, got True"),
    ],
)
def test_a_tag_that_the_model_does_not_know_is_refused(plain, test, tag, message):
    with pytest.raises(ParameterError, match=message):
        plain.explain(test, tag)


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_no_tags_to_show_are_refused(plain, test, k):
    for method in (plain.top_tags, plain.top_region_tags):
        with pytest.raises(ParameterError, match=r"k must be a whole number >= 1"):
            method(test, k)


def test_more_tags_than_there_are_give_all_of_them(plain, test):
    assert plain.top_tags(test, 99).shape == (len(test), test.n_tags)
    assert plain.top_region_tags(test, 99).shape == (test.n_regions, test.n_tags)


def test_without_calibration_predict_says_how_to_get_it(plain, test):
    for method in (plain.predict, plain.predict_marginals, plain.predict_both):
        message = r"not learnt: fit with calibration_folds >= 2.*top_tags"
        with pytest.raises(ParameterError, match=message):
            method(test)


def test_too_few_images_for_the_folds_warn_and_leave_calibration_out(train, test):
    emm = EMM(learning="likelihood", calibration_folds=3)
    with pytest.warns(
        UserWarning, match=r"3 calibration folds need at least 6 pictures .*, got 5, .*: lower"
    ):
        emm.fit(train[:5])
    assert emm.calibration_ is None
    with pytest.raises(ParameterError, match="not learnt: "):
        emm.predict(test)
    assert EMM(learning="likelihood", calibration_folds=3).fit(train[:6]).calibration_ is not None


@pytest.mark.parametrize("other", [{"inference": "map"}, {"ranking": "theta"}])
def test_a_calibration_refuses_scores_that_it_was_not_learnt_for(fitted, test, tmp_path, other):
    before = fitted.predict(test)
    emm = copy.deepcopy(fitted).set_params(**other)
    emm.save(tmp_path / "m")
    for switched in (emm, load(tmp_path / "m")):
        switched.top_tags(test)
        for method in (switched.predict, switched.predict_marginals, switched.predict_both):
            with pytest.raises(
                ParameterError, match=r"learnt for .*\('variational', 'shares'\), now .*: set them"
            ):
                method(test)
        switched.set_params(inference="variational", ranking="shares")
        np.testing.assert_array_equal(switched.predict(test), before)


@pytest.mark.parametrize(("n_tags", "k"), [(2, 1), (5, 2), (6, 3), (12, 5)])
def test_the_score_shows_half_of_few_tags_so_that_it_can_differ(n_tags, k):
    rng = np.random.default_rng(0)
    bags = sample_bags(planted_topics(n_tags, 40, 0.9, rng), 60, n_regions=2, rng=rng).bags
    emm = EMM(learning="likelihood", calibration_folds=0, max_iter=5, tol=0.1).fit(bags)
    assert emm.score(bags) == top_k_accuracy(bags.tags, emm.predict_proba(bags), k)
    assert emm.score(bags) > emm.score(bags, bags.captions[::-1])


@pytest.mark.parametrize("seed", range(2))
def test_ranking_by_shares_beats_the_prior_counted_twice(seed):
    # D16: S holds the prior already; θ̂ multiplies by it again.
    rng = np.random.default_rng(seed)
    topics = planted_topics(60, 600, 0.9, rng)
    bags = sample_bags(topics, 600, rates=rng.gamma(0.7, 1.0, 60) + 0.05, rng=rng).bags
    emm = EMM(learning="likelihood", calibration_folds=0, max_iter=15, tol=1e-3).fit(bags[:400])
    shares = emm.score(bags[400:])
    assert shares > emm.set_params(ranking="theta").score(bags[400:]) + 0.04


def test_threads_of_a_fitted_model_may_change():
    rng = np.random.default_rng(3)
    bags = sample_bags(planted_topics(5, 40, 0.5, rng), 30, rng=rng).bags
    emm = EMM(learning="likelihood", calibration_folds=0).fit(bags)
    before = emm.predict_proba(bags)
    np.testing.assert_array_equal(emm.set_params(n_jobs=2).predict_proba(bags), before)
    assert emm.settings_.n_threads == 2


def test_shares_of_map_inference_add_up_to_the_whole_picture(plain, test):
    held = infer(test, plain.params_, plain.settings_, "map").held
    np.testing.assert_allclose(held.sum(axis=1), 1.0, rtol=1e-3)
    assert np.ptp(plain.params_.rates) > 0.01
