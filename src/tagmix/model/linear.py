"""A discriminative instance model: one linear score per tag, trained outside EM and used as evidence."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from tagmix.arrays import Entries, Floats, Ints, dense_rows
from tagmix.kernels import compiled


@dataclass(frozen=True)
class Linear:
    """f_c(x) = (x − centre)/scale · weights_c + bias_c, on a log scale; EM does not change it.

    ``weights`` is tags × (features and bias).
    """

    centre: Floats
    scale: Floats
    weights: Floats
    kernels: ModuleType = compiled
    n_threads: int = 1

    def prepared(self, view: Any) -> Any:
        """Return the view as it is."""
        return view

    def add_evidence(
        self, view: Any, scale: float, region_starts: Ints, entries: Entries | None, block: Floats
    ) -> None:
        """Add scale · f_c(x_m) to ``block``."""
        x = (np.asarray(view, dtype=np.float64) - self.centre) / self.scale
        rows = np.column_stack([x, np.ones(len(x))])
        if entries is None:
            block += scale * (rows @ self.weights.T).ravel()
        else:
            self.kernels.add_evidence_of_own(
                dense_rows(rows), self.weights, scale, region_starts, entries, block, self.n_threads
            )

    def empty_statistics(self) -> Floats:
        """Return an empty array: EM does not update the scores."""
        return np.zeros(0)

    def add_statistics(
        self, view: Any, phi: Floats, region_starts: Ints, entries: Entries | None, out: Floats
    ) -> None:
        """Add nothing."""

    def updated(self, statistics: Floats, learn_prior: bool) -> "Linear":
        """Return the model unchanged."""
        return self

    def divergence(self) -> float:
        """Return 0: the scores are constant in EM."""
        return 0.0
