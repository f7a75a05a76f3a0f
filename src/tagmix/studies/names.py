"""The names of the studies' data sets: in files, and on the pages."""

import re

from tagmix.images.segment import SEGMENTERS
from tagmix.report.comparison.titles import views_listed, words_listed

DATA = {
    "coco_part": "COCO photos",
    "corel5k": "Corel5k",
    "msrc_v2": "MSRC v2",
    "msrc_v2_odd": "MSRC v2, odd pictures",
    "scenes": "Scenes (drawn, every pixel labelled)",
    "tate": "Tate catalogue",
    "planted": "Planted tags",
    "planted_skewed": "Planted tags, very unequal",
}
# The variations of an album in the open world.
VARIATIONS = {"objects": "objects only", "half": "objects only, half of the training tags dropped"}


def rich_name(name: str, segmenter: str = "") -> str:
    """Return the name of an album's rich description, perhaps with another segmenter than normalised cuts.

    >>> rich_name("msrc_v2"), rich_name("msrc_v2", "grid")
    ('msrc_v2_rich', 'msrc_v2_rich_grid')
    """
    return f"{name}_rich_{segmenter}" if segmenter else f"{name}_rich"


def rich_parts(name: str) -> tuple[str, str] | None:
    """Return the album and the segmenter of a rich description; None for another data set.

    >>> rich_parts("msrc_v2_rich"), rich_parts("msrc_v2_rich_grid"), rich_parts("msrc_v2")
    (('msrc_v2', ''), ('msrc_v2', 'grid'), None)
    """
    found = re.fullmatch(rf"(.+)_rich(?:_({'|'.join(SEGMENTERS)}))?", name, re.DOTALL)
    return None if found is None else (found[1], found[2] or "")


def is_rich(name: str) -> bool:
    """Return whether a data set is described as by ``tagmix train``: the paper's claims are not about it."""
    return rich_parts(name) is not None or open_parts(name) is not None


def open_name(name: str, variation: str = "") -> str:
    """Return the name of an album in the open world, perhaps with a variation of ``VARIATIONS``.

    >>> open_name("msrc_v2"), open_name("msrc_v2", "objects")
    ('msrc_v2_open', 'msrc_v2_open_objects')
    """
    return f"{name}_open_{variation}" if variation else f"{name}_open"


def open_parts(name: str) -> tuple[str, str] | None:
    """Return the album and the variation of a data set of the open world; None for another data set.

    >>> open_parts("msrc_v2_open"), open_parts("msrc_v2_odd_open_half"), open_parts("msrc_v2_rich")
    (('msrc_v2', ''), ('msrc_v2_odd', 'half'), None)
    """
    found = re.fullmatch(rf"(.+)_open(?:_({'|'.join(VARIATIONS)}))?", name, re.DOTALL)
    return None if found is None else (found[1], found[2] or "")


def other_segmenter(name: str) -> str:
    """Return the segmenter of a rich description if it is not that of ``tagmix train``; else empty."""
    return (rich_parts(name) or ("", ""))[1]


def title_of(name: str, views: tuple[str, ...]) -> str:
    """Return a data set and its views, as headings name them.

    >>> title_of("corel5k", ("sift",)), title_of("msrc_v2_rich", ("sift", "layout"))
    ('Corel5k, SIFT words', 'MSRC v2, rich description: SIFT and layout')
    >>> title_of("msrc_v2_open_objects", ("sift", "layout"))
    'MSRC v2, objects only, open world'
    """
    rich, opened = rich_parts(name), open_parts(name)
    if opened is not None:
        varied = [VARIATIONS[opened[1]]] if opened[1] else []
        return ", ".join([DATA.get(opened[0], opened[0]), *varied, "open world"])
    if rich is not None:
        return f"{DATA.get(rich[0], rich[0])}, rich description: {views_listed(views)}"
    shown = DATA.get(name, name)
    return f"{shown}, {words_listed(views)}" if views else shown
