"""The margin problem in the layout of the compiled loops, with checks of its inputs."""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Counts, Floats, Ints, rows_of
from tagmix.errors import ParameterError
from tagmix.kernels.compiled.ranking import find_own

# The number of chunks does not depend on the number of threads, so neither does the result. A smaller chunk
# would cost more for its own gradient than it saves.
MAX_CHUNKS = 32
PICTURES_PER_CHUNK = 256


class MarginData(NamedTuple):
    """Topic shares z̄ and tags of pictures, as arrays for the kernels.

    ``own_at`` is the position of each own tag in z̄ (−1 if z̄ does not store it); ``pair_weights`` is the
    weight of one violated pair in the risk, ν₂ / (N |Y_n| |Y_n°|), and 0 for a picture without pairs.
    """

    values: Floats
    columns: NDArray[np.int32]
    starts: Ints
    own_at: Ints
    own_columns: NDArray[np.int32]
    own_starts: Ints
    pair_weights: Floats
    n_tags: int

    @property
    def n_pictures(self) -> int:
        """Return the number of pictures."""
        return self.starts.size - 1


def prepare(zbar: Counts, tags: Counts, nu2: float, n_total: int) -> MarginData:
    """Return the problem's arrays after checking them; ``n_total`` is the N of the whole problem.

    >>> from scipy.sparse import csr_array
    >>> data = prepare(csr_array([[0.5, 0.5, 0.0]]), csr_array([[0, 1, 1]]), nu2=1.0, n_total=1)
    >>> data.own_at.tolist(), data.pair_weights.tolist()
    ([1, -1], [0.5])
    """
    _check_matrices(zbar, tags)
    if not (isfinite(nu2) and nu2 >= 0):
        raise ParameterError(f"nu2 must be finite and at least 0, got {nu2}; pass the weight of the risk")
    if not zbar.has_canonical_format:
        zbar = zbar.copy()
        zbar.sum_duplicates()
    z, own = rows_of(zbar), rows_of(tags)
    n_own = np.diff(own.starts)
    n_pairs = n_own * (tags.shape[1] - n_own)
    return MarginData(
        values=z.data.astype(np.float64, copy=False),
        columns=z.columns,
        starts=z.starts,
        own_at=find_own(z.columns, z.starts, own.columns, own.starts),
        own_columns=own.columns,
        own_starts=own.starts,
        pair_weights=np.where(n_pairs > 0, nu2 / (n_total * np.maximum(n_pairs, 1)), 0.0),
        n_tags=int(tags.shape[1]),
    )


def chunk_cuts(n_pictures: int) -> Ints:
    """Return the boundaries of the chunks, which depend only on the number of pictures."""
    n_chunks = min(MAX_CHUNKS, -(-n_pictures // PICTURES_PER_CHUNK))
    return np.arange(n_chunks + 1, dtype=np.int64) * n_pictures // n_chunks


def _check_matrices(zbar: Any, tags: Any) -> None:
    """Raise ParameterError unless z̄ and the tags are two valid CSR matrices of the same shape."""
    for name, matrix in (("zbar", zbar), ("tags", tags)):
        if getattr(matrix, "format", None) != "csr":
            raise ParameterError(
                f"{name} must be a CSR matrix, got {type(matrix).__name__}; use csr_array(...)"
            )
    if zbar.shape != tags.shape or zbar.shape[0] == 0:
        raise ParameterError(
            f"zbar and tags must have the same pictures × tags and at least one picture, "
            f"got {zbar.shape} and {tags.shape}; pass the same pictures in the same order"
        )
    if not np.all(np.isfinite(zbar.data)) or np.any(zbar.data < 0):
        raise ParameterError("zbar must be finite and nonnegative, got other values; pass topic shares")
    if np.any(tags.data == 0) or not tags.has_canonical_format:
        raise ParameterError(
            "tags must store each tag of a picture once, in order, got zeros, repeats or unsorted columns; "
            "call sum_duplicates() and eliminate_zeros()"
        )
