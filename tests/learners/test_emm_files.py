"""Models and bags come back from files bit for bit; files whose parts lie are refused in one line."""

import json
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

import tagmix
from tagmix import EMM, Bags, ModelFileError, ParameterError, storage
from tagmix.learners.serialise import NOT_STORED

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}


def parts_of(thing, path):
    """Return what a file of this holds, open to tampering: kind, fields, arrays."""
    tagmix.save(thing, path)
    contents = storage.read(path)
    return (
        contents.kind,
        json.loads(json.dumps(contents.fields)),
        {k: v.copy() for k, v in contents.arrays.items()},
    )


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        tagmix.load(path)
    assert "\n" not in str(caught.value)
    assert repr(str(path)) in str(caught.value)


@pytest.mark.parametrize(
    "how",
    [{}, {"inference": "map"}, {"supervision": 0.5, "evidence": 0.3}, {"evidence": {"words": 0.5}}],
)
def test_a_model_comes_back_bit_for_bit(train, test, tmp_path, how):
    emm = EMM(**how).fit(train)
    emm.save(tmp_path / "m.tagmix")
    back = tagmix.load(tmp_path / "m.tagmix")
    for method in ("predict_proba", "predict_marginals", "predict", "predict_regions", "top_tags"):
        np.testing.assert_array_equal(getattr(back, method)(test), getattr(emm, method)(test))
    assert back.bound_history_ == emm.bound_history_
    assert (back.tag_names_, back.widths_, back.n_iter_) == (emm.tag_names_, emm.widths_, emm.n_iter_)
    assert (back.converged_, back.settings_) == (emm.converged_, emm.settings_)
    assert back.calibrated_for_ == emm.calibrated_for_
    kept = set(emm.get_params()) - NOT_STORED
    assert {k: back.get_params()[k] for k in kept} == {k: emm.get_params()[k] for k in kept}


def test_a_model_without_calibration_comes_back_without(plain, test, tmp_path):
    tagmix.save(plain, tmp_path / "m")
    back = tagmix.load(tmp_path / "m")
    assert back.calibration_ is None
    np.testing.assert_array_equal(back.predict_proba(test), plain.predict_proba(test))


@pytest.mark.parametrize("names", [("words", "colour"), ("a", "b"), ("z\n", "ä.0")])
def test_views_keep_their_words_whatever_order_their_names_have(train, test, tmp_path, names):
    def two(bags):
        counts = bags.views["words"]
        return Bags({names[0]: counts[:, :30], names[1]: counts[:, 30:]}, bags.offsets, bags.captions)

    emm = EMM(**LIKELIHOOD).fit(two(train))
    emm.save(tmp_path / "m")
    back = tagmix.load(tmp_path / "m")
    assert list(back.widths_) == list(names)
    np.testing.assert_array_equal(back.predict_proba(two(test)), emm.predict_proba(two(test)))


def test_numbers_as_a_grid_search_sets_them_are_stored(train, tmp_path):
    odd = {
        "eta": np.float64(0.2),
        "max_iter": np.int64(50),
        "chi": [np.float32(2), 1],
        "random_state": np.int64(3),
    }
    emm = EMM(**LIKELIHOOD, learn_eta=np.bool_(True), **odd).fit(train)
    emm.save(tmp_path / "m")
    back = tagmix.load(tmp_path / "m")
    assert (back.eta, back.max_iter, back.chi, back.random_state) == (0.2, 50, (2.0, 1.0), 3)


