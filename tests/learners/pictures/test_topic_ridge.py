"""TopicRidge: LDA against scikit-learn's, the ridge against leaving rows out one by one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score

from tagmix import Bags, planted_topics, sample_bags
from tagmix.errors import ParameterError
from tagmix.learners import lda
from tagmix.learners.pictures.topic_ridge import TopicRidge, best_ridge


def sample(seed=0, n_images=160):
    rng = np.random.default_rng(seed)
    return sample_bags(
        planted_topics(8, 60, 0.2, rng), n_images, n_regions=4, words_per_region=30, rng=rng
    ).bags


def small(**how):
    return TopicRidge(**{"n_topics": 20, "batch_size": 20, "passes": 6, **how})


def counts_of(bags):
    return lda.picture_counts(bags)


def test_the_words_of_a_picture_are_those_of_its_regions_views_side_by_side():
    views = {"a": np.array([[1, 0], [2, 5], [0, 1]]), "b": np.array([[7], [1], [4]])}
    np.testing.assert_array_equal(
        counts_of(Bags(views, [0, 2, 2, 3])).toarray(), [[3, 5, 8], [0, 0, 0], [0, 1, 4]]
    )


def test_shares_equal_those_of_scikit_learn_given_its_topics():
    counts = counts_of(sample(n_images=40))
    peer = LatentDirichletAllocation(6, doc_topic_prior=0.2, max_iter=3, random_state=0, mean_change_tol=1e-6)
    peer = peer.set_params(max_doc_update_iter=500).fit(counts)
    learner = TopicRidge(n_topics=6, alpha=0.2, estep_tol=1e-6, estep_max_iter=500)
    learner.topics_ = peer.components_
    np.testing.assert_allclose(learner._shares(counts, 1), peer.transform(counts), rtol=1e-3, atol=1e-5)


def test_one_batch_of_everything_moves_topics_as_scikit_learn_moves_them():
    # A step of 1 towards η + Σ x φ is scikit-learn's batch update: compare the statistics themselves.
    counts = counts_of(sample(n_images=40))
    peer = LatentDirichletAllocation(6, doc_topic_prior=1.0, topic_word_prior=0.3, max_iter=1, random_state=0)
    peer = peer.set_params(mean_change_tol=1e-6, max_doc_update_iter=500).fit(counts)
    before = np.random.RandomState(0).gamma(100.0, 0.01, (6, 60))
    learner = TopicRidge(n_topics=6, alpha=1.0, eta=0.3, estep_tol=1e-6, estep_max_iter=500)
    seen = learner._explain(counts, before, 1)[1]
    np.testing.assert_allclose(0.3 + seen, peer.components_, rtol=1e-3)
    np.testing.assert_allclose(seen.sum(), counts.sum(), rtol=1e-9)


def test_topics_fit_unseen_pictures_about_as_well_as_scikit_learns():
    bags = sample()
    train, test = counts_of(bags[:120]), counts_of(bags[120:])
    peer = LatentDirichletAllocation(
        8, learning_method="online", doc_topic_prior=0.1, topic_word_prior=0.1, max_iter=8, batch_size=20,
        random_state=0,
    ).fit(train)  # fmt: skip
    ours = clone(peer).fit(train)
    learner = TopicRidge(n_topics=8, passes=8, batch_size=20)
    ours.components_ = learner._learn_topics(train, 1)
    logs = np.log(ours.components_ / ours.components_.sum(axis=1, keepdims=True))
    ours.exp_dirichlet_component_ = np.exp(logs)
    assert ours.perplexity(test) < 1.1 * peer.perplexity(test)


def test_the_closed_form_of_leave_one_out_equals_leaving_out():
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(12, 4)), rng.normal(size=(12, 3))
    ridges = (0.01, 1.0, 50.0)
    found = best_ridge(features, targets, ridges)
    for ridge, error in zip(ridges, found.errors, strict=True):
        residuals = []
        for i in range(12):
            rest = np.arange(12) != i
            model = Ridge(alpha=ridge).fit(features[rest], targets[rest])
            residuals.append(targets[i] - model.predict(features[i : i + 1])[0])
        np.testing.assert_allclose(error, np.mean(np.square(residuals)), rtol=1e-8)
    assert found.ridge == ridges[int(np.argmin(found.errors))]
    model = Ridge(alpha=found.ridge).fit(features, targets)
    np.testing.assert_allclose(found.coef, model.coef_.T, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.intercept, model.intercept_, rtol=1e-8)


def test_a_slope_of_two_points_is_what_hand_gives():
    # Centred features ∓1, targets ∓1: slope 2/(2 + ridge).
    found = best_ridge(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), (2.0,))
    np.testing.assert_allclose(found.coef, [[0.5]])
    np.testing.assert_allclose(found.intercept, [1.5])


def test_planted_tags_are_found_and_shuffled_captions_teach_nothing():
    bags = sample(n_images=300)
    train, test = bags[:240], bags[240:]
    shuffled = train.with_tags(train.tags[np.random.default_rng(3).permutation(240)], train.tag_names)
    honest, control = small().fit(train).score(test), small().fit(shuffled).score(test)
    assert honest > 0.7
    assert control < honest - 0.15


def test_how_words_are_cut_into_regions_is_not_seen():
    bags = sample()
    whole = Bags(counts_of(bags).astype(int), np.arange(len(bags) + 1), tags=bags.tags)
    scores = small().fit(bags).decision_scores(bags)
    # Words come in another order, and so do sums.
    again = small().fit(whole).decision_scores(whole)
    np.testing.assert_allclose(again, scores, rtol=1e-7, atol=1e-9)


def test_threads_change_no_bit_and_a_seed_fixes_the_rest():
    bags = sample()
    scores = small().fit(bags).decision_scores(bags)
    np.testing.assert_array_equal(small(n_jobs=2).fit(bags).decision_scores(bags), scores)
    assert np.abs(small(random_state=1).fit(bags).decision_scores(bags) - scores).max() > 1e-3


def test_a_picture_without_words_is_scored_by_equal_shares():
    learner = small().fit(sample())
    empty = Bags(np.zeros((0, 60), int), [0, 0])
    expected = np.sqrt(1 / 20) * learner.coef_.sum(axis=0) + learner.intercept_
    np.testing.assert_allclose(learner.decision_scores(empty)[0], expected, rtol=1e-9)


def test_it_is_cloned_and_cross_validated_on_bags():
    assert cross_val_score(clone(small()), sample(), cv=3).min() > 0.5


@pytest.mark.parametrize("wrong", [{"n_topics": 1}, {"ridges": ()}, {"ridges": (0.0,)}, {"passes": 1.5}])
def test_a_wrong_parameter_is_refused_by_name(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        TopicRidge(**wrong).fit(sample(n_images=20))
