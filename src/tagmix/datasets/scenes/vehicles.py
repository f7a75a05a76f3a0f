"""Draw cars, buses, trains, boats, planes and balloons.

Vehicles are one unit long unless stated otherwise, and face right unless flipped.
"""

from __future__ import annotations

import numpy as np

from .canvas import Canvas
from .outlines import BOAT_HULL, CAR_BACK, JIB, MAINSAIL, PLANE_BODY, TRAIN_NOSE
from .palette import DARK, PAINTS, WHITE, Colour, jitter, mix, pick, scale
from .sprite import Sprite

_GLASS: Colour = (112, 142, 162)


def _wheel(pen: Sprite, x: float, y: float, radius: float) -> None:
    pen.oval(x, y, radius, radius, (34, 34, 38))
    pen.oval(x, y, radius * 0.58, radius * 0.58, (168, 172, 178))
    pen.oval(x, y, radius * 0.2, radius * 0.2, DARK)


def _beam(canvas: Canvas, x: float, y: float, length: float, *, flip: bool) -> None:
    """Light the headlamp and the tail lamp at night."""
    if canvas.light.dark:
        ahead = -1.0 if flip else 1.0
        canvas.glow(x + ahead * length * 0.52, y, length * 0.45, (255, 240, 196), 0.9)
        canvas.glow(x - ahead * length * 0.5, y, length * 0.2, (255, 60, 40), 0.8)


def car(canvas: Canvas, x: float, y: float, length: float) -> None:
    """Draw a car from its side: saloon, hatchback or van."""
    rng = canvas.rng
    flip, roof = bool(rng.random() < 0.5), float(rng.uniform(0.36, 0.44))
    canvas.shadow(x, y, length * 0.56, length * 0.05, 0.6)
    pen = Sprite(canvas, (x, y), length, extent=(-0.54, -0.02, 0.54, 0.5), flip=flip)
    paint = pick(rng, PAINTS, 0.12)
    rear = float(rng.choice([-0.46, -0.4, -0.3]))
    pen.poly([(-0.49, 0.1), (0.5, 0.1), (0.5, 0.16), (-0.49, 0.16)], DARK)
    body = [(-0.5, 0.13), (-0.5, 0.24), (rear - 0.02, 0.27), (rear + 0.07, roof - 0.02), (-0.12, roof + 0.01)]
    body += [(0.08, roof), (0.2, 0.27), (0.42, 0.24), (0.5, 0.19), (0.5, 0.11), (0.2, 0.1), (-0.2, 0.1)]
    pen.curve(body, paint, "soft", 0.05)
    glass = scale(_GLASS, 0.9)
    pen.poly([(rear + 0.04, 0.26), (rear + 0.1, roof - 0.035), (-0.08, roof - 0.02), (-0.08, 0.26)], glass)
    pen.poly([(-0.055, 0.26), (-0.055, roof - 0.02), (0.07, roof - 0.03), (0.16, 0.26)], glass)
    pen.poly([(-0.02, 0.26), (0.03, roof - 0.03), (0.06, roof - 0.03), (0.01, 0.26)], (196, 216, 226))
    for seam in (-0.07, 0.17, rear + 0.03):
        pen.stroke([(seam, 0.25), (seam, 0.12)], scale(paint, 0.6), 0.007)
    pen.stroke([(-0.48, 0.215), (0.47, 0.205)], scale(paint, 1.3), 0.012)
    pen.oval(0.465, 0.2, 0.03, 0.022, (255, 246, 206), shining=canvas.light.dark)
    pen.oval(-0.485, 0.215, 0.018, 0.022, (222, 44, 36), shining=canvas.light.dark)
    for wheel in (-0.3, 0.3):
        pen.oval(wheel, 0.1, 0.115, 0.115, scale(paint, 0.4))
        _wheel(pen, wheel, 0.09, 0.092)
    pen.stamp("car", round_=0.05, fall=0.22)
    _beam(canvas, x, y - length * 0.2, length, flip=flip)


