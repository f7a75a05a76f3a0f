"""Forms of the estimators that rank tags in another way than ``predict_proba``, and tag frequency."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.learners import EMM, ContextEMM


class CalibratedEMM(EMM):
    """EMM ranked by calibrated probability, on words alone."""

    reads_dense = False

    def decision_scores(self, X: Bags) -> Floats:
        """Return the calibrated probability of each tag."""
        return self.predict_marginals(X)


class BalancedContextEMM(ContextEMM):
    """ContextEMM ranked so that rare tags count as much as frequent ones."""

    def decision_scores(self, X: Bags) -> Floats:
        """Return ``balanced_scores``."""
        return self.balanced_scores(X)


class Frequency(BaseEstimator):  # type: ignore[misc]
    """Rank the tags by the number of training pictures that have them, whatever a picture shows."""

    def fit(self, X: Bags, y: Any = None) -> Self:
        """Count the tags."""
        self.counts_ = np.asarray(X.captions.sum(axis=0), dtype=np.float64).ravel()
        return self

    def decision_scores(self, X: Bags) -> Floats:
        """Return the same scores for every picture."""
        return np.tile(self.counts_, (len(X), 1))
