"""Confidence intervals and paired tests.

Over folds there are few numbers, for Student's t; over pictures there are many, which are resampled
(bootstrap) or exchanged between two learners (permutation). A test over pictures holds for these trained
learners on similar pictures; it does not cover other training parts.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tagmix.arrays import Floats
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import Parts, quotient

DRAWS = 2000


class Interval(NamedTuple):
    """A mean and the ends of its interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """First learner minus second, its interval, and the p-value."""

    mean: float
    low: float
    high: float
    p: float


def t_interval(values: Any, *, level: float = 0.95, test_share: float = 0.0) -> Interval:
    """Return the mean over folds and its interval by Student's t.

    Folds that share training pictures are not independent, and the plain interval is too short.
    ``test_share``, test pictures / training pictures, widens it as Nadeau and Bengio (2003, "Inference
    for the generalization error") do: the variance is s²·(1 / folds + test_share).

    1 ± 12.706·√(1/2), of the two values 0 and 2 (s = √2): 1 ± 12.706.

    >>> [round(x, 3) for x in t_interval([0.0, 2.0])]
    [1.0, -11.706, 13.706]
    """
    _check_level(level)
    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean()) if sample.size else float("nan")
    if len(sample) < 2:
        return Interval(mean, float("nan"), float("nan"))
    error = float(sample.std(ddof=1)) * np.sqrt(1 / len(sample) + test_share)
    reach = float(stats.t.ppf(0.5 + level / 2, len(sample) - 1) * error)
    return Interval(mean, mean - reach, mean + reach)


def bootstrap_interval(parts: Parts, *, draws: int = DRAWS, seed: int = 0, level: float = 0.95) -> Interval:
    """Return the metric and its bootstrap interval over pictures.

    >>> bootstrap_interval(Parts(np.array([1.0, 1.0]), np.array([2.0, 2.0])))
    Interval(mean=0.5, low=0.5, high=0.5)
    """
    _check_level(level)
    found = _drawn([_counted(parts)], draws, seed)[0]
    return Interval(quotient(parts), *_ends(found, level))


def paired_bootstrap(
    first: Parts, second: Parts, *, draws: int = DRAWS, seed: int = 0, level: float = 0.95
) -> Difference:
    """Return the difference of two learners over the same bootstrap samples of pictures.

    p is twice the share of draws on the wrong side of 0 (or at it), never above 1.

    >>> one = np.ones(4)
    >>> paired_bootstrap(Parts(one, one), Parts(0.5 * one, one), draws=999)
    Difference(mean=0.5, low=0.5, high=0.5, p=0.002)
    """
    _check_level(level)
    _check_paired(first, second)
    kept = (first.weight > 0) | (second.weight > 0)
    pair = [Parts(p.gain[kept], p.weight[kept]) for p in (first, second)]
    ours, theirs = _drawn(pair, draws, seed)
    apart = ours - theirs
    apart = apart[~np.isnan(apart)]
    side = int(min(np.count_nonzero(apart <= 0), np.count_nonzero(apart >= 0)))
    p = min(1.0, 2 * (1 + side) / (1 + len(apart)))
    return Difference(quotient(first) - quotient(second), *_ends(apart, level), p)


def permutation_test(first: Parts, second: Parts, *, draws: int = 9999, seed: int = 0) -> float:
    """Return p of the hypothesis that the learners are exchangeable on every picture.

    Each picture's results are exchanged or not: all ways if there are no more than ``draws``, else ``draws``
    random ones and the one that was observed. Better on 3 of 3 pictures by the same amount: 2 of 8 ways.

    >>> one = np.ones(3)
    >>> permutation_test(Parts(one, one), Parts(0 * one, one))
    0.25
    """
    _check_paired(first, second)
    if np.isnan(quotient(first) - quotient(second)):
        return float("nan")
    differ = (first.gain != second.gain) | (first.weight != second.weight)
    n = int(np.count_nonzero(differ))
    sums = np.array([[p.gain.sum(), p.weight.sum()] for p in (first, second)])
    change = np.stack([second.gain - first.gain, second.weight - first.weight], axis=1)[differ]
    exact = 2**n <= draws
    observed = abs(quotient(first) - quotient(second)) * (1 - 1e-12) - 1e-15  # sums in another order
    rng, beyond, ways = np.random.default_rng(seed), 0, 2**n if exact else draws
    step = max(1, 2**20 // max(1, n))
    for start in range(0, ways, step):
        numbers = np.arange(start, min(start + step, ways))
        swap = _bits(numbers, n) if exact else rng.integers(0, 2, (len(numbers), n), dtype=np.int8)
        moved = swap.astype(np.float64) @ change
        beyond += int(np.count_nonzero(_apart(sums[0] + moved, sums[1] - moved) >= observed))
    return beyond / ways if exact else (1 + beyond) / (1 + ways)


def sign_test(first: Parts, second: Parts) -> float:
    """Return p of the hypothesis that either learner wins a picture as often as the other; ties are left out.

    5 wins and no loss: 2 / 2⁵.

    >>> one = np.ones(5)
    >>> sign_test(Parts(one, one), Parts(0 * one, one))
    0.0625
    """
    _check_paired(first, second)
    both = (first.weight > 0) & (second.weight > 0)
    ours, theirs = (p.gain[both] / p.weight[both] for p in (first, second))
    wins, losses = int(np.count_nonzero(ours > theirs)), int(np.count_nonzero(ours < theirs))
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def _drawn(many: list[Parts], draws: int, seed: int) -> Floats:
    """Return the metric of each over the same bootstrap samples; nan if a sample has no weight."""
    if draws < 1:
        raise ParameterError(f"draws must be >= 1, got {draws}: 2000 are enough for an interval.")
    rng, n = np.random.default_rng(seed), len(many[0].gain)
    sums = np.zeros((len(many), draws, 2))
    for i in range(draws if n else 0):
        rows = rng.integers(0, n, n)
        sums[:, i] = [(p.gain[rows].sum(), p.weight[rows].sum()) for p in many]
    return _over(sums)


def _over(sums: Floats) -> Floats:
    """Return gain / weight along the last axis; nan without weight."""
    gain, weight = sums[..., 0], sums[..., 1]
    return np.divide(gain, weight, out=np.full(gain.shape, np.nan), where=weight > 0)


def _apart(first: Floats, second: Floats) -> Floats:
    return np.abs(_over(first) - _over(second))


def _bits(numbers: Any, n: int) -> Any:
    return (numbers[:, None] >> np.arange(n)) & 1


def _ends(values: Floats, level: float) -> tuple[float, float]:
    """Return the central interval that holds this share of the values."""
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def _counted(parts: Parts) -> Parts:
    """Return the pictures with a weight."""
    return Parts(parts.gain[parts.weight > 0], parts.weight[parts.weight > 0])


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"level must lie between 0 and 1, got {level!r}: 0.95 is customary.")


def _check_paired(first: Parts, second: Parts) -> None:
    if len(first.gain) != len(second.gain):
        raise ParameterError(
            f"paired tests need the same pictures, got {len(first.gain)} and {len(second.gain)}: test both "
            "learners on one set of pictures."
        )
