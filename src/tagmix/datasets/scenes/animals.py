"""Draw cows, horses, sheep, birds and people.

Every animal is one unit tall at the shoulder and faces right unless flipped.
"""

from __future__ import annotations

import numpy as np

from .canvas import Canvas
from .outlines import (
    BIRD_BODY,
    COW_BODY,
    FAR_WING,
    HORSE_BODY,
    HORSE_HEAD,
    HORSE_MANE,
    HORSE_NECK,
    HORSE_TAIL,
    NEAR_WING,
    PERSON_COAT,
    SHEEP_FACE,
)
from .palette import DARK, PAINTS, SKINS, WHITE, Colour, jitter, mix, pick, scale
from .sprite import Point, Sprite


def _legs(
    pen: Sprite, hips: tuple[float, ...], top: float, width: float, colour: Colour, rng: np.random.Generator
) -> None:
    """Draw four legs, the far pair darker, each a little bent, with hooves."""
    leg = (
        (-1, 1.0, 0.0),
        (1, 1.0, 0.0),
        (0.55, 0.5, 0.4),
        (0.6, 0.0, 1.0),
        (-0.5, 0.0, 1.0),
        (-0.6, 0.5, 0.4),
    )
    hoof = ((-0.6, 0.0), (0.8, 0.0), (0.6, 0.06), (-0.5, 0.06))
    for k, x in enumerate(hips):
        swing = float(rng.normal(0, 0.05))
        outline = [(x + width * a + swing * c, max(top * b, 0.05)) for a, b, c in leg]
        pen.poly(outline, scale(colour, 0.68 if k % 2 else 1.0), "bark", 0.08)
        pen.poly([(x + width * a + swing, b) for a, b in hoof], DARK)


