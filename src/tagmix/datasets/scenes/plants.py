"""Grow trees, forests, palms, cacti and flowers."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from . import noise
from .canvas import Canvas
from .palette import DARK, PAINTS, Colour, Floats, jitter, mix, pick, ramp, scale
from .sprite import Sprite

GREENS: Final[tuple[Colour, ...]] = (
    (72, 116, 54),
    (58, 102, 66),
    (104, 132, 58),
    (84, 124, 80),
    (122, 142, 70),
)
AUTUMN: Final[tuple[Colour, ...]] = ((196, 116, 46), (178, 70, 44), (212, 164, 62), (158, 96, 60))


def foliage(canvas: Canvas) -> Colour:
    """Pick the green of a tree; one in six is turning."""
    return pick(canvas.rng, AUTUMN if canvas.rng.random() < 0.16 else GREENS, 0.1)


def leaf_ramp(colour: Colour) -> Floats:
    """Make a ramp for leaves: deep gaps, the colour, sunlit tips."""
    return ramp(
        mix(scale(colour, 0.25), (16, 30, 40), 0.4), scale(colour, 0.8), mix(colour, (246, 236, 140), 0.42)
    )


def tree(
    canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0, crown: bool = True
) -> None:
    """Plant a broad-leaved tree (bare without a crown): trunk, boughs, puffs of leaves."""
    rng = canvas.rng
    canvas.shadow(x - canvas.light.side * height * 0.12, y, height * 0.4, height * 0.05, 0.45)
    pen = Sprite(canvas, (x, y), height, extent=(-0.5, -0.03, 0.5, 1.0))
    wood = pick(rng, ((98, 74, 56), (120, 96, 78), (84, 70, 62)), 0.1)
    lean = float(rng.normal(0, 0.03))
    pen.curve(
        [(-0.06, -0.01), (-0.035, 0.2), (lean - 0.03, 0.5), (lean + 0.03, 0.5), (0.035, 0.2), (0.065, -0.01)],
        wood, "bark", 0.22,
    )  # fmt: skip
    if crown:
        for side in (-1, 1):
            tip = (side * float(rng.uniform(0.15, 0.3)), float(rng.uniform(0.55, 0.75)))
            pen.stroke([(lean, 0.35), tip], scale(wood, 0.9), 0.026)
    else:
        _branch(pen, (lean, 0.36), 0.0, 0.24, wood)
    pen.stamp("tree", distance=distance)
    if crown:
        _crown(canvas, x + lean * height, y - height * 0.66, height * 0.36, distance)


def _branch(pen: Sprite, foot: tuple[float, float], lean: float, length: float, wood: Colour) -> None:
    """Fork a bare bough again and again, each time thinner and wider spread."""
    rng = pen.canvas.rng
    for turn in (-0.42, 0.04, 0.46):
        angle = lean + turn + float(rng.normal(0, 0.1))
        reach = length * float(rng.uniform(0.75, 1.1))
        tip = (foot[0] + reach * math.sin(angle), foot[1] + reach * math.cos(angle))
        pen.stroke([foot, tip], scale(wood, 0.8 + length), max(length * 0.13, 0.006))
        if length > 0.08:
            _branch(pen, tip, angle, length * 0.66, wood)


def _crown(canvas: Canvas, x: float, y: float, radius: float, distance: float) -> None:
    """Heap leafy puffs about a point; leaf noise frays their outline."""
    rng = canvas.rng
    where = canvas.box(x - radius * 1.35, y - radius * 1.2, x + radius * 1.35, y + radius * 1.05)
    rows, columns = where[0].stop - where[0].start, where[1].stop - where[1].start
    if rows < 4 or columns < 4:
        return
    yy = (np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None] - y) / radius
    xx = (np.arange(where[1].start, where[1].stop, dtype=np.float32)[None, :] - x) / radius
    body = np.full((rows, columns), -1.0, np.float32)
    light = np.zeros((rows, columns), np.float32)
    for k in range(8):
        px, py = (0.0, 0.0) if k == 0 else (float(rng.uniform(-0.75, 0.75)), float(rng.uniform(-0.62, 0.5)))
        size = 0.62 if k == 0 else float(rng.uniform(0.3, 0.52))
        dx, dy = (xx - px) / size, (yy - py) / size
        puff = 1.0 - dx * dx - dy * dy
        light = np.where(puff > body, 0.5 - 0.3 * dy + 0.2 * canvas.light.side * dx, light)
        body = np.maximum(body, puff)
    leaves = noise.cut("leaves", rng, rows, columns, finer=1 if radius > canvas.h * 0.3 else 2)
    tone = 0.1 + 0.72 * np.clip(light, 0.0, 1.0) - 0.16 * yy + 0.17 * leaves
    canvas.paint(
        where, tone, leaf_ramp(foliage(canvas)), "tree", mask=body + 0.24 * leaves > 0.0, distance=distance
    )


def conifer(
    canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0, snow: float = 0.0
) -> None:
    """Plant a fir: tiers of drooping boughs on a trunk, white on top in winter."""
    rng = canvas.rng
    canvas.shadow(x - canvas.light.side * height * 0.1, y, height * 0.28, height * 0.04, 0.45)
    pen = Sprite(canvas, (x, y), height, extent=(-0.34, -0.03, 0.34, 1.02))
    green = jitter(rng, (52, 92, 70), 0.14)
    pen.bar(-0.025, -0.01, 0.025, 0.2, (88, 66, 52), "bark", 0.2)
    tiers = int(rng.integers(5, 8))
    wide = float(rng.uniform(0.2, 0.29))
    for k in range(tiers):
        low, span = 0.1 + 0.78 * k / tiers, wide * (1.0 - k / tiers) ** 0.85 + 0.03
        tip = min(low + 0.34 * (1 - 0.4 * k / tiers), 1.0)
        edge = [
            (span * u, low + 0.035 * (j % 2) + 0.05 * (1 - abs(u)))
            for j, u in enumerate(np.linspace(-1, 1, 13))
        ]
        pen.poly([*edge, (0.0, tip)], scale(green, 0.82 + 0.06 * (k % 2)), "leaves", 0.24)
        if snow > 0:
            cap = [
                (span * u * 0.92, low + 0.05 + 0.045 * (j % 2) + 0.1 * (1 - abs(u)))
                for j, u in enumerate(np.linspace(-1, 1, 9))
            ]
            pen.poly([*cap, (0.0, tip)], (228, 234, 244), "mottle", 0.06)
            pen.poly([(0.75 * px, py + 0.035) for px, py in cap], scale(green, 1.0), "leaves", 0.2)
    pen.stamp("tree", distance=distance, round_=0.25)


def forest(
    canvas: Canvas, base: Floats, height: float, *, distance: float, firs: bool, snow: float = 0.0
) -> None:
    """Stand a rank of trees along a line: a jagged or billowing top, each tree lit on one side."""
    rng = canvas.rng
    pitch = height * (0.3 if firs else 0.55)
    count = max(int(canvas.w / pitch * 1.7), 3)
    centres = np.sort(rng.uniform(-pitch, canvas.w + pitch, count)).astype(np.float32)
    tall = (height * rng.uniform(0.6, 1.0, count)).astype(np.float32)
    x = np.arange(canvas.w, dtype=np.float32)
    away = (x[None, :] - centres[:, None]) / pitch
    shape = (
        1.0 - np.abs(away) * 0.85 if firs else np.sqrt(np.clip(1.0 - (away / 1.15) ** 2, 0, 1)) * 0.6 + 0.4
    )
    tops = tall[:, None] * np.where(np.abs(away) < 1.15, shape, 0.0)
    owner = tops.argmax(axis=0)
    column = np.arange(canvas.w)
    line = base - np.maximum(tops[owner, column], height * 0.3)
    where, mask = canvas.below(line - 4, int(base.max()) + 3)
    rows = where[0].stop - where[0].start
    leaves = noise.cut("leaves", rng, rows, canvas.w, finer=1 if height > canvas.h * 0.4 else 2)
    y = np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None]
    depth = (y - line) / height
    mask = (depth + 0.035 * leaves > 0) & (y < base + 2)
    side = away[owner, column] * canvas.light.side
    tier = (
        ((y - base + tall[owner]) / (height * 0.16) + np.abs(away[owner, column]) * 0.8) % 1.0
        if firs
        else depth * 0
    )
    tone = 0.5 + 0.2 * side - 0.42 * np.clip(depth, 0, 1) + 0.14 * leaves - 0.2 * tier
    tone = tone + (rng.uniform(-0.1, 0.1, count).astype(np.float32))[owner]
    green = jitter(rng, (60, 98, 74), 0.1) if firs else foliage(canvas)
    table = (
        leaf_ramp(green) if snow <= 0 else ramp(scale(green, 0.4), green, (214, 224, 236), (248, 250, 252))
    )
    canvas.paint(where, tone.astype(np.float32), table, "forest", mask=mask, distance=distance)


def palm(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Plant a palm: a bent ringed trunk under a fan of feathered fronds."""
    rng = canvas.rng
    bend = float(rng.uniform(-0.28, 0.28))
    canvas.shadow(x, y, height * 0.25, height * 0.035)
    pen = Sprite(canvas, (x, y), height, extent=(-0.85, -0.02, 0.85, 1.2))
    t = np.linspace(0, 1, 12)
    spine = np.stack([bend * t**1.8, 0.88 * t], axis=1)
    wood = pick(rng, ((134, 108, 80), (116, 98, 80)), 0.08)
    half = 0.034 - 0.014 * t
    pen.poly(
        np.concatenate(
            [spine - np.stack([half, 0 * t], 1), (spine + np.stack([half, 0 * t], 1))[::-1]]
        ).astype(np.float32),
        wood,
        "bark",
        0.1,
    )
    for px, py in spine:
        pen.stroke([(px - 0.03, py), (px + 0.03, py + 0.012)], scale(wood, 0.62), 0.009)
    top = (float(spine[-1, 0]), float(spine[-1, 1]))
    green = pick(rng, GREENS, 0.1)
    for angle in np.linspace(-0.35, np.pi + 0.35, 10) + rng.normal(0, 0.07, 10):
        _frond(pen, top, float(angle), float(rng.uniform(0.36, 0.48)), jitter(rng, green, 0.12))
    for dx in (-0.03, 0.0, 0.035):
        pen.oval(top[0] + dx, top[1] - 0.025, 0.024, 0.026, (104, 72, 46))
    pen.stamp("palm")


