"""Instances of a scorer: the regions and the whole of each picture, as rows of features."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.learners.linear import CELLS, Features, features_of, hellinger, scaling_of, stack_rows
from tagmix.learners.whole_pictures import pooled_views

# Of several embeddings, a scorer reads those at least this wide, relative to the widest: the deep maps of
# each network. The others are for the instance models of ``ContextEMM``.
WIDE = 0.5
# Principal axes on which embeddings are projected, and rows that these and scales are computed from, at most.
AXES, ROWS = 256, 8192


class Instances(NamedTuple):
    """The regions of each picture, followed by the whole, as features: rows ``starts[n]:starts[n+1]``.

    With ``axes`` (dimensions × axes) the features are the coordinates of embeddings along these.
    """

    features: Features
    starts: Ints
    axes: Floats | None = None

    def of(self, pictures: Ints) -> "Instances":
        """Return the instances of these pictures."""
        sizes = np.diff(self.starts)[pictures]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][pictures] - starts[:-1], sizes)
        return Instances(self.features[rows], starts, self.axes)

    def with_at_most(self, n_regions: int) -> "Instances":
        """Return at most so many regions of each picture, drawn at random, and the whole."""
        owner = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        keys = np.random.default_rng(0).random(len(owner))
        keys[self.starts[1:] - 1] = -1.0  # the whole comes first
        rank = np.empty(len(owner), dtype=np.int64)
        rank[np.lexsort((keys, owner))] = np.arange(len(owner)) - self.starts[:-1][owner]
        kept = rank <= n_regions
        if kept.all():
            return self
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner[kept]))])
        return Instances(self.features[np.flatnonzero(kept)], starts, self.axes)

    def wholes(self) -> Floats:
        """Return the features of whole pictures, dense."""
        blocks = [block[self.starts[1:] - 1] for block in self.features.blocks]
        return np.hstack([b.toarray() if is_sparse(b) else b for b in blocks]).astype(np.float64)


def embeddings_of(views: Mapping[str, Any]) -> list[str]:
    """Return the names of the embeddings, or of all views if there are none."""
    dense = [name for name, view in views.items() if not is_sparse(view)]
    return dense or list(views)


def read_views(views: Mapping[str, Any]) -> list[str]:
    """Return the views that a scorer reads: the wide embeddings, or all words if there are none.

    >>> read_views({"block14": np.ones((1, 120)), "block19": np.ones((1, 208)), "block20": np.ones((1, 352))})
    ['block19', 'block20']
    """
    names = embeddings_of(views)
    if any(is_sparse(views[name]) for name in names):
        return names
    widest = max(views[name].shape[1] for name in names)
    if not widest:
        raise BagsError(f"a scorer needs numbers of regions, got {names} of width 0: describe them.")
    return [name for name in names if views[name].shape[1] >= WIDE * widest]


def sample_of(bags: Bags) -> Bags:
    """Return evenly spaced pictures that have about as many regions as ``ROWS``, all if they have fewer."""
    n = min(len(bags), max(1, ROWS * len(bags) // max(1, bags.n_regions)))
    return bags if n == len(bags) else bags[np.linspace(0, len(bags) - 1, n).astype(np.int64)]


def scaling_of_all(views: Mapping[str, Any]) -> dict[str, Floats]:
    """Return mean and scale of each embedding, such that the mean of ‖x‖² over all of them together is 1."""
    scaling = scaling_of(dict(views))
    for own in scaling.values():
        own[1] *= np.sqrt(len(scaling))
    return scaling


def scores_of(views: dict[str, Any], scaling: dict[str, Floats], weights: Floats) -> Floats:
    """Return ``features_of(views, scaling).scores(weights)`` without the features of embeddings.

    The weights are scaled instead of the rows, which are many.
    """
    if views.keys() != scaling.keys() or any(is_sparse(view) for view in views.values()):
        return features_of(views, scaling).scores(weights)
    start, out, bias = 0, 0.0, weights[-1]
    for name, view in views.items():
        mean, scale = scaling[name]
        own = weights[start : start + len(scale)] / scale[:, None]
        out = out + np.asarray(view, dtype=np.float64) @ own
        bias = bias - mean @ own
        start += len(scale)
    return out + bias


def instances_of(bags: Bags, scaling: Mapping[str, Floats], kind: Any = np.float64) -> Instances:
    """Return the instances of bags that have the scorer's views alone, as numbers of this type."""
    wholes = pooled_views(bags)
    starts = bags.offsets + np.arange(len(bags) + 1)
    last = starts[1:] - 1
    others = np.setdiff1d(np.arange(starts[-1]), last)
    blocks = []
    for name, view in bags.views.items():
        if is_sparse(view):
            block = stack_rows(hellinger(view), hellinger(wholes[name]))
            blocks.append(block[np.argsort(np.concatenate([others, last]))].astype(kind, copy=False))
            continue
        block = np.empty((starts[-1], view.shape[1]), kind)
        mean, scale = scaling[name]
        block[others], block[last] = view - mean, wholes[name] - mean
        block /= scale
        blocks.append(block)
    return Instances(Features(blocks), starts)


def along_axes(bags: Bags, scaling: Mapping[str, Floats]) -> Instances:
    """Return the instances of embeddings along principal axes, in single precision.

    Regions and whole pictures have equal shares in the axes: what tells pictures apart is little of what
    tells regions apart. A shard of pictures at a time has all dimensions.
    """
    shards = list(bags.shards(max(1, CELLS // sum(view.shape[1] for view in bags.views.values()))))
    axes = principal_axes(bags, scaling)
    narrow = axes.astype(np.float32)
    parts = [_rows(instances_of(bags[where], scaling, np.float32)) @ narrow for where in shards]
    starts = bags.offsets + np.arange(len(bags) + 1)
    return Instances(Features([np.vstack(parts)]), starts, axes)


def principal_axes(bags: Bags, scaling: Mapping[str, Floats]) -> Floats:
    """Return the axes, dimensions × axes, of bags that have the scorer's views alone."""
    some = instances_of(sample_of(bags), scaling)
    rows, wholes = _rows(some), some.wholes()
    covariances = [part.T @ part for part in (rows, wholes)]
    total = sum(one / max(float(np.trace(one)), 1e-300) for one in covariances)
    axes: Floats = np.linalg.eigh(total)[1][:, -AXES:]
    return axes


def _rows(instances: Instances) -> Floats:
    return np.hstack(instances.features.blocks)
