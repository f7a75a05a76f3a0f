"""Which pictures a prior is tuned on; no pool sees the caption of a duplicate."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_expit

from tagmix import Bags
from tagmix.learners.base import TagLearner
from tagmix.learners.context import prior
from tagmix.learners.context.experts import cross_validated_scores
from tagmix.learners.context.prior import fit_experts, fit_prior, frequency_accuracy
from tagmix.learners.logistic import cross_fitted, fit_tag_logistic
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.learners.targets import targets_of

N, N_TAGS, COPIES = 40, 5, 3


class Told(TagLearner):
    """Scores that come with the pictures: no caption changes them."""

    reads_dense = True

    def _fit(self, bags):
        pass

    def _scores(self, bags):
        return bags.pictures["scores"]

    def fit_with_folds(self, bags, folds, report=None):
        self.fit(bags)
        return [self] * len(folds), bags.pictures["scores"].copy()


class Remembers(TagLearner):
    """Scores of 1 for the pictures that it has learnt from."""

    def _fit(self, bags):
        self.known_ = {row.tobytes() for row in bags.views["words"].toarray()}

    def _scores(self, bags):
        known = [row.tobytes() in self.known_ for row in bags.views["words"].toarray()]
        return np.repeat(np.array(known, dtype=float)[:, None], bags.n_tags or N_TAGS, axis=1)


@pytest.fixture(scope="module")
def thrice():
    """Pictures that are there three times, far from each other, with a caption for each copy."""
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(N), COPIES)
    tags = (rng.random((len(rows), N_TAGS)) < 0.4).astype(int)
    scores = {"scores": rng.random((N, N_TAGS))[rows]}
    return Bags(rng.poisson(2.0, (N, 9))[rows], np.arange(len(rows) + 1), tags=tags, pictures=scores), rows


def prior_of(context, bags, scorer=None):
    return fit_prior(fit_experts(context, bags, 0), scorer or Told(), bags, 0)


def held_out_with(bags, flipped):
    tags = bags.captions.toarray().copy()
    tags[flipped] = 1 - tags[flipped]
    return prior_of(Told(), bags.with_tags(tags, bags.tag_names))[1]


@pytest.mark.parametrize("pictures", [N * COPIES, 60])
def test_a_pool_has_not_heard_the_captions_of_duplicates_of_the_pictures_it_is_asked_about(
    thrice, monkeypatch, pictures
):
    bags, original = thrice
    monkeypatch.setattr(prior, "MOST_SCORES", 2 * pictures * N_TAGS)  # expert and scorer
    honest = held_out_with(bags, [])
    assert len(honest.rows) == pictures
    several = np.bincount(original[honest.rows], minlength=N) > 1
    for one in np.flatnonzero(several)[::5]:
        lying = held_out_with(bags, np.flatnonzero(original == one))
        own = original[honest.rows] == one
        np.testing.assert_array_equal(lying.logits[own], honest.logits[own])
        assert np.abs(lying.logits - honest.logits).max() > 0


def test_a_pool_is_fitted_to_the_captions_of_the_pictures_that_were_asked_and_of_nobody_else(
    thrice, monkeypatch
):
    bags, _ = thrice
    monkeypatch.setattr(prior, "MOST_SCORES", 2 * 60 * N_TAGS)
    honest = held_out_with(bags, [])
    others = np.setdiff1d(np.arange(len(bags)), honest.rows)
    np.testing.assert_array_equal(held_out_with(bags, others).logits, honest.logits)
    assert others.min() < 60


def test_a_pool_of_some_pictures_is_fitted_to_the_scores_of_these(thrice, monkeypatch):
    bags, _ = thrice
    monkeypatch.setattr(prior, "MOST_SCORES", 2 * 60 * N_TAGS)
    found, of_training = prior_of(Told(), bags)
    rows = of_training.rows
    own = bags.pictures["scores"][rows]
    expected = fit_tag_logistic([np.log(np.maximum(own, 1e-3)), own, own], *targets_of(bags[rows]))
    np.testing.assert_allclose(found.pool.slopes, expected.slopes, rtol=1e-9)


def test_a_pool_leaves_unknown_pairs_out(thrice):
    bags, _ = thrice
    unknown = (np.random.default_rng(1).random(bags.tags.shape) < 0.5) & (bags.tags.toarray() == 0)
    own = bags.with_tags(bags.tags, bags.tag_names, unknown=unknown)
    found, of_training = prior_of(Told(), own)
    g, (y, known) = bags.pictures["scores"], targets_of(own)
    features = [np.log(np.maximum(g, 1e-3)), g, g]
    expected = fit_tag_logistic(features, y, known)
    np.testing.assert_allclose(found.pool.logits(features), expected.logits(features), rtol=1e-9)
    without = cross_fitted(features, y, of_training.folds, known)
    np.testing.assert_allclose(of_training.logits, without, rtol=1e-9)


def test_an_expert_has_not_heard_the_captions_of_duplicates_of_the_pictures_it_is_asked_about(
    thrice, monkeypatch
):
    heard, pooled = [], prior.pool_features
    monkeypatch.setattr(prior, "pool_features", lambda *how: heard.append(how[0]) or pooled(*how))
    prior_of(Remembers(), thrice[0])
    ((scores,),) = heard
    assert not scores.any()


def test_all_experts_together_hold_no_more_scores_than_allowed(thrice, monkeypatch):
    bags, _ = thrice
    monkeypatch.setattr(prior, "MOST_SCORES", 120 * N_TAGS)
    for n_experts in (1, 2, 3):
        rows = prior_of([Told()] * n_experts, bags)[1].rows
        assert len(rows) == 120 // (n_experts + 1)
        assert (np.diff(rows) > 0).all()


def test_every_picture_that_is_asked_about_gets_its_own_scores(thrice):
    bags, original = thrice
    rows = np.array([0, 3, 17, 50, len(bags) - 1])
    found = cross_validated_scores(Told(), bags, rows, 0, original)
    np.testing.assert_array_equal(found, bags.pictures["scores"][rows])


@pytest.mark.parametrize("n", [8, 20])
def test_pictures_that_nobody_can_tell_apart_have_the_shares_of_their_tags(n):
    tags = np.eye(2, dtype=int)[np.arange(n) % 2]
    bags = Bags(np.ones((n, 3), dtype=int), np.arange(n + 1), tags=tags)
    prior, held_out = prior_of("kernel", bags, RegionScorer())
    assert (held_out.logits.argmax(axis=1) == tags.argmax(axis=1)).mean() <= 0.5
    np.testing.assert_allclose(prior.logits(bags), 0.0, atol=0.2)


def test_an_unknown_pair_is_neither_right_nor_wrong_in_the_accuracy_of_frequencies():
    truth = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=float)
    # The first tags are 0, 1 and 0, the last is right; 1 is the first if 0 is unknown of the first picture.
    assert frequency_accuracy(truth) == pytest.approx(2 / (3 + 4))
    unknown = csr_array(np.eye(1, 9).reshape(3, 3))
    assert frequency_accuracy(truth, unknown) == pytest.approx(4 / (3 + 4))


def test_asking_an_expert_by_folds_leaves_it_fitted_to_all_pictures(thrice):
    bags, _ = thrice
    (expert,) = fit_experts("linear", bags, 0)
    before = expert.decision_scores(bags)
    fit_prior([expert], Told(), bags, 0)
    np.testing.assert_array_equal(expert.decision_scores(bags), before)


def test_the_scorer_of_a_fold_has_not_seen_its_pictures_nor_their_duplicates(thrice):
    bags, original = thrice
    tagged = np.diff(bags.captions.indptr) > 0
    bags, original = bags[tagged], original[tagged]
    found = prior_of(Told(), bags, RegionScorer())[1]
    assert sorted(np.concatenate([test for _, test in found.folds])) == list(range(len(bags)))
    for (train, test), scorer in zip(found.folds, found.scorers, strict=True):
        assert not np.isin(original[train], original[test]).any()
        alone = RegionScorer().fit(bags[train])
        np.testing.assert_allclose(scorer.weights_, alone.weights_, atol=1e-4)


def test_pictures_that_the_pool_was_not_fitted_to_have_the_scorers_probability(thrice, monkeypatch):
    bags, _ = thrice
    whole = prior_of(Told(), bags)[1]
    np.testing.assert_array_equal(whole.log_pi, log_expit(whole.logits))
    monkeypatch.setattr(prior, "MOST_SCORES", 2 * 60 * N_TAGS)
    some = prior_of(Told(), bags)[1]
    expected = log_expit(bags.pictures["scores"])
    expected[some.rows] = log_expit(some.logits)
    np.testing.assert_array_equal(some.log_pi, expected)


def test_the_pool_reads_two_features_of_each_expert_and_the_log_odds_of_the_scorer(thrice):
    bags, _ = thrice
    found = prior_of([Told(), Told()], bags)[0]
    assert len(found.pool.slopes) == 5
    g = bags.pictures["scores"]
    features = [np.log(np.maximum(g, 1e-3)), g] * 2 + [g]
    np.testing.assert_array_equal(found.logits(bags), found.pool.logits(features))
