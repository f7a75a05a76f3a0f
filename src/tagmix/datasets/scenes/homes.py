"""Build what stands in the country: houses, windmills, lighthouses, fences and lamps."""

from __future__ import annotations

from typing import Final

import numpy as np

from .canvas import Canvas
from .palette import DARK, PAINTS, WHITE, Colour, jitter, mix, pick, scale
from .sprite import Point, Sprite

_WALLS: Final[tuple[Colour, ...]] = (
    (238, 228, 208), (222, 186, 142), (176, 92, 76), (206, 212, 214), (196, 164, 120), (226, 204, 168),
)  # fmt: skip
_ROOFS: Final[tuple[Colour, ...]] = ((168, 76, 58), (120, 66, 56), (92, 94, 108), (142, 98, 72), (82, 70, 72))
_WARM: Final[Colour] = (255, 208, 118)


def _window(pen: Sprite, x: float, y: float, w: float, h: float, *, frame: Colour, lit: bool) -> None:
    """Draw a framed window with crossed bars; lit, it shines."""
    pen.bar(x - w * 0.62, y - h * 0.12, x + w * 0.62, y + h * 1.1, frame)
    pane: list[Point] = [(x - w / 2, y), (x + w / 2, y), (x + w / 2, y + h), (x - w / 2, y + h)]
    pen.poly(pane, _WARM if lit else (82, 104, 126), shining=lit)
    if not lit:
        pen.poly([(x - w / 2, y + h * 0.5), (x, y + h), (x - w / 2, y + h)], (150, 176, 192))
    pen.stroke([(x, y), (x, y + h)], frame, w * 0.1)
    pen.stroke([(x - w / 2, y + h * 0.5), (x + w / 2, y + h * 0.5)], frame, w * 0.1)


def _courses(
    pen: Sprite, corners: tuple[Point, Point, Point, Point], colour: Colour, rows: int, bricks: int
) -> None:
    """Rule a four-sided face (low left, low right, high right, high left) into bricks, tiles or boards."""
    a, b, c, d = (np.array(p, np.float32) for p in corners)
    k = np.arange(rows + 1, dtype=np.float32)[:, None] / rows
    left, right = a + (d - a) * k, b + (c - b) * k
    pen.lines(np.stack([left[1:-1], right[1:-1]], axis=1), colour, 0.008)
    t = (np.arange(bricks, dtype=np.float32)[None, :] + 0.5 * (np.arange(rows)[:, None] % 2)) / bricks
    low = left[:-1, None] + (right - left)[:-1, None] * t[..., None]
    high = left[1:, None] + (right - left)[1:, None] * t[..., None]
    pen.lines(np.stack([low, high], axis=2).reshape(-1, 2, 2).astype(np.float32), colour, 0.006)


