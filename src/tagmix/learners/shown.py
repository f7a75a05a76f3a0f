"""Which tags of a picture to show, by their probabilities.

One rule, for ``predict``, ``annotate`` and all pages: show every tag above the threshold at which six in ten
were right on cross-validated pictures; of a picture without one, show the most probable tag if it is at least
half as probable as the threshold. Whoever asks for another precision gets every tag above the threshold of
that precision, and no others. Everything is chosen on cross-fitted probabilities.
"""

from math import ceil
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats
from tagmix.errors import ParameterError
from tagmix.learners.targets import Known, of_known

# Of the tags above the threshold, at least this share is to be right.
SHOWN_PRECISION = 0.6
# The most probable tag of a picture without others is shown down to this part of the threshold.
GUESS = 0.5
# A precision counts as reached where at least this many tags are shown: of fewer, chance has its part.
FEWEST_SHOWN = 20
PERCENTS = np.arange(1, 100) / 100
# The threshold of a precision that was not reached: no probability is so high.
NEVER = 2.0

Shown = NDArray[np.bool_]


class Outcome(NamedTuple):
    """What the rule showed on cross-validated pictures, in numbers that add up.

    ``given`` are the right tags of all ``pictures``; ``shown`` the tags shown, ``right`` those of them that
    are right and ``expected`` the sum of their probabilities. ``tagged`` pictures show a tag; for ``guesses``
    of them it is their most probable one, below the threshold, and ``right_guesses`` of these are right.
    """

    pictures: int
    given: int
    shown: int
    right: int
    expected: float
    tagged: int
    guesses: int
    right_guesses: int


def shown_tags(p: Floats, thresholds: Floats) -> Shown:
    """Return the tags above their threshold, and the most probable one of pictures that have none.

    >>> shown_tags(np.array([[0.7, 0.4], [0.1, 0.35], [0.1, 0.2]]), np.array([0.6, 0.6])).tolist()
    [[True, False], [False, True], [False, False]]
    """
    shown: Shown = p >= thresholds
    best = p.argmax(axis=1)
    rows = np.flatnonzero(~shown.any(axis=1) & (p.max(axis=1) >= GUESS * thresholds[best]))
    shown[rows, best[rows]] = True
    return shown


def outcome_of(p: Floats, tags: Floats, thresholds: Floats, known: Known = None) -> Outcome:
    """Return what ``shown_tags`` shows of these pictures; unknown pairs do not count.

    >>> outcome_of(np.array([[0.75, 0.5], [0.25, 0.5]]), np.eye(2), np.array([0.75, 0.75]))
    Outcome(pictures=2, given=2, shown=2, right=2, expected=1.25, tagged=2, guesses=1, right_guesses=1)
    """
    shown = shown_tags(p, thresholds)
    shown = shown if known is None else shown & known
    guessed = shown & (p < thresholds)
    right, right_guesses = (int(tags[own].sum()) for own in (shown, guessed))
    return Outcome(
        *(len(p), int(tags.sum()), int(shown.sum()), right, float(p[shown].sum())),
        *(int(shown.any(axis=1).sum()), int(guessed.sum()), right_guesses),
    )


def precise_threshold(precision: float, p: Floats, tags: Floats, known: Known = None) -> float:
    """Return the threshold of best F1 among those at which this share of the shown tags is right.

    One for all tags: among all rules of a precision, one threshold over probabilities finds most right tags.
    Where no threshold is so precise, the highest. Unknown pairs are neither right nor wrong.

    >>> p = np.array([[0.9, 0.8, 0.5, 0.1]])
    >>> precise_threshold(0.6, p, np.array([[1.0, 0.0, 1.0, 0.0]]))
    0.5
    """
    levels, shown, right = by_threshold(of_known(p, known), of_known(tags, known))
    f1 = right / (shown + right[-1])
    return float(levels[int(np.argmax(np.where(right >= precision * shown, f1, -1.0)))])  # the first if none


def level_thresholds(p: Floats, tags: Floats, known: Known = None) -> Floats:
    """Return the lowest threshold of each precision of 1 %, 2 %, …, 99 %; ``NEVER`` if none reaches it.

    >>> tags = np.repeat([[1.0, 1.0, 0.0]], 20, axis=0)
    >>> thresholds = level_thresholds(np.tile([0.9, 0.5, 0.3], (20, 1)), tags)
    >>> thresholds[[65, 66]].tolist()
    [0.3, 0.5]
    """
    levels, shown, right = by_threshold(of_known(p, known), of_known(tags, known))
    precision = np.where(shown >= FEWEST_SHOWN, right / shown, 0.0)
    # The highest precision at this threshold or below it
    best = np.maximum.accumulate(precision[::-1])
    return np.append(levels[::-1], NEVER)[np.searchsorted(best, PERCENTS)]


def threshold_of(precision: Any, level_thresholds: Floats) -> float:
    """Return the threshold of a precision, rounded up to the next percent; ParameterError if out of reach."""
    if not isinstance(precision, Real) or isinstance(precision, bool) or not 0 < float(precision) < 1:
        raise ParameterError(f"a precision must be between 0 and 1, got {precision!r:.60}: try 0.8.")
    level = max(1, ceil(round(100 * float(precision), 6)))
    n_reached = int((level_thresholds < NEVER).sum())
    if level > n_reached:
        raise ParameterError(
            f"a precision of {precision:g} is out of reach: {FEWEST_SHOWN} tags or more of cross-validated "
            f"pictures reach {n_reached / 100:.2f} at most; ask for less, or train on more pictures."
        )
    return float(level_thresholds[level - 1])


def by_threshold(p: Floats, tags: Floats) -> tuple[Floats, Floats, Floats]:
    """Return every distinct probability, descending, and how many tags it shows and how many are right."""
    order = np.argsort(-p, axis=None, kind="stable")
    levels = p.ravel()[order]
    last = np.flatnonzero(np.append(np.diff(levels) < 0, True))  # equals are shown together
    shown = np.arange(1, len(levels) + 1, dtype=np.float64)
    return levels[last], shown[last], np.cumsum(tags.ravel()[order])[last]
