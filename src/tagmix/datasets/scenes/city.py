"""Build towns: façades seen from the front or along a street, roofs, bridges, pavements."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np

from . import noise
from .canvas import Bools, Canvas, Where
from .palette import DARK, PAINTS, Colour, Floats, mix, pick, ramp, scale, shades
from .sprite import Point, Sprite

_BRICKS: Final[tuple[Colour, ...]] = (
    (164, 94, 74), (190, 150, 118), (142, 126, 116), (206, 190, 164), (120, 92, 92), (178, 120, 84),
    (150, 158, 164),
)  # fmt: skip
_GLASS: Final[tuple[Colour, ...]] = ((92, 124, 150), (74, 100, 118), (112, 140, 146), (84, 92, 128))
_LIT: Final[Colour] = (255, 214, 128)


class Facade(NamedTuple):
    """A façade: its colour, window grid in metres, window share of the grid, and lit windows."""

    wall: Colour
    pitch: float
    storey: float
    window: tuple[float, float]
    glass: Colour
    modern: bool
    cells: Floats


def make_facade(rng: np.random.Generator, *, modern: bool) -> Facade:
    """Draw up a front: brick with sash windows, or a tower of glass."""
    window = (float(rng.uniform(0.34, 0.44)), float(rng.uniform(0.3, 0.4))) if modern else (
        float(rng.uniform(0.2, 0.28)), float(rng.uniform(0.26, 0.34)))  # fmt: skip
    wall = mix(pick(rng, _BRICKS, 0.1), (150, 160, 170), 0.6 if modern else 0.0)
    cells = rng.random(331).astype(np.float32)
    return Facade(
        wall,
        float(rng.uniform(2.2, 3.4)),
        float(rng.uniform(3.0, 3.6)),
        window,
        pick(rng, _GLASS, 0.1),
        modern,
        cells,
    )


def front(
    canvas: Canvas, where: Where, mask: Bools, u: Floats, v: Floats, face: Facade, distance: float = 0.0
) -> None:
    """Paint a front given, for each pixel, metres along it (u) and up it (v)."""
    rough = noise.cut("mottle", canvas.rng, *mask.shape)
    course = np.floor(v * 2.2)
    brick = (v * 2.2 - course < 0.16) | ((u * 1.1 + 0.5 * (course % 2)) % 1.0 < 0.08)
    across, up = u / face.pitch, v / face.storey
    rise = up % 1.0
    dx, dy = np.abs(across % 1.0 - 0.5), np.abs(rise - 0.52)
    w, h = face.window
    tone = 0.55 + 0.05 * rough - (0.1 if face.modern else 0.16) * brick - 0.14 * (rise < 0.05)
    put = partial(canvas.paint, where, tag="building", distance=distance)
    put(tone, shades(face.wall, 0.6, 0.35), mask=mask)
    frame = ((dx < w + 0.06) & (dy < h + 0.06)) | ((dx < w + 0.09) & (np.abs(rise - 0.47 + h) < 0.05))
    put(0.8 + 0.05 * rough, shades(mix(face.wall, (232, 226, 214), 0.6), 0.5, 0.3), mask=mask & frame)
    cell = (np.floor(across) * 17 + np.floor(up) * 29).astype(np.int32) % 331
    home, pane = face.cells[cell], mask & (dx < w) & (dy < h)
    bars = (dx < 0.025) | (np.abs(dy - h * 0.3) < 0.02)
    sheen = 0.25 + 0.5 * home + 0.3 * (dy + dx) - 0.35 * bars + 0.04 * rough
    put(sheen, shades(face.glass, 0.6, 0.6), mask=pane)
    if canvas.light.name in {"night", "sunset", "fog"}:
        lit = pane & (home > (0.5 if canvas.light.dark else 0.82)) & ~bars
        glow = ramp((196, 120, 56), _LIT, (255, 244, 206))
        put(0.3 + 0.5 * face.cells[cell // 2] + 0.2 * dy, glow, mask=lit, shining=True)


def building(
    canvas: Canvas,
    left: float,
    right: float,
    base: float,
    height: float,
    *,
    scale_: float,
    distance: float = 0.0,
) -> None:
    """Put up a building seen from the front; `scale_` is in pixels per metre."""
    rng = canvas.rng
    where = canvas.box(left, base - height, right, base)
    rows, columns = where[0].stop - where[0].start, where[1].stop - where[1].start
    if rows < 4 or columns < 4:
        return
    face = make_facade(rng, modern=bool(height / max(scale_, 0.1) > 26 or rng.random() < 0.25))
    u = ((np.arange(where[1].start, where[1].stop, dtype=np.float32) - left) / scale_)[None, :]
    v = ((base - np.arange(where[0].start, where[0].stop, dtype=np.float32)) / scale_)[:, None]
    full = np.ones((rows, columns), bool)
    front(canvas, where, full, u + 0 * v, v + 0 * u, face, distance)
    # A lit and a shaded edge make the block look solid.
    edge = np.linspace(-1, 1, columns, dtype=np.float32) * canvas.light.side
    if not canvas.light.dark:
        canvas.rgb[where] *= (1.0 + 0.1 * edge)[None, :, None]
    _roof(canvas, (left + right) / 2, base - height, right - left, face.wall, distance)


def _roof(canvas: Canvas, x: float, y: float, width: float, wall: Colour, distance: float) -> None:
    """Crown a building with a cornice and a tank, a gable, a mast or a dome."""
    rng = canvas.rng
    pen = Sprite(canvas, (x, y), width, extent=(-0.56, -0.08, 0.56, 0.9))
    dark = scale(wall, 0.62)
    pen.bar(-0.52, -0.02, 0.52, 0.05, scale(wall, 0.85), "mottle", 0.08)
    style = int(rng.integers(0, 5))
    if style == 0:
        pen.bar(0.1, 0.05, 0.34, 0.16, dark, "bark", 0.1)
        pen.poly([(0.08, 0.16), (0.36, 0.16), (0.22, 0.26)], scale(dark, 0.8))
    elif style == 1:
        pen.poly([(-0.52, 0.05), (0.52, 0.05), (0.36, 0.26), (-0.36, 0.26)], (104, 76, 72), "bark", 0.12)
        for dormer in (-0.22, 0.0, 0.22):
            pen.bar(dormer - 0.05, 0.08, dormer + 0.05, 0.19, scale(wall, 1.1))
            pen.bar(dormer - 0.03, 0.09, dormer + 0.03, 0.17, _LIT if canvas.light.dark else (86, 104, 124))
    elif style == 2:
        pen.bar(-0.3, 0.05, 0.3, 0.16, scale(wall, 0.9), "mottle", 0.08)
        pen.stroke([(0.0, 0.16), (0.0, 0.8)], dark, 0.02)
    elif style == 3:
        pen.bar(-0.4, 0.05, -0.2, 0.12, dark)
        pen.bar(0.2, 0.05, 0.3, 0.2, dark)
    pen.stamp("building", distance=distance, round_=0.05)


def street_side(canvas: Canvas, focus: Point, *, right: bool, half: float, eye: float) -> None:
    """Build one side of a street that runs to a vanishing point, far houses first.

    `half` is the half width of the street and `eye` the eye's height, in metres.
    """
    rng = canvas.rng
    edge = canvas.w - 1.0 if right else 0.0
    reach = abs(edge - focus[0])
    nearest = half * canvas.h * 0.9 / max(reach, 1.0)
    ends = np.cumsum(rng.uniform(7, 13, 9)) + nearest - 4.0
    for k in range(len(ends) - 1, -1, -1):
        start = ends[k - 1] if k else nearest * 0.6
        tall = float(rng.uniform(9, 22))
        _wall(canvas, focus, (float(start), float(ends[k])), tall, right=right, half=half, eye=eye)


def _wall(
    canvas: Canvas,
    focus: Point,
    span: tuple[float, float],
    tall: float,
    *,
    right: bool,
    half: float,
    eye: float,
) -> None:
    """Paint the front of one house along the street, from depth span[0] to span[1] in metres."""
    lens = canvas.h * 0.9
    sign = 1.0 if right else -1.0
    near, far = (focus[0] + sign * half * lens / d for d in span)
    unit = lens / span[0]
    where = canvas.box(min(near, far), focus[1] - (tall - eye) * unit, max(near, far), focus[1] + eye * unit)
    rows, columns = where[0].stop - where[0].start, where[1].stop - where[1].start
    if rows < 2 or columns < 2:
        return
    x = np.arange(where[1].start, where[1].stop, dtype=np.float32)[None, :]
    y = np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None]
    depth = half * lens / np.maximum(np.abs(x - focus[0]), 0.5)
    v = eye + (focus[1] - y) * depth / lens
    face = make_facade(canvas.rng, modern=bool(canvas.rng.random() < 0.2))
    mask = (v > 0) & (v < tall)
    front(canvas, where, mask, depth + 0 * y, v, face, min(span[0] / 90.0, 0.8))
    if not canvas.light.dark:
        canvas.rgb[where] *= np.where(mask, 0.84 if sign == canvas.light.side else 1.04, 1.0)[..., None]


def pavement(canvas: Canvas, top: float, bottom: float) -> None:
    """Lay slabs across the picture; they have no tag, so their label is void."""
    where = canvas.box(0, top, canvas.w, bottom)
    rows = where[0].stop - where[0].start
    if rows < 2:
        return
    y = np.arange(rows, dtype=np.float32)[:, None]
    x = np.arange(canvas.w, dtype=np.float32)[None, :]
    joint = ((x - canvas.w / 2) * (1 - 0.3 * y / rows) % 46 < 2) | (y % max(rows // 3, 4) < 1.5)
    tone = 0.6 + 0.06 * noise.cut("mottle", canvas.rng, rows, canvas.w) - 0.2 * joint
    canvas.paint(where, tone, shades(pick(canvas.rng, ((168, 164, 158), (178, 166, 150)), 0.06)), None)


def carriageway(canvas: Canvas, top: float) -> None:
    """Lay a road across the foreground, with a kerb and dashes."""
    where = canvas.box(0, top, canvas.w, canvas.h)
    rows = where[0].stop - where[0].start
    y = np.linspace(0, 1, rows, dtype=np.float32)[:, None]
    x = np.arange(canvas.w, dtype=np.float32)[None, :]
    rough = noise.cut("mottle", canvas.rng, rows, canvas.w)
    tone = 0.5 + 0.07 * rough + 0.05 * noise.cut("grain", canvas.rng, rows, canvas.w)
    canvas.paint(where, tone, shades(pick(canvas.rng, ((92, 92, 98), (112, 108, 106)), 0.08)), "road")
    dash = (np.abs(y - 0.55) < 0.022) & (x % 96 < 54)
    canvas.paint(where, 0.7 + 0.1 * rough, shades((226, 222, 204)), "road", mask=dash)
    canvas.rgb[where[0].start : where[0].start + 4] *= 0.7


def arches(canvas: Canvas, y: float, height: float, *, deck: float) -> None:
    """Span the water with a stone bridge of round arches; `deck` is its top as a share of its height."""
    rng = canvas.rng
    length = canvas.w / height
    pen = Sprite(canvas, (0.0, y), height, extent=(0, -0.05, length, 1.15))
    stone = pick(rng, ((168, 150, 128), (142, 136, 130), (182, 142, 112)), 0.08)
    count = int(rng.integers(2, 6))
    pier, span = 0.16, length / count
    t = np.linspace(0, np.pi, 17)
    for k in range(count):
        x0, radius = k * span, (span - pier) / 2
        tall = min(radius, deck * 0.8)
        arch = [(x0 + span / 2 + radius * float(np.cos(a)), tall * float(np.sin(a)) ** 0.8) for a in t]
        ring = [
            (x0 + span / 2 + (radius + 0.05) * float(np.cos(a)), (tall + 0.05) * float(np.sin(a)) ** 0.8)
            for a in t
        ]
        pen.poly(
            [(x0, deck), (x0, -0.04), *arch[::-1], (x0 + span, -0.04), (x0 + span, deck)],
            stone,
            "stones",
            0.14,
        )
        pen.poly([*ring, *arch[::-1]], scale(stone, 1.2), "mottle", 0.1)
    pen.bar(0, deck, length, deck + 0.06, scale(stone, 1.15), "mottle", 0.08)
    for post in np.arange(0.03, length, 0.12):
        pen.bar(float(post), deck + 0.06, float(post) + 0.06, deck + 0.16, scale(stone, 0.9))
    pen.bar(0, deck + 0.14, length, deck + 0.2, scale(stone, 1.1), "mottle", 0.06)
    pen.stamp("bridge", round_=0.04, fall=0.2)


def suspension(canvas: Canvas, y: float, height: float, *, distance: float = 0.0) -> None:
    """Span the water with a hanging bridge: two towers, cables, hangers and a deck."""
    rng = canvas.rng
    length = canvas.w / height
    pen = Sprite(canvas, (0.0, y), height, extent=(0, -0.05, length, 1.08))
    steel = pick(rng, ((178, 70, 54), (120, 132, 144), (92, 108, 100), *PAINTS[4:5]), 0.08)
    first = length * float(rng.uniform(0.18, 0.3))
    second = length * float(rng.uniform(0.7, 0.82))
    half, deck = (second - first) / 2, 0.3
    x = np.linspace(0, length, 60)
    middle = (first + second) / 2
    inner = deck + 0.05 + 0.62 * ((x - middle) / half) ** 2
    outer = 0.97 - 0.62 * np.minimum(np.abs(x - np.where(x < middle, first, second)) / max(first, 0.3), 1.05)
    cable = np.where(np.abs(x - middle) < half, np.minimum(inner, 0.97), np.maximum(outer, deck))
    hang = np.stack([np.stack([x, cable], 1), np.stack([x, 0 * x + deck], 1)], axis=1).astype(np.float32)
    pen.lines(hang, scale(steel, 0.85), 0.012)
    pen.stroke(np.stack([x, cable], 1).astype(np.float32), steel, 0.03)
    pen.bar(0, deck - 0.07, length, deck + 0.03, scale(steel, 0.8), "bark", 0.1)
    for at in np.arange(0.0, length, 0.14):
        pen.stroke([(float(at), deck - 0.07), (float(at) + 0.14, deck + 0.02)], scale(steel, 0.5), 0.012)
    for tower in (first, second):
        for leg in (-0.05, 0.05):
            pen.bar(tower + leg - 0.025, -0.04, tower + leg + 0.025, 1.0, steel, "bark", 0.08)
        for brace in (0.14, 0.5, 0.74, 0.97):
            pen.bar(tower - 0.07, brace - 0.02, tower + 0.07, brace + 0.02, scale(steel, 0.9))
        pen.bar(tower - 0.13, -0.05, tower + 0.13, 0.06, mix(DARK, (150, 146, 140), 0.7), "mottle", 0.1)
    pen.stamp("bridge", distance=distance, round_=0.03)
