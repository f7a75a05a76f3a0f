"""Find the outlines of regions: from the exact borders of their pixels to lines fit to be looked at.

A border is cut into arcs where three regions meet, and each arc is smoothed and simplified once and used by
both of its regions: neighbours fit without gaps, however much is simplified.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Labels: TypeAlias = NDArray[np.integer]
Corners: TypeAlias = NDArray[np.int64]  # points × (x, y), corners between pixels
Drawn: TypeAlias = NDArray[np.float64]  # points × (x, y)
Borders: TypeAlias = NDArray[np.bool_]

# Where the upper, right, lower and left side of a pixel start and end (x, y), clockwise around a region.
SIDES = (((0, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1), (0, 1)), ((0, 1), (0, 0)))


class Arc(NamedTuple):
    """A stretch of border and the regions beside it: two, or one at the frame of the picture."""

    line: Drawn
    regions: tuple[int, ...]


class Outlines(NamedTuple):
    """All arcs, and for each region its rings as arcs in order, each forwards (True) or backwards."""

    arcs: tuple[Arc, ...]
    rings: Mapping[int, Sequence[Sequence[tuple[int, bool]]]]

    def points(self, region: int) -> list[Drawn]:
        """Return the points of each ring of a region, clockwise around it, its outer ring first."""
        return [
            np.vstack([(self.arcs[k].line if ahead else self.arcs[k].line[::-1])[:-1] for k, ahead in ring])
            for ring in self.rings[region]
        ]


def outline(labels: Labels, tolerance: float = 0.0, reach: int = 0) -> Outlines:
    """Return the borders of all regions, smoothed and simplified; exact if neither is asked for."""
    lines: list[Corners] = []
    beside: list[list[int]] = []
    number: dict[bytes, int] = {}
    rings: dict[int, list[list[tuple[int, bool]]]] = defaultdict(list)
    # Whether the pixels on both sides of each border differ; beyond the frame there is no region
    padded = np.pad(labels.astype(np.int32), 1, constant_values=-1)
    across, down = padded[:, 1:] != padded[:, :-1], padded[1:] != padded[:-1]
    nodes = _nodes(across, down)
    for region, ring in _traced(labels, across, down):
        parts = []
        for line in _cut(ring, nodes):
            # Both regions of an arc must know it by the same name, whichever way they walk it
            ahead = line[:2].tolist() <= line[:-3:-1].tolist()
            key = np.ascontiguousarray(line if ahead else line[::-1])
            arc = number.setdefault(key.tobytes(), len(number))
            if arc == len(lines):
                lines.append(key)
                beside.append([])
            beside[arc].append(region)
            parts.append((arc, ahead))
        rings[region].append(parts)
    drawn = simplify_all([smooth(line, reach) for line in lines], tolerance)
    return Outlines(tuple(map(Arc, drawn, map(tuple, beside))), dict(rings))


def smooth(line: Corners, reach: int) -> Drawn:
    """Return each point as the mean of those up to ``reach`` steps before and after it; the ends stay.

    >>> smooth(np.array([[0, 0], [1, 0], [1, 1], [2, 1], [2, 2]]), 1)[1].round(2).tolist()
    [0.67, 0.33]
    """
    points = np.asarray(line, dtype=np.float64)
    if not reach:
        return points
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
    return simplify_all([points], tolerance)[0]


def simplify_all(lines: Sequence[Drawn], tolerance: float) -> list[Drawn]:
    """Return all lines simplified; every round splits all stretches of all lines at once."""
    ends = np.cumsum([len(line) for line in lines])
    points, last = np.vstack(lines), ends - 1
    first = np.append(0, ends[:-1])
    keep = np.zeros(len(points), dtype=bool)
    keep[first], keep[last] = True, True
    while len(first):
        long = last - first > 1
        first, last = first[long], last[long]
        middle = _farthest(points, first, last, tolerance)
        first, last, middle = (own[middle >= 0] for own in (first, last, middle))
        keep[middle] = True
        first, last = np.append(first, middle), np.append(middle, last)
    found = []
    for line, kept in zip(lines, np.split(keep, ends[:-1]), strict=True):
        # A ring of two points has no inside; such an island is small and stays as it is
        closed = bool((line[0] == line[-1]).all())
        found.append(line if closed and kept.sum() < 4 else line[kept])
    return found


def _farthest(points: Drawn, first: Corners, last: Corners, tolerance: float) -> Corners:
    """Return the point of each stretch that is farthest from its chord; −1 where all are near enough."""
    sizes = last - first - 1
    if not len(sizes):
        return sizes
    starts = np.cumsum(sizes) - sizes
    at = np.arange(sizes.sum()) + np.repeat(first + 1 - starts, sizes)
    start, along = points[np.repeat(first, sizes)], np.repeat(points[last] - points[first], sizes, axis=0)
    off, length = points[at] - start, (along**2).sum(axis=1)
    # A chord is a point where a ring begins and ends
    share = np.clip((off * along).sum(axis=1) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    far = np.hypot(*(off - share[:, None] * along).T)
    most = np.maximum.reduceat(far, starts)
    of_most = np.where(far == np.repeat(most, sizes), at, len(points))
    middle: Corners = np.where(most > tolerance, np.minimum.reduceat(of_most, starts), -1)
    return middle


def _nodes(beside: Borders, below: Borders) -> Borders:
    """Return at which corners (x, y) more than two arcs end; those of the picture are some, to stay."""
    one, other = beside.view(np.uint8), below.view(np.uint8)
    degree = one[1:] + one[:-1] + other[:, 1:] + other[:, :-1]
    degree[np.ix_([0, -1], [0, -1])] = 4
    return (degree > 2).T


def _traced(labels: Labels, beside: Borders, below: Borders) -> Iterator[tuple[int, Corners]]:
    """Yield each region with each of its rings, clockwise around it, without the first point again."""
    height, width = labels.shape
    differs = (below[:-1, 1:-1], beside[1:-1, 1:], below[1:, 1:-1], beside[1:-1, :-1])
    sides = []
    for ahead, (borders, (start, end)) in enumerate(zip(differs, SIDES, strict=True)):
        ys, xs = np.nonzero(borders)
        points = [((xs + x) * (height + 1) + ys + y) * 4 for x, y in (start, end)]
        region = labels[ys, xs].astype(np.int64) * 4 * (height + 1) * (width + 1)
        sides.append(np.stack([region + points[0] + ahead, region + points[1], np.full_like(ys, ahead)]))
    own, ends, ahead_of = (np.concatenate(part) for part in zip(*sides, strict=True))
    order = np.argsort(own)
    own, ends, ahead_of = own[order], ends[order], ahead_of[order]
    after = np.full(len(own), -1)
    # Where a region touches itself at a corner, turn right: its pixels hang together by sides only
    for turn in (3, 0, 1):
        wanted = ends + (ahead_of + turn) % 4
        place = np.minimum(np.searchsorted(own, wanted), len(own) - 1)
        after = np.where(own[place] == wanted, place, after)
    region, corner = np.divmod(own // 4, (height + 1) * (width + 1))
    corners = np.stack(np.divmod(corner, height + 1), axis=1)
    for walked in _cycles(after.tolist()):
        yield int(region[walked[0]]), corners[walked]


def _cycles(after: list[int]) -> Iterator[list[int]]:
    """Yield the cycles of a permutation, each from its lowest number."""
    walked = [False] * len(after)
    for start in range(len(after)):
        cycle, here = [], start
        while not walked[here]:
            walked[here] = True
            cycle.append(here)
            here = after[here]
        if cycle:
            yield cycle


def _cut(ring: Corners, nodes: Borders) -> list[Corners]:
    """Return the ring as arcs from node to node, or whole from its first corner if it has no node."""
    at = np.flatnonzero(nodes[ring[:, 0], ring[:, 1]])
    if not len(at):
        at = np.array([np.lexsort((ring[:, 1], ring[:, 0]))[0]])
    closed = np.vstack([ring[at[0] :], ring[: at[0] + 1]])
    return [closed[a : b + 1] for a, b in pairwise([*(at - at[0]).tolist(), len(ring)])]
