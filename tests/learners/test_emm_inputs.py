"""What EMM cannot learn from or predict for is refused in one line, before any work."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tagmix import EMM, Bags, BagsError, ParameterError, TagmixError
from tagmix.learners.parameters import BOUNDS, CHOICES

LIKELIHOOD = {"learning": "likelihood", "calibration_folds": 0}


def refused(message, call, error=TagmixError):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("value", ["nonsense", None, 3, ["margin"]])
def test_a_setting_that_is_no_choice_is_refused(train, name, value):
    refused(rf"^{name} must be one of .*, got", lambda: EMM(**{name: value}).fit(train), ParameterError)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "many", None, True, (1,)])
def test_a_setting_that_is_no_number_in_its_range_is_refused(train, name, value):
    default = getattr(EMM(), name)
    refused(
        rf"^{name} must be a (whole )?number from \S+ to \S+, got .*: the default is {default!r}\.$",
        lambda: EMM(**{name: value}).fit(train),
        ParameterError,
    )


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_itself_is_legal_and_what_lies_beyond_is_not(train, name):
    smallest, largest, whole = BOUNDS[name]
    legal = EMM(**{**LIKELIHOOD, "max_iter": 3 if name == "tol" else 100, name: smallest})
    if name in ("tol", "max_iter"):
        with pytest.warns(ConvergenceWarning, match="stopped after"):
            legal.fit(train)
    else:
        legal.fit(train)
    beyond = largest + 1 if whole else largest * 1.001
    refused(rf"{name} must be", lambda: EMM(**{name: beyond}).fit(train), ParameterError)
    if whole:
        refused("whole", lambda: EMM(**{name: smallest + 2.5}).fit(train), ParameterError)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"supervision": "soft"}, r'supervision must be "hard" or a number from 0 to 1e\+06, got \'soft\''),
        ({"supervision": -0.5}, r"supervision must be .*, got -0.5"),
        ({"supervision": np.nan}, r"supervision must be .*, got nan"),
        ({"calibration_folds": 1}, r"calibration_folds must be 0 \(none\) or >= 2, got 1"),
        ({"chi": 2.0}, r"chi must be two numbers from 1e-6 to 1e6, got 2.0: pass \(shape, rate\)"),
        ({"chi": (1.0, 0.0)}, r"chi must be two numbers from 1e-6 to 1e6"),
        ({"chi": (1.0, 1.0, 1.0)}, r"chi must be two numbers from 1e-6 to 1e6"),
        ({"chi": ("a", "b")}, r"chi must be two numbers from 1e-6 to 1e6"),
        ({"n_jobs": "two"}, r"n_jobs must be a whole number other than 0, or None, got 'two'"),
        ({"n_jobs": 0}, r"n_jobs must be .*, got 0: None is one thread, -1 is all cores"),
        ({"evidence": 0.0}, r"evidence must be above 0 and at most 1, got 0.0"),
        ({"evidence": 1.5}, r"evidence must be above 0 and at most 1, got 1.5"),
        ({"evidence": "much"}, r"evidence must be above 0 and at most 1, got 'much'"),
        ({"evidence": {"sift": 1.0}}, r"evidence names the view 'sift', the bags have \['words'\]"),
        ({"evidence": {}}, r"evidence must name at least one view of \['words'\], got none"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(train, how, message):
    refused(message, lambda: EMM(**how).fit(train), ParameterError)


def test_bags_that_teach_nothing_are_refused(train):
    n, counts = len(train), train.views["words"]
    fit = EMM(**LIKELIHOOD).fit
    for tags in (None, np.zeros((n, 3), dtype=int), np.zeros((n, 0), dtype=int)):
        refused(
            r"no picture has a tag, so there is nothing to learn from", lambda t=tags: fit(train.with_tags(t))
        )
    refused(
        r"at least one picture is needed to learn from, got bags of 0 pictures: pass some",
        lambda: fit(train[[]]),
    )
    refused(
        r"EMM requires y to be passed, but the target y is None: pass pictures × tags", lambda: fit(np.eye(3))
    )
    refused(
        r"at least 2 tags are needed to tell apart, got 1 \(1 class\)",
        lambda: fit(train.with_tags(np.ones((n, 1), dtype=int))),
    )
    empty = Bags(counts[:0], np.zeros(3, dtype=int), [[1, 0], [0, 1]])
    refused(r"no tagged picture has a region", lambda: fit(empty))


def test_a_tag_on_every_image_warns_and_names_it(train):
    tags = train.captions.toarray()
    tags[:, 1] = 1
    constant = train.with_tags(tags, [f"t{i}" for i in range(tags.shape[1])])
    with pytest.warns(UserWarning, match=r"1 tag\(s\) are on every picture \('t1'\).*select_tags"):
        EMM(**LIKELIHOOD).fit(constant)
    tags[0] = 0  # untagged pictures do not count
    with pytest.warns(UserWarning, match=r"on every picture \('t1'\)"):
        EMM(**LIKELIHOOD).fit(train.with_tags(tags, constant.tag_names))


def test_nothing_is_predicted_before_fit(train, tmp_path):
    emm = EMM()
    for method in (
        "predict",
        "predict_proba",
        "predict_marginals",
        "predict_regions",
        "predict_both",
        "top_tags",
        "score",
    ):
        with pytest.raises(NotFittedError):
            getattr(emm, method)(train)
    with pytest.raises(NotFittedError):
        emm.explain(train, 0)
    with pytest.raises(NotFittedError):
        emm.save(tmp_path / "m")


def test_bags_of_another_vocabulary_are_refused(plain, test):
    counts = test.views["words"]
    narrower = Bags(counts[:, :-1], test.offsets)
    refused(
        r"has 60 words in view 'words', these bags have 59",
        lambda: plain.predict_proba(narrower),
        BagsError,
    )
    elsewhere = Bags({"sift": counts}, test.offsets)
    refused(
        r"reads the view 'words', these bags have \['sift'\]",
        lambda: plain.predict_proba(elsewhere),
        BagsError,
    )


def test_captions_by_other_tags_are_refused_where_captions_are_read(plain, test):
    swapped = test.select_tags([1, 0, *range(2, test.n_tags)])
    fewer = test.select_tags([0, 1])
    for read in (plain.score, lambda bags: plain.predict_regions(bags, captioned=True)):
        refused(
            r"tag 0 is 'tag0', that of these bags 'tag1'.*their order", lambda r=read: r(swapped), BagsError
        )
        refused(r"has 10 tags, these bags have 2", lambda r=read: r(fewer), BagsError)
        refused(r"these bags have no tags, and this call", lambda r=read: r(test.with_tags(None)), BagsError)
    plain.predict_proba(swapped)  # where they are not, they do not matter


def test_views_may_be_left_out_by_evidence(train):
    net = np.random.default_rng(0).normal(size=(train.n_regions, 2))
    both = Bags({"net": net, "words": train.views["words"]}, train.offsets, train.captions)
    assert EMM(**LIKELIHOOD).fit(both).widths_ == {"net": 2, "words": 60}
    emm = EMM(**LIKELIHOOD, evidence={"words": 1.0}).fit(both)
    assert emm.widths_ == {"words": 60}
    floats = Bags({"words": train.views["words"].toarray().astype(float)}, train.offsets)
    refused(r"word counts in view 'words', these bags have dense floats", lambda: emm.predict_proba(floats))


def matrix_and_labels():
    rng = np.random.default_rng(0)
    labels = np.repeat([10, 9, 2], 20)
    means = {10: [5, 1, 1], 9: [1, 5, 1], 2: [1, 1, 5]}
    return rng.poisson([means[label] for label in labels]), labels


def test_labels_become_tags_of_that_name_in_sorted_order():
    X, y = matrix_and_labels()
    emm = EMM(learning="likelihood").fit(X, y)
    assert emm.tag_names_ == ("2", "9", "10")
    best = np.array([2, 9, 10])[emm.top_tags(X, 1)[:, 0]]
    assert np.mean(best == y) > 0.8
    indicator = (y[:, None] == [2, 9, 10]).astype(int)
    same = EMM(learning="likelihood").fit(csr_array(X), csr_array(indicator))
    np.testing.assert_array_equal(emm.predict(X), same.predict(X))


def test_labels_go_to_the_columns_of_the_fit_when_scored():
    X, y = matrix_and_labels()
    emm = EMM(**LIKELIHOOD).fit(X, y)
    only = y == 10
    indicator = np.zeros((only.sum(), 3), dtype=int)
    indicator[:, 2] = 1
    assert emm.score(X[only], y[only]) == emm.score(X[only], indicator)
    refused(r"labels that the model was fitted with, got '7'", lambda: emm.score(X[:2], [7, 10]), BagsError)


def test_y_gives_bags_their_captions(train, plain):
    bare = train.with_tags(None)
    same = EMM(**LIKELIHOOD).fit(bare, train.captions)
    np.testing.assert_array_equal(same.params_.rates, plain.params_.rates)
    assert plain.score(bare, train.captions) == plain.score(train)
    labels = np.array(["sea", "sky"])[np.arange(len(train)) % 2]
    assert EMM(**LIKELIHOOD).fit(train, labels).tag_names_ == ("sea", "sky")
    named = [{train.tag_names[tag] for tag in one.captions.indices} for one in train]
    assert plain.score(bare, named) == plain.score(train)
    refused(
        r"X and y must have one row per picture, got 120 and 3 rows", lambda: plain.score(bare, named[:3])
    )
    refused(r"among the 10 tag names, got 'cow'", lambda: plain.score(bare[:1], [["cow"]]))


def test_names_of_each_image_become_tags_in_sorted_order():
    X, labels = matrix_and_labels()
    emm = EMM(**LIKELIHOOD).fit(X, [["b", "a"] if label == 10 else ["c"] for label in labels])
    assert emm.tag_names_ == ("a", "b", "c")
    best = emm.top_tags(X, 1)[:, 0]
    assert np.mean((best == 2) == (labels != 10)) > 0.9


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"one row per picture, got 60 and 2 rows: inconsistent numbers of samples"),
        ([[1], [1, 2]] * 30, r"got rows of unequal length: see sklearn.preprocessing.MultiLabelBinarizer"),
        ([["a"], ["a", "b"]], r"one row per picture, got 60 and 2 rows"),
        (np.full((60, 2), 3), r"tags must be 0 or 1"),
        (np.zeros(60, dtype=int), r"at least 2 tags are needed to tell apart, got 1 \(1 class\)"),
        (np.linspace(0, 1, 60), r"Unknown label type"),
        (np.full(60, np.nan), r"y must hold labels, got NaN or infinity"),
    ],
)
def test_captions_that_are_no_labels_are_refused(y, message):
    X, _ = matrix_and_labels()
    with pytest.raises(ValueError, match=message):
        EMM(**LIKELIHOOD).fit(X, y)


def test_a_fit_to_bags_forgets_the_width_of_a_matrix(train):
    X, y = matrix_and_labels()
    emm = EMM(**LIKELIHOOD).fit(X, y)
    assert emm.n_features_in_ == 3
    emm.fit(train)
    counts = train.views["words"][:4]
    assert emm.predict_proba(counts).shape == (4, train.n_tags)
