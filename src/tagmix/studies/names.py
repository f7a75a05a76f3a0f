"""The names of the studies' data sets: in files, and on the pages."""

import re

from tagmix.images.segment import SEGMENTERS
from tagmix.report.comparison.titles import views_listed, words_listed

DATA = {
    "corel5k": "Corel5k",
    "msrc_v2": "MSRC v2",
    "scenes": "Scenes (drawn, every pixel labelled)",
    "tate": "Tate catalogue",
    "planted": "Planted tags",
    "planted_skewed": "Planted tags, very unequal",
}


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
    return rich_parts(name) is not None


def other_segmenter(name: str) -> str:
    """Return the segmenter of a rich description if it is not that of ``tagmix train``; else empty."""
    return (rich_parts(name) or ("", ""))[1]


def title_of(name: str, views: tuple[str, ...]) -> str:
    """Return a data set and its views, as headings name them.

    >>> title_of("corel5k", ("sift",)), title_of("msrc_v2_rich", ("sift", "layout"))
    ('Corel5k, SIFT words', 'MSRC v2, rich description: SIFT and layout')
    """
    rich = rich_parts(name)
    if rich is not None:
        return f"{DATA.get(rich[0], rich[0])}, rich description: {views_listed(views)}"
    shown = DATA.get(name, name)
    return f"{shown}, {words_listed(views)}" if views else shown
