"""Hostile files, arrays and interruptions end in one line of ours, never inside a kernel."""

import json

import numpy as np
import pytest
from scipy.sparse import csr_array

import tagmix
from tagmix import EMM, Bags, BagsError, ModelFileError, ParameterError, TagmixError, storage

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}

HOSTILE_SETTINGS = [{"max_iter": 10**30}, {"margin_rounds": 10**12}, {"memory_mb": 1e308}]


@pytest.fixture
def hostile(fitted, tmp_path):
    """Return a maker of model files with other settings and arrays, and right checksums."""

    def make(settings, **arrays):
        fitted.save(tmp_path / "m")
        contents = storage.read(tmp_path / "m")
        fields = json.loads(json.dumps(contents.fields))
        fields["parameters"].update(settings)
        storage.write(tmp_path / "m", "EMM", fields, {**contents.arrays, **arrays})
        return tmp_path / "m"

    return make


@pytest.mark.parametrize("settings", HOSTILE_SETTINGS)
def test_a_file_cannot_ask_for_endless_work_or_memory(hostile, settings):
    with pytest.raises(ModelFileError):
        tagmix.load(hostile(settings))


@pytest.mark.parametrize("settings", HOSTILE_SETTINGS)
def test_a_setting_that_no_machine_can_follow_is_refused(train, settings):
    with pytest.raises(ParameterError, match="must be"):
        EMM(**LIKELIHOOD, **settings).fit(train)


@pytest.mark.parametrize("value", [5e-324, 1.7e308])
@pytest.mark.parametrize("name", ["rates", "mu"])
def test_parameters_that_no_training_reaches_are_refused_when_loaded(hostile, fitted, name, value):
    like = fitted.params_.rates if name == "rates" else fitted.params_.instances["words"].mu
    where = "params_.rates" if name == "rates" else "params_.instances.0.mu"
    with pytest.raises(ModelFileError, match=name):
        tagmix.load(hostile({}, **{where: np.full_like(like, value)}))


def test_rates_too_far_apart_for_the_table_are_refused_when_loaded(hostile, fitted):
    rates = fitted.params_.rates.copy()
    rates[:2] = 1e-300, 1e300
    with pytest.raises(ModelFileError, match="rates"):
        tagmix.load(hostile({}, **{"params_.rates": rates}))


def test_a_model_of_no_tags_is_refused_when_loaded(plain, tmp_path):
    plain.save(tmp_path / "m")
    contents = storage.read(tmp_path / "m")
    none = {name: array[:0] if array.ndim else array for name, array in contents.arrays.items()}
    storage.write(tmp_path / "m", "EMM", {**contents.fields, "tag_names": []}, none)
    with pytest.raises(ModelFileError):
        tagmix.load(tmp_path / "m")


def test_a_dense_view_of_the_right_width_is_refused_by_predict(plain):
    with pytest.raises(TagmixError, match="dense"):
        plain.predict_proba(Bags(np.ones((2, 60)), [0, 2]))


@pytest.mark.parametrize("value", [1e308, 1.7e308])
def test_counts_whose_evidence_overflows_are_refused(value):
    with pytest.raises(BagsError):
        Bags(csr_array(np.full((4, 3), value)), range(5), [[1, 0], [0, 1]] * 2)


def test_a_view_without_words_is_refused_by_fit():
    empty = Bags(np.zeros((4, 0), dtype=int), range(5), [[1, 0], [0, 1]] * 2)
    with pytest.raises(BagsError):
        EMM(**LIKELIHOOD).fit(empty)


def interrupted(*_):
    raise KeyboardInterrupt


def test_ctrl_c_while_calibrating_leaves_the_last_model_whole(train, monkeypatch):
    emm = EMM(learning="likelihood").fit(train[:60])
    before = emm.predict_proba(train)
    monkeypatch.setattr(EMM, "_calibrate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        emm.fit(train[60:])
    np.testing.assert_array_equal(emm.predict_proba(train), before)


def test_ctrl_c_while_calibrating_leaves_a_new_model_unfitted(train, monkeypatch):
    monkeypatch.setattr(EMM, "_calibrate", interrupted)
    emm = EMM(learning="likelihood")
    with pytest.raises(KeyboardInterrupt):
        emm.fit(train)
    assert not [name for name in vars(emm) if name.endswith("_")]


def test_what_a_user_does_to_a_view_does_not_reach_the_bags(train):
    bags = train[:3]
    view = bags.views["words"]
    view.indices = np.full(view.nnz, 2**30, dtype=np.int32)
    assert bags.views["words"].indices.max() < 60


@pytest.mark.parametrize("how", [{"tag_names": 5}, {"ids": 5}, {"pictures": [1]}])
def test_parts_that_are_no_list_or_mapping_are_refused(how):
    with pytest.raises(BagsError):
        Bags(np.ones((2, 3), dtype=int), [0, 1, 2], [[1, 0], [0, 1]], **how)
