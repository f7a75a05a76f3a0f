"""KernelRidge: closed-form leave-one-out, exact and by landmarks."""

import pickle

import numpy as np
import pytest
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tagmix import Bags, top_k_accuracy
from tagmix.errors import BagsError, ParameterError
from tagmix.learners.pictures.distances import reference_set_of
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.ridge_fits import Tagging, by_landmarks, exact, left_out
from tagmix.learners.whole_pictures import whole_pictures


@pytest.fixture(scope="module")
def fitted_ridge(train):
    return KernelRidge().fit(train)


def kernels(model, train, test):
    reference = model._references()
    weights = np.array([float(a) for a in model.view_weights_.values()])
    both = (reference.between(whole_pictures(bags, "hellinger")) for bags in (train, test))
    return [np.exp(-np.tensordot(weights, apart, axes=1)) for apart in both]


def random_kernel(n, seed):
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=2))


def test_two_pictures_are_regressed_as_computed_by_hand():
    # G = [[2, .5], [.5, 2]], G⁻¹ = [[2, −.5], [−.5, 2]]/3.75; without itself, the first is .5/2·3.
    alpha, spared, _ = left_out(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [3.0]]), 1.0)
    assert alpha.ravel() == pytest.approx([0.5 / 3.75, 5.5 / 3.75])
    assert spared.ravel() == pytest.approx([0.75, 0.25])


def test_closed_form_leave_one_out_is_really_leaving_out():
    kernel, y = random_kernel(15, 0), np.random.default_rng(1).normal(size=(15, 4))
    _, spared, _ = left_out(kernel, y, 0.3)
    for i in range(15):
        rest = np.arange(15) != i
        alpha = np.linalg.solve(kernel[np.ix_(rest, rest)] + 0.3 * np.eye(14), y[rest])
        np.testing.assert_allclose(spared[i], kernel[i, rest] @ alpha, atol=1e-10)


def test_it_agrees_with_scikit_learns_kernel_ridge(fitted_ridge, train, test):
    own, new = kernels(fitted_ridge, train, test)
    tags = train.tags.toarray().astype(float)
    peer = kernel_ridge.KernelRidge(alpha=fitted_ridge.ridge_, kernel="precomputed")
    peer.fit(own, tags - tags.mean(axis=0))
    expected = peer.predict(new) + tags.mean(axis=0)
    np.testing.assert_allclose(fitted_ridge.decision_scores(test), expected, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_landmarks_side_by_side_and_in_blocks_give_the_same_scores_however_far_from_zero(train, test, offset):
    def embedded(bags):
        projection = np.random.default_rng(0).normal(size=(bags.views["words"].shape[1], 8))
        return Bags({"net": bags.views["words"] @ projection / 10 + offset}, bags.offsets, bags.tags)

    few, new = embedded(train[:60]), embedded(test)
    whole, blocks = (KernelRidge(max_search=40, memory_mb=mb).fit(few) for mb in (512.0, 1e-3))
    assert whole._side_by_side is not None
    assert blocks._side_by_side is None
    np.testing.assert_allclose(whole.decision_scores(new), blocks.decision_scores(new), atol=1e-6)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(whole)).decision_scores(new), whole.decision_scores(new)
    )


def test_its_leave_one_out_accuracy_is_that_of_the_settings_it_kept(fitted_ridge, train):
    own, _ = kernels(fitted_ridge, train, train)
    tags = train.tags.toarray()
    _, spared, _ = left_out(own, tags - tags.mean(axis=0), fitted_ridge.ridge_)
    expected = top_k_accuracy(tags, spared + tags.mean(axis=0), 5)
    assert fitted_ridge.loo_accuracy_ == pytest.approx(expected)


def test_landmarks_equal_to_all_pictures_give_the_exact_answer(train):
    reference = reference_set_of(whole_pictures(train, "hellinger"), "hellinger", 2e5)
    assert reference.rows_at_once() < len(train)
    arguments = reference, Tagging(train.captions), np.arange(len(train)), np.array([1.5]), [0.5]
    whole, marked = exact(*arguments), by_landmarks(*arguments)
    np.testing.assert_allclose(marked[0], whole[0], atol=1e-6)
    assert marked[1:3] == pytest.approx(whole[1:3])
    np.testing.assert_allclose(marked.leverages, whole.leverages, atol=1e-6)


