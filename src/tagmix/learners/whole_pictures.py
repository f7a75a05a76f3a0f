"""Whole pictures from bags: one matrix per view, one row per picture."""

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError

Matrix: TypeAlias = Counts | Floats
Views: TypeAlias = dict[str, Matrix]

# Prefix of the names of views of whole pictures.
WHOLE = "pictures/"


def whole_pictures(bags: Bags, distance: str) -> Views:
    """Return one matrix per view, one row per picture: histograms of its words, means of embeddings.

    Histograms sum to 1 (a picture without words has all zeros), and "hellinger" takes their square root.

    >>> bags = Bags(np.array([[2, 0], [1, 1]]), [0, 2])
    >>> whole_pictures(bags, "l1")["words"].toarray().tolist()
    [[0.75, 0.25]]
    """
    return {
        name: histograms(view, distance) if is_sparse(view) else view
        for name, view in pooled_views(bags).items()
    }


def pooled_views(bags: Bags) -> dict[str, Any]:
    """Return one matrix per view, one row per picture: summed counts or mean embeddings of its regions.

    The views of whole pictures follow (``picture_views``).
    """
    regions = np.arange(bags.n_regions)
    pool = csr_array((np.ones(bags.n_regions), regions, bags.offsets), shape=(len(bags), bags.n_regions))
    views = {name: pool @ view for name, view in bags.views.items()}
    sizes = np.maximum(np.diff(bags.offsets), 1)[:, None]
    pooled = {name: csr_array(v) if is_sparse(v) else v / sizes for name, v in views.items()}
    return {**pooled, **picture_views(bags)}


def picture_views(bags: Bags) -> dict[str, Floats]:
    """Return the views of whole pictures, with ``WHOLE`` as prefix of their names."""
    views = {f"{WHOLE}{name}": features for name, features in bags.pictures.items()}
    for key in views:
        if key in bags.views:
            name = key.removeprefix(WHOLE)
            raise BagsError(f"view {key!r} is named like the picture view {name!r}: rename one of them.")
    return views


def histograms(counts: Any, distance: str = "hellinger") -> Counts:
    """Return each row's shares, or their square roots for "hellinger"; a row without words stays empty."""
    totals = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    shares = counts.data / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(counts.indptr))
    data = np.sqrt(shares) if distance == "hellinger" else shares
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
