"""Two searches without derivatives: over ordered values of settings, and over continuous numbers.

Coordinate search goes along one setting at a time, whose values are given; pattern search takes steps of
decreasing length along given directions, such as all kernel widths together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats

Setting = dict[str, Any]
# The most passes over all axes, which bounds the cost.
PASSES = 2


class SearchResult(NamedTuple):
    """The best setting, its value, and every setting that was tried with its value, in order."""

    setting: Setting
    value: float
    tried: tuple[tuple[Setting, float], ...]


def coordinate_search(
    axes: Mapping[str, Sequence[Any]],
    start: Mapping[str, Any],
    value: Callable[[Setting], float],
    progress: Callable[[int], None] | None = None,
    *,
    together: Sequence[str] = (),
    entirely: Sequence[str] = (),
) -> SearchResult:
    """Return the best setting found from ``start``, along each axis down and up until a step does not gain.

    All axes are searched again, at most ``PASSES`` times, until a pass changes nothing. Before the first pass
    the axes named ``together``, which share their values, are set to every second value at once: the
    objective may have several maxima, and ridges along no single axis. Every value of the axes named
    ``entirely`` is tried in the first pass. No setting is tried twice; of equals the earlier wins.
    ``progress`` is called with the number of settings tried so far.

    >>> axes = {"x": range(9), "y": range(9)}
    >>> found = coordinate_search(axes, {"x": 4, "y": 4}, lambda s: -abs(s["x"] - 2))
    >>> found.setting, found.value, len(found.tried)
    ({'x': 2, 'y': 4}, 0, 7)
    """
    tried: dict[tuple[Any, ...], tuple[Setting, float]] = {}

    def score(setting: Setting) -> float:
        key = tuple(setting[name] for name in axes)
        if key not in tried:
            tried[key] = setting, value(setting)
            if progress is not None:
                progress(len(tried))
        return tried[key][1]

    best: Setting = {name: start[name] for name in axes}
    score(best)
    for step in axes[together[0]][::2] if len(together) > 1 else ():
        best = max(best, {**best, **dict.fromkeys(together, step)}, key=score)
    for number in range(PASSES):
        before = best
        for name, values in axes.items():
            whole = number == 0 and name in entirely
            best = max(_line(best, name, list(values), score, whole), key=score)
        if best == before:
            break
    return SearchResult(best, score(best), tuple(tried.values()))


def _line(
    best: Setting, name: str, values: list[Any], score: Callable[[Setting], float], whole: bool
) -> list[Setting]:
    """Return settings along an axis, the best so far first: each way until a step does not gain, or all."""
    line = [best]
    place = values.index(best[name])
    for way in (values[:place][::-1], values[place + 1 :]):
        here = best
        for step in way:
            there = {**here, name: step}
            line.append(there)
            if score(there) <= score(here) and not whole:
                break
            here = there
    return line


def pattern_search(
    objective: Callable[[Floats], float], start: Floats, directions: Floats, steps: Sequence[float]
) -> Floats:
    """Return a local maximum of ``objective`` by steps of decreasing length along ``directions``.

    >>> pattern_search(lambda x: -abs(x[0] - 3.0), np.zeros(1), np.ones((1, 1)), (2.0, 1.0)).tolist()
    [3.0]
    """
    best, highest = np.asarray(start, dtype=np.float64), objective(start)
    for step in steps:
        improved = True
        while improved:
            improved = False
            for move in np.concatenate([directions, -directions]) * step:
                while (value := objective(best + move)) > highest:
                    best, highest, improved = best + move, value, True
    return best
