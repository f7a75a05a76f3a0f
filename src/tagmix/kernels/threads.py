"""Threads over ranges of items: the compiled kernels release the GIL and own disjoint rows."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

# More chunks than threads even out unequal items; the results never depend on their number
# because each item writes only to its own row.
CHUNKS_PER_THREAD = 8


def over_ranges(work: Callable[[int, int], None], n_items: int, n_threads: int) -> None:
    """Call ``work(start, stop)`` over ranges that cover ``0 … n_items``, on ``n_threads`` threads.

    >>> seen = []
    >>> over_ranges(lambda start, stop: seen.append((start, stop)), 5, 1)
    >>> seen
    [(0, 5)]
    """
    if n_threads <= 1 or n_items <= 1:
        work(0, n_items)
        return
    n_chunks = min(n_items, n_threads * CHUNKS_PER_THREAD)
    cuts = [n_items * i // n_chunks for i in range(n_chunks + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(cuts)]:
            done.result()
