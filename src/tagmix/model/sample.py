"""Draw bags from the model together with the true assignments, for tests and demonstrations."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError


class Sample(NamedTuple):
    """Bags, the true tag of each region (−1 for background), and θ of each picture."""

    bags: Bags
    region_tags: Ints
    theta: Floats


def planted_topics(n_tags: int, n_words: int, overlap: float, rng: np.random.Generator) -> Floats:
    """Return word distributions, tags × words: own words with probability 1 − overlap, else common ones.

    Each tag owns its own block of words; ``overlap`` of its probability goes to a distribution that
    all tags share. With 0, tags have no word in common; with 1, all have the same distribution.

    >>> planted_topics(2, 4, 0.0, np.random.default_rng(0)).round(2).tolist()
    [[0.4, 0.6, 0.0, 0.0], [0.0, 0.0, 0.9, 0.1]]
    """
    if not 0 <= overlap <= 1 or n_words < n_tags:
        raise ParameterError(
            f"expected 0 <= overlap <= 1 and at least one word per tag, got overlap {overlap} and {n_words} "
            f"words for {n_tags} tags: add words or lower overlap."
        )
    topics = np.zeros((n_tags, n_words))
    for tag, block in enumerate(np.array_split(np.arange(n_words), n_tags)):
        topics[tag, block] = rng.dirichlet(np.ones(len(block)))
    common = rng.dirichlet(np.ones(n_words))
    return (1 - overlap) * topics + overlap * common


def sample_bags(
    topics: Floats,
    n_images: int,
    *,
    n_regions: int = 8,
    words_per_region: int = 60,
    rates: Floats | None = None,
    background: float = 0.0,
    rng: np.random.Generator,
) -> Sample:
    """Return pictures drawn by the generative process; a picture's tags are those of its regions.

    θ ~ Exp(λ), z ~ Mult(θ/‖θ‖₁), words ~ Mult(β_z). The caption is the set of tags drawn: Eq. 1
    as printed gives a tag without regions the probability ½ (D5). With ``background`` above 0, the last topic
    is no tag: each region is replaced by one of this topic with that probability.
    """
    if not 0 <= background <= 1:
        raise ParameterError(f"background must be a share from 0 to 1, got {background}: 0 for none.")
    n_tags = len(topics) - (background > 0)
    rates = np.ones(n_tags) if rates is None else np.asarray(rates, dtype=np.float64)
    theta = rng.exponential(1 / np.broadcast_to(rates, (n_images, n_tags)))
    shares = theta / theta.sum(axis=1, keepdims=True)
    z = np.array([rng.choice(n_tags, size=n_regions, p=share) for share in shares], dtype=np.int64)
    z = z.reshape(n_images, n_regions)
    if background:
        z[rng.random(z.shape) < background] = -1
    counts = rng.multinomial(words_per_region, topics[z.ravel()])
    tags = np.zeros((n_images, len(topics)), dtype=bool)
    np.put_along_axis(tags, z % len(topics), True, axis=1)
    offsets = np.arange(n_images + 1) * n_regions
    return Sample(Bags(csr_array(counts), offsets, tags=tags[:, :n_tags]), z.ravel(), theta)
