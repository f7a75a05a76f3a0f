"""Paint the ground: mountains, hills, grass, crops, sand, snow, rock and roads."""

from __future__ import annotations

import numpy as np

from . import noise
from .canvas import Canvas
from .palette import Colour, Floats, jitter, mix, pick, ramp, scale, shades


def ridge(canvas: Canvas, base: float, height: float, *, peaks: int, roughness: float = 1.0) -> Floats:
    """Draw a line of summits `height` over `base`, broken by noise; rows count downwards."""
    rng = canvas.rng
    x = np.linspace(0.0, 1.0, canvas.w, dtype=np.float32)
    line = np.zeros(canvas.w, np.float32)
    for centre in np.linspace(0.0, 1.0, peaks) + rng.normal(0.0, 0.4 / peaks, peaks):
        tall, wide = rng.uniform(0.45, 1.0), rng.uniform(0.8, 1.6) / peaks
        flank = np.abs(x - centre) / wide
        line = np.maximum(line, (tall * (1.0 - flank**0.9)).astype(np.float32))
    line += 0.045 * roughness * noise.skyline(rng, canvas.w, 1.6) + 0.08
    return base - height * line


def mountains(canvas: Canvas, base: float, height: float, *, distance: float, snow: float) -> None:
    """Paint a range: flanks lit by their slope, gullies, and snow above a ragged line.

    `snow` is the share of the height that is white; the snow is tagged as snow.
    """
    rng = canvas.rng
    line = ridge(canvas, base, height, peaks=int(rng.integers(2, 6)))
    where, mask = canvas.below(line, int(base) + 4)
    rows, width = where[0].stop - where[0].start, canvas.w
    fold = noise.cut("relief", rng, rows, width)
    if canvas.light.side > 0:
        fold = -fold
    wobble = noise.cut("cloud", rng, rows, width)
    slope = np.gradient(np.convolve(np.pad(line, 12, mode="edge"), np.ones(25) / 25, mode="valid"))
    drift = np.clip(np.arange(width)[None, :] + (wobble * 22).astype(np.int32), 0, width - 1)
    face = np.clip(slope.astype(np.float32) * canvas.light.side, -1, 1)[drift]
    tone = 0.46 + 0.26 * face + 0.17 * fold + 0.04 * noise.cut("mottle", rng, rows, width)
    stone: Colour = pick(rng, ((112, 104, 110), (128, 110, 96), (96, 108, 120), (120, 116, 106)), 0.08)
    canvas.paint(where, tone, shades(stone, 0.55, 0.4), "mountain", mask=mask, distance=distance)
    if snow > 0:
        level = base - height * (1.0 - snow)
        y = np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None]
        white = mask & (y + height * (0.07 * wobble + 0.06 * fold) < level)
        table = ramp((120, 142, 186), (206, 216, 232), (255, 254, 250))
        canvas.paint(where, tone * 1.25 + 0.1, table, "snow", mask=white, distance=distance * 0.8)


def rolling(canvas: Canvas, base: float, height: float) -> Floats:
    """Draw a soft line of hills."""
    x = np.linspace(0, 1, canvas.w, dtype=np.float32)
    turn, pace = canvas.rng.uniform(0, 6.28, 3), canvas.rng.uniform(0.6, 2.2, 3)
    wave = sum(
        np.sin(2 * np.pi * p * x + t) / (k + 1) for k, (t, p) in enumerate(zip(turn, pace, strict=True))
    )
    return (base - height * (0.5 + 0.35 * np.asarray(wave))).astype(np.float32)


def grass(canvas: Canvas, line: Floats, *, distance: float = 0.0, colour: Colour | None = None) -> None:
    """Grow grass under a line: blades near, a soft nap far, patches of other greens."""
    rng = canvas.rng
    where, mask = canvas.below(line)
    rows = where[0].stop - where[0].start
    green = colour or pick(rng, ((104, 142, 62), (86, 130, 70), (138, 150, 70), (120, 152, 92)), 0.1)
    blades = noise.sward(rng, rows, canvas.w)
    patch = noise.cut("cloud", rng, rows, canvas.w)
    down = np.linspace(0.08, -0.08, rows, dtype=np.float32)[:, None]
    tone = 0.5 + 0.15 * blades + 0.09 * patch + down
    table = ramp(mix(scale(green, 0.4), (20, 40, 50), 0.3), green, mix(green, (236, 226, 130), 0.5))
    canvas.paint(where, tone, table, "grass", mask=mask, distance=distance)


