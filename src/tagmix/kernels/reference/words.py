"""Evidence of word counts for tags, and the word statistics of tags, as matrix products.

``block`` arrays contain one value per region and tag of a picture. For all tags this is the matrix
regions × tags; for own tags only, it is the concatenation of the pictures' matrices (regions × own
tags). ``Entries`` lists the own tags.
"""

import numpy as np

from tagmix.arrays import Entries, Floats, Ints, Rows


def _dense(rows: Rows, start: int, stop: int, width: int) -> Floats:
    counts = np.zeros((stop - start, width))
    for i in range(start, stop):
        part = slice(rows.starts[i], rows.starts[i + 1])
        np.add.at(counts[i - start], rows.columns[part], rows.data[part])
    return counts


def for_all_tags(log_words: Floats) -> Floats:
    """Return the words in the memory order of ``add_evidence_of_all``: here, unchanged."""
    return log_words


def add_evidence_of_all(rows: Rows, log_words: Floats, scale: float, out: Floats, n_threads: int = 1) -> None:
    """Add scale · Σ_d x_md log_words_cd to ``out`` (regions × tags)."""
    out += scale * (_dense(rows, 0, len(out), log_words.shape[1]) @ log_words.T)


def add_evidence_of_own(
    rows: Rows,
    log_words: Floats,
    scale: float,
    region_starts: Ints,
    entries: Entries,
    block: Floats,
    n_threads: int = 1,
) -> None:
    """Add scale · Σ_d x_md log_words_cd to the block of each picture's own tags."""
    for n in range(len(region_starts) - 1):
        tags = entries.tags[entries.starts[n] : entries.starts[n + 1]]
        counts = _dense(rows, region_starts[n], region_starts[n + 1], log_words.shape[1])
        block[entries.block_starts[n] : entries.block_starts[n + 1]] += (
            scale * (counts @ log_words[tags].T).ravel()
        )


def add_statistics_of_all(rows: Rows, phi: Floats, out: Floats, n_threads: int = 1) -> None:
    """Add Σ_m phi_mc x_md to ``out`` (tags × words); ``phi`` is regions × tags."""
    out += phi.T @ _dense(rows, 0, len(phi), out.shape[1])


def add_statistics_of_own(
    rows: Rows, phi: Floats, region_starts: Ints, entries: Entries, out: Floats, n_threads: int = 1
) -> None:
    """Add Σ_nm phi_nmc x_nmd to ``out`` (tags × words); ``phi`` is a block over own tags."""
    for n in range(len(region_starts) - 1):
        tags = entries.tags[entries.starts[n] : entries.starts[n + 1]]
        counts = _dense(rows, region_starts[n], region_starts[n + 1], out.shape[1])
        own = phi[entries.block_starts[n] : entries.block_starts[n + 1]].reshape(len(counts), len(tags))
        out[tags] += own.T @ counts
