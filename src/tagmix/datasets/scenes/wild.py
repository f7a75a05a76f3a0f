"""Compose scenes of the open country: mountains, forest, desert, snow and plain."""

from __future__ import annotations

from functools import partial

import numpy as np

from . import noise
from .animals import horse, person, sheep
from .canvas import Canvas
from .homes import house
from .land import crops, dune, grass, mountains, road, rock, rolling, sand, snowfield
from .palette import jitter, pick, scale, shades
from .plants import GREENS, cactus, conifer, flowers, foliage, forest, leaf_ramp, palm, tree
from .sky import heavens
from .stage import Cast, Ground, chance, eye_level, level, play, recede, some
from .vehicles import car, train
from .views import aloft, far_hills, woods
from .water import river


def highlands(canvas: Canvas) -> None:
    """Show high mountains over woods and meadow, with rocks, firs, sheep or a balloon."""
    rng = canvas.rng
    horizon = canvas.h * canvas.between(0.5, 0.62)
    heavens(canvas, horizon, clear=0.45)
    far_hills(canvas, horizon, snow=0.6, tall=0.46)
    aloft(canvas, horizon * 0.8, birds=0.2, planes=0.08, balloons=0.22)
    if chance(canvas, 0.6):
        woods(canvas, horizon, ranks=int(rng.integers(1, 4)), tall=0.12, firs=True)
    grass(canvas, rolling(canvas, horizon + canvas.h * 0.03, canvas.h * 0.05), distance=0.08)
    recede(canvas, horizon, 0.4)
    if chance(canvas, 0.3):
        river(
            canvas,
            horizon + canvas.h * 0.03,
            focus=canvas.w * canvas.between(0.3, 0.7),
            near=(canvas.w * canvas.between(0.1, 0.9), canvas.w * 0.2),
        )
    play(canvas, Ground(horizon, 3.0), [
        Cast(rock, 1.1, some(canvas, 0.65, 2, 6), (0.2, 1.0)),
        Cast(conifer, 5.5, some(canvas, 0.6, 1, 5), (0.12, 0.6)),
        Cast(sheep, 1.1, some(canvas, 0.35, 3, 6), (0.35, 0.9)),
        Cast(person, 1.7, some(canvas, 0.2, 1, 2), (0.4, 0.95)),
        Cast(house, 4.0, some(canvas, 0.15, 1, 1), (0.2, 0.4)),
    ])  # fmt: skip
    if chance(canvas, 0.3):
        flowers(canvas, canvas.h * 0.8, canvas.h * 1.0, int(rng.integers(50, 110)), canvas.h * 0.04)


def woodland(canvas: Canvas) -> None:
    """Stand inside a wood: a leafy wall behind, trunks and crowns before, a path or ferns below."""
    rng = canvas.rng
    horizon = canvas.h * canvas.between(0.52, 0.66)
    heavens(canvas, horizon, clear=0.8)
    firs = chance(canvas, 0.5)
    # A deep wood shuts out the sky.
    deep = 1.2 if chance(canvas, 0.45) else 0.62
    for k in range(3):
        base = level(canvas, horizon + canvas.h * 0.02 * k, 0.01)
        forest(
            canvas,
            base,
            canvas.h * deep * 0.74**k * canvas.between(0.85, 1.1),
            distance=0.55 - 0.22 * k,
            firs=firs,
        )
    grass(canvas, level(canvas, horizon + canvas.h * 0.03, 0.01), colour=scale(pick(rng, GREENS, 0.1), 1.05))
    if chance(canvas, 0.5):
        road(
            canvas,
            horizon + canvas.h * 0.03,
            focus=canvas.w * canvas.between(0.35, 0.65),
            near=(canvas.w * canvas.between(0.3, 0.7), canvas.w * 0.24),
            bend=canvas.w * 0.2,
            paved=False,
        )
    plant = conifer if firs else tree
    play(canvas, Ground(horizon, 2.2), [
        Cast(plant, 6.0, int(rng.integers(3, 7)), (0.15, 0.5)),
        Cast(rock, 0.7, some(canvas, 0.4, 1, 3), (0.4, 1.0)),
        Cast(person, 1.6, some(canvas, 0.3, 1, 2), (0.4, 0.9)),
    ])  # fmt: skip
    if chance(canvas, 0.45):
        _trunk(canvas)
    if chance(canvas, 0.35):
        flowers(canvas, canvas.h * 0.8, canvas.h, int(rng.integers(30, 80)), canvas.h * 0.04)


def _trunk(canvas: Canvas) -> None:
    """Frame the view with a great trunk at one edge and leaves hanging from above."""
    rng = canvas.rng
    left = chance(canvas, 0.5)
    wide = canvas.w * canvas.between(0.09, 0.15)
    centre = wide * 0.6 if left else canvas.w - wide * 0.6
    where = canvas.box(0, 0, canvas.w, canvas.h * 0.97)
    rows = where[0].stop
    y = np.linspace(0, 1, rows, dtype=np.float32)[:, None]
    half = wide * (0.5 + 0.35 * y**6)
    across = (np.arange(canvas.w, dtype=np.float32)[None, :] - centre) / half
    wood = jitter(rng, (106, 84, 66), 0.12)
    tone = 0.5 + 0.28 * across * canvas.light.side + 0.2 * noise.cut("bark", rng, rows, canvas.w)
    canvas.paint(where, tone, shades(wood, 0.6, 0.3), "tree", mask=np.abs(across) < 1)
    line = level(canvas, canvas.h * 0.16, 0.03)
    top = canvas.box(0, 0, canvas.w, canvas.h * 0.32)
    leaves = noise.cut("leaves", rng, top[0].stop, canvas.w)
    yy = np.arange(top[0].stop, dtype=np.float32)[:, None]
    canvas.paint(top, 0.45 + 0.2 * leaves, leaf_ramp(foliage(canvas)), "tree", mask=yy < line + 22 * leaves)