def crops(canvas: Canvas, line: Floats, bottom: int | None = None, *, distance: float = 0.0) -> None:
    """Plant a field: rows that run together at a point on the horizon, of wheat, greens or bare earth."""
    rng = canvas.rng
    where, mask = canvas.below(line, bottom)
    rows = where[0].stop - where[0].start
    crop: Colour = pick(
        rng, ((212, 176, 84), (150, 116, 84), (126, 150, 66), (226, 202, 92), (166, 128, 158)), 0.08
    )
    between = mix(scale(crop, 0.55), (96, 70, 48), 0.5)
    focus = canvas.w * float(rng.uniform(-0.2, 1.2))
    depth = np.arange(rows, dtype=np.float32)[:, None] + rows * 0.16
    bend = noise.cut("cloud", rng, rows, canvas.w)
    across = (np.arange(canvas.w, dtype=np.float32)[None, :] - focus) / depth
    furrow = np.sin(across * float(rng.uniform(13, 24)) + 0.22 * bend)
    blades = noise.receding("blades", rng, rows, canvas.w, above=rows * 0.2, zoom=1.1)
    tone = 0.52 + 0.27 * furrow + 0.12 * blades + 0.05 * bend
    canvas.paint(
        where,
        tone,
        ramp(between, crop, mix(crop, (255, 244, 190), 0.5)),
        "field",
        mask=mask,
        distance=distance,
    )


def sand(
    canvas: Canvas, line: Floats, *, distance: float = 0.0, wind: float = 0.1, face: float = 0.0
) -> None:
    """Spread sand under a line, with grain and wind ripples; `face` darkens a dune's lee side."""
    rng = canvas.rng
    where, mask = canvas.below(line)
    rows = where[0].stop - where[0].start
    colour = pick(rng, ((226, 196, 148), (214, 176, 122), (232, 206, 168), (206, 158, 112)), 0.06)
    ripples = noise.receding("dunes", rng, rows, canvas.w, above=rows * 0.3, zoom=0.9)
    tone = 0.55 + wind * ripples + 0.05 * noise.cut("grain", rng, rows, canvas.w) - face
    tone += 0.06 * noise.cut("cloud", rng, rows, canvas.w)
    table = ramp(mix(scale(colour, 0.5), (120, 70, 70), 0.3), colour, mix(colour, (255, 246, 220), 0.55))
    canvas.paint(where, tone, table, "sand", mask=mask, distance=distance)


