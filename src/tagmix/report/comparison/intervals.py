"""Bootstrap intervals over pictures, with the same samples for all methods.

They are those of ``tagmix.evaluation.significance``, for the pictures of all parts (folds) together, and fast
enough for a page with hundreds of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Floats, Ints
from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.significance import DRAWS, Difference, Interval

# Better on 5 pictures of 5 has probability 1/16 by chance (2 / 2⁵), however narrow the interval is
MIN_DIFFERENT = 6
FEWER = 400  # draws for the bands of curves, where small errors do not show
_BLOCK, _KEPT = 2**20, 2**24
Unit = tuple[int, tuple[str, ...]]  # a part (fold) and the names of its pictures


def joined(parts: Sequence[Parts]) -> Parts:
    """Return the pictures of several parts as one part."""
    return Parts(np.concatenate([p.gain for p in parts]), np.concatenate([p.weight for p in parts]))


def interval(parts: Mapping[Unit, Parts], draws: int = DRAWS) -> Interval:
    """Return the quotient of all parts and its 95 % interval over pictures, as ``bootstrap_interval``."""
    return intervals([parts], draws)[0]


def intervals(many: Sequence[Mapping[Unit, Parts]], draws: int = DRAWS) -> list[Interval]:
    """Return several quotients over the same pictures with their intervals, all from the same draws."""
    pooled = [joined(list(parts.values())) for parts in many]
    found = drawn(pooled, draws)
    return [Interval(quotient(p), *_ends(found[:, i])) for i, p in enumerate(pooled)]


def difference(first: Mapping[Unit, Parts], second: Mapping[Unit, Parts], draws: int = DRAWS) -> Difference:
    """Return first minus second over the pictures that both have, as ``paired_bootstrap``."""
    ours, theirs = _shared(first, second)
    if not len(ours.gain):
        return Difference(*(4 * (float("nan"),)))
    found = drawn([ours, theirs], draws)
    apart = found[:, 0] - found[:, 1]
    apart = apart[~np.isnan(apart)]
    side = int(min(np.count_nonzero(apart <= 0), np.count_nonzero(apart >= 0)))
    p = min(1.0, 2 * (1 + side) / (1 + len(apart)))
    return Difference(quotient(ours) - quotient(theirs), *_ends(apart), p)


def differ(first: Mapping[Unit, Parts], second: Mapping[Unit, Parts]) -> bool:
    """Return whether two methods differ significantly over the pictures that both have."""
    ours, theirs = _shared(first, second)
    unequal = (ours.gain != theirs.gain) | (ours.weight != theirs.weight)
    found = difference(first, second)
    return int(np.count_nonzero(unequal)) >= MIN_DIFFERENT and (found.low > 0 or found.high < 0)


def gain(first: Mapping[Unit, Parts], second: Mapping[Unit, Parts], draws: int = DRAWS) -> Interval:
    """Return first / second − 1 over the pictures that both have, with its 95 % paired interval."""
    ours, theirs = _shared(first, second)
    if not len(ours.gain) or not quotient(theirs):
        return Interval(*(3 * (float("nan"),)))
    found = drawn([ours, theirs], draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = found[:, 0] / found[:, 1] - 1
    return Interval(quotient(ours) / quotient(theirs) - 1, *_ends(ratio[np.isfinite(ratio)]))


Many = Mapping[Unit, Parts]


def lost(few: Many, many: Many, few_2: Many | None = None, many_2: Many | None = None) -> Interval:
    """Return 1 − many / few, the share that is lost from one point of a curve to another.

    With a second method: the difference of the shares. All share their bootstrap samples: of the pictures
    that are tested at either point, in the folds that all have.
    """
    ends = aligned([few, many] if few_2 is None or many_2 is None else [few, many, few_2, many_2])
    whole, found = np.array([[quotient(end) for end in ends]]), drawn(ends)
    value, draws = _lost(whole)[0], _lost(found)
    return Interval(float(value), *_ends(draws[np.isfinite(draws)]))


def _lost(scores: Floats) -> Floats:
    """Return the share lost from the first column to the second, minus that of the second pair, if any."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 1 - scores[:, 1::2] / scores[:, ::2]
    return np.asarray(shares[:, 0] - shares[:, 1] if shares.shape[1] > 1 else shares[:, 0])


def aligned(many: Sequence[Many]) -> list[Parts]:
    """Return all over the pictures of the folds that all have; an untested picture has weight 0."""
    folds = set.intersection(*({part for part, _ in one} for one in many))
    names = {(part, name) for one in many for part, ids in one if part in folds for name in ids}
    row = {name: i for i, name in enumerate(sorted(names))}
    out = [Parts(np.zeros(len(row)), np.zeros(len(row))) for _ in many]
    for made, one in zip(out, many, strict=True):
        for (part, ids), parts in one.items():
            if part in folds:
                rows = [row[part, name] for name in ids]
                made.gain[rows], made.weight[rows] = parts.gain, parts.weight
    return out


def _shared(first: Mapping[Unit, Parts], second: Mapping[Unit, Parts]) -> tuple[Parts, Parts]:
    units = [unit for unit in first if unit in second]
    empty = [Parts(np.zeros(0), np.zeros(0))]
    return (joined(empty + [first[u] for u in units]), joined(empty + [second[u] for u in units]))


def drawn(many: Sequence[Parts], draws: int = DRAWS, seed: int = 0) -> Floats:
    """Return the quotients of bootstrap samples of pictures, draws × many.

    The draws are those of ``tagmix.evaluation.significance``; as counts of pictures they make one product of
    matrices for all methods and all k.
    """
    gain_, weight = (np.stack(columns, axis=1) for columns in zip(*many, strict=True))
    kept = (weight > 0).any(axis=1)
    gain_, weight = gain_[kept], weight[kept]
    n = len(weight)
    out = np.full((draws, len(many)), np.nan)
    start = 0
    for times in picture_counts(n, draws, seed) if n else ():
        top, bottom = times @ gain_, times @ weight
        np.divide(top, bottom, out=out[start : start + len(times)], where=bottom > 0)
        start += len(times)
    return out


def picture_counts(n: int, draws: int, seed: int = 0) -> Iterator[Floats]:
    """Yield how often each picture is drawn, one block of draws at a time."""
    rng, step = np.random.default_rng(seed), max(1, _BLOCK // n)
    kept = _kept(n, draws, seed) if n * draws <= _KEPT else None
    for start in range(0, draws, step):
        size = min(step, draws - start)
        block = _block(rng, n, size) if kept is None else kept[start : start + size]
        yield np.asarray(block, dtype=np.float64)


@lru_cache(maxsize=4)
def _kept(n: int, draws: int, seed: int) -> NDArray[np.uint16]:
    """Return all draws of a set of pictures; a page uses the same draws many times."""
    return np.array(_block(np.random.default_rng(seed), n, draws), dtype=np.uint16)


def _block(rng: np.random.Generator, n: int, draws: int) -> list[Ints]:
    return [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(draws)]


def _ends(values: Floats) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
