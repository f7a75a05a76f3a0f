"""Region scores pooled into picture scores: by maximum or log-mean-exp."""

import numpy as np

from tagmix.arrays import Floats, Ints


def pool_regions(scores: Floats, starts: Ints, sharpness: float) -> tuple[Floats, Floats]:
    """Return the pooled scores per picture, and the share of each region in the gradient.

    The log-mean-exp (1/s)·log mean exp(s·f) for a finite sharpness s, else the maximum; regions that
    tie for the maximum share it. Every picture must have a region. Shares are as precise as the scores,
    pooled scores have double precision.
    """
    owner, kept = owners(starts), scores.dtype
    scores = scores.astype(np.float64)
    top = np.maximum.reduceat(scores, starts[:-1], axis=0)
    if np.isinf(sharpness):
        shares = (scores == top[owner]).astype(np.float64)
        return top, (shares / np.add.reduceat(shares, starts[:-1], axis=0)[owner]).astype(kept)
    shares = np.exp(sharpness * (scores - top[owner]))
    total = np.add.reduceat(shares, starts[:-1], axis=0)
    sizes = np.diff(starts)[:, None]
    return top + np.log(total / sizes) / sharpness, (shares / total[owner]).astype(kept)


def spread_slopes(shares: Floats, starts: Ints, slopes: Floats) -> None:
    """Multiply the shares of each picture's regions by its slopes, in place."""
    shares *= slopes[owners(starts)].astype(shares.dtype)


def owners(starts: Ints) -> Ints:
    """Return the picture of each region."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
