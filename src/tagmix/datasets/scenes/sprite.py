"""Draw one object from curves in its own coordinates, then stamp it on the canvas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from . import noise
from .canvas import Canvas
from .palette import Colour, Floats

Point = tuple[float, float]
_STEPS: Final = 6
_RING: Final = [(math.cos(k * math.pi / 10), math.sin(k * math.pi / 10)) for k in range(20)]


def smooth(points: Sequence[Point]) -> Floats:
    """Round a closed outline through its points (Catmull–Rom), as a hand would draw it."""
    p = np.asarray(points, np.float32)
    before, after, beyond = np.roll(p, 1, 0), np.roll(p, -1, 0), np.roll(p, -2, 0)
    t = (np.arange(_STEPS, dtype=np.float32) / _STEPS)[None, :, None]
    a, b, c, d = (q[:, None, :] for q in (before, p, after, beyond))
    curve = 0.5 * (
        2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t + (3 * b - a - 3 * c + d) * t * t * t
    )
    return np.asarray(curve.reshape(-1, 2), np.float32)


class Sprite:
    """An object being drawn: x to the right, y up, both in object units, the origin at its foot.

    `unit` is the length of one object unit in canvas pixels. Shapes carry a material, a field of the
    texture bank that roughens them when the object is stamped.
    """

    def __init__(
        self,
        canvas: Canvas,
        foot: Point,
        unit: float,
        *,
        extent: tuple[float, float, float, float],
        flip: bool = False,
        tilt: float = 0.0,
    ) -> None:
        self.canvas, self.unit, self.foot = canvas, unit, foot
        side = -unit if flip else unit
        self._x = side * math.cos(tilt), -unit * math.sin(tilt)
        self._y = -side * math.sin(tilt), -unit * math.cos(tilt)
        left, low, right, high = extent
        if flip:
            left, right = -right, -left
        self.where = canvas.box(
            foot[0] + left * unit, foot[1] - high * unit, foot[0] + right * unit, foot[1] - low * unit
        )
        rows, columns = self.where
        self.size = max(columns.stop - columns.start, 1), max(rows.stop - rows.start, 1)
        self._ink, self._body = Image.new("RGBA", self.size), Image.new("L", self.size)
        self._pen, self._cut = ImageDraw.Draw(self._ink), ImageDraw.Draw(self._body)
        self._codes: dict[tuple[str, float, bool], int] = {("", 0.0, False): 1}

    def place(self, points: Sequence[Point] | Floats) -> list[Point]:
        """Turn object coordinates into pixels of the sprite."""
        pairs = points.tolist() if isinstance(points, np.ndarray) else points
        left, top = self.foot[0] - self.where[1].start, self.foot[1] - self.where[0].start
        (a, b), (c, d) = self._x, self._y
        return [(left + a * x + b * y, top + c * x + d * y) for x, y in pairs]

    def _code(self, material: str, rough: float, shining: bool) -> int:
        key = (material, rough if material else 0.0, shining)
        return self._codes.setdefault(key, len(self._codes) + 1)

    def poly(
        self,
        points: Sequence[Point] | Floats,
        colour: Colour,
        material: str = "",
        rough: float = 0.1,
        *,
        shining: bool = False,
    ) -> None:
        """Fill a polygon."""
        flat, code = self.place(points), self._code(material, rough, shining)
        self._pen.polygon(flat, fill=_ink(colour))
        self._cut.polygon(flat, fill=code)

    def curve(self, points: Sequence[Point], colour: Colour, material: str = "", rough: float = 0.1) -> None:
        """Fill a rounded outline."""
        self.poly(smooth(points), colour, material, rough)

    def oval(
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        colour: Colour,
        material: str = "",
        rough: float = 0.1,
        *,
        shining: bool = False,
    ) -> None:
        """Fill an ellipse."""
        self.poly([(x + rx * c, y + ry * s) for c, s in _RING], colour, material, rough, shining=shining)

    def bar(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        colour: Colour,
        material: str = "",
        rough: float = 0.1,
    ) -> None:
        """Fill an upright rectangle."""
        self.poly([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], colour, material, rough)

    def stroke(self, points: Sequence[Point] | Floats, colour: Colour, width: float) -> None:
        """Draw a line of a width in object units, never thinner than a pixel."""
        flat, thick = self.place(points), max(round(width * self.unit), 1)
        self._pen.line(flat, fill=_ink(colour), width=thick, joint="curve")
        self._cut.line(flat, fill=1, width=thick, joint="curve")

    def lines(self, segments: Floats, colour: Colour, width: float) -> None:
        """Draw many straight lines, (n, 2, 2), at once: brickwork has hundreds."""
        flat, thick = self.place(segments.reshape(-1, 2)), max(round(width * self.unit), 1)
        ink = _ink(colour)
        for k in range(0, len(flat), 2):
            self._pen.line(flat[k : k + 2], fill=ink, width=thick)
            self._cut.line(flat[k : k + 2], fill=1, width=thick)

    def stamp(
        self, tag: str | None, *, distance: float = 0.0, round_: float = 0.16, fall: float = 0.12
    ) -> None:
        """Put the object on the canvas, lit from the side (`round_`) and from above (`fall`)."""
        canvas, box = self.canvas, self._body.getbbox()
        if (
            box is None
            or self.where[0].stop <= self.where[0].start
            or self.where[1].stop <= self.where[1].start
        ):
            return
        left, top, right, bottom = box
        width, height = right - left, bottom - top
        code = np.asarray(self._body)[top:bottom, left:right]
        across = np.linspace(-1.0, 1.0, width, dtype=np.float32)[None, :] * (round_ * canvas.light.side)
        tone = across + np.linspace(1.0 + fall, 1.0 - fall, height, dtype=np.float32)[:, None]
        bright = np.zeros((1, 1), bool)
        for (material, rough, shining), number in self._codes.items():
            if material:
                tone += rough * noise.cut(material, canvas.rng, height, width) * (code == number)
            if shining:
                bright = bright | (code == number)
        colours = np.asarray(self._ink)[top:bottom, left:right].astype(np.float32)
        gain, air = canvas.daylight(distance)
        shown = colours * tone[..., None]
        shown *= gain
        shown += air
        if bright.any():
            shown = np.where(bright[..., None], colours, shown)
        y, x = self.where[0].start + top, self.where[1].start + left
        canvas.stamp((slice(y, y + height), slice(x, x + width)), shown, code > 0, tag)


def _ink(colour: Colour) -> tuple[int, int, int]:
    return int(min(colour[0], 255)), int(min(colour[1], 255)), int(min(colour[2], 255))
