"""Draw one scene: choose its kind and light, paint it, and add a loose caption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import settled, shores, wild
from .canvas import Canvas
from .palette import make_light
from .stage import mist
from .tags import GLOBAL_TAGS, TAGS

VISIBLE: Final = 0.005  # a tag is true if it covers this share of the picture
_KINDS: Final[dict[str, Callable[[Canvas], None]]] = {
    "coast": shores.coast,
    "lake": shores.lakeside,
    "mountains": wild.highlands,
    "valley": shores.valley,
    "forest": wild.woodland,
    "desert": wild.desert,
    "winter": wild.winter,
    "plain": wild.plain,
    "village": settled.village,
    "farm": settled.farm,
    "garden": settled.garden,
    "street": settled.street,
    "skyline": settled.skyline,
    "station": settled.station,
}
KINDS: Final = tuple(_KINDS)
_OFTEN: Final = np.array([1.3, 1, 1, 0.9, 0.8, 0.9, 0.9, 0.35, 1, 1.3, 0.9, 1.3, 0.9, 0.35])
_HOURS: Final = ("day", "morning", "overcast", "sunset", "night", "fog")
_COUNTRY: Final = (0.42, 0.17, 0.13, 0.14, 0.07, 0.07)
_TOWN: Final = (0.36, 0.08, 0.12, 0.13, 0.25, 0.06)


class Noise(NamedTuple):
    """Caption noise: the probability to miss a true tag, and to add a wrong tag per true tag."""

    miss: float = 0.10
    add: float = 0.03


class Scene(NamedTuple):
    """A drawn picture with its truth.

    `mask` has 1 + the index in TAGS per pixel, 0 for void; `truth` has the visible tags, `tags` the
    caption, which can miss some and add others.
    """

    image: NDArray[np.uint8]
    mask: NDArray[np.uint8]
    tags: tuple[str, ...]
    truth: tuple[str, ...]
    kind: str


def visible_tags(mask: NDArray[np.uint8]) -> tuple[str, ...]:
    """Return the tags that cover enough of a mask, in the order of TAGS."""
    count = np.bincount(mask.ravel(), minlength=len(TAGS) + 1)[1:]
    return tuple(tag for tag, pixels in zip(TAGS, count, strict=True) if pixels >= VISIBLE * mask.size)


def caption(rng: np.random.Generator, truth: tuple[str, ...], noise: Noise) -> tuple[str, ...]:
    """Return a noisy caption: true tags are missed and wrong ones added at random.

    A caption keeps at least one true tag.
    """
    kept = [tag for tag, luck in zip(truth, rng.random(len(truth)), strict=True) if luck >= noise.miss]
    if not kept:
        kept = [truth[int(rng.integers(len(truth)))]]
    false = [tag for tag in TAGS if tag not in truth]
    wrong = rng.choice(len(false), size=int(rng.binomial(len(truth), noise.add)), replace=False)
    named = {*kept, *(false[k] for k in wrong)}
    return tuple(tag for tag in TAGS if tag in named)


def draw_scene(
    rng: np.random.Generator,
    *,
    size: tuple[int, int] = (320, 240),
    kind: str | None = None,
    noise: Noise | None = None,
) -> Scene:
    """Draw a scene of a size (width, height), of one of KINDS or of any kind.

    Raises ValueError for an unknown kind or a picture too small to show anything.
    """
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"unknown kind of scene {kind!r}; choose from {', '.join(KINDS)}")
    if min(size) < 48:
        raise ValueError(f"size must be at least 48 × 48 pixels, got {size[0]} × {size[1]}")
    name = kind or str(rng.choice(KINDS, p=_OFTEN / _OFTEN.sum()))
    town = name in {"street", "skyline", "station"}
    hour = str(rng.choice(_HOURS, p=_TOWN if town else _COUNTRY))
    if name == "forest" and hour == "night":
        hour = "fog"  # nobody takes photos inside a forest at night
    canvas = Canvas(rng, size, make_light(rng, hour))
    _KINDS[name](canvas)
    mist(canvas)
    image, mask = canvas.finish()
    truth = visible_tags(mask) + tuple(tag for tag in GLOBAL_TAGS if tag == hour)
    return Scene(image, mask, caption(rng, truth, noise or Noise()), truth, name)
