"""EMM over Bags works wherever scikit-learn expects an estimator."""

import copy
import io

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tagmix import EMM, Bags

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}


def through_joblib(thing):
    buffer = io.BytesIO()
    joblib.dump(thing, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def first_words(bags):
    """Keep half of the words: a step of a pipeline."""
    return Bags(bags.views["words"][:, :30], bags.offsets, bags.tags, bags.tag_names, bags.ids)


def test_params_come_back_as_they_were_set():
    emm = EMM(evidence={"words": 0.5}, max_iter=7)
    assert emm.get_params()["max_iter"] == 7
    emm.set_params(max_iter=9, supervision=0.5)
    assert (emm.max_iter, emm.supervision) == (9, 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        emm.set_params(nonsense=1)


def test_a_clone_has_the_settings_and_nothing_learnt(fitted):
    twin = clone(fitted.set_params())
    assert twin.get_params() == fitted.get_params()
    assert not hasattr(twin, "params_")


def test_grid_search_chooses_evidence_and_supervision(train):
    grid = {"evidence": [0.05, 1.0], "supervision": ["hard", 1.0]}
    search = GridSearchCV(EMM(**LIKELIHOOD, tol=1e-3), grid, cv=3, error_score="raise").fit(train)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 4
    assert np.all(scores > 0)
    assert search.best_score_ == scores.max()
    assert search.best_estimator_.get_params()["evidence"] == search.best_params_["evidence"]
    assert search.predict_proba(train).shape == (len(train), train.n_tags)


@pytest.mark.parametrize(
    "cv", [KFold(3), KFold(3, shuffle=True, random_state=0), ShuffleSplit(2, random_state=0)]
)
def test_cross_validated_scores_are_those_of_fits_by_hand(train, cv):
    scores = cross_val_score(EMM(**LIKELIHOOD), train, cv=cv, error_score="raise")
    by_hand = [EMM(**LIKELIHOOD).fit(train[a]).score(train[b]) for a, b in cv.split(train)]
    assert scores.tolist() == by_hand


@pytest.mark.filterwarnings("ignore::UserWarning")  # joblib on stopping its workers
def test_cross_validation_in_two_processes_gives_the_scores_of_one(train):
    how = {"cv": 2, "error_score": "raise", "return_estimator": True}
    alone = cross_validate(EMM(**LIKELIHOOD), train, n_jobs=1, **how)
    both = cross_validate(EMM(**LIKELIHOOD), train, n_jobs=2, **how)
    assert alone["test_score"].tolist() == both["test_score"].tolist()
    for a, b in zip(alone["estimator"], both["estimator"], strict=True):
        np.testing.assert_array_equal(a.predict_proba(train), b.predict_proba(train))


def test_cross_validation_takes_a_matrix_and_an_indicator():
    rng = np.random.default_rng(0)
    Y = np.eye(12, dtype=int)[rng.integers(0, 12, 120)]
    X = rng.poisson(0.1 + 5.0 * Y)
    scores = cross_val_score(EMM(**LIKELIHOOD), X, Y, cv=3, error_score="raise")
    assert scores.min() > 0.32  # the best there is: one right tag among the five shown gives 2/6
    f1 = cross_val_score(EMM(learning="likelihood"), X, Y, cv=3, scoring="f1_micro", error_score="raise")
    assert f1.min() > 0.75


def test_steps_of_a_pipeline_take_bags_and_give_bags(train, test):
    pipeline = make_pipeline(
        FunctionTransformer(first_words), FunctionTransformer(None), EMM(**LIKELIHOOD)
    ).fit(train)
    by_hand = EMM(**LIKELIHOOD).fit(first_words(train))
    np.testing.assert_array_equal(pipeline.predict_proba(test), by_hand.predict_proba(first_words(test)))
    assert pipeline.predict_proba(test.with_tags(None)).shape == (len(test), test.n_tags)
    assert pipeline.score(test) == by_hand.score(first_words(test))


@pytest.mark.parametrize("travel", [through_joblib, copy.deepcopy], ids=["joblib", "deepcopy"])
@pytest.mark.parametrize("kernels", ["compiled", "reference"])
def test_a_fitted_estimator_survives_the_journey(train, test, travel, kernels, monkeypatch):
    monkeypatch.setenv("TAGMIX_KERNELS", kernels)
    emm = EMM(learning="likelihood", n_jobs=2, calibration_folds=2).fit(train[:30])
    back = travel(emm)
    assert back.get_params() == emm.get_params()
    assert back.settings_ == emm.settings_
    assert back.params_.instances["words"].kernels is emm.settings_.kernels
    np.testing.assert_array_equal(back.predict_marginals(test), emm.predict_marginals(test))
    np.testing.assert_array_equal(back.predict_regions(test), emm.predict_regions(test))


def test_an_unfitted_estimator_survives_the_journey(train):
    back = through_joblib(EMM(**LIKELIHOOD, evidence=0.5))
    assert back.get_params() == EMM(**LIKELIHOOD, evidence=0.5).get_params()
    assert hasattr(back.fit(train), "params_")


def test_taking_a_copy_leaves_the_original_as_it_was(plain, test):
    before = plain.predict_proba(test)
    copy.deepcopy(plain)
    assert plain.settings_.kernels.__name__ == "tagmix.kernels.compiled"
    np.testing.assert_array_equal(plain.predict_proba(test), before)


def test_bags_survive_the_journey(train):
    back = through_joblib(train)
    assert (back.views["words"] != train.views["words"]).nnz == 0
    assert (back.captions != train.captions).nnz == 0
    assert (back.ids, back.tag_names) == (train.ids, train.tag_names)
