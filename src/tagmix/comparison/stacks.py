"""Rankers of whole pictures with the calibration of ``ContextEMM``: one of them, and all in one logistic."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.evaluation.folds import duplicate_groups
from tagmix.learners.base import TagLearner
from tagmix.learners.calibrate import Calibration, fit_calibration
from tagmix.learners.context.experts import cross_validated_scores
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.knn import KNN
from tagmix.learners.pictures.linear_ranker import LinearRanker
from tagmix.learners.pictures.tagprop import TagProp
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN
from tagmix.learners.regions.max_pooling import MaxPooling

# Scores below this count as equal in logarithms, as in the context prior.
SMALLEST_SCORE = 1e-3
# Folds where leave-one-out has no closed form, and with more than ENOUGH pictures: a fold takes hours there.
FOLDS, FOLDS_OF_MANY, ENOUGH = 5, 2, 2000


class CalibratedRankers(TagLearner):
    """Rank pictures by one logistic regression over the scores of several rankers.

    The regression, thresholds and curve are those of ``fit_calibration``, fitted to scores by leave-one-out,
    or by folds where it has no closed form.
    """

    reads_dense: ClassVar[bool] = True
    reads_pictures: ClassVar[bool] = True
    calibration_: Calibration

    @abstractmethod
    def _rankers(self) -> list[TagLearner]:
        """Return the unfitted rankers."""

    def _fit(self, bags: Bags) -> None:
        groups, rows = duplicate_groups(bags), np.arange(len(bags))
        self.rankers_ = [ranker.fit(bags) for ranker in self._rankers()]
        scores = [_left_out(ranker, bags, rows, groups) for ranker in self.rankers_]
        truth = bags.captions.toarray().astype(np.float64)
        self.calibration_, _ = fit_calibration(_features(scores), truth, groups, 0)

    def _scores(self, bags: Bags) -> Floats:
        scores = [ranker.decision_scores(bags) for ranker in self.rankers_]
        return self.calibration_.probabilities(_features(scores))

    def predict_marginals(self, X: Any) -> Floats:
        """Return the calibrated probability of each tag."""
        return self._scores(self._checked(X))

    def predict(self, X: Any) -> Ints:
        """Return the tags above their threshold, pictures × tags of 0 and 1."""
        return (self.predict_marginals(X) >= self.calibration_.thresholds).astype(np.int64)


class CalibratedKernelRidge(CalibratedRankers):
    """Kernel ridge with the calibration of ``ContextEMM``."""

    def _rankers(self) -> list[TagLearner]:
        return [KernelRidge()]


class BalancedKernelRidge(CalibratedKernelRidge):
    """Kernel ridge ranked so that rare tags count as much as frequent ones, as ``balanced_scores``."""

    def decision_scores(self, X: Any) -> Floats:
        """Return the calibrated probabilities, weighted per tag."""
        return self.predict_marginals(X) * self.calibration_.rare_tag_weights


class Stack(CalibratedRankers):
    """All rivals of ``ContextEMM`` on whole pictures in one logistic regression."""

    def _rankers(self) -> list[TagLearner]:
        return [KernelRidge(), KNN(), TagProp(), TwoPassKNN(), LinearRanker(), MaxPooling(ridge=1.0)]


def _left_out(ranker: TagLearner, bags: Bags, rows: Ints, groups: Ints) -> Floats:
    """Return cross-validated scores; a ridge that was chosen on all pictures is not chosen again."""
    if hasattr(ranker, "ridge_") and not hasattr(ranker, "left_out_scores"):
        ranker = clone(ranker).set_params(ridge=ranker.ridge_)
    folds = FOLDS if len(bags) <= ENOUGH else FOLDS_OF_MANY
    return cross_validated_scores(ranker, bags, rows, 0, groups, folds)


def _features(scores: list[Floats]) -> list[Floats]:
    """Return, for each ranker, the logarithm of its scores, which tells small ones apart, and the scores."""
    return [feature for g in scores for feature in (np.log(np.maximum(g, SMALLEST_SCORE)), g)]
