"""Paint layers on a picture and on its mask together, at twice the final size."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from . import noise
from .palette import Colour, Floats, Light, Tones, four
from .tags import mask_value

OVERSAMPLE: Final = 2
Bools = NDArray[np.bool_]
Where = tuple[slice, slice]


def whole(pixels: Floats) -> NDArray[np.complex128]:
    """View pixels of four floats as single items of 16 bytes, which NumPy copies several times faster."""
    return pixels.view(np.complex128)[..., 0]


class Canvas:
    """Hold the colours and the mask of a picture being drawn.

    A pixel is four floats: red, green and blue from 0 to 255, and a spare.

    Lengths are in canvas pixels; callers use fractions of `h` and `w`. Light and haze are applied when a
    layer is painted, so layers are painted from far to near.
    """

    def __init__(self, rng: np.random.Generator, size: tuple[int, int], light: Light) -> None:
        width, height = size
        self.w, self.h = width * OVERSAMPLE, height * OVERSAMPLE
        self.rng, self.light = rng, light
        self.afar = 0.0  # haze in front of the current object, unless its layer has more
        self.rgb: Floats = np.zeros((self.h, self.w, 4), np.float32)
        self.label: NDArray[np.uint8] = np.zeros((self.h, self.w), np.uint8)

    def between(self, low: float, high: float) -> float:
        """Return a uniform random number."""
        return float(self.rng.uniform(low, high))

    def lit(self, table: Floats, distance: float, *, shining: bool = False) -> Floats:
        """Return colours in the current light and behind `distance` (0–1) of haze."""
        gain, veil = self.daylight(distance, shining=shining)
        return table * gain + veil

    def daylight(self, distance: float, *, shining: bool = False) -> tuple[Floats, Floats]:
        """Return the factor and the offset that light and haze apply to a colour."""
        share = min(max(distance, self.afar) * self.light.haze, 0.96)
        ambient = np.ones(4, np.float32) if shining else four(self.light.ambient)
        return ambient * np.float32(1.0 - share), four(self.light.air) * np.float32(share)

    def paint(
        self,
        where: Where,
        tone: Tones,
        table: Floats,
        tag: str | None,
        *,
        mask: Bools | None = None,
        distance: float = 0.0,
        shining: bool = False,
    ) -> None:
        """Cover a rectangle, or the part of it in `mask`, with tones (0–1) looked up in a ramp."""
        index = np.clip(tone * 255.0, 0.0, 255.0).astype(np.uint8)
        colours = np.take(whole(self.lit(table, distance, shining=shining)), index, mode="clip")
        target = whole(self.rgb[where])
        if mask is None:
            target[...], self.label[where] = colours, mask_value(tag)
            return
        np.copyto(target, colours, where=mask)
        np.copyto(self.label[where], mask_value(tag), where=mask)

    def blend(
        self,
        where: Where,
        tone: Tones,
        table: Floats,
        alpha: Tones,
        tag: str | None,
        *,
        shining: bool = False,
    ) -> None:
        """Paint a transparent layer; pixels that it covers by more than half get its label."""
        index = np.clip(tone * 255.0, 0.0, 255.0).astype(np.uint8)
        colours = self.lit(table, 0.0, shining=shining)[index]
        region = self.rgb[where]
        region += (colours - region) * alpha[..., None]
        self.label[where][alpha > 0.5] = mask_value(tag)

    def stamp(self, where: Where, colours: Floats, mask: Bools, tag: str | None) -> None:
        """Paint the part of a rectangle in `mask` with colours that include the light."""
        np.copyto(whole(self.rgb[where]), whole(colours), where=mask)
        np.copyto(self.label[where], mask_value(tag), where=mask)

    def veil(self, top: int, bottom: int, strength: Floats) -> None:
        """Fade rows into the haze, the first by strength[0], as for receding ground."""
        rows = self.rgb[top:bottom]
        alpha = np.clip(strength * self.light.haze, 0.0, 0.95)[: rows.shape[0], None, None]
        rows += (four(self.light.air) - rows) * alpha

    def box(self, left: float, top: float, right: float, bottom: float) -> Where:
        """Clip a rectangle to the picture; the result can be empty."""
        x0, x1 = (int(min(max(v, 0), self.w)) for v in (left, right))
        y0, y1 = (int(min(max(v, 0), self.h)) for v in (top, bottom))
        return slice(y0, max(y0, y1)), slice(x0, max(x0, x1))

    def below(self, line: Floats, bottom: int | None = None) -> tuple[Where, Bools]:
        """Return the region under a line (one height per column), down to `bottom`."""
        end = self.h if bottom is None else min(bottom, self.h)
        top = int(np.clip(line.min(), 0, end - 1))
        rows = np.arange(top, end, dtype=np.float32)[:, None]
        return (slice(top, end), slice(0, self.w)), rows >= line[None, :]

    def glow(self, x: float, y: float, radius: float, colour: Colour, strength: float) -> None:
        """Add light that falls off from a point: the sun, a lamp, a window at night."""
        where = self.box(x - radius, y - radius, x + radius, y + radius)
        yy = np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None] - y
        xx = np.arange(where[1].start, where[1].stop, dtype=np.float32)[None, :] - x
        fall = np.clip(1.0 - np.sqrt(xx * xx + yy * yy) / radius, 0.0, 1.0)
        region = self.rgb[where]
        region += np.maximum(four(colour) - region * 0.6, 0.0) * (fall * fall * strength)[..., None]

    def shadow(self, x: float, y: float, rx: float, ry: float, strength: float = 0.4) -> None:
        """Draw the shadow under an object: a dark oval, weaker at night and in fog."""
        if self.light.name in {"night", "fog", "overcast"}:
            strength *= 0.5
        where = self.box(x - rx, y - ry, x + rx, y + ry)
        yy = (np.arange(where[0].start, where[0].stop, dtype=np.float32)[:, None] - y) / max(ry, 1.0)
        xx = (np.arange(where[1].start, where[1].stop, dtype=np.float32)[None, :] - x) / max(rx, 1.0)
        dark = 1.0 - strength * np.clip(1.6 * (1.0 - xx * xx - yy * yy), 0.0, 1.0)
        self.rgb[where] *= dark[..., None]

    def finish(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Shrink to the final size, then apply camera effects: colour cast, contrast, vignette, grain."""
        rows = self.rgb[::2] + self.rgb[1::2]
        small = (rows[:, ::2, :3] + rows[:, 1::2, :3]) * np.float32(0.25)
        height, width = small.shape[:2]
        yy = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
        xx = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
        tone = 1.02 - 0.1 * (xx * xx + yy * yy) + 0.012 * noise.cut("mottle", self.rng, height, width)
        grain = noise.cut("grain", self.rng, height, width) * float(self.rng.uniform(1.0, 4.0))
        contrast, cast = float(self.rng.uniform(0.94, 1.08)), self.rng.normal(1.0, 0.02, 3).astype(np.float32)
        small *= cast * np.float32(contrast)
        small *= tone[..., None]
        small += (grain + 120.0 * (1.0 - contrast))[..., None]
        return np.clip(small, 0, 255, out=small).astype(np.uint8), self.label[::2, ::2].copy()