def house(
    canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0, snow: bool = False
) -> None:
    """Build a gabled house seen from a corner: gable wall, long wall, tiled roof, chimney, windows."""
    rng = canvas.rng
    canvas.shadow(x, y, height * 0.95, height * 0.08, 0.35)
    pen = Sprite(canvas, (x, y), height, extent=(-0.95, -0.03, 1.05, 1.15), flip=bool(rng.random() < 0.5))
    wall, tiles = pick(rng, _WALLS, 0.07), pick(rng, _ROOFS, 0.1)
    long, eave, half = float(rng.uniform(0.55, 0.9)), float(rng.uniform(0.48, 0.58)), 0.4
    lit = [canvas.light.dark and rng.random() < 0.7 for _ in range(5)]
    left, corner, end = -0.85, -0.85 + 2 * half, -0.85 + 2 * half + long
    side, rise = scale(wall, 0.8), 0.05
    pen.poly([(corner, 0), (end, rise), (end, eave + rise * 0.4), (corner, eave)], side, "mottle", 0.05)
    gable = [(left, 0.0), (corner, 0.0), (corner, eave), (left + half, 0.98), (left, eave)]
    pen.poly(gable, wall, "mottle", 0.05)
    if rng.random() < 0.55:
        _courses(pen, ((left, 0), (corner, 0), (corner, eave), (left, eave)), scale(wall, 0.72), 13, 9)
        _courses(pen, ((corner, 0), (end, rise), (end, eave), (corner, eave)), scale(side, 0.76), 13, 9)
    chimney = left + half + long * 0.6
    pen.bar(chimney, 0.7, chimney + 0.11, 1.12, scale(tiles, 0.8), "stones", 0.1)
    top = mix(tiles, (240, 244, 250), 0.93) if snow else tiles
    ridge, drop = left + half, eave - 0.06
    face: tuple[Point, Point, Point, Point] = (
        (corner + 0.06, drop), (end + 0.06, drop + rise * 0.5), (end - half + 0.1, 0.97), (ridge, 1.0),
    )  # fmt: skip
    pen.poly(list(face), top, "mottle", 0.07)
    _courses(pen, face, scale(top, 0.86 if snow else 0.68), 9, 14)
    pen.stroke([(left - 0.06, drop), (ridge, 1.0), (corner + 0.06, drop)], scale(tiles, 1.15), 0.045)
    door = pick(rng, PAINTS, 0.1)
    _window(pen, left + half, eave + 0.08, 0.14, 0.15, frame=WHITE, lit=lit[0])
    _window(pen, left + 0.2, 0.2, 0.16, 0.18, frame=WHITE, lit=lit[1])
    pen.bar(left + 0.44, 0.0, left + 0.62, 0.36, scale(door, 0.5))
    pen.bar(left + 0.46, 0.0, left + 0.6, 0.34, door, "bark", 0.1)
    for at, on in zip((0.22, 0.52, 0.82), lit[2:], strict=True):
        _window(pen, corner + long * at, 0.2 + rise * at, 0.13, 0.17, frame=scale(WHITE, 0.92), lit=on)
    pen.stamp("house", distance=distance, round_=0.06)
    if canvas.light.dark:
        canvas.glow(x, y - height * 0.3, height, _WARM, 0.25)


def windmill(canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0) -> None:
    """Build a tower mill with four lattice sails."""
    rng = canvas.rng
    canvas.shadow(x, y, height * 0.3, height * 0.04)
    pen = Sprite(canvas, (x, y), height, extent=(-0.62, -0.02, 0.62, 1.3))
    wall = pick(rng, ((232, 222, 204), (176, 120, 92), (150, 132, 116)), 0.07)
    pen.poly([(-0.21, 0), (0.21, 0), (0.125, 0.72), (-0.125, 0.72)], wall, "stones", 0.1)
    _courses(pen, ((-0.21, 0), (0.21, 0), (0.125, 0.72), (-0.125, 0.72)), scale(wall, 0.74), 16, 6)
    pen.curve(
        [(-0.15, 0.7), (-0.1, 0.83), (0.0, 0.88), (0.1, 0.83), (0.15, 0.7)],
        pick(rng, _ROOFS, 0.1),
        "bark",
        0.12,
    )
    pen.bar(-0.06, 0.0, 0.06, 0.16, (88, 62, 46), "bark", 0.12)
    for level in (0.3, 0.52):
        _window(pen, 0.0, level, 0.08, 0.09, frame=WHITE, lit=canvas.light.dark)
    start, sail = float(rng.uniform(0, np.pi / 2)), jitter(rng, (240, 232, 212), 0.05)
    for k in range(4):
        c, s = float(np.cos(start + k * np.pi / 2)), float(np.sin(start + k * np.pi / 2))
        hub, reach = (0.0, 0.74), 0.52
        grid = [
            (hub[0] + c * r - s * q, hub[1] + s * r + c * q)
            for r, q in ((0.1, 0.0), (0.1, 0.12), (reach, 0.12), (reach, 0.0))
        ]
        pen.poly(grid, sail, "mottle", 0.04)
        for r in np.linspace(0.1, reach, 8):
            pen.stroke(
                [(hub[0] + c * r, hub[1] + s * r), (hub[0] + c * r - s * 0.12, hub[1] + s * r + c * 0.12)],
                (112, 84, 62),
                0.009,
            )
        pen.stroke(
            [(hub[0] - s * 0.06 + c * 0.1, hub[1] + c * 0.06 + s * 0.1), grid[2]], (112, 84, 62), 0.007
        )
        pen.stroke([hub, (hub[0] + c * reach, hub[1] + s * reach)], (92, 66, 48), 0.024)
    pen.oval(0, 0.74, 0.035, 0.035, DARK)
    pen.stamp("windmill", distance=distance, round_=0.2)


