"""Means of a network's maps over regions, each cell weighted by the share of it that a region covers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def region_means(features: NDArray[Any], labels: NDArray[np.integer]) -> NDArray[np.float32]:
    """Return regions × channels: means of a map (channels × rows × columns) over a picture's regions.

    The map is laid over the whole picture. A region that is smaller than a cell has what the cells it lies in
    have, in proportion.

    >>> ramp = np.arange(2.0).reshape(1, 1, 2)
    >>> region_means(ramp, np.array([[0, 1, 1, 1], [0, 1, 1, 1]])).tolist()[0]
    [0.0]
    """
    channels, rows, columns = features.shape
    height, width = labels.shape
    down, across = _overlaps(rows, height), _overlaps(columns, width)
    cells = features.reshape(channels, -1).T.astype(np.float64)
    means = np.empty((int(labels.max()) + 1, channels), dtype=np.float32)
    for region in range(len(means)):  # one at a time: a thousand masks would not fit into memory
        inside = (labels == region).astype(np.float32)
        shares = (down @ inside @ across.T).ravel().astype(np.float64)
        means[region] = shares @ cells / shares.sum()
    return means


def _overlaps(n_cells: int, n_pixels: int) -> NDArray[np.float32]:
    """Return cells × pixels: the share of each cell, in a row of them, that each pixel covers.

    >>> _overlaps(2, 1).tolist(), _overlaps(1, 2).tolist()
    ([[1.0], [1.0]], [[0.5, 0.5]])
    """
    # In units of 1 / (cells × pixels) all borders are whole numbers.
    cell, pixel = np.arange(n_cells)[:, None] * n_pixels, np.arange(n_pixels)[None] * n_cells
    common = np.minimum(cell + n_pixels, pixel + n_cells) - np.maximum(cell, pixel)
    return (np.maximum(common, 0) / n_pixels).astype(np.float32)
