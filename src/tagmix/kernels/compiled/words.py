"""Evidence and word statistics, compiled; the definition is ``reference.words``.

Loops over own tags process one tag at a time: its row of words stays in the cache and is written by one
thread, so the result does not depend on the number of threads. Loops over all tags process tiles of
tags for the same two reasons.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tagmix.arrays import Entries, Floats, Ints, Rows
from tagmix.kernels.compiled.special import FAST
from tagmix.kernels.threads import over_ranges

# Tags per tile: 1000 words × 64 tags × 8 bytes fit into the second-level cache.
TILE = 64
# Below this, φ changes no digit of a tag's word statistics.
NEGLIGIBLE = 1e-15


def _unsigned(rows: Rows) -> tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the rows with unsigned indices, which need no test for negative values: twice as fast."""
    return rows.data, rows.columns.view(np.uint32), rows.starts.view(np.uint64)


def add_evidence_of_all(rows: Rows, tiles: Floats, scale: float, out: Floats, n_threads: int = 1) -> None:
    """Equal to ``reference.words.add_evidence_of_all``."""
    # Each chunk reads all tiles: two chunks per thread.
    over_ranges(
        lambda a, b: _evidence_of_all(*_unsigned(rows), tiles, scale, out, a, b), len(out), n_threads, 2
    )


def for_all_tags(log_words: Floats) -> Floats:
    """Return tiles × words × TILE, so that the values of a word for a tile of tags are contiguous."""
    n_tags, n_words = log_words.shape
    n_tiles = -(-n_tags // TILE)
    padded = np.zeros((n_tiles * TILE, n_words))
    padded[:n_tags] = log_words
    return np.ascontiguousarray(padded.reshape(n_tiles, TILE, n_words).transpose(0, 2, 1))


@njit(cache=True, nogil=True, fastmath=FAST)
def _evidence_of_all(data, columns, starts, tiles, scale, out, first, last):  # type: ignore[no-untyped-def]
    n_tags = out.shape[1]
    total = np.empty(TILE)
    for t in range(len(tiles)):
        width = min(TILE, n_tags - t * TILE)
        for m in range(first, last):
            total[:] = 0.0
            i, end = starts[m], starts[m + 1]
            # Four words at a time: the running total is loaded and stored once for all four.
            while i + np.uint64(3) < end:
                j, k, n = i + np.uint64(1), i + np.uint64(2), i + np.uint64(3)
                x0, x1, x2, x3 = float(data[i]), float(data[j]), float(data[k]), float(data[n])
                w0, w1 = tiles[t, columns[i]], tiles[t, columns[j]]
                w2, w3 = tiles[t, columns[k]], tiles[t, columns[n]]
                for c in range(TILE):
                    total[c] += x0 * w0[c] + x1 * w1[c] + x2 * w2[c] + x3 * w3[c]
                i += np.uint64(4)
            while i < end:
                x0, w0 = float(data[i]), tiles[t, columns[i]]
                for c in range(TILE):
                    total[c] += x0 * w0[c]
                i += np.uint64(1)
            for c in range(width):
                out[m, t * TILE + c] += scale * total[c]


def add_evidence_of_own(
    rows: Rows,
    log_words: Floats,
    scale: float,
    region_starts: Ints,
    entries: Entries,
    block: Floats,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.words.add_evidence_of_own``."""

    def work(first: int, last: int) -> None:
        _evidence_of_own(*_unsigned(rows), log_words, scale, region_starts, *entries, block, first, last)

    over_ranges(work, len(log_words), n_threads)


@njit(cache=True, nogil=True, fastmath=FAST)
def _evidence_of_own(  # type: ignore[no-untyped-def]
    data, columns, starts, log_words, scale, region_starts, entry_starts, tags, block_starts, by_tag,
    tag_starts, picture_of, block, first, last,
):  # fmt: skip
    for c in range(first, last):
        words = log_words[c]
        for position in range(tag_starts[c], tag_starts[c + 1]):
            entry = by_tag[position]
            n = picture_of[entry]
            width = entry_starts[n + 1] - entry_starts[n]
            at = block_starts[n] + entry - entry_starts[n]
            for m in range(region_starts[n], region_starts[n + 1]):
                total = 0.0
                for i in range(starts[m], starts[m + 1]):
                    total += data[i] * words[columns[i]]
                block[at] += scale * total
                at += width


def add_statistics_of_all(rows: Rows, phi: Floats, out: Floats, n_threads: int = 1) -> None:
    """Equal to ``reference.words.add_statistics_of_all``."""
    n_tiles = -(-phi.shape[1] // TILE)
    over_ranges(lambda a, b: _statistics_of_all(*_unsigned(rows), phi, out, a, b), n_tiles, n_threads)


@njit(cache=True, nogil=True, fastmath=FAST)
def _statistics_of_all(data, columns, starts, phi, out, first, last):  # type: ignore[no-untyped-def]
    n_words = out.shape[1]
    total = np.empty((n_words, TILE))
    weights = np.zeros(TILE)
    for t in range(first, last):
        low = t * TILE
        width = min(TILE, phi.shape[1] - low)
        total[:] = 0.0
        for m in range(len(phi)):
            weights[:width] = phi[m, low : low + width]
            if weights[:width].max() < NEGLIGIBLE:
                continue
            for i in range(starts[m], starts[m + 1]):
                x = np.float64(data[i])
                row = total[columns[i]]
                for c in range(TILE):
                    row[c] += x * weights[c]
        for c in range(width):
            for d in range(n_words):
                out[low + c, d] += total[d, c]


def add_statistics_of_own(
    rows: Rows, phi: Floats, region_starts: Ints, entries: Entries, out: Floats, n_threads: int = 1
) -> None:
    """Equal to ``reference.words.add_statistics_of_own``."""

    def work(first: int, last: int) -> None:
        _statistics_of_own(*_unsigned(rows), phi, region_starts, *entries, out, first, last)

    over_ranges(work, len(out), n_threads)


@njit(cache=True, nogil=True, fastmath=FAST)
def _statistics_of_own(  # type: ignore[no-untyped-def]
    data, columns, starts, phi, region_starts, entry_starts, tags, block_starts, by_tag, tag_starts,
    picture_of, out, first, last,
):  # fmt: skip
    for c in range(first, last):
        words = out[c]
        for position in range(tag_starts[c], tag_starts[c + 1]):
            entry = by_tag[position]
            n = picture_of[entry]
            width = entry_starts[n + 1] - entry_starts[n]
            at = block_starts[n] + entry - entry_starts[n]
            for m in range(region_starts[n], region_starts[n + 1]):
                weight = phi[at]
                at += width
                if weight < NEGLIGIBLE:
                    continue
                for i in range(starts[m], starts[m + 1]):
                    words[columns[i]] += weight * data[i]
