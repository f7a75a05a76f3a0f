"""Pictures as they were described, and the true tag of each of their regions."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.datasets import Album, Item
from tagmix.images.picture import Sampling, segment_picture
from tagmix.images.process_pool import read_content


class Seen(NamedTuple):
    """A picture at the size at which it was described, and the region of each pixel."""

    image: NDArray[np.uint8]
    labels: NDArray[np.integer]


def see(path: Path, sampling: Sampling) -> Seen:
    """Return the picture and its regions exactly as a describer with this sampling sees them."""
    return Seen(*segment_picture(read_content(path), sampling))


def region_tags(album: Album, item: Item, seen: Seen) -> list[str]:
    """Return the majority tag of each region's pixels; empty where most are unlabelled."""
    truth = album.region_truth(item, seen.image.shape)
    n_regions, n_names = int(seen.labels.max()) + 1, len(truth.names)
    pairs = seen.labels.astype(np.int64).ravel() * n_names + truth.labels.ravel()
    counts = np.bincount(pairs, minlength=n_regions * n_names).reshape(n_regions, n_names)
    return [truth.names[c] if c else "" for c in counts.argmax(axis=1)]