def test_leave_one_out_by_landmarks_is_really_leaving_out_with_the_landmarks_held(train):
    bags, ridge = train[:30], 0.4
    reference = reference_set_of(whole_pictures(bags, "hellinger"), "hellinger", 1e9)
    marks = np.arange(0, 30, 3)
    kernel = np.exp(-reference.between(reference.views)[0])
    phi = np.linalg.solve(np.linalg.cholesky(kernel[np.ix_(marks, marks)]), kernel[marks])
    tags = bags.tags.toarray()
    spared = np.empty(tags.shape)
    for i in range(30):
        rest = np.arange(30) != i
        gram = phi[:, rest] @ phi[:, rest].T + ridge * np.eye(len(marks))
        slopes = np.linalg.solve(gram, phi[:, rest] @ (tags - tags.mean(axis=0))[rest])
        spared[i] = phi[:, i] @ slopes + tags.mean(axis=0)
    got = by_landmarks(reference, Tagging(bags.captions), marks, np.ones(1), [ridge])[2]
    assert got == pytest.approx(top_k_accuracy(tags, spared, 5))


def test_half_of_the_pictures_as_landmarks_lose_little(fitted_ridge, train, test):
    some = KernelRidge(max_landmarks=60).fit(train)
    assert some.coefficients_.shape == (60, train.n_tags)
    assert some.score(test) > fitted_ridge.score(test) - 0.05


def test_duplicates_among_the_landmarks_do_no_harm(train, test):
    duplicates = Bags.concat([train, train])
    scores = KernelRidge(max_landmarks=200, max_search=40).fit(duplicates).decision_scores(test)
    assert np.abs(scores).max() < 10


def test_it_finds_planted_tags_and_none_among_shuffled_ones(fitted_ridge, train, test):
    order = np.random.default_rng(0).permutation(len(train))
    control = KernelRidge().fit(train.with_tags(train.tags[order], train.tag_names))
    assert fitted_ridge.score(test) > control.score(test) + 0.15


def test_a_view_of_noise_is_turned_down(sampled):
    bags = sampled(240, overlap=0.8).bags
    train, test = bags[:200], bags[200:]

    def noisy(bags, seed):
        noise = np.random.default_rng(seed).poisson(1.0, (bags.n_regions, 40))
        return Bags({"words": bags.views["words"], "noise": noise}, bags.offsets, bags.tags, bags.tag_names)

    model = KernelRidge().fit(noisy(train, 0))
    assert model.view_weights_["words"] > 1.9 * model.view_weights_["noise"]
    equal = KernelRidge(weights="equal").fit(noisy(train, 0))
    assert equal.view_weights_["words"] == equal.view_weights_["noise"]
    assert model.loo_accuracy_ > equal.loo_accuracy_
    assert model.score(noisy(test, 1)) > 0.3


def test_the_order_of_training_pictures_changes_nothing(fitted_ridge, train, test):
    order = np.random.default_rng(1).permutation(len(train))
    other = KernelRidge().fit(train[order])
    np.testing.assert_allclose(other.decision_scores(test), fitted_ridge.decision_scores(test), atol=1e-6)