def car_behind(canvas: Canvas, x: float, y: float, width: float) -> None:
    """Draw a car from behind or the front, one unit wide, as it stands on a road that runs away."""
    rng = canvas.rng
    canvas.shadow(x, y, width * 0.6, width * 0.09, 0.6)
    pen = Sprite(canvas, (x, y), width, extent=(-0.58, -0.02, 0.58, 0.85))
    paint, behind = pick(rng, PAINTS, 0.12), bool(rng.random() < 0.6)
    for side in (-0.4, 0.4):
        pen.bar(side - 0.08, 0.0, side + 0.08, 0.2, (34, 34, 38))
    pen.curve(
        CAR_BACK,
        paint,
        "soft",
        0.05,
    )
    pen.poly([(-0.37, 0.47), (-0.31, 0.69), (0.31, 0.69), (0.37, 0.47)], scale(_GLASS, 0.8))
    pen.poly([(-0.2, 0.47), (-0.08, 0.69), (0.02, 0.69), (-0.1, 0.47)], (180, 204, 216))
    pen.bar(-0.5, 0.12, 0.5, 0.21, scale(paint, 0.55))
    pen.bar(-0.14, 0.25, 0.14, 0.33, (240, 236, 214))
    lamp: Colour = (226, 40, 34) if behind else (255, 246, 206)
    for side in (-0.4, 0.4):
        pen.oval(side, 0.36, 0.085, 0.055, lamp, shining=canvas.light.dark)
    pen.stroke([(-0.48, 0.42), (0.48, 0.42)], scale(paint, 1.3), 0.015)
    pen.stamp("car", round_=0.06, fall=0.22)
    if canvas.light.dark:
        for side in (-0.4, 0.4):
            canvas.glow(x + side * width, y - width * 0.36, width * 0.5, lamp, 0.7)


def bus(canvas: Canvas, x: float, y: float, length: float) -> None:
    """Draw a town bus, one or two decks."""
    rng = canvas.rng
    flip, decks = bool(rng.random() < 0.5), 2 if rng.random() < 0.35 else 1
    top = 0.3 if decks == 1 else 0.46
    canvas.shadow(x, y, length * 0.53, length * 0.04, 0.6)
    pen = Sprite(canvas, (x, y), length, extent=(-0.53, -0.02, 0.53, top + 0.06), flip=flip)
    paint, band = pick(rng, PAINTS[:6], 0.1), pick(rng, (WHITE, DARK, (240, 205, 84)), 0.05)
    body = [(-0.49, 0.05), (-0.5, top * 0.5), (-0.49, top), (0.0, top + 0.012)]
    body += [(0.47, top), (0.5, top * 0.5), (0.49, 0.05), (0.0, 0.045)]
    pen.curve(body, paint, "soft", 0.04)
    pen.bar(-0.49, 0.115, 0.495, 0.13, band)
    for deck in range(decks):
        low = 0.155 + 0.155 * deck
        for pane in np.linspace(-0.45, 0.3, 7):
            _pane(pen, float(pane), low, (0.1, 0.1), lit=canvas.light.dark)
        pen.poly(
            [(0.44, low - 0.02), (0.497, low - 0.02), (0.49, low + 0.1), (0.44, low + 0.1)],
            scale(_GLASS, 0.85),
        )
    pen.bar(0.31, 0.055, 0.41, 0.26, scale(_GLASS, 0.8))
    pen.stroke([(0.36, 0.055), (0.36, 0.26)], band, 0.008)
    pen.oval(0.48, 0.085, 0.014, 0.016, (255, 246, 206), shining=canvas.light.dark)
    for wheel in (-0.3, 0.24):
        _wheel(pen, wheel, 0.052, 0.055)
    pen.stamp("bus", round_=0.04, fall=0.14)
    _beam(canvas, x, y - length * 0.09, length, flip=flip)


def train(canvas: Canvas, y: float, height: float, *, front: float) -> None:
    """Run a train along row `y` with its nose at column `front`; its track has no tag and is void."""
    rng = canvas.rng
    flip = bool(rng.random() < 0.5)
    _track(canvas, y, height)
    unit = height
    length = (front if not flip else canvas.w - front) / unit + 0.5
    pen = Sprite(canvas, (front, y), unit, extent=(-length, -0.02, 0.5, 1.2), flip=flip)
    paint, band = pick(rng, PAINTS[:7], 0.1), pick(rng, (WHITE, (240, 205, 84), DARK), 0.05)
    pen.curve(
        TRAIN_NOSE,
        paint,
        "soft",
        0.05,
    )
    pen.poly([(-0.5, 0.62), (-0.46, 0.88), (-0.27, 0.86), (-0.1, 0.62)], (52, 64, 80))
    pen.stroke([(-2.55, 0.4), (0.02, 0.36)], band, 0.09)
    pen.oval(-0.02, 0.3, 0.045, 0.045, (255, 246, 206), shining=True)
    start = -2.66
    while start > -length:
        pen.bar(start - 2.6, 0.14, start, 1.0, paint, "soft", 0.05)
        pen.bar(start - 2.6, 0.36, start, 0.45, band)
        pen.bar(start - 2.6, 0.97, start, 1.03, scale(paint, 0.55))
        _panes(pen, start - 2.5, start - 0.05, canvas.light.dark)
        start -= 2.66
    _panes(pen, -2.5, -0.7, canvas.light.dark)
    for wheel in np.arange(-0.45, -length, -0.665):
        _wheel(pen, float(wheel), 0.11, 0.11)
    pen.stamp("train", round_=0.0, fall=0.2)


