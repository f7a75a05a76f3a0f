"""Place objects on level ground, so that distant ones are smaller, higher and paler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from . import noise
from .canvas import Canvas
from .palette import Floats, four

Draw = Callable[[Canvas, float, float, float], None]


class Ground(NamedTuple):
    """A plane seen from `eye` metres above it, with its horizon at a row of the canvas."""

    horizon: float
    eye: float

    def unit(self, y: float) -> float:
        """Return the pixels per metre at row `y`, by similar triangles."""
        return max(y - self.horizon, 1.0) / self.eye


class Cast(NamedTuple):
    """A number of objects of a size in metres, between two depths (0 horizon, 1 bottom edge)."""

    draw: Draw
    metres: float
    number: int
    near: tuple[float, float] = (0.3, 0.8)
    across: tuple[float, float] = (0.05, 0.95)


def eye_level(canvas: Canvas, low: float, high: float, *, down: float = 0.0) -> float:
    """Return the row of the horizon, or for some pictures one above the picture (the camera looks down).

    Not every photo shows the sky; nothing is painted above a horizon outside the picture.
    """
    return canvas.h * (canvas.between(-0.08, -0.01) if chance(canvas, down) else canvas.between(low, high))


def chance(canvas: Canvas, share: float) -> bool:
    """Return True with this probability."""
    return bool(canvas.rng.random() < share)


def some(canvas: Canvas, share: float, low: int, high: int) -> int:
    """Return a random number of objects from low to high, or 0."""
    return int(canvas.rng.integers(low, high + 1)) if chance(canvas, share) else 0


def play(canvas: Canvas, ground: Ground, casts: Sequence[Cast]) -> None:
    """Draw all objects, distant ones first, each kind distributed over the width."""
    rng, deep = canvas.rng, canvas.h - ground.horizon
    parts: list[tuple[float, float, Cast]] = []
    for cast in casts:
        slots = rng.permutation(cast.number) + rng.uniform(0.15, 0.85, cast.number)
        left, right = cast.across
        for slot in slots:
            y = ground.horizon + deep * float(rng.uniform(*cast.near))
            parts.append((y, canvas.w * (left + (right - left) * float(slot) / cast.number), cast))
    for y, x, cast in sorted(parts, key=lambda part: part[0]):
        canvas.afar = 0.55 * (1.0 - (y - ground.horizon) / deep) ** 1.5
        size = cast.metres * ground.unit(y) * float(rng.uniform(0.88, 1.12))
        cast.draw(canvas, x, y, size)
    canvas.afar = 0.0


def level(canvas: Canvas, y: float, rough: float = 0.0) -> Floats:
    """Return a nearly straight line across the picture at row `y`."""
    line = np.full(canvas.w, y, np.float32)
    return line + rough * canvas.h * noise.skyline(canvas.rng, canvas.w, 0.5) if rough else line


def recede(canvas: Canvas, horizon: float, strength: float = 0.5) -> None:
    """Fade the ground into the haze towards the horizon."""
    top = max(int(horizon), 0)
    rows = np.linspace(0, 1, max(canvas.h - top, 1), dtype=np.float32)
    canvas.veil(top, canvas.h, (strength * (1 - rows) ** 3).astype(np.float32))


def mist(canvas: Canvas) -> None:
    """Draw banks of fog over the finished picture; the labels stay."""
    if canvas.light.name != "fog":
        return
    bank = noise.cut("streak", canvas.rng, canvas.h, canvas.w)
    alpha = np.clip(0.26 + 0.11 * bank, 0.05, 0.6)[..., None]
    canvas.rgb += (four(canvas.light.air) - canvas.rgb) * alpha
