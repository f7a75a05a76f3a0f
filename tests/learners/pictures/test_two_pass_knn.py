"""TwoPassKNN: the nearest pictures of every tag, then their votes."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tagmix import Bags
from tagmix.errors import ParameterError
from tagmix.learners.pictures.knn import KNN
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN, semantic_neighbours
from tagmix.learners.whole_pictures import whole_pictures


def brute_force(model, train, test):
    """The two passes as the paper states them, a picture and a tag at a time."""
    x, new = (whole_pictures(bags, "hellinger")["words"].toarray() for bags in (train, test))
    tags = train.tags.toarray()
    out = np.zeros((len(test), tags.shape[1]))
    for i, one in enumerate(new):
        apart = ((one - x) ** 2).sum(axis=1) / 2 / float(model.scales_["words"])
        group = set()
        for tag in range(tags.shape[1]):
            own = np.flatnonzero(tags[:, tag])
            group |= set(own[np.argsort(apart[own])][: model.k_].tolist())
        for j in group:
            out[i] += np.exp(-float(model.view_weights_["words"]) * apart[j]) * tags[j]
        out[i] /= sum(np.exp(-float(model.view_weights_["words"]) * apart[j]) for j in group)
    return out


def test_four_pictures_vote_as_computed_by_hand():
    tags = [[1, 0], [1, 0], [0, 1], [0, 1]]
    bags = Bags(np.array([[4, 0], [3, 1], [1, 3], [0, 4]]), np.arange(5), tags)
    model = TwoPassKNN(k=1, distance="l1").fit(bags)
    unit = float(model.view_weights_["words"]) / float(model.scales_["words"])
    # The nearest of the first tag is at .125, that of the second (1, 3) at 1.375.
    near, far = np.exp(-unit * np.array([0.125, 1.375]))
    got = model.decision_scores(Bags(np.array([[15, 1]]), [0, 1]))[0]
    assert got == pytest.approx([near / (near + far), far / (near + far)])


def test_it_agrees_with_the_two_passes_written_out(train, test):
    model = TwoPassKNN(k=(2, 3)).fit(train)
    np.testing.assert_allclose(model.decision_scores(test), brute_force(model, train, test), atol=1e-9)


def test_a_picture_of_several_tags_votes_once():
    tags = csr_array(np.array([[1, 1], [1, 1]]))
    assert semantic_neighbours(np.array([[0.1, 0.2]]), tags, 1).tolist() == [[True, False]]


def test_ties_all_take_part():
    tags = csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    assert semantic_neighbours(np.array([[0.1, 0.1, 0.5]]), tags, 1).all()


def test_a_tag_without_pictures_scores_nothing(train, test):
    wide = np.hstack([train.tags.toarray(), np.zeros((len(train), 1), dtype=int)])
    scores = TwoPassKNN().fit(train.with_tags(wide)).decision_scores(test)
    assert not scores[:, -1].any()


def test_with_as_many_neighbours_as_pictures_it_is_plain_voting(train, test):
    one, other = TwoPassKNN(k=500).fit(train), KNN(k=500).fit(train)
    assert one.view_weights_ == other.view_weights_
    np.testing.assert_allclose(one.decision_scores(test), other.decision_scores(test), atol=1e-12)


def test_every_tag_has_neighbours_however_rare(train, test):
    rare = np.hstack([train.tags.toarray(), np.eye(len(train), 1, dtype=int)])
    assert np.all(TwoPassKNN(k=1).fit(train.with_tags(rare)).decision_scores(test)[:, -1] > 0)
    assert not np.all(KNN(k=3).fit(train.with_tags(rare)).decision_scores(test)[:, -1] > 0)


def test_it_finds_planted_tags_and_none_among_shuffled_ones(train, test):
    order = np.random.default_rng(0).permutation(len(train))
    control = TwoPassKNN().fit(train.with_tags(train.tags[order], train.tag_names))
    assert TwoPassKNN().fit(train).score(test) > control.score(test) + 0.15


def test_the_order_of_training_pictures_changes_nothing(train, test):
    order = np.random.default_rng(1).permutation(len(train))
    one, other = TwoPassKNN().fit(train), TwoPassKNN().fit(train[order])
    np.testing.assert_allclose(one.decision_scores(test), other.decision_scores(test), atol=1e-9)


def test_scikit_learn_clones_and_cross_validates_it(train):
    assert clone(TwoPassKNN(k=3)).get_params() == TwoPassKNN(k=3).get_params()
    assert np.all(cross_val_score(TwoPassKNN(), train, cv=3, error_score="raise") > 0.3)


def test_settings_that_make_no_sense_are_refused_when_fitted(train):
    with pytest.raises(ParameterError, match="k must be"):
        TwoPassKNN(k="many").fit(train)
    with pytest.raises(ParameterError, match="weights must be"):
        TwoPassKNN(weights=None).fit(train)
