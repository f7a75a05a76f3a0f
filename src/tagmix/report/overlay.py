"""Draw regions over a picture: their outlines, and their tags well inside them."""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from tagmix.images.outline import Drawn, Labels, Outlines, outline

TOLERANCE = 0.4  # how far simplifying may move a line, in pixels of the page
REACH = 4  # how far to either side a point is averaged: it takes the steps of the pixels out of a line
LENGTHS = (18, 9)  # characters of a tag in a picture, if it has room for so many
# Classes of the style sheet, their heights, and how far a text may reach beyond its room: it has a halo,
# and a tag across its outline is better than none.
SIZES = (("l", 17.0, 1.1), ("m", 14.0, 1.2), ("s", 11.5, 1.4))


class Mark(NamedTuple):
    """What is said of one region: its found tag, whether that is known to be wrong, and its tooltip.

    An empty tag is a region that is none of the tags.
    """

    tag: str
    wrong: bool
    title: str


class Spot(NamedTuple):
    """A place for text: the middle of a pixel, and the half height of the widest ellipse around it."""

    x: float
    y: float
    room: float


def overlay(labels: Labels, marks: Sequence[Mark], size: tuple[float, float]) -> str:
    """Return an SVG element of this width and height to be laid over the picture.

    ``marks[k]`` belongs to the pixels with label k. Neighbours with the same tag become one thing, with one
    tag and only a faint line between them, unless one of them is wrong and the other is not. The line between
    regions that are none of the tags is always faint.
    """
    width, height = size
    scale = (width / labels.shape[1], height / labels.shape[0])
    # Labels may be finer than what is shown, and coarser
    grain = max(1.0, 1 / scale[0])
    outlines = outline(labels, TOLERANCE * grain, round(REACH * grain))
    things = merge(outlines, marks)
    regions = "".join(
        f'<path class="region" d="{_rings(outlines, region, scale)}">'
        f"<title>{escape(mark.title)}</title></path>"
        for region, mark in enumerate(marks)
        if region in outlines.rings
    )
    inner: list[str] = []
    outer: list[str] = []
    for arc in outlines.arcs:
        if len(arc.regions) == 2:
            one, other = (things[region] for region in arc.regions)
            faint = one == other or not (marks[one].tag or marks[other].tag)
            (inner if faint else outer).append(_open(arc.line, scale))
    lines = "".join(
        f'<path class="{look}" d="{"".join(drawn)}"/>'
        for look, drawn in (("inner", inner), ("halo", outer), ("line", outer))
        if drawn
    )
    return (
        f'<svg class="over" viewBox="0 0 {width:g} {height:g}" preserveAspectRatio="none" aria-hidden="true">'
        f"{regions}{lines}{_texts(labels, marks, things, scale)}</svg>"
    )


def merge(outlines: Outlines, marks: Sequence[Mark]) -> dict[int, int]:
    """Return for each region the least region of its thing: neighbours of one tag, right or wrong alike."""
    thing = {region: region for region in sorted(outlines.rings)}

    def root(region: int) -> int:
        while thing[region] != region:
            region = thing[region]
        return region

    for arc in outlines.arcs:
        if len(arc.regions) == 2 and marks[arc.regions[0]][:2] == marks[arc.regions[1]][:2]:
            first, second = sorted(root(region) for region in arc.regions)
            thing[second] = first
    return {region: root(region) for region in thing}


def label_spot(mask: NDArray[np.bool_], aspect: float = 1.0) -> Spot:
    """Return where the widest ellipse, ``aspect`` times as wide as high, has its middle in the mask.

    >>> label_spot(np.ones((3, 5), bool))
    Spot(x=1.5, y=1.5, room=2.0)
    """
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    box = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    # The frame of the picture bounds a text as another region does
    depth: Any = distance_transform_edt(np.pad(box, 1), sampling=(1.0, 1.0 / aspect))
    y, x = np.unravel_index(int(np.argmax(depth)), depth.shape)
    return Spot(float(columns[0] + x - 0.5), float(rows[0] + y - 0.5), float(depth[y, x]))


def shorten(tag: str, most: int) -> str:
    """Return the tag on one line, cut to a length that a picture has room for.

    >>> shorten("Donaudampfschifffahrt", 18)
    'Donaudampfschifff…'
    """
    line = " ".join(tag.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def text_width(text: str) -> float:
    """Return about how wide a text is, in heights of its font; Chinese characters are squares."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    thin = sum(unicodedata.combining(c) > 0 for c in text)
    return wide + 0.58 * (len(text) - wide - thin)


def _rings(outlines: Outlines, region: int, scale: tuple[float, float]) -> str:
    return "".join(f"{_open(points, scale)}Z" for points in outlines.points(region))


def _open(points: Drawn, scale: tuple[float, float]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (points * scale).tolist())


class _Text(NamedTuple):
    look: str
    x: float
    y: float
    width: float
    height: float
    text: str

    def overlaps(self, other: "_Text") -> bool:
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2
            and abs(self.y - other.y) < (self.height + other.height) / 2
        )


def _texts(
    labels: Labels, marks: Sequence[Mark], things: Mapping[int, int], scale: tuple[float, float]
) -> str:
    placed: list[_Text] = []
    whole = np.array([things.get(region, -1) for region in range(len(marks))])[labels]
    # The largest things choose first
    areas = np.bincount(whole.ravel(), minlength=len(marks))
    for thing in np.argsort(-areas, kind="stable")[: np.count_nonzero(areas)].tolist():
        for text in _fitting(whole == thing, marks[thing], scale):
            if not any(text.overlaps(other) for other in placed):
                placed.append(text)
                break
    return "".join(
        f'<text class="{text.look}" x="{text.x:.1f}" y="{text.y:.1f}">{escape(text.text)}</text>'
        for text in placed
    )


def _fitting(mask: NDArray[np.bool_], mark: Mark, scale: tuple[float, float]) -> Iterator[_Text]:
    """Yield the tag if there is room for it, then the same shorter, then the mere sign that it is wrong."""
    sign = "✗\u2009" if mark.wrong else ""
    texts = [sign + shorten(mark.tag, most) for most in LENGTHS] if mark.tag else []
    texts += ["✗"] if mark.wrong else []
    for text in dict.fromkeys(texts):
        width = max(1.0, text_width(text))
        spot = label_spot(mask, width * scale[1] / scale[0])
        room = math.sqrt(2) * spot.room * scale[1]
        for look, size, spill in SIZES:
            if size <= room * spill:
                style = f"{look} miss" if mark.wrong else look
                yield _Text(style, spot.x * scale[0], spot.y * scale[1], width * size, size, text)
                break