def lighthouse(canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0) -> None:
    """Build a banded lighthouse; its lamp shines at dusk and at night."""
    rng = canvas.rng
    pen = Sprite(canvas, (x, y), height, extent=(-0.25, -0.02, 0.25, 1.08))
    band, bands = (
        pick(rng, ((196, 56, 48), (48, 84, 140), DARK, (206, 120, 60)), 0.08),
        int(rng.integers(2, 5)) * 2,
    )
    for k in range(bands):
        low, high = 0.76 * k / bands, 0.76 * (k + 1) / bands
        a, b = 0.13 - 0.06 * low / 0.76, 0.13 - 0.06 * high / 0.76
        pen.poly([(-a, low), (a, low), (b, high), (-b, high)], band if k % 2 else WHITE, "mottle", 0.06)
        pen.bar(-0.018, (low + high) / 2, 0.018, (low + high) / 2 + 0.045, (60, 66, 80))
    pen.bar(-0.11, 0.755, 0.11, 0.785, DARK)
    for rail in np.linspace(-0.1, 0.1, 7):
        pen.stroke([(float(rail), 0.78), (float(rail), 0.84)], DARK, 0.007)
    pen.stroke([(-0.1, 0.835), (0.1, 0.835)], DARK, 0.008)
    on = canvas.light.name in {"night", "sunset", "fog"}
    pen.poly(
        [(-0.055, 0.785), (0.055, 0.785), (0.055, 0.9), (-0.055, 0.9)],
        (255, 240, 180) if on else (160, 190, 200),
        shining=on,
    )
    for bar in (-0.055, 0.0, 0.055):
        pen.stroke([(bar, 0.785), (bar, 0.9)], DARK, 0.01)
    pen.poly([(-0.075, 0.895), (0.075, 0.895), (0.012, 0.98), (0.0, 1.05), (-0.012, 0.98)], band)
    pen.bar(-0.035, 0.0, 0.035, 0.1, (92, 70, 56))
    pen.stamp("lighthouse", distance=distance, round_=0.3)
    if on:
        canvas.glow(x, y - height * 0.85, height * 0.7, (255, 236, 176), 0.8)


def fence(canvas: Canvas, y: float, height: float, *, span: tuple[float, float], slope: float = 0.0) -> None:
    """Run a fence across the picture: pickets or posts and rails, following a gentle slope."""
    rng = canvas.rng
    left, right = span
    extent = (0.0, -0.35 - abs(slope) / height, (right - left) / height, 1.3 + abs(slope) / height)
    pen = Sprite(canvas, (left, y), height, extent=extent)
    wood = pick(rng, (WHITE, (150, 116, 84), (122, 104, 90), (176, 142, 104)), 0.08)
    pickets = rng.random() < 0.5
    length = (right - left) / height
    tilt = slope / height / max(length, 0.1)
    for rail in (0.32, 0.74) if pickets else (0.3, 0.6, 0.88):
        pen.poly(
            [
                (0, rail),
                (length, rail + tilt * length),
                (length, rail + 0.11 + tilt * length),
                (0, rail + 0.11),
            ],
            scale(wood, 0.82),
            "streak",
            0.12,
        )
    step = 0.3 if pickets else 1.15
    half = 0.085 if pickets else 0.075
    for x in (np.arange(step / 2, length, step) + float(rng.uniform(-0.1, 0.1))).tolist():
        foot, tip = x * tilt, 1.1 if pickets else 1.03
        stake = [(x - half, 0.0), (x + half, 0.0), (x + half, 0.95), (x, tip), (x - half, 0.95)]
        pen.poly([(px, py + foot) for px, py in stake], jitter(rng, wood, 0.05), "bark", 0.14)
    pen.stamp("fence", round_=0.04)


