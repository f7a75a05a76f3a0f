"""Regions as polygons: their outlines as shares of the picture, in arrays small enough for the cache."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Ints
from tagmix.images.cache import Arrays
from tagmix.images.outline import Labels, outline

Ring: TypeAlias = tuple[tuple[float, float], ...]
Polygon: TypeAlias = tuple[Ring, ...]

# How far simplifying may move an outline, in pixels of the picture as it is described (at most 640): it takes
# the steps of the pixels out of a line, and changes the area of a region by less than 2 %.
TOLERANCE = 1.0
UNITS = 2**16 - 1  # a side of the picture, in stored numbers
FEWEST = 3  # points of a ring


class Rings(NamedTuple):
    """All rings of a picture: their points (x, y) one after the other, and the size of each ring.

    ``sizes`` has one row (region, number of points) per ring, regions ascending; the outer ring of a region
    comes first, its others are holes.
    """

    points: NDArray[np.uint16]
    sizes: NDArray[np.uint32]

    def polygons(self, region: int) -> tuple[Polygon, ...]:
        """Return the polygons of a region: one, because regions are connected; its outer ring first.

        Points are shares of the width and of the height. The polygons of neighbours meet without gaps.
        """
        ends = np.cumsum(self.sizes[:, 1].astype(np.int64))
        rings = []
        for ring in np.flatnonzero(self.sizes[:, 0] == region).tolist():
            points = self.points[ends[ring] - int(self.sizes[ring, 1]) : ends[ring]]
            rings.append(tuple((x / UNITS, y / UNITS) for x, y in points.tolist()))
        return (tuple(rings),) if rings else ()


NO_RINGS = Rings(np.zeros((0, 2), np.uint16), np.zeros((0, 2), np.uint32))


def rings_of(labels: Labels) -> Rings:
    """Return the simplified outlines of all regions of a picture.

    >>> rings_of(np.array([[0, 0, 1], [0, 0, 1]])).polygons(1)[0][0][0]
    (0.6666666666666666, 0.0)
    """
    height, width = labels.shape
    for tolerance in (TOLERANCE, 0.0):  # a thin region of a tiny picture may lose its inside
        found = outline(labels, tolerance)
        rings = [(region, ring) for region in sorted(found.rings) for ring in found.points(region)]
        if all(len(ring) >= FEWEST and area_of(ring) != 0 for _, ring in rings):
            break
    points = np.vstack([ring for _, ring in rings]) / (width, height)
    sizes = np.array([(region, len(ring)) for region, ring in rings])
    return Rings(np.rint(points * UNITS).astype(np.uint16), sizes.astype(np.uint32))


def area_of(ring: NDArray[Any]) -> float:
    """Return the area within a closed ring of points, negative if it runs anticlockwise (y points down).

    >>> area_of(np.array([[0, 0], [2, 0], [2, 1], [0, 1]])), area_of(np.array([[0, 0], [1, 1], [2, 2]]))
    (2.0, 0.0)
    """
    x, y = np.asarray(ring, dtype=np.float64).T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)


def are_rings(arrays: Arrays, n_regions: int) -> bool:
    """Return whether arrays from a file are rings of this many regions."""
    points, sizes = arrays.get("points"), arrays.get("sizes")
    if points is None or sizes is None:
        return False
    if not _is_pairs(points, np.uint16) or not _is_pairs(sizes, np.uint32):
        return False
    region, count = sizes.astype(np.int64).T
    return _counts_up_to(region, n_regions) and bool((count >= FEWEST).all() and count.sum() == len(points))


def _is_pairs(array: NDArray[Any], dtype: type) -> bool:
    return bool(array.dtype == dtype and array.ndim == 2 and array.shape[1] == 2)


def _counts_up_to(region: Ints, n_regions: int) -> bool:
    """Return whether the numbers 0 … n − 1 are all there, in order."""
    in_order = bool((np.diff(region) >= 0).all())
    return in_order and np.unique(region).tolist() == list(range(n_regions))
