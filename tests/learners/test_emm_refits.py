"""What a second fit, a changed parameter or a file may not change."""

import numpy as np

import tagmix
from tagmix import EMM
from tagmix.learners import emm as emm_module

FAST = {"calibration_folds": 0}


def test_threads_of_a_fitted_model_change_no_result_after_other_settings_were_changed(train, test):
    emm = EMM(**FAST).fit(train)
    before = emm.predict_proba(test)
    np.testing.assert_array_equal(emm.set_params(evidence=0.05, n_jobs=2).predict_proba(test), before)


def test_a_file_holds_the_model_that_was_fitted_not_the_settings_of_the_next_fit(train, test, tmp_path):
    emm = EMM(**FAST, evidence=0.1).fit(train).set_params(normaliser="dropped")
    emm.save(tmp_path / "m")
    np.testing.assert_array_equal(tagmix.load(tmp_path / "m").predict_proba(test), emm.predict_proba(test))


def test_images_to_calibrate_on_are_drawn_from_all_of_the_bags(train, monkeypatch):
    scored = []
    predict_proba = EMM.predict_proba

    def spy(self, X, **how):
        scored.extend(X.ids)
        return predict_proba(self, X, **how)

    monkeypatch.setattr(EMM, "predict_proba", spy)
    monkeypatch.setattr(emm_module, "CALIBRATION_SCORES", 30 * train.n_tags)
    EMM(learning="likelihood").fit(train)
    places = [train.ids.index(name) for name in scored]
    assert max(places) > 0.75 * len(train)
