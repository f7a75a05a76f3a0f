"""Compose scenes that people made: village, farm, garden, street and skyline."""

from __future__ import annotations

from .animals import cow, horse, person, sheep
from .canvas import Canvas
from .city import arches, building, carriageway, pavement, street_side, suspension
from .homes import fence, house, lamp, windmill
from .land import crops, grass, mountains, road, rock, rolling
from .plants import conifer, flowers, forest, tree
from .sky import heavens
from .stage import Cast, Ground, chance, eye_level, level, play, recede, some
from .vehicles import boat, bus, car, car_behind, train
from .views import aloft
from .water import lake


def _backdrop(canvas: Canvas, horizon: float) -> None:
    """Close the view with hills, mountains or woods."""
    if horizon <= 0:
        return
    rng = canvas.rng
    choice = int(rng.integers(0, 4))
    if choice == 0:
        mountains(canvas, horizon + 3, canvas.h * canvas.between(0.15, 0.28), distance=0.6, snow=0.35)
    elif choice <= 2:
        grass(canvas, rolling(canvas, horizon, canvas.h * canvas.between(0.05, 0.14)), distance=0.5)
    if choice >= 2:
        forest(
            canvas,
            level(canvas, horizon + 3, 0.006),
            canvas.h * canvas.between(0.07, 0.13),
            distance=0.4,
            firs=chance(canvas, 0.3),
        )


def village(canvas: Canvas) -> None:
    """Show houses along a lane, with trees, lamps, fences, a car and people."""
    rng = canvas.rng
    horizon = eye_level(canvas, 0.42, 0.52)
    heavens(canvas, horizon)
    aloft(canvas, horizon * 0.7, birds=0.2, planes=0.05, balloons=0.08)
    _backdrop(canvas, horizon)
    grass(canvas, level(canvas, horizon, 0.005))
    recede(canvas, horizon)
    middle = canvas.w * canvas.between(0.35, 0.65)
    road(
        canvas,
        horizon,
        focus=middle,
        near=(canvas.w * canvas.between(0.35, 0.65), canvas.w * 0.26),
        bend=canvas.w * canvas.between(-0.12, 0.12),
    )
    ground = Ground(horizon, 2.9)
    for across in ((-0.02, 0.34), (0.66, 1.02)):
        play(canvas, ground, [
            Cast(house, 4.3, int(rng.integers(1, 3)), (0.1, 0.4), across),
            Cast(tree, 5.0, some(canvas, 0.6, 1, 2), (0.08, 0.5), across),
            Cast(lamp, 4.0, some(canvas, 0.3, 1, 1), (0.3, 0.6), across),
        ])  # fmt: skip
    play(canvas, ground, [
        Cast(person, 1.7, some(canvas, 0.5, 1, 3), (0.3, 0.9)),
        Cast(car_behind, 1.8, some(canvas, 0.4, 1, 1), (0.35, 0.7), (0.42, 0.58)),
        Cast(sheep, 1.0, some(canvas, 0.12, 2, 4), (0.5, 0.9), (0.0, 0.3)),
    ])  # fmt: skip
    if chance(canvas, 0.3):
        fence(canvas, canvas.h * 0.93, canvas.h * 0.13, span=(0.0, canvas.w * canvas.between(0.25, 0.35)))
    if chance(canvas, 0.25):
        flowers(canvas, canvas.h * 0.86, canvas.h, 30, canvas.h * 0.045, (0.7, 1.0))


def farm(canvas: Canvas) -> None:
    """Show crops and pasture with cows, sheep or horses, a farmhouse, a fence, perhaps a mill."""
    rng = canvas.rng
    horizon = eye_level(canvas, 0.36, 0.48, down=0.25)
    heavens(canvas, horizon)
    aloft(canvas, horizon * 0.8, birds=0.22, planes=0.06, balloons=0.08)
    _backdrop(canvas, horizon)
    split = horizon + (canvas.h - horizon) * canvas.between(0.25, 0.6)
    crops(canvas, level(canvas, horizon, 0.004))
    recede(canvas, horizon)
    ground = Ground(horizon, 2.9)
    play(canvas, ground, [
        Cast(house, 4.6, some(canvas, 0.65, 1, 1), (0.12, 0.24)),
        Cast(windmill, 7.0, some(canvas, 0.3, 1, 1), (0.1, 0.2)),
        Cast(tree, 5.0, some(canvas, 0.5, 1, 3), (0.08, 0.22)),
    ])  # fmt: skip
    if chance(canvas, 0.75):
        grass(canvas, rolling(canvas, split, canvas.h * 0.04))
    if chance(canvas, 0.5):
        fence(
            canvas,
            split + canvas.h * 0.05,
            canvas.h * canvas.between(0.09, 0.13),
            span=(0.0, float(canvas.w)),
            slope=canvas.between(-8, 8),
        )
    beast = (cow, cow, sheep, horse)[int(rng.integers(4))]
    metres, herd = (1.05, (3, 6)) if beast is sheep else (1.5, (1, 4))
    low = (split - horizon) / (canvas.h - horizon) + 0.08
    play(canvas, ground, [
        Cast(beast, metres, some(canvas, 0.95, *herd), (min(low, 0.8), 0.97)),
        Cast(person, 1.7, some(canvas, 0.25, 1, 2), (min(low, 0.8), 0.95)),
    ])  # fmt: skip


