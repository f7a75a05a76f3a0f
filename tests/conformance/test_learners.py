"""Every learner has the same methods, shapes and guarantees."""

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

import tagmix
from tagmix import BagsError, planted_topics, sample_bags
from tagmix.learners import LEARNERS
from tagmix.learners.base import RegionLearner
from tagmix.learners.schema import Array

pytestmark = pytest.mark.filterwarnings("ignore")  # so few pictures always cause warnings
# Small settings for few pictures. How a ridge is chosen is tested with its learner.
QUICK = {
    "EMM": {"calibration_folds": 0, "learning": "likelihood"},
    "CorrLDA": {"n_topics": 12, "max_iter": 30},
    "TopicRidge": {"n_topics": 12},
    "LinearRanker": {"ridge": 1.0},
    "NaiveRegions": {"ridge": 1.0},
    "MaxPooling": {"ridge": 1.0},
    "CandidateEM": {"ridge": 1.0},
}


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    return sample_bags(planted_topics(8, 60, 0.3, rng), 140, n_regions=4, words_per_region=30, rng=rng).bags


class Centroids(RegionLearner):
    """A learner as somebody would add it: this class in a file of its own, and one line in LEARNERS."""

    SCHEMA: ClassVar[dict[str, Any]] = {"words_": Array(("tags", "all words"), 0)}

    def __init__(self, *, smoothing=1.0):
        self.smoothing = smoothing

    def _fit(self, bags):
        own = np.repeat(bags.captions.toarray(), np.diff(bags.offsets), axis=0)
        counts = self.smoothing + own.T @ bags.views["words"].toarray()
        self.words_ = counts / counts.sum(axis=1, keepdims=True)

    def _region_scores(self, bags):
        return bags.views["words"].toarray() @ np.log(self.words_).T

    def _scores(self, bags):
        p = self.predict_regions(bags)
        return np.add.reduceat(p, bags.offsets[:-1], axis=0) / np.diff(bags.offsets)[:, None]


@pytest.fixture(scope="module", autouse=True)
def one_more_learner():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LEARNERS, "Centroids", Centroids)
        yield


@pytest.fixture(scope="module", params=[*LEARNERS, "Centroids"])
def fitted(request, bags):
    with np.errstate(all="ignore"):
        return LEARNERS[request.param](**QUICK.get(request.param, {})).fit(bags[:100])


def test_scores_are_shares_of_every_tag(fitted, bags):
    p = fitted.predict_proba(bags[100:])
    assert p.shape == (40, 8)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_planted_tags_are_ranked_before_the_frequent_ones(fitted, bags):
    test = bags[100:]
    counts = np.asarray(bags[:100].captions.sum(axis=0)).ravel()
    frequency = tagmix.top_k_accuracy(test.tags, np.tile(counts, (len(test), 1)), 4)
    assert fitted.score(test) > frequency + 0.1


def test_top_tags_are_the_best_scores(fitted, bags):
    p, best = fitted.predict_proba(bags[100:]), fitted.top_tags(bags[100:], k=3)
    assert best.shape == (40, 3)
    np.testing.assert_allclose(np.take_along_axis(p, best, axis=1), -np.sort(-p, axis=1)[:, :3], atol=1e-9)


def test_scores_of_a_picture_do_not_depend_on_the_other_pictures(fitted, bags):
    together = fitted.predict_proba(bags[100:])
    np.testing.assert_allclose(fitted.predict_proba(bags[105]), together[5:6], rtol=1e-6, atol=1e-9)


def test_the_same_data_give_the_same_scores(fitted, bags):
    again = clone(fitted).fit(bags[:100])
    np.testing.assert_array_equal(again.predict_proba(bags[100:]), fitted.predict_proba(bags[100:]))


def test_captions_of_new_pictures_change_nothing(fitted, bags):
    bare = bags[100:].with_tags(None)
    np.testing.assert_array_equal(fitted.predict_proba(bare), fitted.predict_proba(bags[100:]))