def lamp(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Stand a street lamp; at night it lights a pool of street."""
    rng = canvas.rng
    flip, arm = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    pen = Sprite(canvas, (x, y), height, extent=(-0.28, -0.01, 0.28, 1.06), flip=flip)
    iron = pick(rng, (DARK, (54, 70, 66), (90, 92, 98)), 0.08)
    on = canvas.light.name in {"night", "fog", "sunset"}
    glass: Colour = (255, 226, 150) if on else (222, 226, 216)
    pen.poly([(-0.05, 0), (0.05, 0), (0.035, 0.1), (0.02, 0.14), (-0.02, 0.14), (-0.035, 0.1)], iron)
    pen.bar(-0.017, 0.1, 0.017, 0.86, iron, "bark", 0.1)
    pen.bar(-0.03, 0.5, 0.03, 0.53, iron)
    heads = (-0.17, 0.17) if arm else (0.0,)
    for side in heads:
        if arm:
            pen.stroke([(0, 0.8), (side * 0.5, 0.9), (side, 0.86)], iron, 0.022)
        top = 0.86 if not arm else 0.74
        pen.poly(
            [(side - 0.035, top), (side + 0.035, top), (side + 0.07, top + 0.13), (side - 0.07, top + 0.13)],
            glass,
            shining=on,
        )
        pen.stroke([(side, top), (side, top + 0.13)], iron, 0.008)
        pen.poly(
            [
                (side - 0.085, top + 0.125),
                (side + 0.085, top + 0.125),
                (side + 0.02, top + 0.18),
                (side - 0.02, top + 0.18),
            ],
            iron,
        )
    pen.stamp("lamp", round_=0.1)
    if on:
        for side in heads:
            px = x + (-side if flip else side) * height
            canvas.glow(px, y - height * (0.92 if not arm else 0.8), height * 0.42, (255, 214, 130), 0.85)
        canvas.glow(x, y, height * 0.45, (226, 170, 96), 0.3)


def umbrella(canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0) -> None:
    """Plant a beach umbrella, striped, leaning, with a towel in its shade."""
    rng = canvas.rng
    canvas.shadow(x - canvas.light.side * height * 0.2, y, height * 0.55, height * 0.09, 0.5)
    pen = Sprite(canvas, (x, y), height, extent=(-0.75, -0.08, 0.75, 1.1), tilt=float(rng.normal(0, 0.12)))
    first, second = pick(rng, PAINTS[:7], 0.1), pick(rng, (WHITE, (240, 214, 120)), 0.04)
    towel = pick(rng, PAINTS, 0.1)
    pen.poly([(0.1, -0.05), (0.62, -0.05), (0.5, 0.05), (0.02, 0.05)], towel, "mottle", 0.06)
    pen.bar(-0.018, -0.03, 0.018, 0.9, (226, 216, 200))
    gores, reach = 8, 0.62
    edges = np.sin(np.linspace(-np.pi / 2, np.pi / 2, gores + 1)) * reach
    for k in range(gores):
        a, b = float(edges[k]), float(edges[k + 1])
        sag = [
            (a, 0.62 + 0.05 * (1 - abs(a) / reach)),
            ((a + b) / 2, 0.655),
            (b, 0.62 + 0.05 * (1 - abs(b) / reach)),
        ]
        up = [(b * 0.74, 0.84), (b * 0.4, 0.95), (0.0, 1.0), (a * 0.4, 0.95), (a * 0.74, 0.84)]
        pen.poly([*sag, *up], first if k % 2 else second, "mottle", 0.04)
    pen.oval(0, 1.01, 0.025, 0.03, first)
    pen.stamp("umbrella", distance=distance, round_=0.28)