def test_bags_come_back_as_they_were(tmp_path):
    views = {"words": csr_array(np.array([[2, 0], [0, 0.5], [1, 1]])), "net": np.eye(3)}
    bags = Bags(
        views, [0, 2, 2, 3], [[1, 0], [0, 0], [1, 1]], ["sky", "海"], ["a", "b", "c"], {"p": np.ones((3, 1))}
    )
    known = bags.with_tags(bags.tags, unknown=[[0, 1], [0, 0], [0, 0]])
    both = bags.with_tags(bags.tags, rejected=[[0, 0], [1, 0], [0, 0]], unknown=[[0, 1], [0, 1], [0, 0]])
    untagged, no_tags = bags.with_tags(None), bags.with_tags(np.zeros((3, 0)))
    for some in (bags, known, both, both[:2], untagged, bags[[0, 0, 2]], bags[[]], no_tags):
        tagmix.save(some, tmp_path / "b")
        back = tagmix.load(tmp_path / "b")
        for name, view in some.views.items():
            assert (back.views[name] != view).sum() == 0
            assert back.views[name].dtype == view.dtype or not some.n_regions
        np.testing.assert_array_equal(back.offsets, some.offsets)
        np.testing.assert_array_equal(back.pictures["p"], some.pictures["p"])
        assert back.tag_names == some.tag_names
        for name in ("tags", "rejected", "unknown"):
            was, now = getattr(some, name), getattr(back, name)
            assert (now is None) == (was is None)
            assert now is None or (now != was).nnz == 0
    assert tagmix.load(tmp_path / "b").ids == ("a", "b", "c")


@pytest.mark.parametrize(
    ("args", "got"),
    [(("m", EMM()), "str and EMM"), (([1], "m"), "list and str"), ((EMM(), 3), "EMM and int")],
)
def test_what_is_no_model_and_a_path_is_not_saved(args, got):
    with pytest.raises(
        ParameterError, match=rf"a model or bags and then a path, got {got}: call save\(thing, path\)"
    ):
        tagmix.save(*args)


def put(where, name, value):
    def tamper(fields, arrays):
        {"fields": fields, "parameters": fields.get("parameters"), "arrays": arrays}[where][name] = value

    return tamper


def drop(where, name):
    return lambda fields, arrays: {"fields": fields, "arrays": arrays}[where].pop(name)


def change(name, function):
    def tamper(fields, arrays):
        arrays[name] = function(arrays[name])

    return tamper


def at(name, value):
    return change(name, lambda array: np.concatenate([[value], array.ravel()[1:]]).reshape(array.shape))


MU = "params_.instances.0.mu"
CURVE = "calibration_.logistic"


def learnt(name, value):
    def tamper(fields, arrays):
        fields["learnt"][name] = value

    return tamper


