"""A leak is caught wherever it is, and honest procedures are not suspected."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tagmix import EMM, ParameterError
from tagmix.evaluation.leaks import leaks, learning
from tagmix.evaluation.selection import choose
from tests.evaluation.conftest import Means, pictures

TEST = np.arange(0, 60, 3)
GRID = {"trust": [-1.0, 1.0]}


class Dice(BaseEstimator):
    def fit(self, bags, y=None):
        self.luck_ = np.random.default_rng().random(3)
        return self

    def decision_scores(self, bags):
        return np.zeros((len(bags), 3))


def test_an_honest_learner_does_not_leak(album, means):
    assert not leaks(learning(means), album, TEST)
    assert not leaks(learning(means, GRID), album, TEST)


def test_the_model_itself_does_not_leak():
    emm = EMM(calibration_folds=2, random_state=0)
    assert not leaks(learning(emm), pictures(40), np.arange(10), shuffles=2)


def test_a_learner_that_reads_the_captions_it_is_asked_for_is_caught(album, peeking):
    assert leaks(learning(peeking), album, TEST)


def test_learning_from_all_pictures_is_caught(album):
    assert leaks(lambda bags, train, test: Means().fit(bags).means_, album, TEST)


def test_learning_from_one_test_picture_among_many_is_caught(album):
    def careless(bags, train, test):
        return Means().fit(bags[np.append(train, test[0])]).means_

    assert leaks(careless, album, TEST)


def test_tag_frequencies_of_all_pictures_are_caught_though_dealing_captions_out_would_not_change_them(album):
    assert leaks(lambda bags, train, test: bags.captions.sum(axis=0), album, TEST)


def test_a_setting_chosen_on_the_test_part_is_caught(album):
    def tuned_on_the_test(bags, train, test):
        return choose(Means(), {"trust": [-1.0, 1.0]}, bags, [(train, test)], "ndcg_at_k").value

    assert leaks(tuned_on_the_test, album, TEST)


def test_a_leak_inside_of_dicts_and_lists_is_caught(album):
    def nested(bags, train, test):
        return {"honest": 1, "list": [0.0, {"leak": bags[test].captions.toarray()}]}

    assert leaks(nested, album, TEST)


@pytest.mark.parametrize("kept", ["sparse", "tuple", "dict"])
def test_a_leak_into_what_the_learner_keeps_is_caught_though_its_scores_do_not_show_it(album, kept):
    class Hoarder(Means):
        def fit(self, bags, y=None):
            tags = album_now[0].captions
            self.kept_ = {"sparse": tags, "tuple": (1, tags.toarray()), "dict": {"x": tags}}[kept]
            return super().fit(bags)

    album_now = [album]

    def procedure(bags, train, test):
        album_now[0] = bags
        return learning(Hoarder())(bags, train, test)

    assert leaks(procedure, album, TEST)


def test_the_pictures_of_the_test_part_may_be_used_as_long_as_their_captions_are_not(album):
    assert not leaks(lambda bags, train, test: bags.views["words"].sum(axis=0), album, TEST)


def test_captions_of_the_training_part_stay_where_they_are(album):
    def training_captions(bags, train, test):
        return bags[train].captions.toarray()

    assert not leaks(training_captions, album, TEST)
    assert leaks(lambda bags, train, test: bags[test].captions.toarray(), album, TEST)


def test_a_procedure_that_throws_dice_cannot_be_judged(album):
    with pytest.raises(ParameterError, match="learn the same from the same pictures, got two results: fix"):
        leaks(learning(Dice()), album, TEST)


def test_captions_that_are_all_alike_cannot_show_a_leak(album):
    alike = album.with_tags(np.ones((len(album), 2)))
    with pytest.raises(ParameterError, match="different captions, got equal ones"):
        leaks(lambda bags, train, test: 0, alike, TEST)