def dune(canvas: Canvas, base: float, height: float, *, distance: float) -> None:
    """Paint one dune: a sharp winding crest with a lit and a shaded side."""
    rng = canvas.rng
    line = rolling(canvas, base, height)
    sand(canvas, line, distance=distance, wind=0.09)
    crest = int(np.argmin(line[canvas.w // 8 : -canvas.w // 8])) + canvas.w // 8
    where, mask = canvas.below(line)
    rows = where[0].stop - where[0].start
    y = np.arange(rows, dtype=np.float32)
    snake = crest + 0.12 * canvas.w * np.sin(y / rows * 3.5 + rng.uniform(0, 6)) * (y / rows) ** 0.6
    side = -canvas.light.side
    x = np.arange(canvas.w, dtype=np.float32)[None, :]
    away = (x - snake[:, None]) * side
    lee = mask & (away > 0)
    dark = 1.0 - 0.34 * lee * np.exp(-np.maximum(away, 0) / (0.45 * canvas.w)) * (1 - 0.7 * y / rows)[:, None]
    canvas.rgb[where] *= dark[..., None]


def snowfield(canvas: Canvas, line: Floats, *, distance: float = 0.0) -> None:
    """Lay snow: blue hollows, wind drifts and sparkle."""
    rng = canvas.rng
    where, mask = canvas.below(line)
    rows = where[0].stop - where[0].start
    drift = noise.receding("brush", rng, rows, canvas.w, above=rows * 0.4, zoom=0.35)
    tone = 0.68 + 0.14 * drift + 0.1 * noise.cut("soft", rng, rows, canvas.w)
    tone += 0.025 * noise.cut("grain", rng, rows, canvas.w)
    blue = jitter(rng, (132, 156, 200), 0.05)
    canvas.paint(
        where, tone, ramp(blue, (216, 226, 240), (255, 253, 248)), "snow", mask=mask, distance=distance
    )


def rock(canvas: Canvas, x: float, y: float, radius: float, *, distance: float = 0.0) -> None:
    """Set a boulder: a jagged outline, lit on one side, cracked, dark at its foot."""
    rng = canvas.rng
    where = canvas.box(x - radius * 1.3, y - radius, x + radius * 1.3, y + radius * 0.12)
    rows, columns = where[0].stop - where[0].start, where[1].stop - where[1].start
    if rows < 3 or columns < 3:
        return
    yy = (y - np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None]) / radius
    xx = (np.arange(where[1].start, where[1].stop, dtype=np.float32)[None, :] - x) / radius
    turn = np.linspace(0, np.pi, 9)
    edge = rng.uniform(0.62, 1.0, 9)
    angle = np.arctan2(np.maximum(yy, 0), xx)
    limit = np.interp(angle, turn, edge)
    reach = np.hypot(xx / 1.25, yy)
    mask = (reach < limit) & (yy > -0.1 + 0.06 * np.sin(xx * 9))
    facet = np.floor(angle * 2.2 + 0.8 * noise.cut("cloud", rng, rows, columns)) * 0.37 % 1.0
    tone = 0.42 + 0.3 * canvas.light.side * xx + 0.25 * (yy - 0.4) + 0.16 * (facet - 0.5)
    tone = (
        tone + 0.1 * noise.cut("stones", rng, rows, columns) + 0.07 * noise.cut("mottle", rng, rows, columns)
    )
    grey = pick(rng, ((134, 128, 122), (118, 114, 118), (150, 130, 108), (108, 112, 108)), 0.1)
    canvas.shadow(x - canvas.light.side * radius * 0.4, y, radius * 1.5, radius * 0.2)
    canvas.paint(
        where, tone.astype(np.float32), shades(grey, 0.65, 0.45), "rock", mask=mask, distance=distance
    )


def road(
    canvas: Canvas,
    horizon: float,
    *,
    focus: float,
    near: tuple[float, float],
    bend: float = 0.0,
    paved: bool | None = None,
) -> None:
    """Lay a road from the bottom edge (`near`: centre, half width) to a point on the horizon."""
    rng = canvas.rng
    where = canvas.box(0, horizon, canvas.w, canvas.h)
    rows = where[0].stop - where[0].start
    t = np.linspace(0.012, 1.0, rows, dtype=np.float32)[:, None]
    centre = focus + (near[0] - focus) * t + bend * np.sin(np.pi * np.sqrt(t)) * (1 - t)
    across = (np.arange(canvas.w, dtype=np.float32)[None, :] - centre) / (near[1] * t)
    paved = bool(rng.random() < 0.6) if paved is None else paved
    grain = noise.cut("grain", rng, rows, canvas.w) * 0.05 + noise.cut("mottle", rng, rows, canvas.w) * 0.05
    rut = (
        0.07 * np.cos(across * 6.0) + noise.receding("streak", rng, rows, canvas.w, above=4, zoom=0.6) * 0.03
    )
    grey = pick(
        rng, ((104, 104, 110), (122, 118, 116)) if paved else ((186, 156, 116), (170, 144, 120)), 0.08
    )
    mask = np.abs(across) < 1.0 + 0.03 * noise.cut("mottle", rng, rows, canvas.w) * (0 if paved else 1)
    canvas.paint(where, 0.5 + grain + rut, shades(grey, 0.45, 0.35), "road", mask=mask)
    if paved:
        dash = np.sin(11.0 / (t + 0.12) + 1.0) > -0.1
        line = (np.abs(across) < 0.028) & dash | (np.abs(np.abs(across) - 0.93) < 0.022)
        canvas.paint(where, 0.6 + 2 * grain, shades((226, 220, 196), 0.4, 0.3), "road", mask=line)
