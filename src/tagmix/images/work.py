"""Work on many files in several processes: one bad file never ends the run, and neither does a crash."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar

from tagmix.errors import TagmixError

T = TypeVar("T")
# Tasks handed out ahead of the workers: enough that none waits, few enough that Ctrl-C ends soon.
AHEAD = 4


class Failure(NamedTuple):
    """A task that could not be done, and why."""

    reason: str


def map_files(
    function: Callable[[Any], T], tasks: Sequence[Any], n_jobs: int
) -> Iterator[tuple[int, T | Failure]]:
    """Yield (number of the task, result or Failure) as they are done, on ``n_jobs`` processes.

    ``TagmixError`` and ``OSError`` are a file's own trouble and become a Failure; so does a process
    that dies on a file. Anything else is a mistake of ours and is raised.
    """
    if n_jobs <= 1:
        for number, task in enumerate(tasks):
            yield number, _attempt(function, task)
        return
    queue = iter(range(len(tasks)))
    while True:
        suspects: list[int] = []
        yield from _pooled(function, tasks, queue, n_jobs, suspects)
        if not suspects:
            return
        for number in suspects:  # one of these killed a process: alone, each shows its own face
            yield number, _alone(function, tasks[number])


def _attempt(function: Callable[[Any], T], task: Any) -> T | Failure:
    try:
        return function(task)
    except (TagmixError, OSError) as error:
        return Failure(str(error))


def _pooled(
    function: Callable[[Any], T], tasks: Sequence[Any], queue: Iterator[int], n_jobs: int, suspects: list[int]
) -> Iterator[tuple[int, T | Failure]]:
    """Yield results; if a process dies, name the tasks under way as suspects and stop."""
    waiting: dict[Future[Any], int] = {}
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("forkserver")) as pool:
        try:
            while True:
                for number in queue:
                    waiting[pool.submit(_attempt, function, tasks[number])] = number
                    if len(waiting) >= n_jobs * AHEAD:
                        break
                if not waiting:
                    return
                done, _ = wait(waiting, return_when="FIRST_COMPLETED")
                for future in sorted(done, key=waiting.__getitem__):
                    result = future.result()
                    yield waiting.pop(future), result
        except BrokenProcessPool:
            suspects += sorted(waiting.values())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _alone(function: Callable[[Any], T], task: Any) -> T | Failure:
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        try:
            return pool.submit(_attempt, function, task).result()
        except BrokenProcessPool:
            return Failure("it crashed the process that read it: repair or remove the file")