def garden(canvas: Canvas) -> None:
    """Show beds of flowers before a house, a fence or a mill, with trees and visitors."""
    rng = canvas.rng
    horizon = eye_level(canvas, 0.38, 0.5, down=0.35)
    heavens(canvas, horizon)
    aloft(canvas, horizon * 0.7, birds=0.2, balloons=0.1)
    _backdrop(canvas, horizon)
    grass(canvas, level(canvas, horizon, 0.005))
    recede(canvas, horizon)
    ground = Ground(horizon, 2.8)
    play(canvas, ground, [
        Cast(house, 4.3, some(canvas, 0.5, 1, 1), (0.14, 0.3)),
        Cast(windmill, 6.5, some(canvas, 0.25, 1, 1), (0.12, 0.22)),
        Cast(tree, 4.8, some(canvas, 0.7, 1, 3), (0.1, 0.4)),
        Cast(conifer, 4.8, some(canvas, 0.15, 1, 2), (0.1, 0.4)),
    ])  # fmt: skip
    if chance(canvas, 0.5):
        fence(
            canvas,
            horizon + (canvas.h - horizon) * 0.45,
            canvas.h * canvas.between(0.1, 0.15),
            span=(0.0, float(canvas.w)),
        )
    play(
        canvas,
        ground,
        [
            Cast(person, 1.7, some(canvas, 0.4, 1, 2), (0.45, 0.7)),
            Cast(horse, 1.5, some(canvas, 0.12, 1, 1), (0.45, 0.6)),
        ],
    )
    top = horizon + (canvas.h - horizon) * canvas.between(0.35, 0.55)
    flowers(canvas, top, canvas.h * 1.02, int(rng.integers(70, 150)), canvas.h * canvas.between(0.045, 0.07))
    if chance(canvas, 0.2):
        rock(canvas, canvas.w * canvas.between(0.1, 0.9), canvas.h * 0.97, canvas.h * 0.1)


def street(canvas: Canvas) -> None:
    """Show a town street, along it or across it, with traffic, lamps and people."""
    (_along if chance(canvas, 0.5) else _across)(canvas)


def _along(canvas: Canvas) -> None:
    """Look down a street between two rows of fronts."""
    focus = canvas.w * canvas.between(0.36, 0.64), canvas.h * canvas.between(0.5, 0.6)
    heavens(canvas, focus[1] + 2, clear=0.6)
    aloft(canvas, focus[1] * 0.6, birds=0.15, planes=0.12, balloons=0.03)
    pavement(canvas, focus[1], canvas.h)
    half, eye, lens = canvas.between(6, 8), canvas.between(2.2, 3.2), canvas.h * 0.9
    for right in (False, True):
        street_side(canvas, focus, right=right, half=half, eye=eye)
    kerb = (half - 2.6) * (canvas.h - focus[1]) / eye
    road(canvas, focus[1], focus=focus[0], near=(focus[0], kerb), paved=True)
    ground = Ground(focus[1], eye)
    wide = (half - 1.6) * lens / canvas.w
    for sign in (-1, 1):
        for depth in (22.0, 13.0, 8.0):
            x, y = focus[0] + sign * (half - 1.9) * lens / depth, focus[1] + eye * lens / depth
            if chance(canvas, 0.45):
                (tree if chance(canvas, 0.3) else lamp)(canvas, x, y, 4.8 * lens / depth)
    middle = focus[0] / canvas.w
    aside = max(middle - wide, 0.05), min(middle + wide, 0.95)
    play(canvas, ground, [
        Cast(car_behind, 1.8, some(canvas, 0.8, 1, 3), (0.15, 0.6), (middle - 0.16, middle + 0.16)),
        Cast(person, 1.7, some(canvas, 0.7, 1, 4), (0.3, 0.8), aside),
    ])  # fmt: skip


