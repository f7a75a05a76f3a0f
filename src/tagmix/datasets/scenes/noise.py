"""A bank of tileable texture fields, computed once, from which every picture takes random crops.

The bank has a fixed seed: pictures differ in the position, mirroring, scale and strength of the crops.
Each field has mean 0 and standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
from PIL import Image, ImageDraw
from scipy import fft, ndimage

from .palette import Floats

SIDE: Final = 1024
HALF: Final = SIDE // 2


def _standard(field: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> Floats:
    """Normalise a field to mean 0 and deviation 1, and make it read-only, as all pictures share it."""
    out = ((field - field.mean()) / field.std()).astype(np.float32)
    out.setflags(write=False)
    return out


def _spectral(
    seed: int, power: float, *, stretch: tuple[float, float] = (1.0, 1.0), low: float = 2.0
) -> Floats:
    """Make Gaussian noise whose amplitude falls with frequency; `stretch` lengthens it down, across."""
    white = np.random.default_rng(seed).standard_normal((SIDE, SIDE)).astype(np.float32)
    fy = np.fft.fftfreq(SIDE)[:, None] * SIDE * stretch[0]
    fx = np.fft.rfftfreq(SIDE)[None, :] * SIDE * stretch[1]
    radius = np.maximum(np.hypot(fy, fx), 1e-9)
    gain = np.where(radius < low, 0.0, radius**-power).astype(np.float32)
    return _standard(fft.irfft2(fft.rfft2(white) * gain, s=(SIDE, SIDE)))


def _ripple() -> Floats:
    """Make water: long thin crests over a slow swell."""
    crest = -np.abs(_spectral(11, 1.5, stretch=(1.0, 5.0), low=40.0))
    fine = _spectral(12, 1.0, stretch=(1.0, 4.0), low=120.0)
    swell = _spectral(13, 2.2, stretch=(1.0, 3.0), low=4.0)
    return _standard(_standard(crest) + 0.5 * fine + 0.5 * swell)


def _relief() -> Floats:
    """Make mountainsides: ridged ground lit from the left."""
    height = np.zeros((SIDE, SIDE), np.float32)
    for octave, seed in enumerate((21, 22, 23)):
        ridge = -np.abs(_spectral(seed, 2.3, stretch=(0.6, 1.0), low=5.0 * 2.2**octave))
        height += ndimage.gaussian_filter(ridge, 3.0 / (1 + octave), mode="wrap") / 2.2**octave
    slope = (
        np.roll(height, -3, 1)
        - np.roll(height, 3, 1)
        + 0.4 * (np.roll(height, -3, 0) - np.roll(height, 3, 0))
    )
    return _standard(np.tanh(1.2 * slope / slope.std()) + 0.1 * _spectral(24, 1.0))


def _dunes() -> Floats:
    """Make wind ripples in sand: bent stripes and grain."""
    y = np.arange(SIDE, dtype=np.float32)[:, None]
    bend = _spectral(31, 2.2, low=3.0)
    wave = np.sin(2 * np.pi * y * 52 / SIDE + 2.6 * bend)
    return _standard(0.6 * wave + 0.5 * bend + 0.6 * _spectral(32, 0.3))


def _wrapped(draw: ImageDraw.ImageDraw, points: Floats, tone: int, width: int = 0) -> None:
    """Draw a polygon (or, with a width, a line) on a half tile, again over the edges that it crosses."""
    low, high = points.min(axis=0), points.max(axis=0)
    down = [0] + [HALF] * int(low[1] < 0) + [-HALF] * int(high[1] > HALF)
    along = [0] + [HALF] * int(low[0] < 0) + [-HALF] * int(high[0] > HALF)
    for dy in down:
        for dx in along:
            flat = [(px + dx, py + dy) for px, py in points.tolist()]
            if width:
                draw.line(flat, fill=tone, width=width)
            else:
                draw.polygon(flat, fill=tone)


def _drawn(image: Image.Image, blur: float) -> Floats:
    """Blur a drawn half tile and repeat it: strokes are slow, and busy patterns hide repeats."""
    half = ndimage.gaussian_filter(np.asarray(image, np.float32), blur, mode="wrap")
    return _standard(np.tile(half, (2, 2)))


def _leaves() -> Floats:
    """Make foliage: thousands of leaf dabs, the later the lighter, over dark gaps."""
    rng = np.random.default_rng(41)
    image = Image.new("L", (HALF, HALF), 20)
    draw = ImageDraw.Draw(image)
    turn = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)
    count = 4000
    for k in range(count):
        long, wide, angle = rng.uniform(7, 13), rng.uniform(3, 5), rng.uniform(0, np.pi)
        x, y = long * np.cos(turn), wide * np.sin(turn)
        c, s = np.cos(angle), np.sin(angle)
        leaf = np.stack([c * x - s * y, s * x + c * y], axis=1) + rng.uniform(0, HALF, 2)
        _wrapped(draw, leaf.astype(np.float32), int(40 + 150 * k / count + rng.uniform(-35, 60)))
    return _drawn(image, 0.6)


def _blades() -> Floats:
    """Make grass: upright bent strokes, one over the other."""
    rng = np.random.default_rng(51)
    image = Image.new("L", (HALF, HALF), 70)
    draw = ImageDraw.Draw(image)
    for _ in range(3800):
        length, lean = rng.uniform(16, 46), rng.normal(0.0, 0.25)
        t = np.array([0.0, 0.5, 1.0])
        x = length * lean * t * (0.4 + t)
        blade = np.stack([x, -length * t], axis=1) + rng.uniform(0, HALF, 2)
        _wrapped(
            draw,
            blade.astype(np.float32),
            int(np.clip(rng.normal(120, 50), 10, 250)),
            int(rng.integers(2, 4)),
        )
    return _drawn(image, 0.5)


def _stones() -> Floats:
    """Make rock: cells with a lit and a shaded face, dark cracks, and grain."""
    rng = np.random.default_rng(61)
    seeds = np.ones((SIDE, SIDE), bool)
    at = rng.integers(0, SIDE, (420, 2))
    seeds[at[:, 0], at[:, 1]] = False
    wrapped = np.pad(seeds, 128, mode="wrap")
    distance, (iy, ix) = ndimage.distance_transform_edt(wrapped, return_indices=True)
    cut = (slice(128, -128), slice(128, -128))
    y, x = np.mgrid[0 : SIDE + 256, 0 : SIDE + 256]
    facet = ((iy * 7 + ix * 13) % 17 / 17.0 - 0.5) * 1.6 + ((x - ix) * 0.02 - (y - iy) * 0.02)
    crack = ndimage.maximum_filter(iy * 4096 + ix, 4) != ndimage.minimum_filter(iy * 4096 + ix, 4)
    rock = facet - 1.6 * crack - 0.002 * distance
    return _standard(rock[cut] + 0.4 * _spectral(62, 1.0))


_MAKERS: Final[dict[str, Callable[[], Floats]]] = {
    "cloud": lambda: _spectral(1, 1.75),
    "soft": lambda: _spectral(2, 2.3),
    "grain": lambda: _spectral(3, 0.35),
    "mottle": lambda: _spectral(4, 1.15, low=8.0),
    "streak": lambda: _spectral(5, 1.6, stretch=(1.0, 9.0)),
    "bark": lambda: _spectral(6, 1.1, stretch=(7.0, 1.0), low=12.0),
    "brush": lambda: _spectral(7, 1.3, stretch=(1.0, 3.0), low=10.0),
    "curl": lambda: _standard(np.sin(2.5 * _spectral(8, 2.6, low=50.0))),
    "ripple": _ripple,
    "relief": _relief,
    "dunes": _dunes,
    "leaves": _leaves,
    "blades": _blades,
    "stones": _stones,
}


@cache
def field(name: str) -> Floats:
    """Return a field of the bank, computed at first use."""
    return _MAKERS[name]()


def cut(name: str, rng: np.random.Generator, height: int, width: int, *, finer: int = 1) -> Floats:
    """Return a random crop of a field, randomly mirrored, with its pattern `finer` times smaller."""
    if finer > 1:
        return cut(name, rng, height * finer, width * finer)[::finer, ::finer]
    source = field(name)
    dy, dx = (int(v) for v in rng.integers(0, SIDE, 2))
    if dy + height > SIDE or dx + width > SIDE:
        if height <= SIDE and width <= SIDE:
            dy, dx = min(dy, SIDE - height), min(dx, SIDE - width)
            piece = source[dy : dy + height, dx : dx + width]
        else:
            rows = (dy + np.arange(height)) % SIDE
            piece = source[rows[:, None], (dx + np.arange(width)) % SIDE]
    else:
        piece = source[dy : dy + height, dx : dx + width]
    return piece[:, ::-1] if rng.random() < 0.5 else piece


def receding(
    name: str, rng: np.random.Generator, height: int, width: int, *, above: float, zoom: float = 1.0
) -> Floats:
    """Cut a field laid on the ground: it shrinks towards the horizon, `above` rows over the first row.

    Detail too fine to draw is faded out, or the far ground would glitter.
    """
    source = field(name)
    near = (np.arange(height, dtype=np.float32) + above + 1.0) / (height + above)
    near = np.maximum(near, 0.02)
    dy, dx = rng.uniform(0, SIDE, 2)
    v = (dy - 1.1 * height * zoom * np.log(near)).astype(np.int32) % SIDE
    x = np.arange(width, dtype=np.float32) - width * rng.uniform(0.3, 0.7)
    u = (x[None, :] * (zoom / near)[:, None] + dx).astype(np.int32) & (SIDE - 1)
    fade = np.clip(near * 2.2, 0.25, 1.0)[:, None]
    return source[v[:, None], u] * fade


def sward(rng: np.random.Generator, height: int, width: int) -> Floats:
    """Cut upright blades in two sizes, small ones far and large ones near, without shear."""
    near = np.linspace(0.0, 1.0, height, dtype=np.float32)[:, None] ** 0.8
    large = cut("blades", rng, height, width)
    small = cut("blades", rng, height, width, finer=2)
    return small * (0.75 * (1.0 - near)) + large * near


def skyline(rng: np.random.Generator, width: int, roughness: float = 1.0) -> Floats:
    """Draw a wandering line of deviation about 1, the sum of ever finer waves."""
    x = np.linspace(0.0, 1.0, width, dtype=np.float32)
    out = np.zeros(width, np.float32)
    for octave in range(7):
        knots = 3 * 2**octave + 1
        heights = rng.normal(0.0, 0.62**octave if octave < 2 else 0.62**octave * roughness, knots)
        out += np.interp(x, np.linspace(0, 1, knots), heights).astype(np.float32)
    return out
