"""Draw the true regions of a picture (mask, polygons, boxes) as one matrix of labels."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from tagmix.datasets.items import Item, Polygon, Runs, TrueRegion
from tagmix.errors import AlbumError
from tagmix.images.decode import MAX_PIXELS, decode_labels, size_of

Labels = NDArray[np.uint16]
T = TypeVar("T", bound=np.generic)
MOST_NAMES = np.iinfo(np.uint16).max


class RegionTruth(NamedTuple):
    """A label per pixel, and the names of the labels; 0 is void and has the empty name."""

    labels: Labels
    names: tuple[str, ...]


class Area(NamedTuple):
    """A tag and its pixels."""

    tag: str
    pixels: NDArray[np.bool_]


def mask_of(item: Item, mask_labels: dict[int, str], shape: tuple[int, ...]) -> Labels:
    """Return the values of the mask at this height and width; zeros without a mask.

    Values without a name in ``mask_labels`` become void (0): many masks outline objects with 255.
    """
    height, width = _checked(shape)
    if item.mask is None:
        return np.zeros((height, width), np.uint16)
    values = decode_labels(item.mask)
    named = np.isin(values, np.fromiter(mask_labels, np.int64, len(mask_labels)))
    return _resized(np.where(named, values, np.uint16(0)), height, width)


def region_truth(item: Item, mask_labels: dict[int, str], shape: tuple[int, ...]) -> RegionTruth:
    """Return the true label per pixel at the height and width of a decoded picture.

    The mask is drawn first, then boxes, larger ones first, then polygons and runs in file order, so precise
    regions cover coarse ones. Regions are clipped to the picture. If ``shape`` is not the size of the
    file (a reduced picture), regions are scaled.
    """
    height, width = _checked(shape)
    mask = mask_of(item, mask_labels, shape)
    present = [int(value) for value in np.unique(mask) if value]
    names = ("", *dict.fromkeys([*(mask_labels[v] for v in present), *(r.tag for r in item.regions)]))
    if len(names) > MOST_NAMES:
        raise AlbumError(
            f"{item.id!r} must have at most {MOST_NAMES:,} tags, got {len(names):,}: remove some"
        )
    number = {name: k for k, name in enumerate(names)}
    lookup = np.zeros(MOST_NAMES + 1, np.uint16)
    for value in present:
        lookup[value] = number[mask_labels[value]]
    labels = lookup[mask]
    if item.regions:
        full = size_of(item.image)
        scale = (width / full[1], height / full[0])
        for region in _drawing_order(item.regions):
            _draw(labels, region, number[region.tag], scale)
    return RegionTruth(labels, names)


def areas(item: Item, mask_labels: dict[int, str], shape: tuple[int, ...]) -> list[Area]:
    """Return where each tag of the picture lies, one area per object or value of the mask.

    Smaller boxes come first, so that the first area to hold a region is the smallest such box.
    """
    height, width = _checked(shape)
    mask = mask_of(item, mask_labels, shape)
    found = [Area(mask_labels[int(value)], mask == value) for value in np.unique(mask) if value]
    if item.regions:
        full = size_of(item.image)
        scale = (width / full[1], height / full[0])
        for region in reversed(_drawing_order(item.regions)):
            drawn = np.zeros((height, width), np.uint16)
            _draw(drawn, region, 1, scale)
            found.append(Area(region.tag, drawn > 0))
    return found


def _checked(shape: tuple[int, ...]) -> tuple[int, int]:
    height, width = shape[:2]
    if not 0 < height * width <= MAX_PIXELS or height < 1:
        raise AlbumError(
            f"shape must be 1 to {MAX_PIXELS:,} pixels, got {height} × {width}: pass picture.shape"
        )
    return height, width


def _drawing_order(regions: tuple[TrueRegion, ...]) -> list[TrueRegion]:
    boxes = [region for region in regions if region.box is not None]
    finer = [region for region in regions if region.box is None]
    return sorted(boxes, key=lambda r: -r.box[2] * r.box[3] if r.box else 0.0) + finer


def _draw(labels: Labels, region: TrueRegion, value: int, scale: tuple[float, float]) -> None:
    if region.polygon is not None:
        labels[_inside(region.polygon, labels.shape, scale)] = value
    elif region.runs is not None:
        labels[_resized(unrolled(region.runs), *labels.shape).astype(bool)] = value
    elif region.box is not None:
        x, y, width, height = region.box
        rows = _span(y * scale[1], (y + height) * scale[1])
        labels[rows, _span(x * scale[0], (x + width) * scale[0])] = value


def _span(start: float, stop: float) -> slice:
    first = round(start)
    # at least one pixel
    return slice(max(first, 0), max(round(stop), first + 1, 0))


def _inside(polygon: Polygon, shape: tuple[int, ...], scale: tuple[float, float]) -> NDArray[np.bool_]:
    canvas = Image.new("L", (shape[1], shape[0]))
    points = [(x * scale[0], y * scale[1]) for x, y in polygon]
    ImageDraw.Draw(canvas).polygon(points, fill=1)
    return np.asarray(canvas).astype(bool)


def unrolled(runs: Runs) -> NDArray[np.uint8]:
    """Return runs as a height × width mask of 0 and 1.

    >>> unrolled(Runs(2, 2, (1, 2, 1))).tolist()
    [[0, 1], [1, 0]]
    """
    values = np.arange(len(runs.counts), dtype=np.uint8) & 1
    return np.repeat(values, runs.counts).reshape(runs.width, runs.height).T


def rolled(mask: NDArray[np.bool_]) -> Runs:
    """Return a mask as runs; the first run is outside, and can be empty.

    >>> rolled(np.array([[0, 1], [1, 0]], bool))
    Runs(height=2, width=2, counts=(1, 2, 1))
    """
    flat = mask.T.ravel()
    changes = np.flatnonzero(np.diff(flat.astype(np.int8), prepend=0))
    edges = np.concatenate([[0], changes, [flat.size]])
    height, width = mask.shape
    return Runs(height, width, tuple(int(length) for length in np.diff(edges)))


def _resized(labels: NDArray[T], height: int, width: int) -> NDArray[T]:
    """Return labels at another size, by nearest neighbours, because labels cannot be averaged."""
    if labels.shape == (height, width):
        return labels
    rows = (np.arange(height) + 0.5) * labels.shape[0] / height
    columns = (np.arange(width) + 0.5) * labels.shape[1] / width
    return labels[np.ix_(rows.astype(int), columns.astype(int))]
