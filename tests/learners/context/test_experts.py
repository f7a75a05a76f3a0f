"""Experts score training pictures by cross-validation; anything that is not an expert is refused."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tagmix import KNN, Bags, KernelRidge, ParameterError
from tagmix.evaluation.folds import grouped_folds, picture_folds
from tagmix.learners import LinearRanker
from tagmix.learners.context.experts import Regressor, cross_validated_scores, experts_of
from tagmix.learners.context.prior import fit_experts, fit_prior
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.learners.whole_pictures import whole_pictures

ROWS = np.array([0, 3, 17, 50])


def prior_of(context, bags):
    return fit_prior(fit_experts(context, bags, 0), RegionScorer(), bags, 0)


@pytest.mark.parametrize("landmarks", [10_000, 40])
def test_kernel_ridge_does_not_see_the_pictures_it_leaves_out(train, landmarks):
    ridge = KernelRidge(max_landmarks=landmarks).fit(train)
    found = cross_validated_scores(ridge, train, np.arange(len(train)), 0, np.arange(len(train)))
    assert found.shape == (len(train), train.n_tags)
    seen = ridge.decision_scores(train)
    own = train.captions.toarray() > 0
    assert found[own].mean() < seen[own].mean()


def test_neighbours_leave_out_a_fifth_with_the_picture_in_it_and_nobody_else(train):
    knn = KNN(k=5).fit(train)
    found = cross_validated_scores(knn, train, ROWS, 0, np.arange(len(train)))
    fifths = picture_folds(len(train), 5)
    for i, row in enumerate(ROWS):
        others = next(fold.train for fold in fifths if row in fold.test)
        alone = KNN(k=5).fit(train[others])
        alone.scales_, alone.view_weights_ = knn.scales_, knn.view_weights_
        np.testing.assert_allclose(found[i], alone.decision_scores(train[[row]])[0], atol=1e-12)


@pytest.mark.parametrize("expert", [LinearRanker(ridge=1.0), Regressor(Ridge())])
def test_other_experts_are_asked_by_folds_that_leave_the_picture_out(train, expert):
    wrong = train.captions.toarray().copy()
    wrong[0] = 1 - wrong[0]
    lied_to = train.with_tags(wrong, train.tag_names)
    honest, lying = (
        cross_validated_scores(expert, bags, ROWS, 0, np.arange(120)) for bags in (train, lied_to)
    )
    np.testing.assert_allclose(lying[0], honest[0], atol=1e-9)  # what picture 0 says of itself is not heard
    assert np.abs(lying[1:] - honest[1:]).max() > 1e-6


@pytest.fixture(scope="module")
def copied(train):
    """Pictures, 40 of them three times, with captions of others; and which are duplicates of each other."""
    rows = np.concatenate([np.arange(60), np.arange(40), np.arange(40)])
    captions = train.captions[np.concatenate([np.arange(60), np.arange(60, 100), np.arange(80, 120)])]
    return train[rows].with_tags(captions, train.tag_names), rows


@pytest.mark.parametrize("landmarks", [10_000, 50])
def test_kernel_ridge_leaves_out_duplicates_as_if_it_had_been_solved_without_them(copied, landmarks):
    bags, duplicates = copied
    ridge = KernelRidge(max_landmarks=landmarks).fit(bags)
    found = cross_validated_scores(ridge, bags, ROWS, 0, duplicates)
    marks, weights = ridge._references(), [float(w) for w in ridge.view_weights_.values()]
    views = whole_pictures(bags, "hellinger")
    phi = np.exp(-np.tensordot(weights, marks.between(views), 1))
    own = np.exp(-np.tensordot(weights, marks.between(marks.views), 1)) + 1e-9 * np.eye(len(marks))
    tags = bags.captions.toarray()
    for i, row in enumerate(ROWS):
        rest = duplicates != duplicates[row]
        gram = phi[rest].T @ phi[rest] + ridge.ridge_ * own
        centred = tags[rest] - tags[rest].mean(axis=0)
        slopes = np.linalg.lstsq(gram, phi[rest].T @ centred, rcond=None)[0]
        np.testing.assert_allclose(found[i], phi[row] @ slopes + ridge.means_, atol=1e-6)


@pytest.mark.parametrize("landmarks", [10_000, 50])
def test_duplicates_may_be_numbered_anyhow_and_asked_in_any_order(copied, landmarks):
    bags, duplicates = copied
    ridge = KernelRidge(max_landmarks=landmarks).fit(bags)
    order = np.random.default_rng(0).permutation(len(bags))
    plain = ridge.left_out_scores(bags, np.arange(len(bags)), duplicates)
    renamed = ridge.left_out_scores(bags, order, 7 * (1000 - duplicates))
    np.testing.assert_allclose(renamed, plain[order], rtol=1e-9, atol=1e-9)


def equally_far(seed):
    """Return 300 pictures as far from each other as can be, with tags drawn by chance, and the tags."""
    rng = np.random.default_rng(seed)
    tags = (rng.random((300, 8)) < 0.3).astype(int)
    tags[tags.sum(axis=1) == 0, 0] = 1
    return Bags(np.ones((300, 1), int), np.arange(301), tags=tags, pictures={"net": np.eye(300)}), tags


@pytest.mark.parametrize("seed", [0, 1])
def test_neighbours_who_are_all_as_far_do_not_tell_a_caption_by_what_they_lack(seed):
    bags, tags = equally_far(seed)
    logits, p = prior_of("neighbours", bags)[1].logits, tags.mean(axis=0)
    frequency = -(tags * np.log(p) + (1 - tags) * np.log(1 - p)).mean()
    assert 0.97 * frequency < (np.logaddexp(0, logits) - tags * logits).mean() < 1.1 * frequency


@pytest.mark.parametrize("landmarks", [10_000, 100])
def test_pictures_as_far_from_each_other_as_can_be_do_not_tell_their_captions(landmarks):
    """Left out of a mean of all, a picture's score falls where it has the tag: the truth, turned round."""
    bags, tags = equally_far(0)
    ridge = KernelRidge(max_landmarks=landmarks).fit(bags)
    found = ridge.left_out_scores(bags, np.arange(300), np.arange(300))
    away = found - ridge.means_
    assert abs((away * (tags - ridge.means_)).sum()) <= 0.15 * np.abs(away).sum() + 1e-6
    _, held_out = prior_of(KernelRidge(max_landmarks=landmarks), bags)
    logits, p = held_out.logits, tags.mean(axis=0)
    frequency = -(tags * np.log(p) + (1 - tags) * np.log(1 - p)).mean()
    assert 0.97 * frequency < (np.logaddexp(0, logits) - tags * logits).mean() < 1.1 * frequency


