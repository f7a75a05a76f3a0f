"""EMM with context as one estimator, and EMM with calibrated probabilities.

The only module of the comparison that depends on how the flagship is fitted.
"""

import time
from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.learners import EMM
from tagmix.learners.context.tuning import instances_of
from tagmix.learners.tuning import choose_evidence
from tagmix.model.params import LINEAR, view_of


class ContextEMM(BaseEstimator):  # type: ignore[misc]
    """EMM as ``tagmix train`` uses it: κ chosen in ``fit``, context, ranking by calibrated probability.

    The parameters are those of ``EMM``; ``evidence`` None chooses κ inside ``fit``. ``even`` ranks with
    weights that favour rare tags. ``embeddings`` "gaussian" or "linear" reads region embeddings by that
    instance model alone, None by both.
    """

    reads_dense = True
    reads_pictures = True

    def __init__(
        self,
        context: Any = "kernel",
        context_power: float | None = None,
        learning: str = "likelihood",
        evidence: float | Mapping[str, float] | None = None,
        even: bool = False,
        embeddings: str | None = None,
    ) -> None:
        self.context = context
        self.context_power = context_power
        self.learning = learning
        self.evidence = evidence
        self.even = even
        self.embeddings = embeddings

    def fit(self, X: Bags, y: Any = None) -> Self:
        """Choose κ on held-out training pictures, then fit and calibrate."""
        started, evidence = time.perf_counter(), self.evidence
        emm = EMM(learning=self.learning, context=self.context, context_power=self.context_power)
        if evidence is None:
            self.choice_ = choose_evidence(emm, X, instances=self._instances(X))
            evidence = self.choice_.evidence
        self.choose_seconds_ = time.perf_counter() - started
        self.emm_ = emm.set_params(evidence=evidence).fit(X)
        self.context_ = self.emm_.context_
        return self

    def _instances(self, X: Bags) -> list[str] | None:
        if self.embeddings is None:
            return None
        linear = self.embeddings == "linear"
        return [
            name
            for name in instances_of(X)
            if is_sparse(X.views[view_of(name)]) or name.endswith(LINEAR) == linear
        ]

    def decision_scores(self, X: Bags) -> Floats:
        """Return the calibrated probability of each tag, weighted towards rare tags if ``even``."""
        return self.emm_.even_scores(X) if self.even else self.emm_.predict_marginals(X)

    def predict_marginals(self, X: Bags) -> Floats:
        """Return the calibrated probability of each tag."""
        return self.emm_.predict_marginals(X)

    def predict(self, X: Bags) -> Ints:
        """Return the selected tags, pictures × tags of 0 and 1."""
        return self.emm_.predict(X)

    def predict_regions(self, X: Bags, captioned: bool = False) -> Floats:
        """Return p(tag | region)."""
        return self.emm_.predict_regions(X, captioned)


class CalibratedEMM(ContextEMM):
    """The same without context and on words alone: EMM_m ranked by calibrated probability."""

    reads_dense = False
    reads_pictures = False

    def __init__(self) -> None:
        super().__init__(context=None)
