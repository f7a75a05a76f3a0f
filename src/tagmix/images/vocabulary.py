"""Visual words: k-means over descriptors, and the nearest word of each."""

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tagmix.errors import ParameterError
from tagmix.images.cache import Arrays, Cache, form_of, key_of
from tagmix.images.process_pool import one_thread
from tagmix.kernels.threads import over_ranges

# Part of every key in the cache: raise it when the same descriptors would give other words.
VERSION = "vocabulary 1"
# Distances to all words are taken for so many descriptors at a time: 2 MB at 1000 words, which stay in
# the processor's cache. Always the same blocks, so that the number of threads changes no bit.
BATCH = 512
# Sweeps of k-means after which the random starts are compared; only the best one is continued. Starts
# differ by 0.1 % in the end, on drawn scenes with 1000 words, and continuing all takes three times as long.
TRIAL = 5


class Vocabulary(NamedTuple):
    """The words' centres, words × dimensions."""

    centres: NDArray[np.float32]

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.centres)

    def words_of(self, descriptors: NDArray[np.float32], nearest: int = 1) -> NDArray[np.int64]:
        """Return the number of the nearest word of each descriptor; of equals, the first.

        Of more than one, the nearest words of all come first, then the second nearest of all, and so on;
        there are no more of them than words.

        >>> words = Vocabulary(np.eye(3, dtype=np.float32))
        >>> words.words_of(np.array([[0.1, 0.8, 0.0], [0.2, 0.1, 0.9]], np.float32), 2).tolist()
        [1, 2, 0, 0]
        """
        return _nearest(descriptors, self.centres, 1, min(nearest, self.n_words))[0].ravel()


class _Clustering(NamedTuple):
    """The word of each point, the total distance (up to a constant), and the centres of the words."""

    words: NDArray[np.int64]
    off: float
    centres: NDArray[np.float32]


def learn_vocabulary(
    descriptors: NDArray[np.float32],
    n_words: int,
    *,
    restarts: int = 5,
    max_iter: int = 30,
    seed: int = 0,
    n_threads: int = 1,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Vocabulary:
    """Return words learnt by k-means from random starts, the best of ``restarts``.

    Fewer different descriptors than words give as many words as there are. ``progress`` is called with
    (sweeps done, of) after each sweep over the descriptors. The number of threads changes no bit.
    """
    if not len(descriptors):
        raise ParameterError(
            "a vocabulary needs descriptors to learn from, got none: check that the pictures can be read."
        )
    points = np.ascontiguousarray(descriptors, dtype=np.float32)
    different: Any = np.unique(points, axis=0)
    if len(different) <= n_words:
        return Vocabulary(different)
    rng = np.random.default_rng(seed)
    trial = min(TRIAL, max_iter)
    total = restarts * trial + max_iter - trial
    done = count(1)

    def go_on(centres: NDArray[np.float32], sweeps: int) -> _Clustering:
        found = _Clustering(np.zeros(0, dtype=np.int64), np.inf, centres)
        for _ in range(sweeps):
            before, found = found, _sweep(points, found.centres, n_threads)
            progress(next(done), total)
            if np.array_equal(before.words, found.words):
                break
        return found

    with one_thread():
        starts = (different[rng.choice(len(different), n_words, replace=False)] for _ in range(restarts))
        best = min((go_on(centres, trial) for centres in starts), key=lambda found: found.off)
        centres = go_on(best.centres, max_iter - trial).centres
    progress(total, total)
    return Vocabulary(centres[np.lexsort(centres.T[::-1])])  # an order that starts cannot change


def keep_vocabulary(cache: Cache, descriptors: NDArray[np.float32], n_words: int, **how: Any) -> Vocabulary:
    """Return ``learn_vocabulary`` of these descriptors, from the cache if it has the result."""

    def make() -> Arrays:
        return learn_vocabulary(descriptors, n_words, **how)._asdict()

    def sound(kept: Arrays) -> bool:
        n = len(kept["centres"]) if "centres" in kept and kept["centres"].ndim else 0
        form = {"centres": (np.dtype(np.float32), (n, descriptors.shape[1]))}
        return 1 <= n <= n_words and form_of(kept) == form and bool(np.isfinite(kept["centres"]).all())

    setting = (descriptors.shape, n_words, how["restarts"], how["seed"])
    key = key_of(VERSION, repr(setting), descriptors.tobytes())
    return Vocabulary(cache.keep(key, make, sound)[0]["centres"])


def _sweep(points: NDArray[np.float32], centres: NDArray[np.float32], n_threads: int) -> _Clustering:
    """Return the nearest word of each point, and each word's centre moved to the mean of its points."""
    found, off = _nearest(points, centres, n_threads)
    words, n = found[0], len(points)
    members = csr_array((np.ones(n, dtype=np.float32), words, np.arange(n + 1)), shape=(n, len(centres)))
    sizes = np.bincount(words, minlength=len(centres))
    moved = (members.T @ points) / np.maximum(sizes, 1)[:, None]
    unused = np.flatnonzero(sizes == 0)
    if len(unused):  # an unused word moves to the point that is farthest from its word
        distance = (points * points).sum(axis=1) + 2 * off
        moved[unused] = points[np.argsort(-distance, kind="stable")[: len(unused)]]
    return _Clustering(words, float(off.sum(dtype=np.float64)), moved.astype(np.float32))


def _nearest(
    points: NDArray[np.float32], centres: NDArray[np.float32], n_threads: int, n: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return n × points, the nearest centres of each point, nearest first, and how far off the nearest is.

    That is half the squared distance, less that of the point to 0.
    """
    words = np.empty((n, len(points)), dtype=np.int64)
    off = np.empty(len(points), dtype=np.float32)
    half_norm = (centres * centres).sum(axis=1) / 2

    def work(first: int, last: int) -> None:
        buffer = np.empty((BATCH, len(centres)), dtype=np.float32)
        for start in range(first * BATCH, min(last * BATCH, len(points)), BATCH):
            part = points[start : start + BATCH]
            near = buffer[: len(part)]
            np.matmul(part, centres.T, out=near)
            np.subtract(half_norm, near, out=near)
            rows = np.arange(len(part))
            for more in range(n):  # a few minima are found faster than an order
                chosen = near.argmin(axis=1)
                words[more, start : start + BATCH] = chosen
                if not more:
                    off[start : start + BATCH] = near[rows, chosen]
                near[rows, chosen] = np.inf

    over_ranges(work, -(-len(points) // BATCH), n_threads, chunks_per_thread=4)
    return words, off
