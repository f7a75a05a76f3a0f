"""Paint water: seas with surf, lakes that mirror the land, rivers that wind."""

from __future__ import annotations

import numpy as np

from . import noise
from .canvas import Bools, Canvas, Where, whole
from .palette import Colour, Floats, four, jitter, mix, ramp, scale
from .tags import mask_value

_SUN, _MOON = mask_value("sun"), mask_value("moon")


def _deep(canvas: Canvas, colour: Colour) -> Floats:
    """Mix the water's own colour with the sky that it mirrors."""
    zenith, middle, horizon = canvas.light.sky
    body = mix(colour, scale(zenith, 0.9), 0.25)
    if canvas.light.name in {"sunset", "night"}:
        return ramp(mix(scale(body, 0.35), zenith, 0.5), mix(scale(body, 0.7), middle, 0.55), horizon)
    return ramp(scale(body, 0.55), body, mix(mix(body, middle, 0.4), (246, 250, 248), 0.5))


def _water_colour(canvas: Canvas) -> Colour:
    choices: tuple[Colour, ...] = (
        (44, 112, 146),
        (52, 134, 146),
        (40, 88, 136),
        (84, 124, 132),
        (62, 150, 158),
    )
    return jitter(canvas.rng, choices[int(canvas.rng.integers(len(choices)))], 0.08)


def sea(canvas: Canvas, horizon: float, bottom: float) -> None:
    """Lay the sea from its horizon: swell that grows towards us, glitter under sun or moon."""
    rng = canvas.rng
    where = canvas.box(0, horizon, canvas.w, bottom)
    rows = where[0].stop - where[0].start
    waves = noise.receding("ripple", rng, rows, canvas.w, above=6.0, zoom=0.75)
    down = np.linspace(0.0, 1.0, rows, dtype=np.float32)[:, None]
    tone = 0.5 + 0.17 * waves - 0.14 * down + 0.05 * noise.cut("streak", rng, rows, canvas.w)
    shining = canvas.light.name in {"sunset", "night"}
    canvas.paint(where, tone, _deep(canvas, _water_colour(canvas)), "sea", shining=shining)
    canvas.veil(where[0].start, where[0].stop, (0.55 * np.exp(-down[:, 0] * 9)).astype(np.float32))
    glitter(canvas, where, waves)


def glitter(canvas: Canvas, where: Where, waves: Floats) -> None:
    """Break the light of the sun or moon into sparkles under it."""
    disc = (canvas.label == _SUN) | (canvas.label == _MOON)
    columns = np.flatnonzero(disc.any(axis=0))
    if columns.size == 0:
        return
    x = float(columns.mean())
    rows = waves.shape[0]
    spread = canvas.w * np.linspace(0.035, 0.12, rows, dtype=np.float32)[:, None]
    beam = np.exp(-(((np.arange(canvas.w, dtype=np.float32)[None, :] - x) / spread) ** 2))
    spark = np.clip(beam * (0.35 + 0.55 * waves), 0.0, 0.9)
    warm: Colour = (214, 224, 244) if canvas.light.dark else (255, 232, 176)
    region = canvas.rgb[where]
    region += (four(warm) - region) * spark[..., None]


def surf(canvas: Canvas, line: Floats) -> None:
    """Wash foam along a shore, given as a height for each column; foam is still sea."""
    rng = canvas.rng
    reach = canvas.h * 0.07
    for step in range(3):
        edge = line - reach * (0.12 + 0.75 * step) + canvas.h * 0.006 * noise.skyline(rng, canvas.w)
        thick = canvas.h * float(rng.uniform(0.008, 0.016)) * (1.4 - 0.4 * step)
        where = canvas.box(0, float(edge.min()) - 2, canvas.w, float((edge + 3 * thick).max()))
        rows = where[0].stop - where[0].start
        if rows < 2:
            continue
        y = np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None]
        depth = (y - edge) / thick
        lace = noise.cut("mottle", rng, rows, canvas.w)
        alpha = np.clip(1.2 - depth / 2.2 + 0.45 * lace, 0.0, 0.92) * (depth > 0) * (y < line)
        foam = ramp((196, 214, 222), (255, 255, 252))
        index = np.clip((0.6 + 0.3 * lace) * 255, 0, 255).astype(np.uint8)
        region = canvas.rgb[where]
        region += (canvas.lit(foam, 0.0)[index] - region) * alpha[..., None]


def mirror(canvas: Canvas, top: int, where: Where, mask: Bools, colour: Floats, tag: str) -> None:
    """Fill water with what stands over row `top`, upside down, broken by ripples and tinted."""
    rng = canvas.rng
    rows = where[0].stop - where[0].start
    waves = noise.receding("ripple", rng, rows, canvas.w, above=rows * 0.12, zoom=0.7)
    depth = (np.arange(where[0].start, where[0].stop, dtype=np.float32) - top)[:, None]
    source = np.clip(
        top - 1 - depth * 0.92 + waves * (0.5 + 0.05 * np.abs(depth)), 0, max(top - 1, 0)
    ).astype(np.int32)
    shift = np.clip(np.arange(canvas.w)[None, :] + (waves * 1.5).astype(np.int32), 0, canvas.w - 1)
    image = whole(canvas.rgb)[source, shift][..., None].view(np.float32)
    tone = np.clip((0.45 + 0.2 * waves) * 255, 0, 255).astype(np.uint8)
    shining = canvas.light.name in {"sunset", "night"}
    share = np.clip(0.34 + 0.3 * depth / max(rows, 1) + 0.07 * waves, 0.1, 0.9)[..., None]
    image += (canvas.lit(colour, 0.0, shining=shining)[tone] - image) * share
    canvas.stamp(where, image, mask, tag)


def lake(canvas: Canvas, top: float, bottom: float, tag: str = "lake") -> None:
    """Flood the picture between two heights with still water that mirrors what is above."""
    where = canvas.box(0, top, canvas.w, bottom)
    shore = bottom - canvas.h * 0.05 * (1.0 + 0.4 * noise.skyline(canvas.rng, canvas.w, 0.5))
    y = np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None]
    table = _deep(canvas, _water_colour(canvas))
    mirror(canvas, where[0].start, where, y < shore + canvas.h * 0.2, table, tag)
    line = where[0].start
    canvas.rgb[line : line + 3] *= 0.82


def river(canvas: Canvas, horizon: float, *, focus: float, near: tuple[float, float]) -> None:
    """Wind a river from a point on the horizon to the bottom edge (`near`: centre, half width)."""
    rng = canvas.rng
    where = canvas.box(0, horizon, canvas.w, canvas.h)
    rows = where[0].stop - where[0].start
    t = np.linspace(0.02, 1.0, rows, dtype=np.float32)[:, None]
    swing = float(rng.choice([-1.0, 1.0])) * canvas.w * float(rng.uniform(0.1, 0.2))
    centre = focus + (near[0] - focus) * t + swing * np.sin(np.log(t + 0.08) * 2.4) * (0.2 + t)
    bank = 1.0 + 0.05 * noise.cut("mottle", rng, rows, canvas.w)
    across = (np.arange(canvas.w, dtype=np.float32)[None, :] - centre) / (near[1] * t**0.8)
    earth = np.abs(across) < bank * 1.13
    mud = ramp((66, 54, 42), (142, 118, 88))
    canvas.paint(where, 0.45 + 0.2 * noise.cut("mottle", rng, rows, canvas.w), mud, None, mask=earth)
    table = _deep(canvas, _water_colour(canvas))
    mirror(canvas, where[0].start, where, np.abs(across) < bank, table, "river")