def cow(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Draw a cow, pied or plain, with its head up or grazing."""
    rng = canvas.rng
    flip, graze = bool(rng.random() < 0.5), bool(rng.random() < 0.4)
    canvas.shadow(x, y, height * 0.9, height * 0.12)
    pen = Sprite(canvas, (x, y), height, extent=(-1.0, -0.03, 1.35, 1.35), flip=flip)
    pied = rng.random() < 0.65
    coat = (
        jitter(rng, WHITE, 0.04) if pied else pick(rng, ((150, 96, 62), (176, 130, 90), (92, 70, 58)), 0.08)
    )
    spot = pick(rng, (DARK, (120, 70, 48), (60, 48, 44)), 0.1)
    _legs(pen, (-0.58, -0.45, 0.42, 0.55), 0.5, 0.085, coat, rng)
    pen.stroke([(-0.76, 0.92), (-0.86, 0.7), (-0.84, 0.42)], scale(coat, 0.8), 0.04)
    pen.oval(-0.84, 0.36, 0.045, 0.09, spot)
    pen.oval(-0.28, 0.36, 0.13, 0.08, (222, 160, 150))
    pen.curve(COW_BODY, coat, "mottle", 0.05,
    )  # fmt: skip
    if pied:
        for px, py, size in ((-0.5, 0.76, 0.19), (0.02, 0.72, 0.22), (0.46, 0.8, 0.17), (-0.2, 0.55, 0.1)):
            blob = size * rng.uniform(0.7, 1.15, 8)
            turn = np.linspace(0, 2 * np.pi, 8, endpoint=False)
            ring = [
                (px + float(r * np.cos(a)), min(py + float(r * np.sin(a)) * 0.85, 0.94))
                for r, a in zip(blob, turn, strict=True)
            ]
            pen.curve(ring, spot, "mottle", 0.08)
    _cow_head(pen, (0.95, 0.32) if graze else (0.98, 0.98), coat, spot if pied else scale(coat, 0.85))
    pen.stamp("cow")


def _cow_head(pen: Sprite, at: Point, coat: Colour, face: Colour) -> None:
    """Draw neck, long face, muzzle, ears and horns about a point."""
    x, y = at
    pen.poly([(0.42, 0.98), (x - 0.08, y + 0.14), (x + 0.02, y - 0.08), (0.62, 0.52)], coat, "mottle", 0.05)
    pen.curve(
        [
            (x - 0.15, y + 0.15),
            (x + 0.04, y + 0.17),
            (x + 0.22, y - 0.08),
            (x + 0.27, y - 0.24),
            (x + 0.14, y - 0.28),
            (x - 0.08, y - 0.1),
        ],
        face,
        "mottle",
        0.06,
    )
    pen.oval(x + 0.21, y - 0.2, 0.1, 0.085, (222, 172, 158))
    pen.oval(x + 0.24, y - 0.2, 0.018, 0.025, DARK)
    pen.curve([(x - 0.08, y + 0.1), (x - 0.27, y + 0.17), (x - 0.25, y + 0.06)], scale(face, 0.8))
    pen.stroke([(x - 0.02, y + 0.15), (x - 0.06, y + 0.27), (x + 0.03, y + 0.33)], (226, 214, 186), 0.04)
    pen.stroke([(x + 0.06, y + 0.15), (x + 0.12, y + 0.25), (x + 0.2, y + 0.28)], (226, 214, 186), 0.04)
    pen.oval(x + 0.07, y + 0.05, 0.022, 0.028, (20, 18, 18))


def horse(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Draw a horse: long legs, arched neck, mane and tail."""
    rng = canvas.rng
    flip = bool(rng.random() < 0.5)
    canvas.shadow(x, y, height * 0.8, height * 0.1)
    pen = Sprite(canvas, (x, y), height, extent=(-1.0, -0.03, 1.15, 1.65), flip=flip)
    coat = pick(rng, ((138, 84, 52), (96, 64, 48), (182, 140, 98), (206, 198, 190), (70, 58, 56)), 0.08)
    hair = pick(rng, (DARK, (58, 40, 32), (222, 206, 176)), 0.06)
    _legs(pen, (-0.52, -0.4, 0.33, 0.46), 0.58, 0.075, coat, rng)
    pen.curve(
        HORSE_TAIL,
        hair,
        "bark",
        0.2,
    )
    pen.curve(HORSE_BODY, coat, "soft", 0.08,
    )  # fmt: skip
    pen.curve(
        HORSE_NECK,
        coat,
        "soft",
        0.08,
    )
    pen.curve(
        HORSE_HEAD,
        coat,
        "soft",
        0.08,
    )
    pen.poly([(0.62, 1.44), (0.63, 1.6), (0.7, 1.48)], coat)
    pen.poly([(0.69, 1.46), (0.73, 1.58), (0.76, 1.45)], scale(coat, 0.8))
    pen.curve(
        HORSE_MANE,
        hair,
        "bark",
        0.2,
    )
    pen.oval(0.77, 1.34, 0.022, 0.022, (20, 18, 18))
    pen.oval(0.95, 1.1, 0.014, 0.014, (20, 18, 18))
    pen.stamp("horse")


def sheep(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Draw a sheep: a curly fleece on thin dark legs, and a dark or pale face."""
    rng = canvas.rng
    canvas.shadow(x, y, height * 0.7, height * 0.1)
    pen = Sprite(canvas, (x, y), height, extent=(-0.85, -0.03, 1.0, 1.2), flip=bool(rng.random() < 0.5))
    wool = jitter(rng, (236, 230, 214), 0.05)
    face = pick(rng, (DARK, (70, 62, 58), (214, 200, 180)), 0.08)
    for k, px in enumerate((-0.38, -0.26, 0.28, 0.4)):
        pen.bar(px - 0.045, 0.0, px + 0.045, 0.42, scale(face, 0.7 if k % 2 else 1.0))
    pen.oval(0.0, 0.62, 0.58, 0.33, wool, "curl", 0.12)
    for angle in np.linspace(0, 2 * np.pi, 15, endpoint=False):
        puff = float(rng.uniform(0.12, 0.17))
        px, py = 0.54 * float(np.cos(angle)), 0.63 + 0.3 * float(np.sin(angle))
        pen.oval(px, py, puff, puff, scale(wool, 0.93 + 0.08 * float(np.sin(angle))), "curl", 0.14)
    pen.curve(SHEEP_FACE, face)
    pen.curve([(0.54, 0.92), (0.4, 0.86), (0.44, 0.8), (0.56, 0.86)], scale(face, 0.8))
    pen.oval(0.54, 0.99, 0.11, 0.08, wool, "curl", 0.12)
    pen.oval(0.69, 0.87, 0.02, 0.025, WHITE if sum(face) < 300 else (20, 18, 18))
    pen.stamp("sheep")


def bird(canvas: Canvas, x: float, y: float, span: float) -> None:
    """Draw a bird on the wing, span across, wings raised, level or lowered."""
    rng = canvas.rng
    lift = float(rng.uniform(0.0, 0.42))
    tilt, flip = float(rng.normal(0, 0.12)), bool(rng.random() < 0.5)
    pen = Sprite(canvas, (x, y), span, extent=(-0.62, -0.4, 0.62, 0.6), flip=flip, tilt=tilt)
    plume = pick(rng, (WHITE, (226, 226, 230), (74, 70, 76), (52, 56, 66)), 0.05)
    tips = mix(plume, DARK, 0.65)
    pen.curve([(px, lift * k + py) for px, k, py in FAR_WING], scale(plume, 0.84), "bark", 0.1)
    pen.poly([(-0.4, lift + 0.04), (-0.56, lift - 0.1), (-0.36, lift * 0.8 - 0.02)], tips)
    pen.curve(BIRD_BODY, plume)
    pen.poly([(-0.14, 0.02), (-0.34, 0.05), (-0.33, -0.05), (-0.14, -0.05)], scale(plume, 0.9))
    pen.oval(0.22, 0.035, 0.06, 0.052, plume)
    pen.poly([(0.26, 0.05), (0.36, 0.015), (0.26, 0.005)], (232, 160, 52))
    pen.oval(0.24, 0.05, 0.01, 0.01, (20, 20, 24))
    pen.curve([(px, lift * k + py) for px, k, py in NEAR_WING], plume, "bark", 0.1)
    pen.poly([(0.3, lift + 0.14), (0.54, lift - 0.02), (0.34, lift * 0.85 + 0.02)], tips)
    pen.stamp("bird", round_=0.05, fall=0.2)


def flock(canvas: Canvas, count: int, box: tuple[float, float, float, float], span: float) -> None:
    """Scatter birds over a part (left, top, right, bottom) of the picture."""
    left, top, right, bottom = box
    for _ in range(count):
        at = float(canvas.rng.uniform(left, right)), float(canvas.rng.uniform(top, bottom))
        bird(canvas, *at, span * float(canvas.rng.uniform(0.7, 1.2)))


def person(canvas: Canvas, x: float, y: float, height: float) -> None:
    """Draw a walker in trousers or a dress; proportions of about seven heads."""
    rng = canvas.rng
    canvas.shadow(x, y, height * 0.22, height * 0.035)
    pen = Sprite(canvas, (x, y), height, extent=(-0.35, -0.02, 0.35, 1.04), flip=bool(rng.random() < 0.5))
    skin, shirt, cloth = pick(rng, SKINS, 0.05), pick(rng, PAINTS, 0.1), pick(rng, PAINTS[3:9], 0.15)
    stride, dress = float(rng.uniform(0.03, 0.11)), bool(rng.random() < 0.35)
    for step, tone in ((-stride, 0.7), (stride, 1.0)):
        leg = [(-0.06, 0.5), (0.07, 0.5), (step + 0.05, 0.26)]
        leg += [(step * 1.4 + 0.035, 0.03), (step * 1.4 - 0.03, 0.03), (step - 0.04, 0.26)]
        pen.poly(leg, scale(skin if dress else cloth, tone), "mottle", 0.06)
        shoe = ((-0.035, 0.0), (0.085, 0.0), (0.035, 0.05), (-0.03, 0.05))
        pen.poly([(step * 1.4 + px, py) for px, py in shoe], DARK)
    pen.stroke([(-0.02, 0.79), (-stride - 0.06, 0.62), (-stride * 0.9, 0.46)], scale(shirt, 0.7), 0.055)
    pen.curve(
        PERSON_COAT,
        shirt,
        "mottle",
        0.07,
    )
    if dress:
        pen.poly([(-0.07, 0.58), (0.08, 0.58), (0.16, 0.28), (-0.15, 0.28)], shirt, "bark", 0.09)
    pen.stroke([(0.02, 0.79), (stride + 0.05, 0.63), (stride + 0.1, 0.5)], scale(shirt, 1.12), 0.058)
    pen.oval(stride + 0.105, 0.48, 0.03, 0.03, skin)
    pen.bar(-0.025, 0.82, 0.03, 0.88, scale(skin, 0.85))
    _head(pen, skin, long=dress)
    pen.stamp("person", round_=0.22)


def _head(pen: Sprite, skin: Colour, *, long: bool) -> None:
    """Put on a head with short or long hair, and sometimes a hat."""
    rng = pen.canvas.rng
    hair = pick(rng, (DARK, (92, 60, 40), (190, 150, 90), (150, 146, 146)), 0.1)
    pen.oval(-0.012, 0.935, 0.068, 0.07, hair, "bark", 0.1)
    if long:
        pen.poly([(-0.075, 0.94), (0.0, 0.95), (-0.03, 0.8), (-0.09, 0.8)], hair, "bark", 0.1)
    pen.oval(0.018, 0.92, 0.052, 0.062, skin)
    if rng.random() < 0.3:
        hat = pick(rng, PAINTS, 0.1)
        pen.bar(-0.1, 0.955, 0.11, 0.972, hat)
        pen.curve([(-0.06, 0.97), (-0.045, 1.02), (0.05, 1.02), (0.07, 0.97)], hat)
