"""Per-tag weights of probabilities that rank rare tags higher, for metrics in which every tag counts once.

Ranking by the probability p maximises the number of correct tags, most of which are frequent. The mean
per-tag F1 and the number of tags predicted at least once improve if rare tags are shown at lower
probabilities: p is divided by spread^a · frequency^b of its tag. The spread, the standard deviation of the
tag's cross-validated probabilities, is small for rare tags and for tags that are hard to recognise. a and b
maximise the mean per-tag F1 of cross-validated pictures; a = b = 0 does not change the ranking.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints
from tagmix.evaluation.metrics import default_k, per_tag_f1
from tagmix.learners.targets import Known, frequencies

SPREAD_POWERS = tuple(round(0.2 * step, 1) for step in range(7))
# Negative powers compensate where the spread alone corrects too much.
FREQUENCY_POWERS = tuple(round(0.2 * step, 1) for step in range(-2, 4))
# Lower limit of the spread: smaller variation is rounding error.
LEAST_SPREAD = 1e-3
# F1 is computed on parts of this many pictures: on larger ones a rare tag is more often predicted at least
# once without weights, which biases the choice towards a = b = 0.
AT_A_TIME = 500


def rare_tag_weights_of(p: Floats, tags: Floats, seed: int = 0, known: Known = None) -> Floats:
    """Return one weight per tag, spread^−a · (number of its pictures + 1)^−b, with the best mean per-tag F1.

    ``p`` are cross-validated probabilities, pictures × tags; pairs that are not ``known`` do not count.
    Here the rare tag never has the highest
    probability, but is correct where its probability is higher than usual:

    >>> p = np.array([[0.5, 0.4], [0.5, 0.1], [0.5, 0.1]])
    >>> weights = rare_tag_weights_of(p, np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    >>> p.argmax(axis=1).tolist(), (p * weights).argmax(axis=1).tolist()
    ([0, 0, 0], [1, 0, 0])
    """
    return weights_for(rare_tag_powers(p, tags, seed, known), tag_scales(p, tags, known))


def tag_scales(p: Floats, tags: Floats, known: Known = None) -> tuple[Floats, Floats]:
    """Return the spread of each tag's probabilities, and the number of its pictures and 1."""
    return np.maximum(p.std(axis=0), LEAST_SPREAD), frequencies(tags, known) + 1


def weights_for(powers: tuple[float, float], scales: tuple[Floats, Floats]) -> Floats:
    """Return one weight per tag, spread^−a · (number of its pictures + 1)^−b."""
    weights: Floats = scales[0] ** -powers[0] * scales[1] ** -powers[1]
    return weights


def rare_tag_powers(p: Floats, tags: Floats, seed: int = 0, known: Known = None) -> tuple[float, float]:
    """Return the powers a and b with the best mean per-tag F1."""
    k, scales = default_k(tags.shape[1]), tag_scales(p, tags, known)
    order = np.random.default_rng(seed).permutation(len(p))
    parts = [rows for rows in np.array_split(order, -(-len(p) // AT_A_TIME)) if tags[rows].any()]

    def unknown(rows: Ints) -> NDArray[np.bool_] | None:
        return None if known is None else ~known[rows]

    def total_f1(powers: tuple[float, float]) -> float:
        weights = weights_for(powers, scales)
        return sum(per_tag_f1(tags[rows], p[rows] * weights, k, unknown(rows)) for rows in parts)

    # Among ties, the smallest change of the ranking
    pairs = sorted(product(SPREAD_POWERS, FREQUENCY_POWERS), key=lambda pair: abs(pair[0]) + abs(pair[1]))
    return max(pairs, key=total_f1)