def _frond(pen: Sprite, top: tuple[float, float], angle: float, length: float, green: Colour) -> None:
    """Draw one frond: a drooping rib with leaflets hanging on both sides."""
    t = np.linspace(0.05, 1, 15)
    x = top[0] + length * np.cos(angle) * t
    y = top[1] + length * (np.sin(angle) * t * 0.8 - 0.55 * t * t)
    pen.stroke(np.stack([x, y], 1).astype(np.float32), scale(green, 0.7), 0.014)
    lean = 0.05 * np.sign(np.cos(angle))
    for k in range(14):
        drop = 0.13 * float(np.sin(np.pi * min(t[k] + 0.12, 1.0)))
        near, tone = (float(x[k]), float(y[k])), scale(green, 0.85 + 0.25 * (k % 2))
        pen.stroke([near, (near[0] + lean - 0.02, near[1] - drop)], tone, 0.016)
        pen.stroke([near, (near[0] + lean + 0.03, near[1] - drop * 0.55 + 0.02)], scale(tone, 1.2), 0.014)


def cactus(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Plant a ribbed saguaro with one to three arms."""
    rng = canvas.rng
    canvas.shadow(x - canvas.light.side * height * 0.2, y, height * 0.35, height * 0.035)
    pen = Sprite(canvas, (x, y), height, extent=(-0.5, -0.02, 0.5, 1.05))
    green = pick(rng, ((84, 124, 80), (100, 128, 74), (70, 116, 92)), 0.08)
    thick = float(rng.uniform(0.075, 0.1))
    for side in (-1, 1, -1)[: int(rng.integers(1, 4))]:
        low, reach = float(rng.uniform(0.25, 0.5)), float(rng.uniform(0.2, 0.3)) * side
        top = low + float(rng.uniform(0.2, 0.36))
        for k, width in enumerate((1.5, 1.1, 0.5)):
            elbow = [(0.0, low), (reach * 0.75, low + 0.01), (reach, low + 0.09), (reach, top)]
            pen.stroke(elbow, scale(green, 0.7 + 0.2 * k), thick * width)
        pen.oval(reach, top, thick * 0.75, thick * 0.8, scale(green, 0.9), "bark", 0.12)
    pen.bar(-thick, 0.0, thick, 0.93, green, "bark", 0.1)
    pen.oval(0.0, 0.93, thick, 0.07, green, "bark", 0.1)
    for rib in np.linspace(-0.8, 0.8, 6):
        pen.stroke([(thick * rib, 0.01), (thick * rib, 0.95)], scale(green, 0.66), 0.01)
        for spot in np.linspace(0.05, 0.93, 15):
            pen.oval(thick * (float(rib) + 0.13), float(spot), 0.003, 0.006, (226, 222, 186))
    if rng.random() < 0.4:
        pen.oval(0.0, 1.0, 0.05, 0.03, (226, 110, 130))
    pen.stamp("cactus", round_=0.3)


def flowers(
    canvas: Canvas,
    top: float,
    bottom: float,
    count: int,
    size: float,
    across: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Strew flowers from far to near over a band of ground, of one to three kinds."""
    rng = canvas.rng
    pen = Sprite(
        canvas, (0.0, float(canvas.h)), 1.0, extent=(0, 0, canvas.w, canvas.h - max(top - size * 2, 0))
    )
    colours = [pick(rng, PAINTS[:8], 0.12) for _ in range(int(rng.integers(1, 4)))]
    shapes = rng.integers(0, 3, len(colours))
    for depth in np.sort(rng.random(count) ** 0.7):
        kind = int(rng.integers(len(colours)))
        y = canvas.h - (top + (bottom - top) * float(depth)) + float(rng.normal(0, 2))
        unit = size * (0.3 + 0.7 * float(depth)) * float(rng.uniform(0.8, 1.2))
        _flower(pen, canvas.w * float(rng.uniform(*across)), y, unit, (colours[kind], int(shapes[kind])), rng)
    pen.stamp("flower", round_=0.05, fall=0.05)


def _flower(
    pen: Sprite, x: float, y: float, unit: float, look: tuple[Colour, int], rng: np.random.Generator
) -> None:
    """Draw one flower: a stem with leaves, then a daisy, a tulip or a poppy."""
    colour, shape = jitter(rng, look[0], 0.08), look[1]
    green = jitter(rng, (70, 118, 58), 0.12)
    head = (x + float(rng.normal(0, 0.15)) * unit, y + unit * 1.5)
    pen.stroke([(x, y), ((x + head[0]) / 2, y + unit * 0.8), head], green, max(unit * 0.1, 1.5))
    pen.poly(
        [(x, y + unit * 0.2), (x + unit * 0.55, y + unit * 0.9), (x + unit * 0.1, y + unit * 0.55)],
        scale(green, 1.15),
    )
    pen.poly(
        [(x, y + unit * 0.1), (x - unit * 0.5, y + unit * 0.75), (x - unit * 0.1, y + unit * 0.5)], green
    )
    if shape == 1:
        for dx, tone in ((-0.2, 0.8), (0.2, 0.9), (0.0, 1.1)):
            cx = head[0] + dx * unit
            cup = ((-0.1, 0.0), (-0.27, 0.3), (-0.2, 0.6), (0.0, 0.9), (0.2, 0.6), (0.27, 0.3), (0.1, 0.0))
            petal = [(cx + px * unit, head[1] + py * unit) for px, py in cup]
            pen.poly(petal, scale(colour, tone), "bark", 0.1)
        return
    petals, reach = (9, 0.52) if shape == 0 else (5, 0.4)
    start = float(rng.uniform(0, 1))
    for k in range(petals):
        c, s = math.cos(start + 2 * math.pi * k / petals), math.sin(start + 2 * math.pi * k / petals)
        far, wide = reach * 1.55 * unit, reach * (0.3 if shape == 0 else 0.62) * unit
        middle = (head[0] + c * far * 0.6, head[1] + s * far * 0.5)
        tip = (head[0] + c * far, head[1] + s * far * 0.85)
        sides = [(middle[0] - s * wide, middle[1] + c * wide), (middle[0] + s * wide, middle[1] - c * wide)]
        pen.poly([head, sides[0], tip, sides[1]], scale(colour, 0.84 + 0.22 * (k % 2)))
    pen.oval(*head, 0.24 * unit, 0.22 * unit, (236, 186, 60) if shape == 0 else mix(DARK, colour, 0.2))
