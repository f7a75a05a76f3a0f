"""What is kept of the regions of training pictures: the scorer's features of each, in half precision."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from tagmix.arrays import Floats, Ints, is_sparse, regions_of, stack
from tagmix.bags import Bags
from tagmix.learners.linear import Features
from tagmix.learners.regions.instances import instances_of
from tagmix.learners.regions.region_scorer import RegionScorer

# Coordinates are about 1 at most. Beyond this half precision is infinite.
LARGEST = 6e4


class Kept(NamedTuple):
    """Regions of each picture, and the whole: rows ``starts[n]:starts[n+1]`` of features.

    Coordinates along the scorer's axes in half precision, which is exact to 0.05 %; roots of the shares of
    words in single precision, sparse. Arithmetic with them is in double precision.
    """

    rows: NDArray[Any] | csr_array[Any]
    starts: Ints

    @classmethod
    def of(cls, bags: Bags, scorer: RegionScorer, axes: Floats | None) -> "Kept":
        """Return what is kept of these pictures."""
        own = bags.select_views(scorer.widths_)
        if axes is None:
            blocks, starts = _blocks(own, scorer.scaling_)
            rows: Any = csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
            return cls(rows.astype(np.float32), starts)
        parts = [
            halved(np.hstack(_blocks(own[where], scorer.scaling_)[0]) @ axes)
            for where in own.shards(max(1, 2**22 // sum(scorer.widths_.values())))
        ]
        narrow = np.vstack(parts) if parts else np.empty((0, axes.shape[1]), dtype=np.float16)
        return cls(narrow, own.offsets + np.arange(len(own) + 1))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def of_pictures(self, pictures: Ints) -> "Kept":
        """Return those of these pictures."""
        rows, starts = regions_of(self.starts, pictures)
        return Kept(self.rows[rows], starts)

    def with_(self, below: "Kept") -> "Kept":
        """Return these pictures, followed by others."""
        rows: Any = stack([self.rows, below.rows])
        return Kept(rows, np.concatenate([self.starts, self.starts[-1] + below.starts[1:]]))

    def blocks(self, pictures: Ints, at_once: int) -> Iterator[tuple[slice, Floats, Ints]]:
        """Yield parts of ``pictures`` with the features of their rows in double precision, and the starts."""
        for start in range(0, len(pictures), at_once):
            part = slice(start, min(start + at_once, len(pictures)))
            rows, starts = regions_of(self.starts, pictures[part])
            some: Any = self.rows[rows]
            yield part, (some.toarray() if is_sparse(some) else some).astype(np.float64), starts


def halved(rows: Floats) -> NDArray[np.float16]:
    """Return rows in half precision, finite."""
    return np.clip(rows, -LARGEST, LARGEST).astype(np.float16)


def _blocks(bags: Bags, scaling: Mapping[str, Floats]) -> tuple[list[Any], Ints]:
    features: Features
    features, starts, _ = instances_of(bags, scaling)
    blocks = [block.toarray() if is_sparse(block) and scaling else block for block in features.blocks]
    return blocks, starts
