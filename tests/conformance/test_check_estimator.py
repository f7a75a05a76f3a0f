"""Every learner passes scikit-learn's own checks, except those listed here and in the guide."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from tagmix.learners import EMM, LEARNERS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "scikit-learn.md"

SHAPE = (
    "the check expects one label per picture from `predict`; tagmix returns pictures × tags of 0 and 1, "
    "because a picture has several tags"
)
# LinearRanker chooses its ridge in these checks, by code that it shares; the slower ones need not repeat it.
QUICK = {
    "NaiveRegions": {"ridge": 1.0},
    "CandidateEM": {"ridge": 1.0},
    "MaxPooling": {"ridge": 1.0},
    "CorrLDA": {"n_topics": 12, "max_iter": 20},
    "TopicRidge": {"n_topics": 12},
}
NOT_APPLICABLE = {
    "check_estimator_sparse_array": SHAPE,
    "check_estimator_sparse_matrix": SHAPE,
}


# Strict: a listed check that starts to pass fails here, so that the list stays honest.
@parametrize_with_checks(
    [
        *(learner(**QUICK.get(name, {})) for name, learner in LEARNERS.items()),
        EMM(background=True),
    ],
    expected_failed_checks=lambda estimator: NOT_APPLICABLE,
    xfail_strict=True,
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # the checks' data: random counts, tags on every picture
def test_learners_are_scikit_learn_estimators(estimator, check):
    check(estimator)


def test_every_listed_check_exists():
    names = set()
    for learner in LEARNERS.values():
        for _, check in estimator_checks_generator(learner(), legacy=True):
            names.add(check.func.__name__)
    assert set(NOT_APPLICABLE) <= names


def test_the_guide_lists_the_same_checks_with_the_same_reasons():
    listed = dict(
        re.findall(r"^- `(check_\w+)`: (.*)\.$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    assert listed == NOT_APPLICABLE


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # on so little data
@pytest.mark.parametrize("name", LEARNERS)
def test_every_sparse_format_gives_the_same_scores_as_the_dense_matrix(name):
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (24, 6))
    labels = np.repeat(["cow", "sea", "sky"], 8)
    learner = LEARNERS[name](**QUICK.get(name, {}))
    expected = learner.fit(counts, labels).predict_proba(counts)
    # All learners convert X in one place, so one of them tries every format.
    for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr") if name == "KNN" else ("coo",):
        sparse = clone(learner).fit(csr_array(counts).asformat(form), labels)
        np.testing.assert_array_equal(sparse.predict_proba(csr_array(counts)), expected)
