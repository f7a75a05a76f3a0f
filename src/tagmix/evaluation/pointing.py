"""The pointing game: whether the best region for a tag of a picture lies on that tag.

For each pair (picture, tag) with a known place, the region with the largest share of the tag points. It hits
if it lies on the tag, in one of two senses that the caller decides: mostly inside, or with its middle near
(Zhang et al., "Top-down neural attention by excitation backprop", ECCV 2016: within 15 pixels).
"""

import itertools
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Ints
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import Parts, quotient

NO_REGION = -1


def best_regions(shares: Any, offsets: Any) -> Ints:
    """Return the region with the largest share of each tag, pictures × tags; of equals the first.

    A picture without regions, and a tag of which no region has a share, have ``NO_REGION``.

    >>> best_regions(np.array([[0.2, 0.0], [0.7, 0.0], [0.1, 0.6]]), [0, 2, 3]).tolist()
    [[1, -1], [2, 2]]
    """
    values, bounds = np.asarray(shares), np.asarray(offsets)
    out = np.full((len(bounds) - 1, values.shape[1]), NO_REGION, dtype=np.int64)
    for i, (start, stop) in enumerate(itertools.pairwise(bounds)):
        if stop > start:
            part = values[start:stop]
            out[i] = np.where(part.max(axis=0) > 0, start + part.argmax(axis=0), NO_REGION)
    return out


def pointing(pairs: Any, places: Any, shares: Any, offsets: Any) -> float:
    """Return the share of pairs (picture, tag) whose best region lies on the tag.

    ``pairs`` is pictures × tags, ``places`` regions × tags: which regions lie on which tag. The best region
    of the first tag, the second region, lies on it; that of the second tag does not.

    >>> places = np.array([[0, 1], [1, 0]])
    >>> pointing(np.array([[1, 1]]), places, np.array([[0.2, 0.1], [0.7, 0.3]]), [0, 2])
    0.5
    """
    return quotient(pointing_parts(pairs, places, best_regions(shares, offsets)))


def pointing_parts(pairs: Any, places: Any, best: Any) -> Parts:
    """Return the terms of each picture in ``pointing``, from ``best_regions``."""
    of, on = csr_array(pairs), csr_array(places)
    regions = np.asarray(best)
    if of.shape != regions.shape or of.shape[1] != on.shape[1]:
        raise ParameterError(
            f"pairs and best regions must be pictures × tags, got {of.shape}, {regions.shape} and places "
            f"{on.shape}: use the same pictures and tags."
        )
    picture, tag = of.nonzero()
    rows, columns = on.nonzero()
    n_tags = of.shape[1]  # one number per pair; those of NO_REGION are negative and never found
    hit = np.isin(regions[picture, tag] * n_tags + tag, rows.astype(np.int64) * n_tags + columns)
    return _by_picture(of, picture, hit)


def reachable_parts(pairs: Any, places: Any, offsets: Any) -> Parts:
    """Return the terms of each picture in the share of pairs that any region lies on: the most to reach.

    >>> parts = reachable_parts(np.array([[1, 1]]), np.array([[0, 1], [0, 0]]), [0, 2])
    >>> parts.gain.tolist(), parts.weight.tolist()
    ([1.0], [2.0])
    """
    return _any_region(pairs, csr_array(places), offsets)


def covered_parts(pairs: Any, names: Any, offsets: Any) -> Parts:
    """Return the terms of each picture in the share of pairs for which a region is named with the tag.

    >>> parts = covered_parts(np.array([[1, 1]]), [1, -2], [0, 2])
    >>> parts.gain.tolist(), parts.weight.tolist()
    ([1.0], [2.0])
    """
    named, n_tags = np.asarray(names), csr_array(pairs).shape[1]
    rows = np.flatnonzero(named >= 0)
    marked = np.zeros((len(named), n_tags))
    marked[rows, named[rows]] = 1
    return _any_region(pairs, csr_array(marked), offsets)


def _any_region(pairs: Any, places: Counts, offsets: Any) -> Parts:
    of, bounds = csr_array(pairs), np.asarray(offsets)
    owner = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    region, on = places.nonzero()
    there = np.zeros(of.shape, dtype=bool)
    there[owner[region], on] = True
    picture, tag = of.nonzero()
    return _by_picture(of, picture, there[picture, tag])


def _by_picture(of: Counts, picture: Any, hit: Any) -> Parts:
    n = of.shape[0]
    gain = np.bincount(picture, hit, minlength=n)
    return Parts(gain.astype(np.float64), np.bincount(picture, minlength=n).astype(np.float64))
