import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tagmix import Bags
from tagmix.errors import ParameterError
from tagmix.learners import linear as region_features
from tagmix.learners.linear import Features, features_of
from tagmix.learners.regions.candidate_em import CandidateEM, posterior
from tagmix.learners.regions.naive_regions import NaiveRegions, shared_tags, softmax_loss


def small(seed=0):
    rng = np.random.default_rng(seed)
    features = Features([rng.normal(size=(6, 3))])
    candidates = rng.random((6, 4)) < 0.5
    candidates[np.arange(6), rng.integers(4, size=6)] = True
    return features, csr_array(candidates.astype(float)), rng.normal(size=(4, 4))


def test_the_likelihood_is_the_sum_over_every_way_to_give_regions_their_tags():
    features, candidates, weights = small()
    log_p = log_softmax(features.scores(weights), axis=1)
    allowed = [np.flatnonzero(row) for row in candidates.toarray()]
    ways = [sum(log_p[r, c] for r, c in enumerate(way)) for way in itertools.product(*allowed)]
    _, likelihood = posterior(features, candidates, weights)
    assert np.isclose(likelihood, np.logaddexp.reduce(ways), rtol=1e-12)


def test_the_posterior_is_p_cut_to_the_candidates():
    features, candidates, weights = small()
    q, _ = posterior(features, candidates, weights)
    p = softmax(features.scores(weights), axis=1) * candidates.toarray()
    np.testing.assert_allclose(q.toarray(), p / p.sum(axis=1, keepdims=True), rtol=1e-12)


def test_shards_of_regions_give_the_same_posterior(monkeypatch):
    features, candidates, weights = small()
    q, likelihood = posterior(features, candidates, weights)
    monkeypatch.setattr(region_features, "CELLS", 8)
    in_parts, total = posterior(features, candidates, weights)
    np.testing.assert_allclose(in_parts.toarray(), q.toarray(), rtol=1e-12)
    assert np.isclose(total, likelihood, rtol=1e-12)


def test_the_m_step_climbs_along_the_gradient_of_the_likelihood():
    features, candidates, weights = small()
    q, _ = posterior(features, candidates, weights)
    _, gradient = softmax_loss(features, q, weights, 0.4)

    def objective(flat):
        w = flat.reshape(weights.shape)
        return posterior(features, candidates, w)[1] - 0.2 * (w[:-1] ** 2).sum()

    numeric = approx_fprime(weights.ravel(), objective, 1e-7)
    np.testing.assert_allclose(-gradient.ravel(), numeric, atol=1e-5)


def test_the_penalised_likelihood_never_falls(train):
    history = CandidateEM(ridge=0.1, tol=1e-9, max_iter=30).fit(train).history_
    assert len(history) > 5
    assert (np.diff(history) >= -1e-9 * np.abs(history[:-1])).all()
    assert history[-1] > history[0]


def test_the_end_is_a_stationary_point(train):
    learner = CandidateEM(ridge=1.0, tol=1e-10, max_iter=300).fit(train)
    features = features_of(train.views, {})
    q, _ = posterior(features, shared_tags(train), learner.weights_)
    _, gradient = softmax_loss(features, q, learner.weights_, 1.0)
    assert np.abs(gradient).max() / train.n_regions < 1e-4


def test_with_one_tag_a_picture_it_is_naive_regions(train):
    alone = train.with_tags(np.eye(10, dtype=int)[np.asarray(train.captions.argmax(axis=1)).ravel()])
    np.testing.assert_allclose(
        CandidateEM(ridge=1.0, tol=1e-9).fit(alone).predict_regions(alone),
        NaiveRegions(ridge=1.0, tol=1e-8, max_iter=2000).fit(alone).predict_regions(alone),
        atol=1e-3,
    )


def test_a_word_has_the_tag_that_all_its_captions_share_by_hand():
    # Words 0, 1, 2 in pairs, captioned by tags 0, 1, 2 in pairs: only equal numbers fit every caption.
    counts = np.eye(3, dtype=int)[[0, 1, 0, 2, 1, 2] * 3]
    bags = Bags(counts, np.arange(0, 19, 2), tags=np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]] * 3))
    p = CandidateEM(ridge=0.01).fit(bags).predict_regions(bags)
    assert (p[np.arange(18), [0, 1, 0, 2, 1, 2] * 3] > 0.95).all()
    naive = NaiveRegions(ridge=0.01).fit(bags).predict_regions(bags)
    assert naive.max() < 0.55  # half of the captions' shares


def test_nothing_makes_it_use_every_tag_of_a_caption():
    # Word 0 is "sky" alone; pictures of words 0 and 1 say "sea, sky". Who knows that a caption is used up
    # would call word 1 the sea; the candidates' likelihood is as well content with sky everywhere.
    bags = Bags(
        np.array([[9, 0]] * 3 + [[9, 0], [0, 9]] * 3),
        [0, 1, 2, 3, 5, 7, 9],
        tags=[["sky"]] * 3 + [["sea", "sky"]] * 3,
    )
    assert CandidateEM(ridge=0.01).fit(bags).top_region_tags(bags).ravel().tolist() == [1] * 9


def test_planted_regions_are_found_better_than_by_naive_regions_and_not_from_shuffled_captions(sampled):
    sample = sampled(200)
    train, test, truth = sample.bags[:150], sample.bags[150:], sample.region_tags[sample.bags.offsets[150] :]
    shuffled = train.with_tags(train.captions[np.random.default_rng(0).permutation(len(train))])

    def share(learner, bags):
        return (learner.fit(bags).top_region_tags(test)[:, 0] == truth).mean()

    found = share(CandidateEM(ridge=0.3), train)
    assert found > 0.8
    assert found >= share(NaiveRegions(ridge=0.3), train)
    assert found > share(CandidateEM(ridge=0.3), shuffled) + 0.3


def test_the_order_of_pictures_does_not_matter(train, test):
    order = np.random.default_rng(0).permutation(len(train))
    np.testing.assert_allclose(
        CandidateEM(ridge=1.0).fit(train).predict_regions(test),
        CandidateEM(ridge=1.0).fit(train[order]).predict_regions(test),
        atol=1e-3,
    )


def test_it_works_in_scikit_learns_tools(train):
    assert clone(CandidateEM(ridge=2.0)).ridge == 2.0
    assert cross_val_score(CandidateEM(ridge=1.0), train, cv=3).mean() > 0.5


def test_no_iterations_are_refused(train):
    with pytest.raises(ParameterError, match="max_iter must be a whole number from 1"):
        CandidateEM(max_iter=0).fit(train)
