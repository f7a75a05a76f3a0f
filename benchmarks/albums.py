"""Sampled albums of the size of Corel5k, the same for every method of a run."""

import numpy as np
from scipy.sparse import csr_array

from tagmix import Bags


def corel_like(
    n_images: int = 4500,
    n_tags: int = 374,
    n_words: int = 1000,
    n_regions: int = 10,
    words_per_region: int = 100,
    tags_per_image: float = 3.5,
    seed: int = 0,
) -> Bags:
    """Return bags with a few tags per picture, frequent and rare ones, and overlapping topics."""
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_tags + 1) ** 0.8
    popularity /= popularity.sum()
    common = rng.dirichlet(np.ones(n_words))
    topics = [0.5 * common + 0.5 * rng.dirichlet(np.full(n_words, 0.1)) for _ in range(n_tags)]
    rows, columns, values, starts = [], [], [], [0]
    for n in range(n_images):
        size = 1 + rng.binomial(int(2 * (tags_per_image - 1)), 0.5)
        own = rng.choice(n_tags, size=min(size, n_tags), replace=False, p=popularity)
        rows.append(np.full(len(own), n))
        columns.append(own)
        for tag in np.concatenate([own, rng.choice(own, max(0, n_regions - len(own)))])[:n_regions]:
            counts = rng.multinomial(words_per_region, topics[tag])
            present = np.flatnonzero(counts)
            values.append((present, counts[present]))
            starts.append(starts[-1] + len(present))
    words = csr_array(
        (np.concatenate([v[1] for v in values]), np.concatenate([v[0] for v in values]), starts),
        shape=(len(values), n_words),
    )
    entries = np.concatenate(rows), np.concatenate(columns)
    tags = csr_array((np.ones(len(entries[0])), entries), shape=(n_images, n_tags))
    return Bags(words, np.arange(n_images + 1) * n_regions, tags=tags)