def _across(canvas: Canvas) -> None:
    """Look across a street at a row of fronts, with buses and cars passing."""
    base, kerb = canvas.h * canvas.between(0.6, 0.68), canvas.h * canvas.between(0.71, 0.76)
    heavens(canvas, base, clear=0.6)
    aloft(canvas, base * 0.4, birds=0.15, planes=0.12, balloons=0.05)
    metre = canvas.h * canvas.between(0.028, 0.036)
    if chance(canvas, 0.5):
        _towers(canvas, base, metre * 0.4, distance=0.5)
    left = -canvas.w * canvas.between(0.0, 0.1)
    while left < canvas.w:
        wide = metre * canvas.between(7, 12)
        if chance(canvas, 0.88):
            building(canvas, left, left + wide, base + 3, metre * canvas.between(7, 17), scale_=metre)
        else:
            tree(canvas, left + wide / 2, base + 3, metre * 8)
        left += wide
    pavement(canvas, base, kerb)
    carriageway(canvas, kerb)
    ground = Ground(base - metre * 2.2, 2.2)
    deep = (kerb - ground.horizon) / (canvas.h - ground.horizon)
    play(canvas, ground, [
        Cast(lamp, 4.4, some(canvas, 0.6, 1, 3), (deep - 0.06, deep - 0.02)),
        Cast(tree, 5.0, some(canvas, 0.3, 1, 2), (deep - 0.12, deep - 0.06)),
        Cast(person, 1.7, some(canvas, 0.8, 1, 5), (deep - 0.16, deep)),
    ])  # fmt: skip
    line = kerb + (canvas.h - kerb) * 0.38
    if chance(canvas, 0.6):
        bus(canvas, canvas.w * canvas.between(0.25, 0.75), line, canvas.h * canvas.between(0.55, 0.75))
    elif chance(canvas, 0.6):
        car(canvas, canvas.w * canvas.between(0.2, 0.45), line, canvas.h * canvas.between(0.34, 0.42))
    if chance(canvas, 0.6):
        car(
            canvas,
            canvas.w * canvas.between(0.55, 0.85),
            kerb + (canvas.h - kerb) * 0.85,
            canvas.h * canvas.between(0.4, 0.5),
        )


def _towers(canvas: Canvas, base: float, metre: float, *, distance: float) -> None:
    """Fill the view with a row of towers."""
    left = -canvas.w * 0.05
    while left < canvas.w:
        wide = metre * canvas.between(13, 26)
        if chance(canvas, 0.85):
            building(
                canvas,
                left,
                left + wide,
                base,
                metre * canvas.between(14, 42),
                scale_=metre,
                distance=distance,
            )
        left += wide * canvas.between(0.85, 1.15)


def skyline(canvas: Canvas) -> None:
    """Show a city over its river, with a bridge and boats."""
    rng = canvas.rng
    base = canvas.h * canvas.between(0.52, 0.62)
    heavens(canvas, base, clear=0.5)
    aloft(canvas, base * 0.5, birds=0.25, planes=0.25, balloons=0.12)
    metre = canvas.h * canvas.between(0.0085, 0.012)
    for share in (0.55, 0.2) if chance(canvas, 0.6) else (0.2,):
        _towers(canvas, base + 2, metre * (1.15 - 0.4 * share), distance=share)
    if chance(canvas, 0.4):
        forest(canvas, level(canvas, base + 4), canvas.h * 0.06, distance=0.1, firs=False)
    lake(canvas, base, canvas.h, tag="river")
    pier = base + canvas.h * canvas.between(0.1, 0.2)
    kind = float(rng.random())
    if kind < 0.35:
        suspension(canvas, pier, canvas.h * canvas.between(0.34, 0.48))
    elif kind < 0.55:
        arches(canvas, pier, canvas.h * canvas.between(0.15, 0.22), deck=0.75)
    low = (pier - base) / (canvas.h - base) + 0.1 if kind < 0.55 else 0.15
    play(canvas, Ground(base, 3.2), [Cast(boat, 4.4, some(canvas, 0.6, 1, 3), (min(low, 0.7), 0.8))])
    if chance(canvas, 0.35):
        quay = canvas.h * 0.9
        pavement(canvas, quay, canvas.h)
        play(canvas, Ground(base, 2.4), [
            Cast(lamp, 3.6, some(canvas, 0.6, 1, 3), (0.82, 0.86)),
            Cast(person, 1.7, some(canvas, 0.7, 1, 4), (0.84, 0.96)),
        ])  # fmt: skip


def station(canvas: Canvas) -> None:
    """Show a train passing before a town."""
    rng = canvas.rng
    base = canvas.h * canvas.between(0.56, 0.64)
    heavens(canvas, base)
    metre = canvas.h * canvas.between(0.022, 0.03)
    left = -canvas.w * 0.05
    while left < canvas.w:
        wide = metre * canvas.between(7, 12)
        pick = float(rng.random())
        if pick < 0.55:
            building(
                canvas,
                left,
                left + wide,
                base + 3,
                metre * canvas.between(6, 15),
                scale_=metre,
                distance=0.1,
            )
        elif pick < 0.8:
            house(canvas, left + wide / 2, base + 3, metre * 6.0, distance=0.1)
        else:
            tree(canvas, left + wide / 2, base + 3, metre * 8, distance=0.1)
        left += wide
    grass(canvas, level(canvas, base))
    train(
        canvas,
        base + canvas.h * 0.14,
        canvas.h * canvas.between(0.16, 0.22),
        front=canvas.w * canvas.between(0.3, 0.8),
    )
    pavement(canvas, base + canvas.h * 0.2, canvas.h)
    play(canvas, Ground(base - canvas.h * 0.05, 2.2), [
        Cast(lamp, 3.6, some(canvas, 0.6, 1, 3), (0.55, 0.7)),
        Cast(person, 1.7, some(canvas, 0.9, 1, 4), (0.62, 0.95)),
    ])  # fmt: skip
