"""Threads over ranges of items: the compiled kernels release the GIL and write to disjoint rows."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

# Many more chunks than threads balance the load, because tags differ in cost. The results do not depend
# on the number of chunks, because each item writes only to its own row.
CHUNKS_PER_THREAD = 32

# One pool for all kernels: starting threads for each call would cost as much as a small kernel.
_pool: list[ThreadPoolExecutor] = []


def _shared_pool() -> ThreadPoolExecutor:
    if not _pool:
        _pool.append(ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="tagmix"))
    return _pool[0]


# Threads do not survive a fork: a child process starts its own.
os.register_at_fork(after_in_child=_pool.clear)


def over_ranges(
    work: Callable[[int, int], None], n_items: int, n_threads: int, chunks_per_thread: int = CHUNKS_PER_THREAD
) -> None:
    """Call ``work(start, stop)`` over ranges that cover ``0 … n_items``, on ``n_threads`` threads.

    Use fewer chunks for work that reads a large table per chunk. The calling thread takes part, so the
    work progresses even if all others are busy.

    >>> seen = []
    >>> over_ranges(lambda start, stop: seen.append((start, stop)), 5, 1)
    >>> seen
    [(0, 5)]
    """
    if n_threads <= 1 or n_items <= 1:
        work(0, n_items)
        return
    n_chunks = min(n_items, n_threads * chunks_per_thread)
    cuts = [n_items * i // n_chunks for i in range(n_chunks + 1)]
    chunks = iter(list(pairwise(cuts)))
    helpers = [_shared_pool().submit(_drain, work, chunks) for _ in range(min(n_threads, n_chunks) - 1)]
    try:
        _drain(work, chunks)
    finally:
        _finish(helpers, chunks)


def _drain(work: Callable[[int, int], None], chunks: Iterator[tuple[int, int]]) -> None:
    """Process chunks until none is left; ``next`` on a list iterator is atomic under the GIL."""
    for start, stop in chunks:
        work(start, stop)


def _finish(helpers: list[Future[None]], chunks: Iterator[tuple[int, int]]) -> None:
    """Wait for all helpers, even after an error: they write to the caller's arrays."""
    for _ in chunks:  # empty unless the caller was interrupted
        pass
    for helper in helpers:
        if not helper.cancel():
            helper.result()
