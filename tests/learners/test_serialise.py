"""Files of learners: every learner comes back bit for bit, and every lie about it is refused in one line."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

import tagmix
from tagmix import Bags, storage
from tagmix.errors import ModelFileError, ParameterError
from tagmix.learners import LEARNERS, serialise
from tagmix.learners.pictures.tagprop import TagProp

pytestmark = pytest.mark.filterwarnings("ignore")  # so few pictures always cause warnings
KAPPA = {"words": 0.3, "net": 0.2}
# As cheap as fits are, and with every optional part: several experts, two instance models, a calibration.
HOW = {
    "ContextEMM": {
        "context": ["kernel", "neighbours", TagProp(max_iter=3)],
        "evidence": KAPPA,
        "max_iter": 3,
    },
    "EMM": {
        "learning": "likelihood",
        "calibration_folds": 2,
        "max_iter": 5,
        "evidence": {"words": 0.5, "net": 0.1},
    },
    "DBA": {"max_iter": 2},
    "CorrLDA": {"n_topics": 4, "max_iter": 2},
    "TopicRidge": {"n_topics": 4, "passes": 1},
    "KNN": {"k": (3, 5)},
    **{
        name: {"ridge": 1.0, "max_iter": 3}
        for name in ("LinearRanker", "NaiveRegions", "CandidateEM", "MaxPooling")
    },
}
COUNTS_ONLY = {"DBA", "CorrLDA", "TopicRidge"}


def bags_for(name, n=24, seed=0):
    """Return pictures of words and a second view, of embeddings where the learner reads them."""
    rng = np.random.default_rng(seed)
    second = rng.poisson(1.0, (3 * n, 4)) if name in COUNTS_ONLY else rng.normal(size=(3 * n, 4))
    views = {"words": rng.poisson(1.0, (3 * n, 6)), "net": second}
    tags = (rng.random((n, 3)) < 0.5).astype(int)
    tags[tags.sum(axis=1) == 0, 0] = 1
    pictures = {"scene": rng.normal(size=(n, 2))}
    return Bags(views, np.arange(0, 3 * n + 1, 3), tags, ["sky", "sea", "cow"], pictures=pictures)


@pytest.fixture(scope="module")
def learners():
    return {name: kind(**HOW.get(name, {})).fit(bags_for(name)) for name, kind in LEARNERS.items()}


@pytest.fixture(params=LEARNERS)
def learner(request, learners):
    return learners[request.param]


def predictions(learner):
    new = bags_for(type(learner).__name__, n=6, seed=1)
    methods = ("predict_proba", "decision_scores", "predict_marginals", "predict", "predict_regions")
    found = {name: getattr(learner, name)(new) for name in methods if hasattr(learner, name)}
    if "predict_regions" in found:
        found["captioned"] = learner.predict_regions(new, captioned=True)
    return found


def taken_apart(learner):
    """Return fields and arrays that may be changed, as a file holds them."""
    fields, arrays = serialise.pack(learner)
    return copy.deepcopy(fields), {name: np.array(array) for name, array in arrays.items()}


def refused(kind, fields, arrays):
    """Return the message of the error, which must be one line."""
    with pytest.raises(
        ModelFileError, match=r"^'m' is a tagmix file whose parts do not fit together"
    ) as caught:
        serialise.load(kind, storage.Contents(kind.__name__, fields, arrays), "'m'")
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_a_learner_comes_back_bit_for_bit(learner, tmp_path):
    learner.save(tmp_path / "m")
    back = tagmix.load(tmp_path / "m")
    assert type(back) is type(learner)
    assert back.tag_names_ == learner.tag_names_ == ("sky", "sea", "cow")
    assert list(back.widths_.items()) == list(learner.widths_.items())
    expected = predictions(learner)
    assert expected
    for name, found in predictions(back).items():
        np.testing.assert_array_equal(found, expected[name])
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_every_declared_attribute_comes_back(learner):
    back = serialise.unpack(type(learner), *serialise.pack(learner))
    for name in learner.SCHEMA:
        one, other = getattr(learner, name), getattr(back, name)
        if isinstance(one, np.ndarray | float | int | str | list):
            np.testing.assert_array_equal(one, other)
        elif isinstance(one, csr_array):
            np.testing.assert_array_equal(one.toarray(), other.toarray())
        else:
            assert type(one) is type(other)


def test_every_fitted_attribute_is_declared_or_follows_from_the_rest(learner):
    back = serialise.unpack(type(learner), *serialise.pack(learner))
    fitted = {name for name in vars(learner) if name.endswith("_") and not name.startswith("_")}
    assert fitted <= {name for name in vars(back) if name.endswith("_")}


def test_a_missing_array_is_refused(learner):
    fields, arrays = taken_apart(learner)
    assert arrays
    for gone in arrays:
        left = {name: array for name, array in arrays.items() if name != gone}
        assert gone[:60] in refused(type(learner), fields, left)


def test_an_array_that_is_not_declared_is_refused(learner):
    fields, arrays = taken_apart(learner)
    assert "no array 'more_'" in refused(type(learner), fields, {**arrays, "more_": np.ones(3)})


CHANGES = {
    "in one dimension more": lambda array: array[None],
    "its last row missing": lambda array: array[:-1],
    "a row more": lambda array: np.concatenate([array, array[-1:]]),
    "its last column missing": lambda array: array[..., :-1],
    "a column more": lambda array: np.concatenate([array, array[..., -1:]], axis=-1),
    "in single precision": lambda array: array.astype(np.float32),
    "of whole numbers": lambda array: (
        array.astype(np.int64) if array.dtype.kind == "f" else array.astype(float)
    ),
    "nan": lambda array: np.full(array.shape, np.nan),
    "infinite": lambda array: np.full(array.shape, np.inf),
    "beyond all bounds": lambda array: np.full(array.shape, -1e70),
}
# Nothing else has their length: any number of iterations, ridges or knots is as good as another. The parts of
# sparse matrices are the business of test_schema.py, and the width of a view of whole pictures is its own.
FREE_LENGTH = ("history_", "ridge_scores_", "errors_", ".knots", ".levels", ".data", ".indices", ".indptr")
SCENE = "reference_.2"


@pytest.mark.parametrize("change", CHANGES)
def test_an_array_of_another_shape_type_or_range_is_refused(learner, change):
    fields, arrays = taken_apart(learner)
    resized = change.endswith(("missing", "more"))
    for name, array in arrays.items():
        free = name.endswith(FREE_LENGTH) or ("column" in change and name.endswith(SCENE))
        if array.size and not (resized and free):
            refused(type(learner), fields, {**arrays, name: CHANGES[change](array)})


def lie_about(fields, path, value):
    *inside, last = path
    for key in inside:
        fields = fields[key]
    fields[last] = value


FIELD_LIES = {
    "an unknown parameter": (("parameters", "power_of_love"), 1),
    "a parameter of a run": (("parameters", "memory_mb"), 1.0),
    "a random state of text": (("parameters", "random_state"), "now"),
    "no parameters": (("parameters",), None),
    "one tag": (("tag_names",), ["sky"]),
    "no tags": (("tag_names",), []),
    "a tag twice": (("tag_names",), ["sky", "sea", "sky"]),
    "a tag more": (("tag_names",), ["sky", "sea", "cow", "dog"]),
    "tags of no list": (("tag_names",), 3),
    "a view of no width": (("views",), [["words", 6], ["net", 0]]),
    "a view of half a word": (("views",), [["words", 6], ["net", 3.5]]),
    "views of other widths": (("views",), [["words", 7], ["net", 5]]),
    "a view twice": (("views",), [["words", 6], ["net", 4], ["net", 4]]),
    "a view more": (("views",), [["words", 6], ["net", 4], ["more", 4]]),
    "a view less": (("views",), [["words", 6]]),
    "a view without a name": (("views",), [[6, 6], ["net", 4]]),
    "views of no list": (("views",), 3),
    "an undeclared attribute": (("learnt", "more_"), None),
    "an undeclared field": (("more",), None),
    "nothing learnt": (("learnt",), {}),
}


@pytest.mark.parametrize("lie", FIELD_LIES)
def test_a_lie_about_parameters_tags_or_views_is_refused(learner, lie):
    if (type(learner).__name__, lie) == ("RegionScorer", "a view more"):
        pytest.skip("embeddings alone are read: another view has to be there, and nothing else follows")
    fields, arrays = taken_apart(learner)
    lie_about(fields, *FIELD_LIES[lie])
    refused(type(learner), fields, arrays)


def test_a_missing_field_or_attribute_is_refused(learner):
    for field in ("parameters", "tag_names", "views", "learnt"):
        fields, arrays = taken_apart(learner)
        del fields[field]
        refused(type(learner), fields, arrays)
    for name in learner.SCHEMA:
        fields, arrays = taken_apart(learner)
        del fields["learnt"][name]
        refused(type(learner), fields, arrays)


def test_plain_values_of_another_type_are_refused(learner):
    for name, value in serialise.pack(learner)[0]["learnt"].items():
        for lie in ("text", [[]], {"kind": "text"}, -1e70, True):
            fields, arrays = taken_apart(learner)
            if value is None or (isinstance(value, bool) and lie is True):  # an array has no plain value
                continue
            fields["learnt"][name] = lie
            refused(type(learner), fields, arrays)


def test_the_file_of_another_learner_is_refused(learner, learners):
    fields, arrays = taken_apart(learner)
    for kind in LEARNERS.values():
        if kind.SCHEMA.keys() != learner.SCHEMA.keys():
            refused(kind, fields, arrays)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("ContextEMM", "max_iter", 10**15),
        ("ContextEMM", "context_power", -1.0),
        ("ContextEMM", "context", "tree of knowledge"),
        ("ContextEMM", "context", "kernel"),  # not the experts that the file holds
        ("ContextEMM", "context", {"kind": "EMM", "parameters": {}}),
        ("EMM", "max_iter", 10**15),
        ("EMM", "inference", "magic"),
        ("EMM", "chi", [0.5, 1.0]),
        ("DBA", "estep_max_iter", 10**15),
        ("CorrLDA", "estep_max_iter", 10**15),
        ("TopicRidge", "estep_max_iter", 10**15),
        ("KNN", "distance", "l7"),
        ("TagProp", "n_neighbors", 0),
    ],
)
def test_parameters_that_prediction_reads_are_checked(learners, name, parameter, value):
    fields, arrays = taken_apart(learners[name])
    fields["parameters"][parameter] = value
    refused(LEARNERS[name], fields, arrays)


def instance(fields, name):
    """Return the packed instance model of a ContextEMM."""
    pairs = fields["learnt"]["regions_"]["fields"]["instances"]
    return next(pair for pair in pairs if pair[0] == name)


def test_a_scorer_of_another_width_is_refused(learners):
    model = learners["ContextEMM"]
    place = "prior_.scorer.weights_"
    for shape in ((4, 3), (6, 3), (5, 2)):
        fields, arrays = taken_apart(model)
        assert arrays[place].shape == (5, 3)  # four dimensions and a bias, three tags
        refused(type(model), fields, {**arrays, place: np.ones(shape)})


def test_a_background_that_the_components_do_not_have_is_refused(learners):
    model = learners["ContextEMM"]
    for name, value in (
        ("background", not model.regions_.background),
        ("n_tags", 2),
        ("n_tags", 5),
        ("n_tags", 7 - model.regions_.n_tags),  # with a background where there is none, and the reverse
    ):
        fields, arrays = taken_apart(model)
        fields["learnt"]["regions_"]["fields"][name] = value
        refused(type(model), fields, arrays)


@pytest.mark.parametrize("value", [0.0, -1.0, 1e300, "much", None])
def test_odds_that_no_training_gives_are_refused(learners, value):
    fields, arrays = taken_apart(learners["ContextEMM"])
    fields["learnt"]["regions_"]["fields"]["odds"]["fields"]["inside"] = value
    refused(LEARNERS["ContextEMM"], fields, arrays)


@pytest.mark.parametrize(("name", "other"), [("net", "other"), ("words", "net"), ("net", "words")])
def test_an_instance_model_under_the_name_of_another_is_refused(learners, name, other):
    fields, arrays = taken_apart(learners["ContextEMM"])
    instance(fields, name)[0] = other
    for pair in fields["learnt"]["evidence_"]:
        pair[0] = other if pair[0] == name else pair[0]
    refused(LEARNERS["ContextEMM"], fields, arrays)


def test_a_precision_that_is_not_positive_definite_is_refused(learners):
    model = learners["EMM"]
    fields, arrays = taken_apart(model)
    place = next(name for name in arrays if name.endswith(".precision"))
    lopsided = arrays[place].copy()
    lopsided[0, 1] += 1
    for wrong in (-arrays[place], lopsided):
        refused(type(model), fields, {**arrays, place: wrong})


def test_a_falling_curve_is_refused(learners):
    model = learners["EMM"]
    fields, arrays = taken_apart(model)
    for part in ("knots", "levels"):
        knots = {f"calibration_.logistic.{one}": np.array([0.2, 0.8]) for one in ("knots", "levels")}
        serialise.unpack(type(model), fields, {**arrays, **knots})
        knots[f"calibration_.logistic.{part}"] = np.array([0.8, 0.2])
        assert "rising" in refused(type(model), fields, {**arrays, **knots})


def test_experts_of_other_tags_are_refused(learners):
    fields, arrays = taken_apart(learners["ContextEMM"])
    experts = fields["learnt"]["prior_"]["fields"]["experts"]
    experts[0]["tag_names"] = ["sky", "sea", "dog"]
    assert "for the same tags" in refused(LEARNERS["ContextEMM"], fields, arrays)


def test_parameters_of_a_run_are_not_stored_and_those_of_the_fit_are(learners, tmp_path):
    model = copy.deepcopy(learners["EMM"]).set_params(n_jobs=2, max_iter=77, ranking="theta")
    fields, _ = serialise.pack(model)
    assert not {"n_jobs", "verbose", "memory_mb"} & set(fields["parameters"])
    assert fields["parameters"]["max_iter"] == 5  # as fitted
    assert fields["parameters"]["ranking"] == "theta"  # as predicted with
    back = serialise.unpack(type(model), fields, serialise.pack(model)[1])
    assert back.evidence == {"words": 0.5, "net": 0.1}
    assert back.chi == (2.0, 1.0)
    context = serialise.unpack(LEARNERS["ContextEMM"], *serialise.pack(learners["ContextEMM"])).context
    assert context[:2] == ("kernel", "neighbours")
    assert (type(context[2]), context[2].max_iter) == (TagProp, 3)


def test_a_regressor_of_scikit_learn_is_not_stored_and_nothing_is_written(tmp_path):
    how = {**HOW["ContextEMM"], "context": Ridge(), "evidence": {"words": 0.3}}
    model = LEARNERS["ContextEMM"](**how).fit(bags_for("ContextEMM"))
    with pytest.raises(ParameterError, match="a context of Ridge cannot be kept in a file"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