def test_the_seed_chooses_the_landmarks_and_the_same_seed_the_same(train, test):
    first, again, other = (
        KernelRidge(max_landmarks=30, max_search=40, random_state=seed).fit(train).decision_scores(test)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_scikit_learn_clones_and_cross_validates_it(train):
    assert clone(KernelRidge(max_search=9)).get_params() == KernelRidge(max_search=9).get_params()
    assert np.all(cross_val_score(KernelRidge(), train, cv=3, error_score="raise") > 0.3)


@pytest.mark.parametrize("setting", ["max_landmarks", "max_search", "weights", "distance", "memory_mb"])
def test_settings_that_make_no_sense_are_refused_when_fitted(train, setting):
    with pytest.raises(ParameterError, match=setting):
        KernelRidge(**{setting: 0}).fit(train)


@pytest.fixture(scope="module")
def uneven(train):
    """Pictures whose tags are of very different frequency, their distances and half of them as landmarks."""
    kept = np.random.default_rng(2).random(train.tags.shape) < np.geomspace(1.0, 0.1, train.n_tags)
    bags = train.with_tags(train.tags.toarray() * kept, train.tag_names)
    reference = reference_set_of(whole_pictures(bags, "hellinger"), "hellinger", 1e9)
    return bags, reference, np.arange(0, len(bags), 2)


@pytest.mark.parametrize("fit", [exact, by_landmarks])
def test_of_several_ridges_the_best_is_kept_with_its_own_leverages(uneven, fit):
    bags, reference, marks = uneven
    ridges = [1e-4, 0.5, 1e3]
    alone = [fit(reference, Tagging(bags.captions), marks, np.ones(1), [ridge]) for ridge in ridges]
    best = max(alone, key=lambda one: one.accuracy)
    assert len({one.accuracy for one in alone}) == 3
    assert best.ridge == 0.5
    together = fit(reference, Tagging(bags.captions), marks, np.ones(1), ridges)
    assert together[1:3] == best[1:3]
    np.testing.assert_array_equal(together.coefficients, best.coefficients)
    np.testing.assert_array_equal(together.leverages, best.leverages)


def test_a_ridge_is_judged_by_scores_that_know_how_frequent_tags_are(uneven):
    bags, reference, _ = uneven
    tags = bags.tags.toarray()
    centred, everyone = tags - tags.mean(axis=0), np.arange(len(bags))
    spared = left_out(np.exp(-reference.between(reference.views)[0]), centred, 2.0)[1]
    expected = top_k_accuracy(tags, spared + tags.mean(axis=0), 5)
    assert abs(expected - top_k_accuracy(tags, spared, 5)) > 0.01
    assert exact(reference, Tagging(bags.captions), everyone, np.ones(1), [2.0]).accuracy == pytest.approx(
        expected
    )


def test_the_ridge_that_was_searched_is_kept_or_halved_or_doubled(train, monkeypatch):
    monkeypatch.setattr(KernelRidge, "_search", lambda *how: (np.ones(1), 40.0))
    assert KernelRidge().fit(train).ridge_ in (20.0, 40.0, 80.0)


@pytest.mark.parametrize("landmarks", [30, 10_000])
def test_some_pictures_left_out_score_what_they_do_among_all(train, landmarks):
    ridge, alone = KernelRidge(max_landmarks=landmarks, max_search=40).fit(train), np.arange(len(train))
    rows = np.array([3, 50, 7])
    all_of_them = ridge.left_out_scores(train, alone, alone)
    np.testing.assert_allclose(ridge.left_out_scores(train, rows, alone), all_of_them[rows], atol=1e-9)
    assert np.abs(all_of_them - ridge.decision_scores(train)).max() > 1e-3


def test_embeddings_lost_to_rounding_are_refused_in_one_line():
    rng = np.random.default_rng(0)
    far = rng.normal(size=(400, 6)) + 1e12
    tags = rng.random((100, 4)) < 0.4
    tags[np.arange(100), rng.integers(0, 4, 100)] = True
    bags = Bags({"a": far}, np.arange(101) * 4, tags)
    with pytest.raises(BagsError, match="subtract their mean"):
        KernelRidge().fit(bags)


def test_the_unit_of_a_view_changes_nothing():
    rng = np.random.default_rng(0)
    tags = rng.random((60, 4)) < 0.4
    tags[np.arange(60), rng.integers(0, 4, 60)] = True
    rows = np.repeat(rng.normal(size=(60, 5)) + 2 * tags @ rng.normal(size=(4, 5)), 2, axis=0)
    scores = [
        KernelRidge().fit(bags[:40]).decision_scores(bags[40:])
        for bags in (Bags({"map": unit * rows}, np.arange(61) * 2, tags) for unit in (1.0, 2.0**-30))
    ]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6)
