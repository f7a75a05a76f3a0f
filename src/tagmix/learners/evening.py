"""Rank so that rare tags count as much as frequent ones: by probability / frequency^a.

The probability itself finds most right tags, and most right tags are frequent ones. Who counts every tag once
(the mean F1 of tags, how many tags are found at all) must show rare tags at lower probabilities. a = 0 leaves
the order alone, a = 1 ranks by how much likelier a tag is than usual; between them the mean F1 of tags on
held-out pictures decides.
"""

import numpy as np

from tagmix.arrays import Floats
from tagmix.evaluation.metrics import per_tag_f1

POWERS = tuple(round(0.1 * step, 1) for step in range(11))
# Held-out pictures are judged so many at a time: the more there are, the more often a rare tag is found
# anyway, and the choice leans to a = 0.
AT_A_TIME = 500


def evening_of(p: Floats, tags: Floats, seed: int = 0) -> Floats:
    """Return a factor a tag, (pictures that have it + 1)^−a, with the a of the best mean F1 of tags.

    The rare tag is never the likeliest, and yet right where it is likelier than usual:

    >>> p = np.array([[0.5, 0.4], [0.5, 0.1], [0.5, 0.1]])
    >>> factors = evening_of(p, np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    >>> p.argmax(axis=1).tolist(), (p * factors).argmax(axis=1).tolist()
    ([0, 0, 0], [1, 0, 0])
    """
    k = max(1, min(5, tags.shape[1] // 2))
    counts = tags.sum(axis=0) + 1
    order = np.random.default_rng(seed).permutation(len(p))
    parts = [rows for rows in np.array_split(order, -(-len(p) // AT_A_TIME)) if tags[rows].any()]

    def reached(power: float) -> float:
        factors = counts**-power
        return sum(per_tag_f1(tags[rows], p[rows] * factors, k) for rows in parts)

    factors: Floats = counts ** -max(POWERS, key=reached)
    return factors
