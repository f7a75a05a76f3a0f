import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from tagmix import Bags
from tagmix.errors import ParameterError
from tagmix.kernels.compiled.pooling import pool_regions
from tagmix.learners import linear_solver
from tagmix.learners.linear import features_of
from tagmix.learners.regions.max_pooling import MaxPooling, pooled_loss
from tagmix.learners.regions.naive_regions import NaiveRegions

BAGS = Bags(np.ones((6, 1), int), [0, 3, 4, 6], tags=[[1, 0], [0, 1], [1, 1]])


def objective(bags, weights, ridge, sharpness=np.inf):
    tags = bags.captions.toarray().astype(float)
    scores = features_of(bags.views, {}).scores(weights)
    value, _ = pooled_loss(bags, tags, sharpness)(scores, np.arange(bags.n_tags))
    return value + ridge / 2 * (weights[:-1] ** 2).sum(axis=0)


def test_a_sharper_pool_is_higher_and_nears_the_maximum():
    scores = np.random.default_rng(0).normal(size=(6, 2))
    pools = [pool_regions(scores, BAGS.offsets, s)[0] for s in (0.01, 1.0, 10.0, 1e4, np.inf)]
    assert all((low <= high + 1e-12).all() for low, high in itertools.pairwise(pools))
    np.testing.assert_allclose(pools[0][0], scores[:3].mean(axis=0), atol=0.02)
    np.testing.assert_allclose(pools[-2], pools[-1], atol=1e-3)


@pytest.mark.parametrize("sharpness", [0.5, 4.0, np.inf])
def test_the_gradient_is_that_of_finite_differences(sharpness):
    scores = np.random.default_rng(0).normal(size=(6, 2))
    loss = pooled_loss(BAGS, BAGS.captions.toarray().astype(float), sharpness)
    for c in range(2):
        numeric = approx_fprime(scores[:, c], lambda f, c=c: loss(f[:, None], np.array([c]))[0][0], 1e-7)
        np.testing.assert_allclose(loss(scores, np.arange(2))[1][:, c], numeric, atol=1e-6)


def test_with_one_region_a_picture_it_is_scikit_learns_logistic_regression(train):
    counts, tags = train.views["words"][::4], train.captions
    learner = MaxPooling(ridge=0.5, tol=1e-9, max_iter=2000).fit(
        Bags(counts, np.arange(len(train) + 1), tags)
    )
    block = np.sqrt(counts.toarray() / 30)
    for c in range(3):
        peer = LogisticRegression(C=2.0, tol=1e-9, max_iter=5000).fit(block, tags.toarray()[:, c])
        np.testing.assert_allclose(learner.weights_[:-1, c], peer.coef_[0], atol=2e-4)


def test_one_word_that_marks_a_tag_is_found_by_hand():
    # The tag comes with word 1 in one region of two; word 0 is everywhere.
    bags = Bags(
        np.array([[1, 0], [0, 1]] * 4 + [[1, 0], [1, 0]] * 4),
        np.arange(0, 17, 2),
        tags=[["sea", "sky"]] * 4 + [["sky"]] * 4,
    )
    learner = MaxPooling(ridge=1.0, tol=1e-10, max_iter=500).fit(bags)
    sea = learner.weights_[:, 0]
    # Stationary: w1 pulls with 4 positives, w0 with 4 negatives; with the free bias they are opposite.
    high, low = sea[1] + sea[2], sea[0] + sea[2]
    assert np.isclose(sea[1], 4 * (1 - expit(high)), atol=1e-6)
    assert np.isclose(sea[0], -4 * expit(low), atol=1e-6)
    assert np.isclose(high, -low, atol=1e-6)
    np.testing.assert_allclose(learner.decision_scores(bags)[[0, 7], 0], [high, low], rtol=1e-9)


def test_the_sharpening_never_ends_above_where_the_last_maximum_began(train, monkeypatch):
    whole = MaxPooling(ridge=0.3).fit(train)
    monkeypatch.setattr(MaxPooling, "sharpnesses", (1.0, 4.0))
    without = MaxPooling(ridge=0.3).fit(train)
    assert (objective(train, whole.weights_, 0.3) <= objective(train, without.weights_, 0.3) + 1e-9).all()


def test_a_soft_start_loses_next_to_nothing_against_the_maximum_from_the_start(train, monkeypatch):
    # And where regions are harder to tell apart it wins: see ``sharpnesses``.
    whole = MaxPooling(ridge=0.3).fit(train)
    monkeypatch.setattr(MaxPooling, "sharpnesses", (np.inf,))
    bare = MaxPooling(ridge=0.3).fit(train)
    assert objective(train, whole.weights_, 0.3).sum() < 1.005 * objective(train, bare.weights_, 0.3).sum()


