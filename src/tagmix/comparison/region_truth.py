"""Pictures as they were described, and the true tag of each of their regions."""

from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from tagmix.datasets import Album, Item
from tagmix.images.picture import Sampling, segment_picture
from tagmix.images.process_pool import read_content

# Of a region that is none of the tags, and of one whose tag is not known.
NO_TAG, UNKNOWN_TAG = None, ""
# Pixels around a tag's area in which the middle of a region still points at it (Zhang et al. 2016).
MARGIN = 15


class Seen(NamedTuple):
    """A picture at the size at which it was described, and the region of each pixel."""

    image: NDArray[np.uint8]
    labels: NDArray[np.integer]


class PictureTruth(NamedTuple):
    """The truth about a picture's regions.

    ``tags`` has the tag of each region, ``NO_TAG`` or ``UNKNOWN_TAG``. ``placed`` are the tags that have an
    area. ``inside`` are pairs (region, tag): more than half of the region lies in one area of the tag;
    ``near``: its middle lies in an area, or within ``MARGIN`` pixels of it.
    """

    tags: list[str | None]
    placed: list[str]
    inside: list[tuple[int, str]]
    near: list[tuple[int, str]]


def see(path: Path, sampling: Sampling) -> Seen:
    """Return the picture and its regions exactly as a describer with this sampling sees them."""
    return Seen(*segment_picture(read_content(path), sampling))


def picture_truth(album: Album, item: Item, seen: Seen) -> PictureTruth:
    """Return the truth about a picture's regions by its mask, polygons or boxes."""
    labels = seen.labels.astype(np.int64)
    n_regions = int(labels.max()) + 1
    sizes = np.bincount(labels.ravel(), minlength=n_regions)
    middles = middle_pixels(labels)
    inside: list[tuple[int, str]] = []
    near: list[tuple[int, str]] = []
    areas = album.areas(item, seen.image.shape)
    for tag, pixels in areas:
        held = 2 * np.bincount(labels[pixels], minlength=n_regions) > sizes
        inside += [(int(region), tag) for region in np.flatnonzero(held)]
        close = _widened(pixels)[middles[:, 0], middles[:, 1]]
        near += [(int(region), tag) for region in np.flatnonzero(close)]
    boxed = item.mask is None and all(region.box is not None for region in item.regions)
    tags: list[str | None] = [*region_tags(album, item, seen)]
    if boxed and areas:
        tags = _boxed_tags(inside, n_regions)
    unique = (list(dict.fromkeys(pairs)) for pairs in (inside, near))
    return PictureTruth(tags, list(dict.fromkeys(tag for tag, _ in areas)), *unique)


def region_tags(album: Album, item: Item, seen: Seen) -> list[str]:
    """Return the majority tag of each region's pixels; ``UNKNOWN_TAG`` where most are unlabelled."""
    truth = album.region_truth(item, seen.image.shape)
    n_regions, n_names = int(seen.labels.max()) + 1, len(truth.names)
    pairs = seen.labels.astype(np.int64).ravel() * n_names + truth.labels.ravel()
    counts = np.bincount(pairs, minlength=n_regions * n_names).reshape(n_regions, n_names)
    return [truth.names[c] if c else UNKNOWN_TAG for c in counts.argmax(axis=1)]


def visible_tags(album: Album, item: Item, seen: Seen) -> list[str]:
    """Return the tags that at least one pixel of the picture is known to show."""
    truth = album.region_truth(item, seen.image.shape)
    return [truth.names[c] for c in np.unique(truth.labels) if c]


def _boxed_tags(inside: list[tuple[int, str]], n_regions: int) -> list[str | None]:
    """Return the tag of the smallest box that holds more than half of each region, else ``NO_TAG``.

    >>> _boxed_tags([(0, "cup"), (0, "table"), (2, "table")], 3)
    ['cup', None, 'table']
    """
    tags: list[str | None] = [NO_TAG] * n_regions
    for region, tag in reversed(inside):
        tags[region] = tag
    return tags


def middle_pixels(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the pixel of each region that is nearest to its centroid: row and column, inside the region.

    The centroid of the first region, a U around the second, lies outside of it.

    >>> middle_pixels(np.array([[0, 1, 0], [0, 1, 0], [0, 0, 0]])).tolist()
    [[2, 1], [0, 1]]
    """
    flat = labels.ravel()
    n_regions = int(flat.max()) + 1
    sizes = np.maximum(np.bincount(flat, minlength=n_regions), 1)
    away = np.zeros(flat.size)
    for places in np.divmod(np.arange(flat.size), labels.shape[1]):
        centre = np.bincount(flat, places, minlength=n_regions) / sizes
        away += (places - centre[flat]) ** 2
    first = np.lexsort((away, flat))
    starts = np.searchsorted(flat[first], np.arange(n_regions))
    return np.stack(np.divmod(first[np.minimum(starts, flat.size - 1)], labels.shape[1]), axis=1)


def _widened(pixels: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the area with ``MARGIN`` more pixels on all sides; a box stays a box."""
    square = np.ones((2 * MARGIN + 1, 2 * MARGIN + 1), np.uint8)
    return cv2.dilate(pixels.astype(np.uint8), square).astype(bool)
