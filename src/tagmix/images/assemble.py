"""Described pictures put together: bags of words and features."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.images.network import Network
from tagmix.images.network_features import network_views
from tagmix.images.sketch import PLACE_COLUMNS, PLACES, Vocabularies, Words

LAYOUT = "layout"
# The first row of the middle band and that of the lowest, of the eight rows that places have.
BANDS = (3, 5)


class Pictured(Protocol):
    """What a describer asks of an album's item: where its picture is and, to make bags, its tags."""

    @property
    def image(self) -> Path:
        """The file."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the whole picture."""


def widths_of(vocabularies: Vocabularies, places: bool) -> dict[str, int]:
    """Return the number of words by view, in the order of the bags' views."""
    widths = {"sift": vocabularies.sift.n_words}
    if vocabularies.colour is not None:
        widths["colour"] = vocabularies.colour.n_words
    return {**widths, "place": PLACES} if places else widths


def bags_of(
    items: Sequence[Pictured],
    described: Sequence[Words],
    widths: Mapping[str, int],
    network: Network | None = None,
    layout: bool = False,
) -> Bags:
    """Return Bags of pictures: counts of words and features a region, the items' tags, ids by place.

    A view with several words a patch (mirrored, or the nearest ones) counts all in the patch's region.
    """
    if not items:
        raise BagsError("no picture could be described: see problems_ of the describer.")
    offsets = np.cumsum([0, *(words.n_regions for words in described)])
    regions = [words.region + start for words, start in zip(described, offsets, strict=False)]

    def counts(view: str, width: int) -> Any:
        found = [getattr(one, view) for one in described]
        rows = [np.tile(own, len(words) // len(own)) for own, words in zip(regions, found, strict=True)]
        region, words = np.concatenate(rows), np.concatenate(found)
        ones = np.ones(len(region), dtype=np.int64)
        return csr_array((ones, (region, words)), shape=(int(offsets[-1]), width))

    names = sorted({tag for item in items for tag in item.tags})
    column = {name: i for i, name in enumerate(names)}
    pairs = [(n, column[tag]) for n, item in enumerate(items) for tag in dict.fromkeys(item.tags)]
    entries = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    tags = csr_array((np.ones(len(entries)), (entries[:, 0], entries[:, 1])), shape=(len(items), len(names)))
    ids = [str(item.image) for item in items]
    unique = ids if len(set(ids)) == len(ids) else None
    views = {view: counts(view, width) for view, width in widths.items()}
    dense, whole = network_views(described, network) if network else ({}, {})
    if layout and "colour" in widths:
        whole = {LAYOUT: layout_of(described, widths["colour"]), **whole}
    return Bags({**views, **dense}, offsets, tags if names else None, names or None, unique, whole)


def layout_of(described: Sequence[Words], n_colours: int) -> Floats:
    """Return the roots of colours' shares in three bands, pictures × (bands × colours).

    A sea is blue below and a sky above: where a colour lies tells pictures apart that have the same colours.
    """
    out = np.zeros((len(described), (len(BANDS) + 1) * n_colours))
    for row, words in zip(out, described, strict=True):
        band = np.searchsorted(BANDS, words.place // PLACE_COLUMNS, side="right")
        np.add.at(row, band * n_colours + words.colour.astype(np.int64), 1.0)
        parts = row.reshape(-1, n_colours)
        parts /= np.maximum(parts.sum(axis=1, keepdims=True), 1.0)
    return np.sqrt(out)
