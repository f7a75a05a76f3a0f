"""Parts of several kinds of scenes: objects in the air, mountains and woods in the background."""

from __future__ import annotations

from .animals import flock
from .canvas import Canvas
from .land import mountains
from .plants import forest
from .stage import chance, level
from .vehicles import balloon, plane


def aloft(
    canvas: Canvas, horizon: float, *, birds: float = 0.25, planes: float = 0.1, balloons: float = 0.1
) -> None:
    """Draw objects in the air at random; hardly any at night."""
    if horizon <= 0:
        return
    rng, damp = canvas.rng, 0.35 if canvas.light.dark else 1.0
    if chance(canvas, balloons * damp):
        for _ in range(int(rng.integers(1, 4))):
            tall = canvas.h * canvas.between(0.16, 0.4)
            balloon(
                canvas,
                canvas.w * canvas.between(0.1, 0.9),
                max(horizon * canvas.between(0.45, 0.9), tall * 0.9),
                tall,
            )
    if chance(canvas, planes * damp):
        span = canvas.h * canvas.between(0.3, 0.6)
        plane(canvas, canvas.w * canvas.between(0.25, 0.75), horizon * canvas.between(0.25, 0.55), span)
    if chance(canvas, birds * damp):
        count = int(rng.integers(2, 7))
        span = canvas.h * canvas.between(0.11, 0.17) * (1.5 if count < 4 else 1.0)
        flock(canvas, count, (0.08 * canvas.w, 0.1 * horizon, 0.92 * canvas.w, 0.85 * horizon), span)


def far_hills(canvas: Canvas, horizon: float, *, snow: float = 0.5, tall: float = 0.3) -> None:
    """Close the view with one to three ranges, the nearer the lower."""
    if horizon <= 0:
        return
    rng = canvas.rng
    ranges = int(rng.integers(1, 4))
    for k in range(ranges):
        share = (ranges - k) / ranges
        height = canvas.h * tall * (0.45 + 0.55 * share) * canvas.between(0.8, 1.15)
        white = snow * share * canvas.between(0.5, 1.1) if chance(canvas, 0.8) else 0.0
        mountains(canvas, horizon + 2 * k, height, distance=0.25 + 0.5 * share, snow=white)


def woods(
    canvas: Canvas, horizon: float, *, ranks: int, tall: float, firs: bool | None = None, snow: float = 0.0
) -> None:
    """Stand ranks of trees before the horizon."""
    if horizon <= 0:
        return
    kind = chance(canvas, 0.55) if firs is None else firs
    for k in range(ranks):
        near = (k + 1) / ranks
        base = level(canvas, horizon + canvas.h * 0.025 * k, 0.006)
        forest(
            canvas,
            base,
            canvas.h * tall * (0.6 + 0.4 * near),
            distance=0.5 - 0.35 * near,
            firs=kind,
            snow=snow,
        )
