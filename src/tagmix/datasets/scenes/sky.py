"""Paint skies: the gradient of the hour, sun, moon, stars and clouds."""

from __future__ import annotations

import numpy as np

from . import noise
from .canvas import Canvas
from .palette import Colour, Floats, jitter, mix, ramp


def sky(canvas: Canvas, horizon: float) -> None:
    """Cover the picture from the top to the horizon with the colours of the hour."""
    # Slightly below it, too: hills can dip under the horizon.
    where = canvas.box(0, 0, canvas.w, horizon + canvas.h * 0.12)
    height = where[0].stop
    down = np.minimum(np.arange(height, dtype=np.float32)[:, None] / max(horizon, 1.0), 1.0)
    # Brush strokes give the sky a texture.
    brush = 0.035 * noise.cut("streak", canvas.rng, height, canvas.w)
    canvas.paint(where, down**1.2 * 0.96 + brush, ramp(*canvas.light.sky), "sky", shining=True)
    if canvas.light.dark:
        _stars(canvas, int(min(horizon, height)))


def _stars(canvas: Canvas, height: int) -> None:
    """Sprinkle stars; they stay part of the sky, as a star is smaller than any region."""
    rng = canvas.rng
    count = int(rng.integers(60, 160))
    y = (rng.random(count) ** 1.4 * (height - 2)).astype(int)
    x = rng.integers(0, canvas.w - 2, count)
    shine = rng.uniform(40, 190, count).astype(np.float32)[:, None]
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        canvas.rgb[y + dy, x + dx] = np.minimum(canvas.rgb[y + dy, x + dx] + shine, 255.0)


def _disc(
    canvas: Canvas, x: float, y: float, radius: float
) -> tuple[tuple[slice, slice], Floats, Floats, Floats]:
    where = canvas.box(x - radius - 2, y - radius - 2, x + radius + 2, y + radius + 2)
    yy = (np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None] - y) / radius
    xx = (np.arange(where[1].start, where[1].stop, dtype=np.float32)[None, :] - x) / radius
    return where, yy, xx, xx * xx + yy * yy


def sun(canvas: Canvas, x: float, y: float) -> None:
    """Draw the sun, large and low at sunset, with its glow."""
    rng = canvas.rng
    low = canvas.light.name in {"sunset", "morning"}
    radius = canvas.h * float(rng.uniform(0.055, 0.1) if low else rng.uniform(0.05, 0.07))
    heart: Colour = (255, 236, 170) if low else (255, 252, 224)
    rim = jitter(rng, (255, 176, 74) if low else (255, 230, 140), 0.04)
    canvas.glow(x, y, radius * float(rng.uniform(4, 7)), rim, 0.75)
    where, yy, _, r2 = _disc(canvas, x, y, radius)
    tone = 1.0 - 0.55 * np.clip(r2, 0, 1) - 0.18 * yy
    alpha = np.clip((1.0 - np.sqrt(r2)) * radius * 0.5, 0.0, 1.0)
    canvas.blend(where, tone, ramp(rim, heart), alpha, "sun", shining=True)


def moon(canvas: Canvas, x: float, y: float) -> None:
    """Draw the moon, full or waning, with seas on it and a halo."""
    rng = canvas.rng
    radius = canvas.h * float(rng.uniform(0.055, 0.085))
    canvas.glow(x, y, radius * float(rng.uniform(3, 5)), (170, 186, 222), 0.5)
    where, yy, xx, r2 = _disc(canvas, x, y, radius)
    seas = noise.cut("cloud", rng, *r2.shape) * 0.22 + noise.cut("mottle", rng, *r2.shape) * 0.08
    alpha = np.clip((1.0 - np.sqrt(r2)) * radius * 0.5, 0.0, 1.0)
    if rng.random() < 0.4:
        bite = (xx - 0.55 * canvas.light.side) ** 2 + (yy + 0.1) ** 2
        alpha = alpha * np.clip((np.sqrt(bite) - 0.78) * radius * 0.5, 0.0, 1.0)
    canvas.blend(where, 0.7 + seas, ramp((120, 122, 140), (244, 240, 222)), alpha, "moon", shining=True)


def clouds(canvas: Canvas, horizon: float, count: int) -> None:
    """Hang heaped clouds, the lower the smaller and flatter, and sometimes a high veil."""
    rng = canvas.rng
    for y in np.sort(rng.uniform(0.12, 0.66, count))[::-1]:
        near = 1.0 - float(y)
        width = canvas.h * float(rng.uniform(0.45, 0.95)) * near
        _heap(canvas, float(rng.uniform(0, canvas.w)), float(y) * horizon, width, near)
    if rng.random() < 0.3:
        cirrus(canvas, horizon)


