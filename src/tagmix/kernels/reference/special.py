"""Sums of softplus and of sigmoids, term by term."""

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats


def softplus_sum(points: Floats, u: float) -> tuple[float, float, float]:
    """Return Σ softplus(u − p), and its first and second derivatives, over all points p."""
    sigmoid = expit(u - points)
    return (
        float(np.logaddexp(0, u - points).sum()),
        float(sigmoid.sum()),
        float((sigmoid * (1 - sigmoid)).sum()),
    )


def sigmoid_sums(points: Floats, at: Floats) -> Floats:
    """Return Σ_i σ(a − points_i) for each a."""
    return np.array([expit(a - points).sum() for a in at])