HOSTILE_MODELS = {
    "mu missing": (drop("arrays", MU), r"KeyError: 'params_.instances.0.mu'"),
    "mu too narrow": (
        change(MU, lambda a: a[:, :-1]),
        r"mu must have the shape \('components', 'view'\), got",
    ),
    "mu transposed": (change(MU, lambda a: a.T), r"mu must have the shape"),
    "mu as float32": (change(MU, lambda a: a.astype(np.float32)), r"must be float64"),
    "mu negative": (at(MU, -1.0), r"mu must be from 1e-06 to"),
    "mu infinite": (at(MU, np.inf), r"mu must be from"),
    "rates NaN": (at("params_.rates", np.nan), r"rates must be from 1e-12 to"),
    "rates too many": (change("params_.rates", lambda a: np.append(a, 1.0)), r"rates must have the shape"),
    "weights negative": (at("params_.weights", -1.0), r"weights must be from 0 to"),
    "knots falling": (change(f"{CURVE}.knots", lambda a: a[::-1]), r"needs rising knots"),
    "no knots": (
        lambda f, a: a.update({f"{CURVE}.knots": np.zeros(0), f"{CURVE}.levels": np.zeros(0)}),
        r"knots must have the shape",
    ),
    "level above 1": (at(f"{CURVE}.levels", 7.0), r"levels must be from 0 to 1"),
    "two slopes": (
        change(f"{CURVE}.slopes", lambda a: np.vstack([a, a])),
        r"the calibration must have one slope per tag",
    ),
    "threshold NaN": (at("calibration_.thresholds", np.nan), r"thresholds must be from"),
    "rare-tag weight zero": (at("calibration_.rare_tag_weights", 0.0), r"rare_tag_weights must be from"),
    "unknown parameter": (put("parameters", "depth", 3), r"unknown parameter 'depth', perhaps of a newer"),
    "memory from a file": (put("parameters", "memory_mb", 1.0), r"unknown parameter 'memory_mb'"),
    "a wrong choice": (put("parameters", "inference", "magic"), r"inference must be one of"),
    "a wrong type": (put("parameters", "max_iter", "many"), r"max_iter must be a whole number"),
    "a random state": (put("parameters", "random_state", "x"), r"random_state must be a whole number"),
    "evidence elsewhere": (learnt("evidence_", [["sift", 1.0]]), r"evidence must name the instance models"),
    "evidence above 1": (learnt("evidence_", [["words", 2.0]]), r"evidence_.0 must be a number from"),
    "evidence twice": (learnt("evidence_", [["words", 1.0]] * 2), r"names in evidence_ must differ"),
    "an unknown attribute": (learnt("depth_", 3), r"must have two tags or more, and learnt"),
    "no parameters": (drop("fields", "parameters"), r"must have the fields \['learnt'"),
    "parameters a list": (put("fields", "parameters", ["x"]), r"unknown parameter 'x'"),
    "tag names twice": (put("fields", "tag_names", ["sky"] * 10), r"got 'sky' twice"),
    "tag names a number": (put("fields", "tag_names", 5), r"TypeError"),
    "a huge width": (put("fields", "views", [["words", 2**61]]), r"must have the shape"),
    "a width of text": (put("fields", "views", [["words", "60"]]), r"a view must have a name and a width"),
    "views a text": (put("fields", "views", "words"), r"ValueError"),
    "calibrated for one thing": (learnt("calibrated_for_", ["map"]), r"ValueError: zip"),
    "calibrated for a word": (learnt("calibrated_for_", ["map", "best"]), r"must be one of shares, theta"),
    "converged perhaps": (learnt("converged_", "yes"), r"converged_ must be true or false"),
}


@pytest.fixture(scope="module")
def model_parts(fitted, tmp_path_factory):
    return parts_of(fitted, tmp_path_factory.mktemp("parts") / "m")


def rewritten(parts, tamper, path):
    kind, fields, arrays = parts
    fields, arrays = json.loads(json.dumps(fields)), dict(arrays)
    tamper(fields, arrays)
    storage.write(path, kind, fields, arrays)
    return path


@pytest.mark.parametrize("name", HOSTILE_MODELS)
def test_a_model_whose_parts_lie_is_refused_in_one_line(model_parts, tmp_path, name):
    tamper, message = HOSTILE_MODELS[name]
    refused(rewritten(model_parts, tamper, tmp_path / "m"), message)


def test_a_model_rewritten_without_lies_is_read(model_parts, fitted, test, tmp_path):
    back = tagmix.load(rewritten(model_parts, lambda fields, arrays: None, tmp_path / "m"))
    np.testing.assert_array_equal(back.predict(test), fitted.predict(test))