def _cloud_ramp(canvas: Canvas) -> Floats:
    zenith, middle, horizon = canvas.light.sky
    if canvas.light.dark:
        return ramp(mix(zenith, middle, 0.5), mix(middle, (110, 124, 160), 0.5))
    if canvas.light.name == "sunset":
        return ramp(mix(zenith, (120, 80, 110), 0.5), mix(middle, (238, 140, 110), 0.6), (255, 214, 164))
    return ramp(mix(middle, (128, 140, 162), 0.6), mix(horizon, (225, 228, 232), 0.7), (255, 253, 248))


def _heap(canvas: Canvas, x: float, y: float, width: float, near: float) -> None:
    """Pile puffs on a flat base, fray them with noise, and light them from above and the side."""
    rng = canvas.rng
    tall = width * float(rng.uniform(0.38, 0.6))
    where = canvas.box(x - width * 0.75, y - tall * 1.1, x + width * 0.75, y + tall * 0.45)
    rows, columns = where
    height, across = rows.stop - rows.start, columns.stop - columns.start
    if height < 4 or across < 4:
        return
    yy = (np.arange(rows.start, rows.stop, dtype=np.float32)[:, None] - y) / width
    xx = (np.arange(columns.start, columns.stop, dtype=np.float32)[None, :] - x) / width
    body, light = _puffs(canvas, yy[::2], xx[:, ::2])
    body, light = (f.repeat(2, 0).repeat(2, 1)[:height, :across] for f in (body, light))
    fray = noise.cut("cloud", rng, height, across)
    body = body + 0.42 * fray - 4.0 * np.clip(yy * 4.0 + 0.05, 0.0, 1.0)
    alpha = np.clip(body * 1.5 + 0.35, 0.0, 1.0) * (0.55 + 0.45 * near)
    tone = np.clip(light, 0.05, 1.0) * 0.75 + 0.16 + 0.13 * fray - 0.8 * np.clip(yy + 0.02, 0, 1)
    canvas.blend(where, tone, _cloud_ramp(canvas), alpha * 0.97, "cloud", shining=True)


def _puffs(canvas: Canvas, yy: Floats, xx: Floats) -> tuple[Floats, Floats]:
    """Pile up a cloud's body and its light, coarsely: noise gives the fine edge later."""
    rng = canvas.rng
    body = np.full((yy.shape[0], xx.shape[1]), -1.0, np.float32)
    light = np.zeros_like(body)
    for _ in range(int(rng.integers(6, 11))):
        px = float(rng.normal(0.0, 0.22))
        radius = float(rng.uniform(0.1, 0.21)) * max(1.0 - abs(px), 0.3)
        py = -float(rng.uniform(0.0, 0.3)) * (0.45 - abs(px)) - radius * 0.4
        dx, dy = (xx - px) / radius, (yy - py) / radius
        puff = 1.0 - dx * dx - dy * dy
        light = np.where(puff > body, 0.5 - 0.42 * dy + 0.22 * canvas.light.side * dx, light)
        body = np.maximum(body, puff)
    return body, light


def cirrus(canvas: Canvas, horizon: float) -> None:
    """Draw combed high cloud or, under a grey sky, rolling banks over all of it."""
    rng = canvas.rng
    grey = canvas.light.name == "overcast"
    bottom = horizon * float(rng.uniform(0.6, 0.9) if grey else rng.uniform(0.3, 0.6))
    where = canvas.box(0, 0, canvas.w, bottom)
    height = where[0].stop
    if height < 8:
        return
    strand = noise.cut("cloud" if grey else "streak", rng, height, canvas.w)
    fine = noise.cut("streak", rng, height, canvas.w)
    fade = np.linspace(1.0, 0.0, height, dtype=np.float32)[:, None] ** 0.5
    alpha = np.clip((strand * 0.8 + 0.3 * fine + (0.5 if grey else -0.5)) * fade, 0.0, 0.9)
    canvas.blend(where, 0.62 + 0.25 * strand + 0.1 * fine, _cloud_ramp(canvas), alpha, "cloud", shining=True)


def heavens(canvas: Canvas, horizon: float, *, clear: float = 0.35) -> None:
    """Do the whole sky: gradient, then what the hour hangs in it."""
    rng, name = canvas.rng, canvas.light.name
    if horizon <= 0:
        return
    sky(canvas, horizon)
    side = 0.5 + canvas.light.side * float(rng.uniform(0.12, 0.38))
    if name == "sunset" or (name in {"day", "morning"} and rng.random() < 0.4):
        height = float(rng.uniform(0.45, 0.85) if name == "sunset" else rng.uniform(0.15, 0.4))
        sun(canvas, side * canvas.w, height * horizon)
    elif name == "night" and rng.random() < 0.75:
        moon(canvas, side * canvas.w, float(rng.uniform(0.18, 0.4)) * horizon)
    if name == "overcast":
        cirrus(canvas, horizon)
    if name != "fog" and rng.random() > clear:
        clouds(canvas, horizon, int(rng.integers(1, 5)))
