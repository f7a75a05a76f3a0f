import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from tagmix import Bags
from tagmix.errors import ParameterError
from tagmix.learners import linear as region_features
from tagmix.learners.linear import Features, features_of
from tagmix.learners.regions.naive_regions import NaiveRegions, fit_softmax, shared_tags, softmax_loss


def small(seed=0):
    rng = np.random.default_rng(seed)
    features = Features([csr_array(rng.poisson(0.1, (9, 4)).astype(float)), rng.normal(size=(9, 2))])
    targets = csr_array(softmax(rng.normal(size=(9, 3)), axis=1) * (rng.random((9, 3)) < 0.7))
    return features, targets, rng.normal(size=(7, 3))


def test_the_loss_is_the_cross_entropy_plus_the_ridge():
    features, targets, weights = small()
    value, _ = softmax_loss(features, targets, weights, 0.7)
    log_p = log_softmax(features.scores(weights), axis=1)
    expected = -(targets.toarray() * log_p).sum() + 0.35 * (weights[:-1] ** 2).sum()
    assert np.isclose(value, expected, rtol=1e-12)


def test_the_gradient_is_that_of_finite_differences():
    features, targets, weights = small()

    def part(which):
        return lambda flat: softmax_loss(features, targets, flat.reshape(weights.shape), 0.7)[which]

    error = check_grad(part(0), lambda flat: part(1)(flat).ravel(), weights.ravel())
    assert error < 1e-5


def test_shards_of_rows_add_up_to_the_whole(monkeypatch):
    features, targets, weights = small()
    value, gradient = softmax_loss(features, targets, weights, 0.7)
    monkeypatch.setattr(region_features, "CELLS", 6)  # two rows at a time
    assert len(list(features.shards(3))) == 5
    in_parts, its_gradient = softmax_loss(features, targets, weights, 0.7)
    assert np.isclose(in_parts, value, rtol=1e-12)
    np.testing.assert_allclose(its_gradient, gradient, atol=1e-12)


def test_weights_are_those_of_scikit_learns_multinomial_regression(train):
    learner = NaiveRegions(ridge=2.0, tol=1e-9, max_iter=3000).fit(train)
    rows, columns = shared_tags(train).nonzero()
    block = features_of(train.views, {}).blocks[0]
    block = np.asarray(block.toarray() if hasattr(block, "toarray") else block)
    peer = LogisticRegression(C=0.5, tol=1e-9, max_iter=3000)
    peer.fit(block[rows], columns, sample_weight=shared_tags(train)[rows, columns])
    np.testing.assert_allclose(learner.weights_[:-1], peer.coef_.T, atol=1e-3)
    np.testing.assert_allclose(learner.predict_regions(train), peer.predict_proba(block), atol=1e-4)


def test_regions_without_words_get_the_shares_of_the_tags_by_hand():
    # Two regions share "sea" and "sky", one has "sky" alone: with nothing to tell them apart, sky has 2/3.
    bags = Bags(np.zeros((3, 2), int), [0, 2, 3], tags=[["sea", "sky"], ["sky"]])
    learner = NaiveRegions(ridge=1.0, tol=1e-9).fit(bags)
    np.testing.assert_allclose(learner.predict_regions(bags), np.tile([1 / 3, 2 / 3], (3, 1)), atol=1e-6)


def test_a_picture_is_the_mean_of_its_regions(train, test):
    learner = NaiveRegions(ridge=1.0).fit(train)
    regions = learner.predict_regions(test)
    means = [part.mean(axis=0) for part in np.split(regions, test.offsets[1:-1])]
    np.testing.assert_allclose(learner.decision_scores(test), means, rtol=1e-9)


def test_a_picture_without_regions_is_ranked_by_the_biases(train):
    learner = NaiveRegions(ridge=1.0).fit(train)
    empty = Bags(csr_array((0, 60), dtype=int), [0, 0])
    np.testing.assert_allclose(learner.decision_scores(empty)[0], softmax(learner.weights_[-1]), rtol=1e-12)


def test_planted_regions_are_found_and_shuffled_captions_teach_nothing(sampled):
    sample = sampled(200)
    train, test, truth = sample.bags[:150], sample.bags[150:], sample.region_tags[sample.bags.offsets[150] :]
    order = np.random.default_rng(0).permutation(len(train))
    found = NaiveRegions(ridge=1.0).fit(train).top_region_tags(test)[:, 0]
    shuffled = NaiveRegions(ridge=1.0).fit(train.with_tags(train.captions[order])).top_region_tags(test)[:, 0]
    assert (found == truth).mean() > 0.6
    assert (found == truth).mean() > (shuffled == truth).mean() + 0.3


def test_a_caption_keeps_its_own_tags_only(train, test):
    learner = NaiveRegions(ridge=1.0).fit(train)
    found = learner.top_region_tags(test, captioned=True)[:, 0]
    owner = np.repeat(np.arange(len(test)), np.diff(test.offsets))
    assert test.captions.toarray()[owner, found].all()


def test_a_start_nearer_by_leads_to_the_same_weights(train):
    features, targets = features_of(train.views, {}), shared_tags(train)
    cold, _ = fit_softmax(features, targets, np.zeros((61, 10)), 1.0, 1e-8, 2000)
    far, _ = fit_softmax(features, targets, np.ones((61, 10)), 1.0, 1e-8, 2000)
    np.testing.assert_allclose(cold[:-1], far[:-1], atol=1e-4)


def test_it_works_in_scikit_learns_tools(train):
    assert clone(NaiveRegions(ridge=2.0)).ridge == 2.0
    assert cross_val_score(NaiveRegions(ridge=1.0), train, cv=3).mean() > 0.5


def test_a_ridge_of_minus_one_is_refused(train):
    with pytest.raises(ParameterError, match="ridge must be a number from"):
        NaiveRegions(ridge=-1).fit(train)
