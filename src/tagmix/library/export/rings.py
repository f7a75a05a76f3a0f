"""Regions for formats that know one ring of pixels per polygon: holes are joined to the outside by a slit."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagmix.images.polygons import area_of
from tagmix.library.export.chosen import Polygon, Shape

Points: TypeAlias = NDArray[np.float64]

# Digits after the point of a coordinate: outlines are exact to about a pixel.
DIGITS = 2


def rings(shape: Shape, height: int, width: int) -> list[list[list[float]]]:
    """Return the polygons of a region in pixels, one ring [[x, y], …] each; none if it has only a box."""
    scaled = [keyholed(polygon) * (width, height) for polygon in shape.polygons if polygon]
    return [ring.round(DIGITS).tolist() for ring in scaled]


def box(shape: Shape, height: int, width: int) -> list[float]:
    """Return x, y, width and height of a region in pixels."""
    x, y, across, down = shape.box
    return [round(value, DIGITS) for value in (x * width, y * height, across * width, down * height)]


def keyholed(polygon: Polygon) -> Points:
    """Return one ring around a polygon and its holes: in to each hole by a slit of no width, and back.

    Programs fill it as they fill the polygon, and its area is that of the outer ring less its holes.

    >>> outer, hole = ((0, 0), (4, 0), (4, 4), (0, 4)), ((1, 1), (2, 1), (2, 2), (1, 2))
    >>> area_of(keyholed((outer, hole))), len(keyholed((outer, hole)))
    (15.0, 10)
    """
    ring = _turning(polygon[0], clockwise=True)
    for hole in polygon[1:]:
        inner = _turning(hole, clockwise=False)
        apart = ((ring[:, None] - inner[None]) ** 2).sum(axis=2)
        i, j = np.unravel_index(int(apart.argmin()), apart.shape)
        ring = np.vstack([ring[: i + 1], inner[j:], inner[: j + 1], ring[i:]])
    return ring


def _turning(ring: tuple[tuple[float, float], ...], *, clockwise: bool) -> Points:
    points = np.asarray(ring, np.float64)
    return points if (area_of(points) > 0) == clockwise else points[::-1]


def area(ring: list[list[float]]) -> float:
    """Return the area within a ring of pixels."""
    return round(abs(area_of(np.asarray(ring))), DIGITS)
