"""Checks of true regions; each check returns a box, polygon or runs in the form in which it is stored."""

import math
from collections.abc import Mapping
from typing import Any

from tagmix.datasets.items import Box, Polygon, Runs, TrueRegion
from tagmix.datasets.paths import shown
from tagmix.errors import AlbumError
from tagmix.images.decode import MAX_PIXELS
from tagmix.tag_names import normal_name

FARTHEST = 1e6  # pixels; wider than any picture, and limits the time for drawing


def region(record: Any) -> TrueRegion:
    """Return the region of a record: a tag with a polygon, runs or a box, whichever is the most precise.

    >>> region({"tag": "boat", "box": [1, 2, 30, 40]})
    TrueRegion(tag='boat', box=(1.0, 2.0, 30.0, 40.0), polygon=None, runs=None)
    """
    if not isinstance(record, Mapping):
        raise AlbumError(f"a region must be an object with tag and box or polygon, got {shown(record)}")
    tag = record.get("tag")
    if not isinstance(tag, str) or not normal_name(tag):
        raise AlbumError(f"a region must have a tag, got {shown(tag)}")
    name = normal_name(tag)
    if record.get("polygon") is not None:
        return TrueRegion(name, polygon=polygon(record["polygon"]))
    if record.get("runs") is not None:
        return TrueRegion(name, runs=runs(record["runs"]))
    if record.get("box") is not None:
        return TrueRegion(name, box=box(record["box"]))
    raise AlbumError(f"region {shown(tag)} must have a box or a polygon, got neither")


def box(values: Any) -> Box:
    """Return x, y, width, height of a box that is not empty."""
    if not isinstance(values, list | tuple) or len(values) != 4:
        raise AlbumError(f"a box must be [x, y, width, height], got {shown(values)}")
    x, y, width, height = (_coordinate(value) for value in values)
    if width <= 0 or height <= 0:
        raise AlbumError(f"a box must have a width and a height, got {shown(values)}")
    return x, y, width, height


def polygon(points: Any) -> Polygon:
    """Return the corners of a polygon, at least three."""
    if not isinstance(points, list | tuple) or len(points) < 3:
        raise AlbumError(f"a polygon must have at least three points, got {shown(points)}")
    return tuple(_point(point) for point in points)


def _point(point: Any) -> tuple[float, float]:
    if not isinstance(point, list | tuple) or len(point) != 2:
        raise AlbumError(f"a point must be [x, y], got {shown(point)}")
    return _coordinate(point[0]), _coordinate(point[1])


def _coordinate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= FARTHEST:
        raise AlbumError(f"a coordinate must be a number up to {FARTHEST:,.0f}, got {shown(value)}")
    return float(value)


def runs(record: Any) -> Runs:
    """Return runs from ``{"size": [height, width], "counts": …}``; counts can be compressed.

    >>> runs({"size": [2, 2], "counts": [1, 2, 1]})
    Runs(height=2, width=2, counts=(1, 2, 1))
    """
    if not isinstance(record, Mapping):
        raise AlbumError(f"runs must be an object with size and counts, got {shown(record)}")
    size, counts = record.get("size"), record.get("counts")
    if not (isinstance(size, list | tuple) and len(size) == 2 and all(_whole(side) for side in size)):
        raise AlbumError(f"runs must have a size [height, width], got {shown(size)}")
    height, width = size
    if height * width > MAX_PIXELS or height * width < 1:
        raise AlbumError(f"runs must cover 1 to {MAX_PIXELS:,} pixels, got {height} × {width}")
    lengths = _unpacked(counts) if isinstance(counts, str) else counts
    if not (isinstance(lengths, list | tuple) and all(_whole(length) for length in lengths)):
        raise AlbumError(f"runs must have whole numbers as counts, got {shown(counts)}")
    if sum(lengths) != height * width:
        raise AlbumError(f"runs must add up to {height * width:,} pixels, got {sum(lengths):,}")
    return Runs(height, width, tuple(lengths))


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _unpacked(text: str) -> list[int]:
    """Return the counts in COCO's text: five bits per character, low first, differences from the third on."""
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 30:
            raise AlbumError(f"compressed runs must be COCO's text, got {shown(text)}")
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:  # more to come
            continue
        if bits & 0x10:  # negative
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        value = shift = 0
    if shift:
        raise AlbumError(f"compressed runs end in the middle of a number: {shown(text)}")
    return counts


def circle(centre: Any, edge: Any, corners: int = 32) -> Polygon:
    """Return the polygon of a circle given by its centre and a point on it."""
    (x, y), (across, down) = _point(centre), _point(edge)
    radius = math.hypot(across - x, down - y)
    angles = (2 * math.pi * k / corners for k in range(corners))
    return tuple((x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles)
