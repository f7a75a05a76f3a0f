"""What a network's outputs become: maps, vectors of whole pictures, and signed roots of both."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tagmix.errors import NetworkError
from tagmix.images.network_file import NetworkSettings


def as_map(
    output: NDArray[np.float32], name: str, settings: NetworkSettings, height: int, width: int
) -> NDArray[np.float32]:
    """Return a map, channels × rows × columns: as it is, or of the tokens of a picture's patches.

    >>> tiny = NetworkSettings("0" * 64, "x", 4, 4, regions=("t",), tokens={"cls": 1, "patch": 2})
    >>> as_map(np.arange(5, dtype=np.float32)[:, None], "t", tiny, 4, 4).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    if output.ndim == 3:
        return output
    rows, columns = check_tokens(output, name, settings, height, width)
    return output[settings.tokens["cls"] :].T.reshape(-1, rows, columns)


def check_tokens(
    output: NDArray[np.float32], name: str, settings: NetworkSettings, height: int, width: int
) -> tuple[int, int]:
    """Return rows and columns of the tokens' grid; NetworkError if there are more tokens or fewer."""
    special, patch = settings.tokens["cls"], settings.tokens["patch"]
    rows, columns = height // patch, width // patch
    if len(output) != special + rows * columns:
        raise NetworkError(
            f"the network's output {name!r:.60} must have {special} + {rows} × {columns} tokens for "
            f"{width} × {height} pixels, got {len(output):,}: set tokens in its TOML to what it has."
        )
    return rows, columns


def signed_root(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return sign(x) √|x| of each vector, at length 1; a vector of zeros stays as it is.

    >>> signed_root(np.array([-9.0, 16.0], dtype=np.float32)).round(3).tolist()
    [-0.6000000238418579, 0.800000011920929]
    """
    roots = np.sign(vectors) * np.sqrt(np.abs(vectors))
    lengths = np.linalg.norm(roots, axis=-1, keepdims=True)
    return (roots / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def whole_picture(output: NDArray[np.float32], tokens: Mapping[str, int]) -> NDArray[np.float32]:
    """Return the channels of a vector, the means of a map, or the first special token (else their mean)."""
    if output.ndim == 1:
        return output
    if output.ndim == 2:
        return output[0] if tokens["cls"] else output.mean(axis=0, dtype=np.float64).astype(np.float32)
    return output.mean(axis=(1, 2), dtype=np.float64).astype(np.float32)
