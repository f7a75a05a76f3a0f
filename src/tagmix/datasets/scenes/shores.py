"""Compose scenes by the water: coast, lake and river valley."""

from __future__ import annotations

import numpy as np

from . import noise
from .animals import horse, person
from .canvas import Canvas
from .city import arches
from .homes import house, lighthouse, umbrella
from .land import grass, rock, rolling, sand
from .palette import pick, shades
from .plants import conifer, palm, tree
from .sky import heavens
from .stage import Cast, Ground, chance, eye_level, level, play, recede, some
from .vehicles import boat, train
from .views import aloft, far_hills, woods
from .water import lake, river, sea, surf


def coast(canvas: Canvas) -> None:
    """Show a beach: sea, surf and sand, with boats, rocks, bathers, palms or a lighthouse."""
    horizon = eye_level(canvas, 0.32, 0.5)
    shore = canvas.h * canvas.between(0.64, 0.8)
    heavens(canvas, horizon)
    sea(canvas, horizon, canvas.h)
    if chance(canvas, 0.5):
        _headland(canvas, horizon)
    aloft(canvas, horizon, birds=0.5, planes=0.1, balloons=0.03)
    water = Ground(horizon, 3.0)
    depth = (shore - horizon) / (canvas.h - horizon)
    play(canvas, water, [Cast(boat, 5.0, some(canvas, 0.6, 1, 3), (0.12, depth * 0.7))])
    tilt = np.linspace(-1, 1, canvas.w, dtype=np.float32) * canvas.h * canvas.between(-0.08, 0.08)
    line = level(canvas, shore, 0.02) + tilt
    surf(canvas, line)
    sand(canvas, line, wind=0.07)
    tropic = chance(canvas, 0.4)
    beach = Ground(horizon, 2.6)
    low = min(depth + 0.1, 0.9)
    play(canvas, beach, [
        Cast(rock, 0.8, some(canvas, 0.4, 1, 4), (low, 1.0)),
        Cast(palm, 4.6, some(canvas, 0.8, 1, 3) if tropic else 0, (low, 0.95)),
        Cast(umbrella, 2.2, some(canvas, 0.45, 1, 3), (low, 0.95)),
        Cast(person, 1.7, some(canvas, 0.5, 1, 4), (low, 0.98)),
    ])  # fmt: skip


def _headland(canvas: Canvas, horizon: float) -> None:
    """Raise a rocky cape at one edge of the sea, often with a lighthouse on it."""
    rng = canvas.rng
    left = chance(canvas, 0.5)
    x = np.linspace(0, 1, canvas.w, dtype=np.float32)
    reach = x if left else 1 - x
    wide, tall = canvas.between(0.35, 0.6), canvas.h * canvas.between(0.1, 0.22)
    height = tall * np.clip(1 - (reach / wide) ** 2.5, 0, 1) + canvas.h * 0.006 * noise.skyline(rng, canvas.w)
    foot = int(horizon + canvas.h * 0.035)
    where, mask = canvas.below(foot - height, foot + 2)
    mask &= (reach < wide)[None, :]
    rows = where[0].stop - where[0].start
    stone = pick(rng, ((132, 122, 116), (146, 124, 102), (112, 112, 118)), 0.08)
    tone = (
        0.5
        + 0.14 * noise.cut("stones", rng, rows, canvas.w, finer=2)
        + 0.14 * noise.cut("bark", rng, rows, canvas.w)
    )
    canvas.paint(where, tone, shades(stone, 0.6, 0.4), "rock", mask=mask, distance=0.25)
    if chance(canvas, 0.85):
        at = canvas.w * canvas.between(0.08, 0.22) * wide / 0.45
        column = at if left else canvas.w - at
        base = foot - float(height[int(np.clip(column, 0, canvas.w - 1))]) + 4
        lighthouse(canvas, column, base, canvas.h * canvas.between(0.24, 0.34), distance=0.08)