class Endless(Ridge):
    """A regressor that gives one score beyond all bounds."""

    worst = np.nan

    def predict(self, X):
        scores = super().predict(X)
        scores[0, 0] = self.worst
        return scores


@pytest.mark.parametrize("worst", [np.nan, -np.inf, 1e200])
def test_a_regressor_whose_scores_are_no_sound_numbers_is_refused(train, monkeypatch, worst):
    monkeypatch.setattr(Endless, "worst", worst)
    with pytest.raises(ParameterError, match="must predict numbers up to 1e\\+15, Endless gave others"):
        prior_of(Endless(), train)


def test_neighbours_leave_out_duplicates(copied):
    bags, duplicates = copied
    knn = KNN(k=5).fit(bags)
    found = cross_validated_scores(knn, bags, ROWS, 0, duplicates)
    fifths = picture_folds(len(bags), 5, groups=duplicates)
    for i, row in enumerate(ROWS):
        others = next(fold.train for fold in fifths if row in fold.test)
        assert duplicates[row] not in duplicates[others]
        alone = KNN(k=5).fit(bags[others])
        alone.scales_, alone.view_weights_ = knn.scales_, knn.view_weights_
        np.testing.assert_allclose(found[i], alone.decision_scores(bags[[row]])[0], atol=1e-12)


@pytest.mark.parametrize("context", ["kernel", "neighbours", LinearRanker(ridge=0.01)])
def test_copies_of_pictures_do_not_make_a_prior_of_shuffled_captions_look_good(train, context):
    truth = train.captions.toarray()[np.random.default_rng(0).permutation(len(train))]
    thrice = Bags.concat([train.with_tags(truth, train.tag_names)] * 3)
    logits, p = prior_of(context, thrice)[1].logits, truth.mean(axis=0)
    frequency = -(truth * np.log(p) + (1 - truth) * np.log(1 - p)).mean()
    tags = np.tile(truth, (3, 1))
    assert (np.logaddexp(0, logits) - tags * logits).mean() > 0.97 * frequency


def test_where_all_pictures_are_alike_each_is_left_out_alone():
    bags = Bags(np.ones((6, 2), int), np.arange(7), tags=[[1, 0, 0], [0, 1, 0], [0, 1, 1]] * 2)
    for context in ("kernel", "neighbours", "linear"):
        assert np.isfinite(prior_of(context, bags)[1].logits).all()
    assert [len(fold.test) for fold in grouped_folds(np.zeros(6), 3, 0)] == [2, 2, 2]


def test_a_prior_is_better_than_frequency_and_a_shuffled_one_is_not(train):
    truth = train.captions.toarray()

    def log_loss(bags):
        _, held_out = prior_of("kernel", bags)
        logits, tags = held_out.logits, bags.captions.toarray()
        return (np.logaddexp(0, logits) - tags * logits).mean()

    p = truth.mean(axis=0)
    frequency = -(truth * np.log(p) + (1 - truth) * np.log(1 - p)).mean()
    shuffled = train.with_tags(truth[np.random.default_rng(0).permutation(len(truth))], train.tag_names)
    assert log_loss(train) < 0.8 * frequency
    assert 0.97 * frequency < log_loss(shuffled) < 1.1 * frequency


def test_whole_picture_embeddings_reach_a_regressor(train):
    pictures = {"net": train.captions.toarray().astype(float)}
    told = Bags(train.views, train.offsets, train.captions, train.tag_names, pictures=pictures)
    scores = Regressor(Ridge(alpha=1e-3)).fit(told).decision_scores(told)
    assert np.abs(scores - pictures["net"]).max() < 0.1


def test_names_learners_regressors_and_lists_are_experts():
    kinds = [type(one) for one in experts_of(["kernel", "neighbours", "linear", KNN(k=3), Ridge()], 5)]
    assert kinds == [KernelRidge, KNN, LinearRanker, KNN, Regressor]
    assert experts_of("kernel", 5)[0].random_state == 5
    assert experts_of(KNN(k=3), 5)[0].k == 3


@pytest.mark.parametrize("wrong", ["kernels", 3, [], ["kernel", None], Ridge])
def test_what_is_no_expert_is_refused_in_one_line(wrong):
    with pytest.raises(ParameterError, match="context must") as caught:
        experts_of(wrong, 0)
    assert "\n" not in str(caught.value)


def test_a_regressor_of_one_output_is_refused():
    class One(Ridge):
        def predict(self, X):
            return super().predict(X)[:, 0]

    bags = Bags(np.eye(6, dtype=int), np.arange(7), tags=np.eye(6, dtype=int)[:, :3])
    with pytest.raises(ParameterError, match="MultiOutputRegressor"):
        Regressor(One()).fit(bags).decision_scores(bags)