def test_tags_fitted_in_parts_are_those_fitted_together(train, monkeypatch):
    whole = MaxPooling(ridge=1.0).fit(train)
    monkeypatch.setattr(linear_solver, "CELLS", 3000)  # a few tags at a time
    np.testing.assert_allclose(MaxPooling(ridge=1.0).fit(train).weights_, whole.weights_, atol=1e-6)


def test_a_picture_is_the_best_of_its_regions(train, test):
    learner = MaxPooling(ridge=1.0).fit(train)
    scores = features_of(test.views, {}).scores(learner.weights_)
    best = [part.max(axis=0) for part in np.split(scores, test.offsets[1:-1])]
    np.testing.assert_allclose(learner.decision_scores(test), best, rtol=1e-9)


def test_a_region_more_never_lowers_a_picture(train, test):
    learner = MaxPooling(ridge=1.0).fit(train)
    counts = test.views["words"]
    fewer = Bags(counts[np.arange(counts.shape[0]) % 4 < 3], np.arange(0, 3 * len(test) + 1, 3))
    assert (learner.decision_scores(test) >= learner.decision_scores(fewer) - 1e-12).all()


def test_a_picture_without_regions_is_ranked_by_the_biases(train):
    learner = MaxPooling(ridge=1.0).fit(train)
    empty = Bags(csr_array((0, 60), dtype=int), [0, 0])
    np.testing.assert_array_equal(learner.decision_scores(empty)[0], learner.weights_[-1])


def test_planted_regions_are_found_better_than_by_naive_regions_and_not_from_shuffled_captions(sampled):
    sample = sampled(200)
    train, test, truth = sample.bags[:150], sample.bags[150:], sample.region_tags[sample.bags.offsets[150] :]
    shuffled = train.with_tags(train.captions[np.random.default_rng(0).permutation(len(train))])

    def share(learner, bags):
        return (learner.fit(bags).top_region_tags(test)[:, 0] == truth).mean()

    found = share(MaxPooling(ridge=0.3), train)
    assert found > 0.8
    assert found >= share(NaiveRegions(ridge=0.3), train)
    assert found > share(MaxPooling(ridge=0.3), shuffled) + 0.3


@pytest.mark.parametrize("ridge", [1.0, None])
def test_embeddings_are_read_alone_if_there_are_any(train, ridge):
    rng = np.random.default_rng(0)
    counts = train.views["words"].toarray()
    maps = {"map": np.sqrt(counts[:, :20]), "other": counts[:, 20:] + rng.normal(size=(len(counts), 40))}
    alone = Bags(maps, train.offsets, train.captions, train.tag_names)
    words = {"words": train.views["words"]}
    beside = Bags({**words, **maps}, train.offsets, train.captions, train.tag_names)
    learner, same = (MaxPooling(ridge=ridge, max_iter=10).fit(bags) for bags in (beside, alone))
    assert learner.weights_.shape == (61, train.n_tags)
    np.testing.assert_array_equal(learner.weights_, same.weights_)
    np.testing.assert_array_equal(learner.ridge_scores_, same.ridge_scores_)
    np.testing.assert_array_equal(learner.decision_scores(beside), same.decision_scores(alone))
    np.testing.assert_array_equal(learner.predict_regions(beside), same.predict_regions(alone))
    np.testing.assert_array_equal(learner.decision_scores(alone), same.decision_scores(alone))


def test_the_order_of_embeddings_changes_only_rounding(train):
    counts = train.views["words"].toarray().astype(float)
    maps = {"map": np.sqrt(counts[:, :20]), "other": counts[:, 20:]}
    turned = {name: maps[name] for name in ("other", "map")}
    one, other = (Bags(views, train.offsets, train.captions, train.tag_names) for views in (maps, turned))
    learner, same = (MaxPooling(ridge=1.0).fit(bags) for bags in (one, other))
    np.testing.assert_allclose(same.decision_scores(one), learner.decision_scores(one), atol=0.01)
    np.testing.assert_array_equal(learner.decision_scores(other), learner.decision_scores(one))


def test_it_works_in_scikit_learns_tools(train):
    assert clone(MaxPooling(ridge=2.0)).ridge == 2.0
    assert cross_val_score(MaxPooling(ridge=1.0), train, cv=3).mean() > 0.5


def test_a_ridge_that_is_no_number_is_refused(train):
    with pytest.raises(ParameterError, match=r"ridge must be a number from .*, got 'auto': None chooses"):
        MaxPooling(ridge="auto").fit(train)