def _panes(pen: Sprite, left: float, right: float, lit: bool) -> None:
    """Set a row of windows in a carriage."""
    for at in np.arange(left, right - 0.3, 0.4):
        _pane(pen, float(at), 0.56, (0.3, 0.28), lit=lit)


def _pane(pen: Sprite, x: float, y: float, size: tuple[float, float], *, lit: bool) -> None:
    """Set one window with the sky in it, or with light."""
    w, h = size
    pen.poly(
        [(x, y), (x + w, y), (x + w, y + h), (x, y + h)],
        (255, 222, 150) if lit else scale(_GLASS, 0.85),
        shining=lit,
    )
    if not lit:
        pen.poly([(x, y + h / 2), (x + w / 2, y + h), (x, y + h)], (184, 206, 216))


def _track(canvas: Canvas, y: float, height: float) -> None:
    """Lay ballast, sleepers and a rail."""
    pen = Sprite(canvas, (0.0, y), height, extent=(0, -0.4, canvas.w / height, 0.1))
    end = canvas.w / height
    pen.poly([(0, 0.02), (end, 0.02), (end, -0.3), (0, -0.3)], (128, 118, 110), "mottle", 0.22)
    for tie in np.arange(0.0, end, 0.28):
        pen.bar(float(tie), -0.12, float(tie) + 0.12, -0.03, (86, 68, 56))
    pen.stroke([(0, -0.02), (end, -0.02)], (176, 172, 168), 0.05)
    pen.stamp(None, round_=0.0)


def boat(canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0) -> None:
    """Draw a boat of some kind, with its reflection in the water."""
    rng = canvas.rng
    _reflect(canvas, x, y, height)
    sails = rng.random() < 0.65
    pen = Sprite(canvas, (x, y), height, extent=(-0.7, -0.06, 0.7, 1.08), flip=bool(rng.random() < 0.5))
    hull, trim = pick(rng, PAINTS, 0.1), pick(rng, (WHITE, (240, 205, 84), DARK), 0.05)
    (_sails if sails else _cabin)(pen, rng)
    pen.curve(
        BOAT_HULL,
        hull,
        "streak",
        0.1,
    )
    pen.stroke([(-0.46, 0.2), (-0.3, 0.18), (0.0, 0.165), (0.3, 0.185), (0.55, 0.235)], trim, 0.03)
    pen.stroke([(-0.38, 0.07), (0.0, 0.04), (0.38, 0.08)], scale(hull, 0.7), 0.015)
    pen.stamp("boat", distance=distance, round_=0.12)


def _sails(pen: Sprite, rng: np.random.Generator) -> None:
    """Set a mainsail and a jib on a mast."""
    cloth = pick(rng, (WHITE, WHITE, (236, 214, 178), (206, 92, 70), (232, 178, 92)), 0.04)
    pen.stroke([(0.0, 0.15), (0.0, 1.05)], (112, 82, 58), 0.025)
    pen.curve(MAINSAIL, cloth, "bark", 0.05)
    pen.curve(JIB, scale(cloth, 0.86), "bark", 0.05)
    for seam in (0.42, 0.6, 0.78):
        pen.stroke([(-0.03, seam), (-0.4 * (1.05 - seam) / 0.8, seam - 0.02)], scale(cloth, 0.78), 0.008)


def _cabin(pen: Sprite, rng: np.random.Generator) -> None:
    """Build a wheelhouse with a funnel or mast on a working boat."""
    wall = jitter(rng, WHITE, 0.05)
    pen.bar(-0.3, 0.15, 0.12, 0.42, wall, "mottle", 0.04)
    pen.bar(-0.34, 0.4, 0.16, 0.45, pick(rng, PAINTS, 0.1))
    for pane in (-0.25, -0.11, 0.02):
        pen.bar(pane, 0.26, pane + 0.08, 0.36, (70, 94, 116))
    pen.stroke([(0.28, 0.18), (0.28, 0.85)], (96, 78, 62), 0.022)
    pen.stroke([(0.28, 0.84), (0.52, 0.25)], (70, 66, 62), 0.008)
    pen.stroke([(0.28, 0.84), (-0.34, 0.44)], (70, 66, 62), 0.008)
    pen.poly([(0.28, 0.85), (0.28, 0.74), (0.42, 0.8)], pick(rng, PAINTS, 0.1))
    pen.bar(-0.2, 0.45, -0.08, 0.62, pick(rng, PAINTS, 0.1), "soft", 0.05)


