"""TagProp: likelihood and its slope, neighbourhoods, sigmoids."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tagmix import Bags
from tagmix.errors import ParameterError
from tagmix.learners.pictures.distances import reference_set_of
from tagmix.learners.pictures.tagprop import (
    EPSILON,
    Neighbours,
    TagProp,
    fit_sigmoids,
    log_likelihood,
    neighbours,
    shares_of_tags,
)
from tagmix.learners.whole_pictures import whole_pictures


def noisy(bags, seed):
    noise = np.random.default_rng(seed).poisson(1.0, (bags.n_regions, 40))
    return Bags({"words": bags.views["words"], "noise": noise}, bags.offsets, bags.tags, bags.tag_names)


def reference(bags):
    return reference_set_of(whole_pictures(bags, "hellinger"), "hellinger", 2.0**28)


@pytest.fixture(scope="module")
def case(sampled):
    bags = noisy(sampled(12, n_tags=4).bags, 0)
    near = neighbours(reference(bags), 5)
    lines = np.array([3.0, 5.0, 1.0, 4.0]), np.array([-1.0, -2.0, 0.0, -1.5])
    return near, csr_array(bags.captions, dtype=np.float64), lines


@pytest.mark.parametrize("with_sigmoids", [False, True])
def test_the_likelihood_is_the_papers_written_out(case, with_sigmoids):
    near, tags, lines = case
    a, y, total = np.array([2.0, 0.5]), case[1].toarray(), 0.0
    for i in range(len(y)):
        weight = np.exp(-(a[0] * near.apart[0, i] + a[1] * near.apart[1, i]))
        for tag in range(y.shape[1]):
            x = sum(w * y[j, tag] for w, j in zip(weight, near.indices[i], strict=True)) / weight.sum()
            p = (1 - EPSILON) * x + EPSILON * (1 - x)
            if with_sigmoids:
                p = 1 / (1 + np.exp(-lines[0][tag] * x - lines[1][tag]))
            # Each class weighs 1 in total.
            total += np.log(p) / y.sum() if y[i, tag] else np.log(1 - p) / (1 - y).sum()
    assert log_likelihood(near, tags, a, lines if with_sigmoids else None)[0] == pytest.approx(total)


@pytest.mark.parametrize("with_sigmoids", [False, True])
def test_its_slope_is_that_of_finite_differences(case, with_sigmoids):
    near, tags, lines = case
    lines = lines if with_sigmoids else None
    for a in (np.array([2.0, 0.5]), np.array([0.1, 3.0])):
        numeric = approx_fprime(a, lambda b: log_likelihood(near, tags, b, lines)[0], 1e-6)
        np.testing.assert_allclose(log_likelihood(near, tags, a, lines)[1], numeric, atol=1e-4, rtol=1e-4)


def test_two_neighbours_share_as_computed_by_hand():
    near = Neighbours(
        np.array([[1, 2], [0, 2], [0, 1]]), np.array([[[0.0, np.log(3)], [0.0, 0.0], [0.0, 0.0]]])
    )
    tags = csr_array(np.array([[1.0, 0], [1, 0], [0, 1]]))
    shares = shares_of_tags(near, tags, np.ones(1)).toarray()
    np.testing.assert_allclose(shares, [[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]])


def test_neighbours_of_one_view_are_the_nearest_others(train):
    near = neighbours(reference(train), 7)
    words = whole_pictures(train, "hellinger")["words"].toarray()
    apart = ((words[:, None] - words[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    expected = np.sort(apart, axis=1)[:, :7]
    np.testing.assert_allclose(np.take_along_axis(apart, near.indices, axis=1), expected, atol=1e-9)


def test_neighbours_of_two_views_hold_the_nearest_by_each_and_never_the_picture_itself(train):
    both = reference(noisy(train, 0))
    near = neighbours(both, 9)
    nearest = both.others(np.arange(len(train))).argmin(axis=2)
    for i, who in enumerate(near.indices):
        assert {*nearest[:, i]} <= {*who}
        assert i not in who
        assert len(set(who)) == 9
    assert neighbours(both, len(train) - 1).apart.max() < np.inf


def test_sigmoids_maximise_their_shrunk_likelihood():
    rng = np.random.default_rng(0)
    shares = rng.uniform(size=(60, 3)) * (rng.uniform(size=(60, 3)) < 0.7)
    tags = (rng.uniform(size=(60, 3)) < 0.1 + 0.8 * shares).astype(float)
    strength = 0.5
    slopes, biases = fit_sigmoids(csr_array(shares), csr_array(tags), strength)
    negative = tags.sum() / (tags.size - tags.sum())

    def loss(line, x, y, pull, centre):
        logit = line[0] * x + line[1]
        fit = np.where(y > 0, -np.logaddexp(0, -logit), -negative * np.logaddexp(0, logit)).sum()
        return -fit + pull / 2 * (((line - centre) / np.maximum(np.abs(centre), 1)) ** 2).sum()

    start = np.array([4.0, -1.0])
    common = minimize(loss, start, (shares.ravel(), tags.ravel(), 1e-3, start), tol=1e-10).x
    for tag in range(3):
        line = minimize(loss, common, (shares[:, tag], tags[:, tag], strength, common), tol=1e-10).x
        assert [slopes[tag], biases[tag]] == pytest.approx(line, abs=1e-3)


def test_tags_that_nobody_has_keep_finite_sigmoids(train, test):
    wide = np.hstack([train.tags.toarray(), np.zeros((len(train), 1), dtype=int)])
    scores = TagProp().fit(train.with_tags(wide)).decision_scores(test)
    assert np.all(np.isfinite(scores))
    assert scores[:, -1].max() < scores[:, :-1].max()


def test_learning_raises_the_likelihood(train):
    bags = noisy(train, 0)
    model = TagProp(n_neighbors=60, sigmoid=False).fit(bags)
    near = neighbours(reference(bags), 60)
    equal = log_likelihood(near, csr_array(bags.captions, dtype=np.float64), np.full(2, 4.0), None)[0]
    assert model.objective_ > equal


def test_a_view_of_noise_is_turned_down(train):
    model = TagProp(n_neighbors=60).fit(noisy(train, 0))
    assert model.view_weights_["words"] > 2 * model.view_weights_["noise"]


@pytest.mark.parametrize("sigmoid", [False, True])
def test_it_finds_planted_tags_and_none_among_shuffled_ones(train, test, sigmoid):
    order = np.random.default_rng(0).permutation(len(train))
    control = TagProp(sigmoid=sigmoid).fit(train.with_tags(train.tags[order], train.tag_names))
    assert TagProp(sigmoid=sigmoid).fit(train).score(test) > control.score(test) + 0.15


def test_the_order_of_training_pictures_changes_nothing(train, test):
    order = np.random.default_rng(1).permutation(len(train))
    one, other = TagProp(n_neighbors=40).fit(train), TagProp(n_neighbors=40).fit(train[order])
    np.testing.assert_allclose(one.decision_scores(test), other.decision_scores(test), atol=1e-4)


def test_scikit_learn_clones_and_cross_validates_it(train):
    assert clone(TagProp(n_neighbors=9)).get_params() == TagProp(n_neighbors=9).get_params()
    assert np.all(cross_val_score(TagProp(), train, cv=3, error_score="raise") > 0.3)


@pytest.mark.parametrize("setting", ["n_neighbors", "sigmoid", "shrinkage", "max_iter", "distance"])
def test_settings_that_make_no_sense_are_refused_when_fitted(train, setting):
    with pytest.raises(ParameterError, match=setting):
        TagProp(**{setting: 0}).fit(train)