CSR = ("data", "indices", "indptr")
HOSTILE_BAGS = {
    "indices outside": (
        put("arrays", "views.0.indices", np.array([0, 1, 9, 1], dtype=np.int32)),
        r"indices must be",
    ),
    "indices negative": (
        put("arrays", "views.0.indices", np.array([0, 1, -1, 1], dtype=np.int32)),
        r"indices must",
    ),
    "row starts falling": (
        put("arrays", "views.0.indptr", np.array([0, 4, 2, 4], dtype=np.int32)),
        r"indptr",
    ),
    "row starts beyond": (
        put("arrays", "views.0.indptr", np.array([0, 1, 2, 99], dtype=np.int32)),
        r"together",
    ),
    "tags outside": (put("arrays", "tags.indices", np.array([0, 7], dtype=np.int32)), r"indices must be < 2"),
    "tags of 2": (put("arrays", "tags.data", np.array([1, 2], dtype=np.uint8)), r"tags must be 0 or 1"),
    "unknown outside": (
        put("arrays", "unknown.indices", np.array([7], dtype=np.int32)),
        r"indices must be < 2",
    ),
    "unknown of 2": (put("arrays", "unknown.data", np.array([2], dtype=np.uint8)), r"unknown must be 0 or 1"),
    "unknown without its rows": (drop("arrays", "unknown.indptr"), r"KeyError: 'unknown.indptr'"),
    "unknown without its data": (drop("arrays", "unknown.data"), r"KeyError: 'unknown.data'"),
    "unknown rows beyond": (
        put("arrays", "unknown.indptr", np.array([0, 0, 99], dtype=np.int32)),
        r"do not fit together",
    ),
    "unknown and given": (
        put("arrays", "unknown.indices", np.array([0], dtype=np.int32)),
        r"in one of tags and unknown",
    ),
    "rejected and unknown": (
        lambda fields, arrays: arrays.update({f"rejected.{p}": arrays[f"unknown.{p}"] for p in CSR}),
        r"in one of rejected and unknown",
    ),
    "unknown without tags": (put("fields", "tagged", False), r"tag_names name the columns of tags"),
    "counts negative": (
        put("arrays", "views.0.data", np.array([1.0, 1.0, -1.0, 1.0])),
        r"must not be negative",
    ),
    "counts NaN": (put("arrays", "views.0.data", np.array([1.0, 1.0, np.nan, 1.0])), r"finite numbers"),
    "more regions promised": (put("arrays", "offsets", np.array([0, 2, 2**30])), r"do not fit together"),
    "offsets of floats": (put("arrays", "offsets", np.array([0.0, 2.0, 3.0])), r"list of whole numbers"),
    "no offsets": (put("arrays", "offsets", np.zeros(0, dtype=np.int64)), r"IndexError"),
    "offsets a number": (put("arrays", "offsets", np.array(3)), r"do not fit together"),
    "a view missing": (drop("arrays", "views.0.data"), r"KeyError: 'views.0.data'"),
    "no views": (put("fields", "views", []), r"at least one view"),
    "a negative width": (put("fields", "views", [{"name": "a", "sparse": True, "width": -5}]), r"together"),
    "names no text": (put("arrays", "tag_names", np.array([255, 254], dtype=np.uint8)), r"together"),
    "names nested deep": (
        put("arrays", "ids", np.frombuffer(b"[" * 200_000, dtype=np.uint8)),
        r"do not fit together",
    ),
    "names no list": (
        put("arrays", "ids", np.frombuffer(b'{"a": 1}', dtype=np.uint8)),
        r"names must be a list",
    ),
    "pictures missing": (put("fields", "pictures", ["net"]), r"KeyError: 'pictures.0'"),
}


@pytest.fixture(scope="module")
def bags_parts(tmp_path_factory):
    more = {"rejected": [[0, 0], [1, 0]], "unknown": [[0, 1], [0, 0]]}
    bags = Bags(np.array([[1, 2], [3, 0], [0, 4]]), [0, 2, 3], [[1, 0], [0, 1]], **more)
    return parts_of(bags, tmp_path_factory.mktemp("parts") / "b")


@pytest.mark.parametrize("name", HOSTILE_BAGS)
def test_bags_whose_parts_lie_are_refused_in_one_line(bags_parts, tmp_path, name):
    tamper, message = HOSTILE_BAGS[name]
    refused(rewritten(bags_parts, tamper, tmp_path / "b"), message)


def test_a_file_of_another_kind_is_refused_and_says_what_can_be_read(tmp_path):
    path = tmp_path / "odd\nname"
    storage.write(path, "Forest", {}, {})
    refused(path, r"holds a 'Forest', this tagmix reads ContextEMM, EMM, .*Bags, Annotator: upgrade tagmix")


def test_promises_of_a_file_take_no_memory(bags_parts, tmp_path):
    promise = put("fields", "views", [{"name": "words", "sparse": True, "width": 2**30}])
    path = rewritten(bags_parts, promise, tmp_path / "b")
    tracemalloc.start()
    bags = tagmix.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bags.views["words"].shape == (3, 2**30)
    assert peak < 4 * 2**20
