"""Join the outlines of neighbouring regions into one, and leave out points that nobody would miss."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import cv2
import numpy as np

from tagmix.images.polygons import FEWEST, Polygon, Ring, area_of

Point: TypeAlias = tuple[float, float]


def joined(polygons: Iterable[Polygon]) -> tuple[Polygon, ...]:
    """Return the union of polygons that meet without gaps or overlaps, the largest first.

    Borders that two of them share run through the same points, in opposite directions, and cancel.

    >>> left = (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)),)
    >>> right = (((1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0)),)
    >>> joined([left, right])
    ((((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (0.0, 1.0)),),)
    """
    every = list(polygons)
    if len(every) < 2:
        return tuple(every)
    borders: dict[tuple[Point, Point], None] = {}  # in order: the result does not depend on hashes
    for ring in (ring for polygon in every for ring in polygon):
        for start, end in zip(ring, (*ring[1:], ring[0]), strict=True):
            if (end, start) in borders:
                del borders[end, start]
            else:
                borders[start, end] = None
    rings = sorted(_rings(borders), key=lambda ring: -abs(_area(ring)))
    sign = math.copysign(1.0, _area(every[0][0]))
    outer = [ring for ring in rings if _area(ring) * sign > 0]
    holes: dict[int, list[Ring]] = defaultdict(list)
    for hole in (ring for ring in rings if _area(ring) * sign < 0):
        around = [n for n, ring in enumerate(outer) if _contains(ring, hole[0], hole[1])]
        if around:
            holes[around[-1]].append(hole)
    return tuple((ring, *holes[n]) for n, ring in enumerate(outer))


def _rings(borders: Iterable[tuple[Point, Point]]) -> list[Ring]:
    """Return the closed walks along all borders."""
    onward: dict[Point, list[Point]] = defaultdict(list)
    for start, end in borders:
        onward[start].append(end)
    rings = []
    for first in list(onward):
        while onward[first]:
            ring, here = [first], onward[first].pop(0)
            while here != first and onward[here]:
                after = min(onward[here], key=lambda end, a=ring[-1], b=here: _turn(a, b, end))  # type: ignore[misc]
                onward[here].remove(after)
                ring.append(here)
                here = after
            if here == first and len(ring) >= FEWEST:
                rings.append(tuple(ring))
    return rings


def _turn(before: Point, here: Point, after: Point) -> float:
    """Return the turn to the left, at most half a circle either way.

    Where two parts touch in a point the rightmost way stays with its own part: the inside is on the right.
    """
    ahead = math.atan2(here[1] - before[1], here[0] - before[0])
    turned = ahead - math.atan2(after[1] - here[1], after[0] - here[0])
    return (turned + math.pi) % (2 * math.pi) - math.pi


def _area(ring: Sequence[Point]) -> float:
    return float(area_of(np.array(ring)))


def _contains(ring: Ring, a: Point, b: Point) -> bool:
    """Return whether the middle of a border of a hole lies inside a ring."""
    x, y = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    inside = False
    for (x0, y0), (x1, y1) in zip(ring, (*ring[1:], ring[0]), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            inside = not inside
    return inside


def simplified(polygon: Polygon, tolerance: float) -> Polygon:
    """Return a polygon with fewer points, none of the old ones further than ``tolerance`` from the new lines.

    >>> simplified((((0.0, 0.0), (0.5, 0.001), (1.0, 0.0), (1.0, 1.0)),), 0.01)
    (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)),)
    """
    return tuple(_simplified(ring, tolerance) for ring in polygon)


def _simplified(ring: Sequence[Point], tolerance: float) -> Ring:
    points = np.array(ring, dtype=np.float32).reshape(-1, 1, 2)
    kept = cv2.approxPolyDP(points, tolerance, closed=True).reshape(-1, 2)
    fewer: Ring = tuple((float(x), float(y)) for x, y in kept)
    if len(fewer) < FEWEST or _area(fewer) == 0:
        return tuple(ring)
    known = {(float(np.float32(x)), float(np.float32(y))): (x, y) for x, y in ring}
    return tuple(known[point] for point in fewer)  # in double precision again
