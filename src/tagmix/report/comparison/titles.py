"""How views and data sets are named in running text."""

from collections.abc import Sequence

from tagmix.images.views.layout import LAYOUT


def views_listed(views: Sequence[str]) -> str:
    """Return views as running text names them.

    >>> views_listed(["sift", "colour", "place"])
    'SIFT, colour and place'
    """
    listed = " and ".join([", ".join(views[:-1]), views[-1]] if len(views) > 1 else views)
    return listed.replace("sift", "SIFT")


def words_listed(views: Sequence[str]) -> str:
    """Return views as running text names them; those of words alone are called words."""
    return f"{views_listed(views)}{'' if LAYOUT in views else ' words'}"


def album_title(data: str, views: Sequence[str]) -> str:
    """Return how a page names the album that it is about, whatever the data set is called.

    >>> album_title("album", ["sift", "colour"])
    'your pictures (SIFT and colour)'
    """
    return f"your pictures ({views_listed(views)})" if views else "your pictures"