def desert(canvas: Canvas) -> None:
    """Show dunes or stony flats with cacti, rocks, a rider's horse, sometimes a road and a car."""
    rng = canvas.rng
    horizon = eye_level(canvas, 0.42, 0.55)
    heavens(canvas, horizon, clear=0.7)
    if chance(canvas, 0.4):
        mountains(canvas, horizon + 4, canvas.h * canvas.between(0.12, 0.24), distance=0.45, snow=0)
    aloft(canvas, horizon, birds=0.15, planes=0.1, balloons=0.2)
    if chance(canvas, 0.6):
        for k in range(int(rng.integers(2, 4))):
            dune(
                canvas,
                horizon + canvas.h * (0.03 + 0.13 * k),
                canvas.h * canvas.between(0.08, 0.2),
                distance=0.4 - 0.15 * k,
            )
    else:
        sand(canvas, level(canvas, horizon, 0.004), wind=0.06)
    recede(canvas, horizon, 0.4)
    low = canvas.h * 0.2 / (canvas.h - horizon)
    if chance(canvas, 0.25):
        road(
            canvas,
            horizon,
            focus=canvas.w * canvas.between(0.3, 0.7),
            near=(canvas.w * canvas.between(0.3, 0.7), canvas.w * 0.3),
            bend=0.0,
            paved=True,
        )
    play(canvas, Ground(horizon, 2.6), [
        Cast(cactus, 3.2, some(canvas, 0.75, 1, 5), (low, 0.95)),
        Cast(rock, 1.0, some(canvas, 0.6, 1, 5), (low, 1.0)),
        Cast(palm, 4.2, some(canvas, 0.2, 2, 4), (low, 0.7)),
        Cast(horse, 1.5, some(canvas, 0.2, 1, 2), (low, 0.9)),
        Cast(person, 1.7, some(canvas, 0.25, 1, 3), (low, 0.9)),
        Cast(car, 4.0, some(canvas, 0.12, 1, 1), (low, 0.85)),
    ])  # fmt: skip


def winter(canvas: Canvas) -> None:
    """Show snow: white fields, firs and bare trees, a house, walkers, mountains behind."""
    rng = canvas.rng
    horizon = eye_level(canvas, 0.42, 0.55, down=0.2)
    heavens(canvas, horizon)
    if chance(canvas, 0.5):
        far_hills(canvas, horizon, snow=0.9, tall=0.3)
    if chance(canvas, 0.6):
        woods(canvas, horizon, ranks=int(rng.integers(1, 3)), tall=0.14, firs=True, snow=1.0)
    snowfield(canvas, rolling(canvas, horizon + canvas.h * 0.02, canvas.h * 0.06), distance=0.15)
    if chance(canvas, 0.6):
        snowfield(canvas, rolling(canvas, horizon + canvas.h * 0.18, canvas.h * 0.1))
    fir, home, bare = partial(conifer, snow=1.0), partial(house, snow=True), partial(tree, crown=False)
    play(canvas, Ground(horizon, 3.0), [
        Cast(fir, 5.5, some(canvas, 0.75, 1, 6), (0.15, 0.75)),
        Cast(bare, 5.0, some(canvas, 0.35, 1, 3), (0.2, 0.7)),
        Cast(home, 4.4, some(canvas, 0.5, 1, 3), (0.2, 0.55)),
        Cast(person, 1.7, some(canvas, 0.4, 1, 3), (0.4, 0.95)),
        Cast(rock, 0.8, some(canvas, 0.2, 1, 3), (0.4, 1.0)),
    ])  # fmt: skip


def plain(canvas: Canvas) -> None:
    """Show a train crossing open fields under a wide sky."""
    horizon = canvas.h * canvas.between(0.42, 0.55)
    heavens(canvas, horizon)
    aloft(canvas, horizon, birds=0.25, planes=0.15, balloons=0.12)
    if chance(canvas, 0.5):
        woods(canvas, horizon + 3, ranks=1, tall=0.1)
    crops(canvas, level(canvas, horizon, 0.004))
    recede(canvas, horizon)
    base = horizon + canvas.h * canvas.between(0.12, 0.25)
    train(canvas, base, canvas.h * canvas.between(0.13, 0.2), front=canvas.w * canvas.between(0.3, 0.8))
    grass(canvas, level(canvas, base + canvas.h * 0.045, 0.004))
    play(
        canvas,
        Ground(horizon, 3.0),
        [
            Cast(tree, 5.0, some(canvas, 0.4, 1, 2), (0.6, 0.8)),
            Cast(horse, 1.5, some(canvas, 0.35, 1, 3), (0.6, 0.95)),
        ],
    )
