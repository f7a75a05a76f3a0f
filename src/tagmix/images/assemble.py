"""Quantised pictures put together: bags of words and features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.images.picture import QuantisedPicture
from tagmix.images.views import View, Vocabularies


class Pictured(Protocol):
    """An item of an album, as far as a describer needs it: the file of its picture, and its tags."""

    @property
    def image(self) -> Path:
        """The file."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the whole picture."""


def bags_of(
    ids: Sequence[str],
    captions: Sequence[Sequence[str]],
    described: Sequence[QuantisedPicture],
    views: Sequence[View],
    words: Vocabularies,
) -> Bags:
    """Return Bags of pictures: the matrices of all views, their tags, and their ids if these differ."""
    if not described:
        raise BagsError("no picture could be described: see the problems.")
    offsets = np.cumsum([0, *(picture.n_regions for picture in described)])
    regions: dict[str, Any] = {}
    pictures: dict[str, Any] = {}
    for view in views:
        regions |= view.region_views(described, words)
        pictures |= view.picture_views(described, words)
    names = sorted({tag for tags in captions for tag in tags})
    unique = list(ids) if len(set(ids)) == len(ids) else None
    tags = _tag_matrix(captions, names) if names else None
    return Bags(regions, offsets, tags, names or None, unique, pictures)


def _tag_matrix(captions: Sequence[Sequence[str]], names: Sequence[str]) -> Any:
    column = {name: i for i, name in enumerate(names)}
    pairs = [(n, column[tag]) for n, tags in enumerate(captions) for tag in dict.fromkeys(tags)]
    entries = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    shape = (len(captions), len(names))
    return csr_array((np.ones(len(entries)), (entries[:, 0], entries[:, 1])), shape=shape)
