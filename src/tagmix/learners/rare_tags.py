"""Rank so that rare tags count as much as frequent ones: by how far a probability stands out for its tag.

The probability itself finds most right tags, and most right tags are frequent ones. Who counts every tag once
(the mean F1 of tags, how many tags are found at all) must show rare tags at lower probabilities: p is divided
by spread^a · frequency^b of the tag, where the spread of its probabilities over held-out pictures is small
for rare tags and for those that are hard to tell. a = b = 0 leaves the order alone; what is best for the mean
F1 of tags on held-out pictures decides.
"""

from itertools import product

import numpy as np

from tagmix.arrays import Floats
from tagmix.evaluation.metrics import per_tag_f1

SPREAD_POWERS = tuple(round(0.2 * step, 1) for step in range(7))
# Below 0 where the spread alone would go too far.
FREQUENCY_POWERS = tuple(round(0.2 * step, 1) for step in range(-2, 4))
# Probabilities that vary less say nothing: such a tag would stand out by rounding.
LEAST_SPREAD = 1e-3
# Held-out pictures are judged so many at a time: the more there are, the more often a rare tag is found
# anyway, and the choice leans to a = b = 0.
AT_A_TIME = 500


def rare_tag_weights_of(p: Floats, tags: Floats, seed: int = 0) -> Floats:
    """Return a factor a tag, spread^−a (pictures that have it + 1)^−b, with the best mean F1 of tags.

    The rare tag is never the likeliest, and yet right where it is likelier than usual:

    >>> p = np.array([[0.5, 0.4], [0.5, 0.1], [0.5, 0.1]])
    >>> factors = rare_tag_weights_of(p, np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    >>> p.argmax(axis=1).tolist(), (p * factors).argmax(axis=1).tolist()
    ([0, 0, 0], [1, 0, 0])
    """
    k = max(1, min(5, tags.shape[1] // 2))
    counts, spreads = tags.sum(axis=0) + 1, np.maximum(p.std(axis=0), LEAST_SPREAD)
    order = np.random.default_rng(seed).permutation(len(p))
    parts = [rows for rows in np.array_split(order, -(-len(p) // AT_A_TIME)) if tags[rows].any()]

    def factors(powers: tuple[float, float]) -> Floats:
        made: Floats = spreads ** -powers[0] * counts ** -powers[1]
        return made

    def reached(powers: tuple[float, float]) -> float:
        own = factors(powers)
        return sum(per_tag_f1(tags[rows], p[rows] * own, k) for rows in parts)

    # Of equals the ones that change least
    pairs = sorted(product(SPREAD_POWERS, FREQUENCY_POWERS), key=lambda pair: abs(pair[0]) + abs(pair[1]))
    return factors(max(pairs, key=reached))
