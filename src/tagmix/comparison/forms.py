"""Forms of the estimators that rank tags in another way than ``predict_proba``."""

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
