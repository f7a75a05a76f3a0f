"""A network's features of many pictures: kept by content, and put together as views of bags."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tagmix.images.cache import Arrays, Cache, form_of, key_of
from tagmix.images.network import Features, Network
from tagmix.images.sketch import Cut, Recipe, Words

# Part of every key in the cache: raise it when the same network would give other numbers.
VERSION = "network 1"


def network_setting(network: Network, recipe: Recipe, version: str) -> str:
    """Return what the features of a picture follow from, its content apart: how it is cut and the network."""
    regions = (recipe.segmenter, recipe.n_regions, recipe.max_side)
    return key_of(VERSION, version, repr(regions), repr(network.settings))


def features_of(
    content: bytes, see: Callable[[], Cut], n_regions: int, network: Network, setting: str, cache: Cache
) -> tuple[Features, bool]:
    """Return the features of a picture with so many regions, and whether they were kept."""
    shapes: list[tuple[str, tuple[int, ...]]] = [
        (f"regions.{i}", (n_regions, width)) for i, width in enumerate(network.widths.values())
    ]
    shapes += [(f"picture.{i}", (width,)) for i, width in enumerate(network.picture_widths.values())]
    form = {name: (np.dtype(np.float32), shape) for name, shape in shapes}

    def make() -> Arrays:
        found = network.describe(*see())
        return dict(zip(form, (*found.regions, *found.picture), strict=True))

    def sound(kept: Arrays) -> bool:
        return form_of(kept) == form and all(bool(np.isfinite(array).all()) for array in kept.values())

    kept, reused = cache.keep(key_of(setting, content), make, sound)
    arrays = [kept[name] for name in form]
    n_maps = len(network.widths)
    return Features(tuple(arrays[:n_maps]), tuple(arrays[n_maps:])), reused


def network_views(described: Sequence[Words], network: Network) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the views of regions and those of whole pictures, in the order of the pictures."""
    found = [words.features for words in described if words.features is not None]
    regions = {name: np.vstack([one.regions[i] for one in found]) for i, name in enumerate(network.widths)}
    whole = {
        name: np.vstack([one.picture[i] for one in found]) for i, name in enumerate(network.picture_widths)
    }
    return regions, whole
