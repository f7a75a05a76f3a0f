"""Names for the arrays that pass between modules, and the one way to open a CSR matrix."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Counts: TypeAlias = csr_array[Any]


class Rows(NamedTuple):
    """A CSR matrix as the three arrays that a compiled loop reads."""

    data: NDArray[Any]
    columns: NDArray[np.int32]
    starts: Ints


def rows_of(matrix: Counts) -> Rows:
    """Return the arrays of a CSR matrix with the index types that the kernels are compiled for.

    >>> rows_of(csr_array(np.array([[0, 2.0], [1, 0]]))).columns.tolist()
    [1, 0]
    """
    return Rows(
        np.ascontiguousarray(matrix.data),
        matrix.indices.astype(np.int32, copy=False),
        matrix.indptr.astype(np.int64, copy=False),
    )