def lakeside(canvas: Canvas) -> None:
    """Show still water under woods or mountains, with boats and a grassy or stony shore."""
    rng = canvas.rng
    horizon = canvas.h * canvas.between(0.4, 0.52)
    heavens(canvas, horizon)
    if chance(canvas, 0.6):
        far_hills(canvas, horizon, tall=0.28)
    aloft(canvas, horizon, birds=0.15, balloons=0.18)
    if chance(canvas, 0.75):
        woods(canvas, horizon, ranks=int(rng.integers(1, 3)), tall=canvas.between(0.1, 0.18))
    else:
        grass(canvas, rolling(canvas, horizon, canvas.h * 0.05), distance=0.4)
    if chance(canvas, 0.25):
        house(canvas, canvas.w * canvas.between(0.2, 0.8), horizon + 4, canvas.h * 0.13, distance=0.15)
    shore = canvas.h * canvas.between(0.78, 0.95)
    lake(canvas, horizon, canvas.h)
    play(
        canvas,
        Ground(horizon, 3.2),
        [
            Cast(boat, 5.0, some(canvas, 0.7, 1, 3), (0.15, 0.55)),
        ],
    )
    line = rolling(canvas, shore, canvas.h * 0.06)
    if chance(canvas, 0.75):
        grass(canvas, line)
    else:
        sand(canvas, line)
    play(canvas, Ground(horizon, 2.8), [
        Cast(rock, 0.7, some(canvas, 0.5, 1, 5), (0.75, 1.0)),
        Cast(conifer, 4.5, some(canvas, 0.3, 1, 2), (0.75, 0.95)),
        Cast(tree, 4.5, some(canvas, 0.3, 1, 1), (0.75, 0.95)),
        Cast(person, 1.6, some(canvas, 0.3, 1, 2), (0.8, 0.98)),
    ])  # fmt: skip


def valley(canvas: Canvas) -> None:
    """Show a river in a wide valley, crossed by a bridge or followed by a train."""
    rng = canvas.rng
    horizon = canvas.h * canvas.between(0.38, 0.48)
    heavens(canvas, horizon)
    if chance(canvas, 0.5):
        far_hills(canvas, horizon, tall=0.2, snow=0.3)
    aloft(canvas, horizon, birds=0.25, balloons=0.15)
    grass(canvas, rolling(canvas, horizon, canvas.h * 0.06), distance=0.45)
    if chance(canvas, 0.5):
        woods(canvas, horizon + canvas.h * 0.02, ranks=1, tall=0.1)
    grass(canvas, level(canvas, horizon + canvas.h * 0.02, 0.006))
    recede(canvas, horizon)
    ground = Ground(horizon, 3.4)
    crossing = chance(canvas, 0.6)
    river(
        canvas,
        horizon + canvas.h * 0.02,
        focus=canvas.w * canvas.between(0.35, 0.65),
        near=(canvas.w * canvas.between(0.3, 0.7), canvas.w * canvas.between(0.18, 0.3)),
    )
    if crossing:
        arches(canvas, horizon + canvas.h * 0.2, canvas.h * canvas.between(0.16, 0.24), deck=0.75)
    far = (0.5, 0.9) if crossing else (0.2, 0.9)
    if chance(canvas, 0.55):
        base = horizon + canvas.h * (0.045 if crossing else 0.1)
        train(
            canvas,
            base,
            canvas.h * canvas.between(0.1, 0.14),
            front=canvas.w * canvas.between(0.35, 0.9),
        )
    sides = ((0.0, 0.25), (0.75, 1.0))
    play(canvas, ground, [
        Cast(tree, 6.0, some(canvas, 0.7, 1, 2), far, sides[int(rng.integers(2))]),
        Cast(boat, 3.4, some(canvas, 0.35, 1, 1), (0.6, 0.8), (0.4, 0.6)),
        Cast(rock, 0.9, some(canvas, 0.3, 1, 3), (0.6, 1.0), sides[int(rng.integers(2))]),
        Cast(horse, 1.5, some(canvas, 0.25, 1, 2), (0.5, 0.9), sides[int(rng.integers(2))]),
    ])  # fmt: skip