def _reflect(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Draw the reflection of a hull as broken dark bars, with the label of the water."""
    rng = canvas.rng
    for k in range(7):
        half = height * (0.46 - 0.045 * k) * float(rng.uniform(0.7, 1.05))
        drift = float(rng.normal(0, 0.04)) * height
        canvas.shadow(x + drift, y + height * (0.015 + 0.05 * k), half, height * 0.028, 0.5 - 0.05 * k)


def plane(canvas: Canvas, x: float, y: float, length: float) -> None:
    """Fly an airliner: fuselage, swept wings, tail, engine and a row of windows."""
    rng = canvas.rng
    tilt = float(rng.uniform(-0.22, 0.05))
    flip = bool(rng.random() < 0.5)
    pen = Sprite(
        canvas, (x, y), length, extent=(-0.62, -0.42, 0.62, 0.42), flip=flip, tilt=tilt if flip else -tilt
    )
    body, mark = jitter(rng, (238, 240, 242), 0.03), pick(rng, PAINTS[:7], 0.1)
    pen.poly([(0.02, 0.04), (0.12, 0.04), (-0.1, 0.2), (-0.16, 0.2)], scale(body, 0.7))
    pen.poly([(-0.48, 0.05), (-0.34, 0.05), (-0.42, 0.24), (-0.52, 0.24)], mark, "soft", 0.05)
    pen.curve(
        PLANE_BODY,
        body,
        "soft",
        0.03,
    )
    pen.poly([(-0.52, 0.03), (0.48, 0.02), (0.5, 0.0), (-0.42, 0.0)], mark)
    for pane in np.linspace(-0.34, 0.34, 17):
        pen.oval(float(pane), 0.042, 0.008, 0.011, (70, 90, 112), shining=canvas.light.dark)
    pen.poly([(0.43, 0.048), (0.485, 0.022), (0.44, 0.02)], (60, 74, 92))
    pen.poly([(0.14, -0.02), (0.0, -0.02), (-0.24, -0.3), (-0.16, -0.3)], scale(body, 0.82), "streak", 0.04)
    pen.curve([(0.13, -0.1), (0.13, -0.15), (0.0, -0.16), (-0.02, -0.1)], mix(body, DARK, 0.35))
    pen.poly([(-0.38, 0.02), (-0.46, 0.02), (-0.58, -0.08), (-0.53, -0.08)], scale(body, 0.75))
    pen.stamp("plane", round_=0.03, fall=0.3)


def balloon(canvas: Canvas, x: float, y: float, height: float, *, distance: float = 0.0) -> None:
    """Float a hot-air balloon with gores of two or three colours and a basket."""
    rng = canvas.rng
    pen = Sprite(canvas, (x, y), height, extent=(-0.45, -0.02, 0.45, 1.04))
    colours = [pick(rng, PAINTS[:8], 0.1) for _ in range(int(rng.integers(2, 4)))]
    t = np.linspace(0, 1, 16)
    radius = 0.385 * np.where(
        t < 0.62,
        np.sin(np.pi / 2 * (0.22 + 0.78 * t / 0.62)),
        np.sqrt(np.clip(1 - ((t - 0.62) / 0.38) ** 2, 0, 1)),
    )
    level = 0.24 + 0.76 * t
    edges = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 11))
    for k in range(10):
        left = np.stack([edges[k] * radius, level], 1)
        right = np.stack([edges[k + 1] * radius, level], 1)[::-1]
        pen.poly(np.concatenate([left, right]).astype(np.float32), colours[k % len(colours)], "bark", 0.05)
    if rng.random() < 0.6:
        hoop = pick(rng, PAINTS, 0.1)
        pen.poly([(-0.37, 0.58), (0.37, 0.58), (0.384, 0.66), (-0.384, 0.66)], hoop)
    for rope in (-0.06, -0.02, 0.02, 0.06):
        pen.stroke([(rope * 2, 0.25), (rope, 0.1)], (90, 74, 60), 0.008)
    pen.poly([(-0.07, 0.11), (0.07, 0.11), (0.055, 0.0), (-0.055, 0.0)], (140, 100, 62), "curl", 0.16)
    pen.stamp("balloon", distance=distance, round_=0.3, fall=0.15)
