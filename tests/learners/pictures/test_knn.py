"""KNN: nearest pictures vote, and the pictures and distances that it shares with its kin."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import additive_chi2_kernel, manhattan_distances
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from tagmix import Bags, top_k_accuracy
from tagmix.errors import BagsError, ParameterError
from tagmix.learners.pictures.distances import FEW, ReferenceSet, distances, reference_set_of
from tagmix.learners.pictures.knn import KNN
from tagmix.learners.whole_pictures import whole_pictures

SHAPES = ["hellinger", "chi2", "l1"]


def histograms(n, seed, width=9):
    counts = np.random.default_rng(seed).poisson(1.0, (n, width)).astype(float) + np.eye(n, width)
    return counts / counts.sum(axis=1, keepdims=True)


def shuffled(bags, seed=0):
    return bags.with_tags(bags.tags[np.random.default_rng(seed).permutation(len(bags))], bags.tag_names)


def two_views(bags, seed=0):
    """The words, and beside them a view of noise."""
    noise = np.random.default_rng(seed).poisson(1.0, (bags.n_regions, 40))
    views = {"words": bags.views["words"], "noise": noise}
    return Bags(views, bags.offsets, bags.tags, bags.tag_names)


@pytest.mark.parametrize(("pictures", "kept"), [(1, 1.0), (FEW, 1.0), (FEW + 1, 1.0), (30, 0.01)])
def test_hellinger_is_one_minus_the_overlap_of_roots(pictures, kept):
    """For few pictures, for many, and where most words are nowhere, which are three ways to multiply."""
    p, q = histograms(pictures, 0), histograms(6, 1)
    p = np.where(np.random.default_rng(2).random(p.shape) < kept, p, 0.0)
    p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    got = distances(csr_array(np.sqrt(p)), csr_array(np.sqrt(q)), "hellinger")
    by_hand = (p.sum(axis=1)[:, None] + 1) / 2 - np.sqrt(p[:, None] * q[None]).sum(axis=2)
    np.testing.assert_allclose(got, by_hand, atol=1e-12)


def test_chi2_and_l1_are_those_of_scikit_learn():
    p, q = histograms(4, 0), histograms(6, 1)
    sparse = csr_array(p), csr_array(q)
    np.testing.assert_allclose(distances(*sparse, "chi2"), -additive_chi2_kernel(p, q), atol=1e-12)
    np.testing.assert_allclose(distances(*sparse, "l1"), manhattan_distances(p, q), atol=1e-12)


@pytest.mark.parametrize("distance", SHAPES)
def test_a_picture_is_as_far_from_itself_as_nothing_and_from_a_stranger_as_can_be(distance):
    bags = Bags(np.array([[3, 0], [0, 5], [1, 0]]), [0, 1, 2, 3])
    views = whole_pictures(bags, distance)["words"]
    got = distances(views, views, distance)
    assert got[0, 2] == got[0, 0] == 0.0
    assert got[0, 1] == (1.0 if distance == "hellinger" else 2.0)


def test_regions_add_up_embeddings_are_averaged_and_pictures_enter_as_they_are():
    views = {"words": np.array([[1, 0], [0, 3], [2, 2]]), "net": np.array([[1.0], [3.0], [5.0]])}
    bags = Bags(views, [0, 2, 3, 3], pictures={"net": np.array([[7.0], [8.0], [9.0]])})
    got = whole_pictures(bags, "l1")
    assert got["words"].toarray().tolist() == [[0.25, 0.75], [0.5, 0.5], [0.0, 0.0]]
    assert got["net"].ravel().tolist() == [2.0, 5.0, 0.0]
    assert got["pictures/net"].ravel().tolist() == [7.0, 8.0, 9.0]


@pytest.mark.parametrize("distance", SHAPES)
def test_blocks_and_slabs_change_no_distance(train, distance):
    views = whole_pictures(train, distance)
    whole = reference_set_of(views, distance, 2.0**30)
    tiny = ReferenceSet(views, whole.scales, distance, 20_000.0)
    assert tiny.rows_at_once() < 10
    rows = np.concatenate([block[0] for _, block in tiny.blocks(views)])
    np.testing.assert_allclose(rows, whole.between(views)[0], atol=1e-11)


def test_scales_are_the_medians_between_different_pictures(train):
    views = whole_pictures(train, "hellinger")
    words = views["words"].toarray()
    apart = ((words[:, None] - words[None]) ** 2).sum(axis=2) / 2
    median = np.median(apart[np.triu_indices(len(words), 1)])
    assert reference_set_of(views, "hellinger", 1e9).scales[0] == pytest.approx(median)


def test_three_neighbours_vote_as_computed_by_hand():
    bags = Bags(np.array([[4, 0], [3, 1], [1, 3], [0, 4]]), np.arange(5), [[1, 0], [1, 1], [0, 1], [0, 1]])
    knn = KNN(k=2, distance="l1").fit(bags)
    a, scale = float(knn.view_weights_["words"]), float(knn.scales_["words"])
    new = Bags(np.array([[15, 1]]), [0, 1])
    near, far = np.exp(-a * np.array([0.125, 0.375]) / scale)
    assert knn.decision_scores(new)[0] == pytest.approx([1.0, far / (near + far)])


def test_it_agrees_with_scikit_learns_neighbours(train, test):
    knn = KNN(k=7).fit(train)
    a, scale = float(knn.view_weights_["words"]), float(knn.scales_["words"])
    peer = KNeighborsRegressor(7, weights=lambda d: np.exp(-a * d**2 / 2 / scale), algorithm="brute")
    x, new = (whole_pictures(bags, "hellinger")["words"].toarray() for bags in (train, test))
    peer.fit(x, train.tags.toarray())
    np.testing.assert_allclose(knn.decision_scores(test), peer.predict(new), atol=1e-9)


def test_its_leave_one_out_accuracy_is_what_leaving_out_gives(sampled):
    bags = sampled(40).bags
    knn = KNN(k=(3, 9)).fit(bags)
    scores = []
    for i in range(len(bags)):
        rest = knn._references().views["words"][np.arange(len(bags)) != i]
        one = knn._references().views["words"][[i]]
        apart = distances(one, rest, "hellinger")[0] / float(knn.scales_["words"])
        best = np.argsort(apart)[: knn.k_]
        w = np.exp(-float(knn.view_weights_["words"]) * apart[best])
        others = np.delete(bags.tags.toarray(), i, axis=0)
        scores.append(w @ others[best] / w.sum())
    assert knn.loo_accuracy_ == pytest.approx(top_k_accuracy(bags.tags, np.array(scores), 5))


def test_it_finds_planted_tags_and_none_among_shuffled_ones(train, test):
    assert KNN().fit(train).score(test) > KNN().fit(shuffled(train)).score(test) + 0.15


def test_learnt_weights_turn_a_view_of_noise_down(train, test):
    noisy, new = two_views(train), two_views(test, seed=1)
    learnt, equal = KNN().fit(noisy), KNN(weights="equal").fit(noisy)
    assert learnt.view_weights_["words"] > 1.9 * learnt.view_weights_["noise"]
    assert equal.view_weights_["words"] == equal.view_weights_["noise"]
    assert learnt.loo_accuracy_ >= equal.loo_accuracy_
    assert learnt.score(new) > 0.3


def test_the_order_of_training_pictures_changes_nothing(train, test):
    order = np.random.default_rng(1).permutation(len(train))
    one, other = KNN().fit(train), KNN().fit(train[order])
    np.testing.assert_allclose(one.decision_scores(test), other.decision_scores(test), atol=1e-9)


def test_twice_the_words_are_the_same_picture(train, test):
    double = Bags(test.views["words"].toarray() * 2, test.offsets)
    knn = KNN().fit(train)
    np.testing.assert_allclose(knn.decision_scores(double), knn.decision_scores(test), atol=1e-9)


def test_embeddings_and_views_of_whole_pictures_are_read(train, test):
    def flat(bags, **pictures):
        return Bags({"flat": np.ones((bags.n_regions, 2))}, bags.offsets, bags.tags, pictures=pictures)

    def shown(bags):
        return flat(bags, truth=bags.tags.toarray().astype(float))

    assert KNN().fit(shown(train)).score(shown(test)) > KNN().fit(flat(train)).score(flat(test)) + 0.2


def test_scikit_learn_clones_it_cross_validates_it_and_searches(train):
    assert clone(KNN(k=(3, 5))).get_params() == KNN(k=(3, 5)).get_params()
    assert np.all(cross_val_score(KNN(), train, cv=3, error_score="raise") > 0.3)
    assert GridSearchCV(KNN(), {"distance": ["l1", "hellinger"]}, cv=2).fit(train).best_score_ > 0.3


@pytest.mark.parametrize(
    ("setting", "value"),
    [("k", 0), ("k", ()), ("k", 2.5), ("weights", "no"), ("distance", "l2"), ("memory_mb", 0)],
)
def test_settings_that_make_no_sense_are_refused_when_fitted(train, setting, value):
    with pytest.raises(ParameterError, match=setting):
        KNN(**{setting: value}).fit(train)


def test_bags_of_another_kind_are_refused(train, test):
    knn = KNN().fit(train)
    with pytest.raises(BagsError, match="describe them"):
        knn.decision_scores(Bags(test.views["words"].toarray().astype(float), test.offsets))
    with pytest.raises(BagsError, match="at least 2 pictures"):
        KNN().fit(train[:1])