def test_a_saved_learner_predicts_the_same_after_loading(fitted, bags, tmp_path):
    tagmix.save(fitted, tmp_path / "learner.tagmix")
    back = tagmix.load(tmp_path / "learner.tagmix")
    assert type(back) is type(fitted)
    np.testing.assert_array_equal(back.predict_proba(bags[100:]), fitted.predict_proba(bags[100:]))


def test_regions_share_their_picture_among_tags_and_stay_within_a_caption(fitted, bags):
    if not hasattr(fitted, "predict_regions"):
        pytest.skip("ranks whole pictures only")
    test = bags[100:]
    free, guided = fitted.predict_regions(test), fitted.predict_regions(test, captioned=True)
    own = np.repeat(test.captions.toarray() > 0, np.diff(test.offsets), axis=0)
    for found in (free, guided):
        np.testing.assert_allclose(found.sum(axis=1), 1)
    assert guided[~own].max() < 1e-9
    assert fitted.top_region_tags(test, k=2).shape == (test.n_regions, 2)


def test_other_words_are_refused_in_one_line(fitted, bags):
    other = tagmix.Bags(np.ones((2, 7), int), [0, 1, 2])
    with pytest.raises(BagsError) as caught:
        fitted.predict_proba(other)
    assert len(str(caught.value).splitlines()) == 1


def test_predicted_tags_are_zeros_and_ones_and_the_best_scores(fitted, bags):
    if getattr(fitted, "calibration_", True) is None:
        pytest.skip("fitted without thresholds")
    shown, p = fitted.predict(bags[100:]), fitted.predict_proba(bags[100:])
    assert shown.shape == p.shape
    assert set(np.unique(shown)) == {0, 1}
    if hasattr(fitted, "decision_scores"):
        assert (shown.sum(axis=1) == 4).all()
        assert (np.where(shown, p, 1).min(axis=1) >= np.where(shown, 0, p).max(axis=1)).all()


def test_classes_are_the_tag_names(fitted, bags):
    assert fitted.classes_.tolist() == list(fitted.tag_names_) == list(bags.tag_names)
    assert not hasattr(clone(fitted), "classes_")


CROSS_VALIDATED = {
    "ContextEMM": {"evidence": 0.3, "max_iter": 5},
    "EMM": {"learning": "likelihood", "calibration_folds": 0, "max_iter": 5},
    "KNN": {"k": 5},
    "NaiveRegions": {"ridge": 1.0},
}


@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_scikit_learn_cross_validates_probabilities_on_bags_with_and_without_y(name, bags):
    few, learner = bags[:40], LEARNERS[name](**CROSS_VALIDATED[name])
    p = cross_val_predict(learner, few, cv=2, method="predict_proba")
    assert p.shape == (40, 8)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    half = clone(learner).fit(few[20:]).predict_proba(few[:20])
    np.testing.assert_array_equal(p[:20], half)
    bare, y = few.with_tags(None), few.captions.toarray()
    np.testing.assert_array_equal(cross_val_predict(learner, bare, y, cv=2, method="predict_proba"), p)


@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_tags_are_named_by_the_columns_of_a_data_frame_or_by_lists_in_a_series(name, bags):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    few, learner = bags[:30], LEARNERS[name](**CROSS_VALIDATED[name])
    bare, tags = few.with_tags(None), few.captions.toarray()
    names = [f"tag {letter}" for letter in "hgfedcba"]
    frame = pandas.DataFrame(tags, columns=names)
    framed = clone(learner).fit(bare, frame)
    assert framed.classes_.tolist() == names
    lists = pandas.Series([[names[c] for c in np.flatnonzero(row)] for row in tags], index=range(100, 130))
    listed = clone(learner).fit(bare, lists)
    assert listed.classes_.tolist() == sorted(names)
    expected = framed.predict_proba(bare)
    np.testing.assert_allclose(listed.predict_proba(bare)[:, ::-1], expected, rtol=1e-6, atol=1e-9)
    assert framed.score(bare, frame[sorted(names)]) == framed.score(bare, frame) == framed.score(bare, lists)
