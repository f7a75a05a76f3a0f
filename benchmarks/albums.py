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


def network_like(
    n_images: int, n_tags: int = 80, n_regions: int = 40, tags_per_image: float = 3.0, seed: int = 0
) -> Bags:
    """Return bags described as by a network: three maps of regions (120, 208, 352) and one vector (1,280).

    A region shows a tag of its picture or, four in ten, none; each tag has a direction in every map.
    """
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_tags + 1) ** 0.6
    tags = np.zeros((n_images, n_tags), dtype=np.uint8)
    for row in tags:
        size = 1 + rng.binomial(int(2 * (tags_per_image - 1)), 0.5)
        row[rng.choice(n_tags, size=size, replace=False, p=popularity / popularity.sum())] = 1
    own = rng.random((n_images, n_regions, n_tags), dtype=np.float32) * tags[:, None]
    shown = np.where(rng.random((n_images, n_regions)) < 0.4, n_tags, own.argmax(axis=2)).ravel()
    views = {}
    for name, width in {"block14": 120, "block19": 208, "block20": 352}.items():
        kinds = rng.standard_normal((n_tags + 1, width), dtype=np.float32)
        kinds[-1] = 0
        views[name] = 0.5 * kinds[shown] + rng.standard_normal((len(shown), width), dtype=np.float32)
    whole = rng.standard_normal((n_tags, 1280), dtype=np.float32)
    vector = tags @ whole + 3 * rng.standard_normal((n_images, 1280), dtype=np.float32)
    return Bags(views, np.arange(n_images + 1) * n_regions, tags, pictures={"network": vector})
