"""Colours and light, different for every picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Colour = tuple[float, float, float]
Floats = NDArray[np.float32]
Tones = NDArray[np.floating[Any]]

WHITE: Final[Colour] = (250.0, 248.0, 243.0)
DARK: Final[Colour] = (38.0, 36.0, 42.0)
PAINTS: Final[tuple[Colour, ...]] = (
    (198, 52, 46), (232, 148, 44), (240, 205, 84), (62, 128, 92), (46, 102, 160),
    (96, 168, 190), (134, 78, 140), (238, 234, 224), (70, 74, 84), (206, 110, 96),
)  # fmt: skip
SKINS: Final[tuple[Colour, ...]] = ((238, 200, 170), (214, 166, 130), (160, 110, 78), (104, 70, 52))


class Light(NamedTuple):
    """The effect of daytime and weather on every colour.

    `side` is +1 if the light comes from the right; `haze` fades distant objects into `air`.
    """

    name: str
    sky: tuple[Colour, Colour, Colour]
    ambient: Colour
    air: Colour
    haze: float
    side: float

    @property
    def dark(self) -> bool:
        """Return whether lamps and windows are lit."""
        return self.name == "night"


_LIGHTS: Final[dict[str, tuple[tuple[Colour, Colour, Colour], Colour, Colour, float]]] = {
    "day": (((72, 134, 205), (135, 186, 228), (218, 232, 236)), (1.0, 1.0, 0.98), (196, 215, 228), 0.62),
    "morning": (((120, 164, 208), (186, 204, 216), (250, 226, 194)), (1.03, 0.97, 0.9), (236, 222, 204), 0.7),
    "overcast": (
        ((150, 162, 176), (178, 188, 196), (212, 214, 212)),
        (0.88, 0.9, 0.93),
        (196, 202, 206),
        0.7,
    ),
    "sunset": (((68, 66, 124), (206, 108, 112), (252, 190, 108)), (0.86, 0.66, 0.6), (226, 142, 112), 0.7),
    "night": (((12, 18, 46), (26, 38, 80), (58, 76, 122)), (0.4, 0.46, 0.66), (40, 54, 96), 0.66),
    "fog": (((176, 182, 186), (192, 198, 200), (206, 210, 210)), (0.86, 0.88, 0.9), (200, 205, 206), 1.0),
}


def jitter(rng: np.random.Generator, colour: Colour, amount: float = 0.1) -> Colour:
    """Vary a colour in brightness and hue, so that colour alone does not determine a tag."""
    light, *hues = (amount * rng.standard_normal(4)).tolist()
    r, g, b = (c * math.exp(light + 0.55 * hue) for c, hue in zip(colour, hues, strict=True))
    return min(r, 255.0), min(g, 255.0), min(b, 255.0)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """Interpolate from `a` (share 0) to `b` (share 1)."""
    return (
        a[0] + (b[0] - a[0]) * share,
        a[1] + (b[1] - a[1]) * share,
        a[2] + (b[2] - a[2]) * share,
    )


def scale(colour: Colour, gain: float) -> Colour:
    """Make a colour lighter or darker."""
    return min(colour[0] * gain, 255.0), min(colour[1] * gain, 255.0), min(colour[2] * gain, 255.0)


def pick(rng: np.random.Generator, colours: Sequence[Colour], amount: float = 0.08) -> Colour:
    """Return one of several colours, slightly varied."""
    return jitter(rng, colours[int(rng.integers(len(colours)))], amount)


def ramp(*stops: Colour) -> Floats:
    """Spread colours evenly over 256 tones, dark to light: painting is then one table look-up.

    >>> ramp((0, 0, 0), (255, 255, 255))[128].round().tolist()
    [128.0, 128.0, 128.0, 0.0]
    """
    at = np.linspace(0.0, 255.0, len(stops))
    tones = np.arange(256.0)
    table = np.array(stops, dtype=float)
    out = np.zeros((256, 4), np.float32)
    for k in range(3):
        out[:, k] = np.interp(tones, at, table[:, k])
    return out


def four(colour: Colour) -> Floats:
    """Pad a colour to the four floats of a canvas pixel."""
    return np.array((*colour, 0.0), np.float32)


def shades(colour: Colour, depth: float = 0.45, lift: float = 0.3) -> Floats:
    """Make a ramp from cool shadow over the colour to warm light."""
    shadow = mix(scale(colour, 1.0 - depth), (30, 36, 70), 0.18)
    light = mix(colour, (255, 246, 214), lift)
    return ramp(shadow, colour, light)


def make_light(rng: np.random.Generator, name: str) -> Light:
    """Set the light of that name, with skies and tint of its own for each picture."""
    sky, ambient, air, haze = _LIGHTS[name]
    # Grey skies show a cast at once.
    spread = 0.012 if name in {"overcast", "fog"} else 0.035
    tint = np.exp(rng.normal(0.0, spread, 3))
    zenith, middle, horizon = (
        jitter(rng, (c[0] * float(tint[0]), c[1] * float(tint[1]), c[2] * float(tint[2])), spread)
        for c in sky
    )
    side = 1.0 if rng.random() < 0.5 else -1.0
    thickness = haze * float(rng.uniform(0.7, 1.1))
    return Light(
        name, (zenith, middle, horizon), jitter(rng, ambient, 0.02), mix(air, horizon, 0.5), thickness, side
    )
