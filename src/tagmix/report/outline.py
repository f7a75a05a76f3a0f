"""Find the outlines of regions: from the exact borders of their pixels to lines fit to be looked at.

A border is cut into arcs where three regions meet, and each arc is smoothed and simplified once and used by
both of its regions: neighbours fit without gaps, however much is simplified.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Labels: TypeAlias = NDArray[np.integer]
Point: TypeAlias = tuple[int, int]  # (x, y), a corner between pixels
Line: TypeAlias = tuple[Point, ...]
Drawn: TypeAlias = NDArray[np.float64]  # points × (x, y)


class Arc(NamedTuple):
    """A stretch of border and the regions beside it: two, or one at the frame of the picture."""

    line: Drawn
    regions: tuple[int, ...]


class Outlines(NamedTuple):
    """All arcs, and for each region its rings as arcs in order, each forwards (True) or backwards."""

    arcs: tuple[Arc, ...]
    rings: Mapping[int, Sequence[Sequence[tuple[int, bool]]]]


def outline(labels: Labels, tolerance: float = 0.0, reach: int = 0) -> Outlines:
    """Return the borders of all regions, smoothed and simplified; exact if neither is asked for."""
    arcs: dict[Line, list[int]] = {}
    number: dict[Line, int] = {}
    rings: dict[int, list[list[tuple[int, bool]]]] = defaultdict(list)
    nodes = _nodes(labels)
    for region, ring in _traced(labels):
        parts = []
        for line in _cut(ring, nodes):
            # Both regions of an arc must know it by the same name, whichever way they walk it
            key = min(line, line[::-1])
            number.setdefault(key, len(number))
            arcs.setdefault(key, []).append(region)
            parts.append((number[key], key == line))
        rings[region].append(parts)
    found = (Arc(simplify(smooth(line, reach), tolerance), tuple(beside)) for line, beside in arcs.items())
    return Outlines(tuple(found), dict(rings))


def smooth(line: Line, reach: int) -> Drawn:
    """Return each point as the mean of those up to ``reach`` steps before and after it; the ends stay.

    >>> smooth(((0, 0), (1, 0), (1, 1), (2, 1), (2, 2)), 1)[1].round(2).tolist()
    [0.67, 0.33]
    """
    points = np.asarray(line, dtype=np.float64)
    at = np.arange(len(points))
    # The same reach on both sides, or a line would be drawn out of its ends
    own = np.minimum(reach, np.minimum(at, at[::-1]))[:, None]
    sums = np.vstack([np.zeros(2), np.cumsum(points, axis=0)])
    smoothed: Drawn = (sums[at + own[:, 0] + 1] - sums[at - own[:, 0]]) / (2 * own + 1)
    return smoothed


def simplify(points: Drawn, tolerance: float) -> Drawn:
    """Return the line with as few of its points as keep all others within the tolerance (Douglas, Peucker).

    >>> simplify(np.array([[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [9, 2.0]]), 1.0).tolist()
    [[0.0, 0.0], [2.0, 2.0], [9.0, 2.0]]
    """
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    pending = [(0, len(points) - 1)]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        far = _distances(points[first + 1 : last], points[first], points[last])
        middle = first + 1 + int(np.argmax(far))
        if far[middle - first - 1] > tolerance:
            keep[middle] = True
            pending += [(first, middle), (middle, last)]
    # A ring of two points has no inside; such an island is small and stays as it is
    closed = bool((points[0] == points[-1]).all())
    return points if closed and keep.sum() < 4 else points[keep]


def _distances(points: Drawn, start: Drawn, end: Drawn) -> Drawn:
    """Return how far points are from a segment, which is a point where a ring begins and ends."""
    along = end - start
    length = float(along @ along)
    share = np.clip((points - start) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
    return np.linalg.norm(points - start - share[:, None] * along, axis=1)


def _nodes(labels: Labels) -> set[Point]:
    """Return the corners that more than two arcs end at, and those of the picture, so that it keeps them."""
    padded = np.pad(labels.astype(np.int64), 1, constant_values=-1)
    beside, below = padded[:, 1:] != padded[:, :-1], padded[1:] != padded[:-1]
    degree = beside[1:].astype(int) + beside[:-1] + below[:, 1:] + below[:, :-1]
    degree[np.ix_([0, -1], [0, -1])] = 4
    return {(int(x), int(y)) for y, x in np.argwhere(degree > 2)}


def _traced(labels: Labels) -> list[tuple[int, Line]]:
    """Return each region with each of its rings, clockwise around it, the first point again at the end."""
    steps: dict[int, dict[Point, list[Point]]] = defaultdict(dict)
    padded = np.pad(labels.astype(np.int64), 1, constant_values=-1)
    sides = (
        ((-1, 0), (0, 0), (1, 0)),
        ((0, 1), (1, 0), (1, 1)),
        ((1, 0), (1, 1), (0, 1)),
        ((0, -1), (0, 1), (0, 0)),
    )
    height, width = labels.shape
    for (dy, dx), start, end in sides:
        other = padded[1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width]
        ys, xs = np.nonzero(labels != other)
        for x, y, region in zip(xs.tolist(), ys.tolist(), labels[ys, xs].tolist(), strict=True):
            found = steps[region].setdefault((x + start[0], y + start[1]), [])
            found.append((x + end[0], y + end[1]))
    rings = []
    for region in sorted(steps):
        while steps[region]:
            rings.append((region, _ring(steps[region])))
    return rings


def _ring(steps: dict[Point, list[Point]]) -> Line:
    """Return one ring and take its steps away."""
    here = start = min(steps)
    walked = [start]
    ahead = (0, 0)
    while True:
        ways = steps[here]
        # Where a region touches itself at a corner, turn right: its pixels hang together by sides only
        right = (here[0] - ahead[1], here[1] + ahead[0])
        there = right if right in ways else ways[0]
        ways.remove(there)
        if not ways:
            del steps[here]
        ahead = (there[0] - here[0], there[1] - here[1])
        here = there
        walked.append(here)
        if here == start:
            return tuple(walked)


def _cut(ring: Line, nodes: set[Point]) -> list[Line]:
    """Return the ring as arcs from node to node, or whole from its first corner if it has no node."""
    points = ring[:-1]
    at = [k for k, point in enumerate(points) if point in nodes] or [points.index(min(points))]
    turned = points[at[0] :] + points[: at[0]]
    ends = [k - at[0] for k in at] + [len(points)]
    closed = (*turned, turned[0])
    return [closed[a : b + 1] for a, b in pairwise(ends)]
