"""A record keeps what a method that says probabilities said, and what it shows by them."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tagmix.comparison import methods
from tagmix.comparison.levels import LEVELS
from tagmix.comparison.measure import measured, probabilities_of
from tagmix.comparison.methods import Frequency
from tagmix.comparison.records import Record
from tagmix.comparison.run import run_all
from tagmix.evaluation.metrics import calibration_error
from tagmix.learners.shown import NEVER, PERCENTS
from tests.comparison.conftest import planted_part
from tests.comparison.test_run import in_the_comparison, tasks


class Says(BaseEstimator):
    """Says what it is told of every pair, and shows what it is told; captions must not be handed over."""

    def __init__(self, p=0.5, shows=()):
        self.p = p
        self.shows = shows

    def fit(self, bags, y=None):
        self.n_tags_ = bags.n_tags
        return self

    def predict_marginals(self, bags):
        assert bags.tags is None
        return np.full((len(bags), self.n_tags_), self.p)

    decision_scores = predict_marginals

    def predict(self, bags):
        assert bags.tags is None
        return np.isin(np.arange(self.n_tags_), self.shows) * np.ones((len(bags), 1), dtype=int)


def test_probabilities_of_a_record_are_those_of_the_learner(part, monkeypatch):
    in_the_comparison(monkeypatch, "KNN", Says(0.73, [1, 4]))
    said = measured(tasks("KNN")[0], part, {}).probabilities
    n, given = len(part.test), part.test.captions.toarray() > 0
    assert said.pairs == [6 * n if i == 7 else 0 for i in range(10)]
    assert said.right == [int(given.sum()) if i == 7 else 0 for i in range(10)]
    assert said.said[7] == pytest.approx(0.73 * 6 * n, rel=1e-12)
    assert said.shown == n * [[1, 4]]
    assert said.bins.error == pytest.approx(abs(0.73 - given.mean()), rel=1e-9)


def test_a_learner_that_exaggerates_has_a_large_error_and_a_true_one_has_none(part):
    share = part.test.captions.toarray().mean()
    errors = [probabilities_of(Says(p).fit(part.train), part.test).bins.error for p in (share, 0.99)]
    assert errors[0] == pytest.approx(0.0, abs=1e-12)
    assert errors[1] == pytest.approx(0.99 - share, rel=1e-9)


def test_a_learner_without_probabilities_or_not_calibrated_has_none(part):
    plain = methods.EMM(learning="likelihood", calibration_folds=0, tol=0.1).fit(part.train)
    assert probabilities_of(plain, part.test) is None
    assert probabilities_of(Frequency().fit(part.train), part.test) is None


def test_what_the_calibrated_model_says_is_kept_and_comes_back(home):
    (record,) = run_all(tasks("EMM_calibrated", parts=[0]), home, n_jobs=1).records
    assert Record.load(home / "records" / f"{record.task.name}.json") == record
    part = planted_part(30, 12)
    kappa, steps = record.chosen["evidence.sift"], record.chosen["max_iter"]
    evidence = {"sift": kappa}
    learner = methods.CalibratedEMM(learning="likelihood", evidence=evidence, max_iter=steps).fit(part.train)
    expected = calibration_error(part.test.captions, learner.predict_marginals(part.test), 10, "width")
    assert record.probabilities.bins.error == pytest.approx(expected, rel=1e-9)
    shown = [np.flatnonzero(row).tolist() for row in learner.predict(part.test)]
    assert record.probabilities.shown == shown
    check_levels(record.probabilities.levels, learner, part.test)


def check_levels(levels, learner, test):
    """Compare with tags counted one by one."""
    assert [level.asked for level in levels] == list(LEVELS)[: len(levels)]
    assert len(levels) >= 2
    p, truth = learner.predict_marginals(test), test.captions.toarray() > 0
    for level in levels:
        shown = p >= learner.calibration_.threshold(level.asked)
        np.testing.assert_array_equal(shown, learner.predict(test, precision=level.asked))
        assert (level.shown, level.right) == (shown.sum(), (shown & truth).sum())
        assert level.expected == pytest.approx(p[shown].sum())
        assert level.none == sum(not row.any() for row in shown)


def test_a_precision_out_of_reach_and_those_above_it_are_left_out(part):
    learner = methods.CalibratedEMM(learning="likelihood").fit(part.train)
    own = learner.calibration_
    learner.calibration_ = own._replace(level_thresholds=np.where(PERCENTS <= 0.65, 0.5, NEVER))
    assert [level.asked for level in probabilities_of(learner, part.test).levels] == [0.5, 0.6]
    assert probabilities_of(Says().fit(part.train), part.test).levels == []
