"""A process pool for many files: neither a bad file nor a crash ends the run."""

import contextlib
import os
import pickle
import signal
import stat
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing import get_all_start_methods, get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import cv2
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix.errors import ImageError, ParameterError, TagmixError

T = TypeVar("T")
# Imported once by the server that workers are forked from; each of them starts in milliseconds then.
PRELOAD = ["tagmix.images.describe"]
# One thread at a time starts a worker: the name ``__main__`` belongs to the whole process.
_STARTING = threading.Lock()
# How long a worker may finish the file in hand when the run is broken off.
PATIENCE = 1.0

# A picture of decode.MAX_PIXELS takes less; a larger file is not read into memory.
MAX_BYTES = 2**30


class WorkerError(TagmixError):
    """No worker could be started."""


class Failure(NamedTuple):
    """A task that could not be done, and why."""

    reason: str


CRASHED = Failure("it crashed the process that read it: repair or remove the file.")


def read_content(path: Path) -> bytes:
    """Return the bytes of a regular file of at most ``MAX_BYTES``; else an ImageError without the name."""
    try:
        status = path.stat()
        plain = stat.S_ISREG(status.st_mode)  # a pipe would wait for ever, a device never end
        content = path.read_bytes() if plain and status.st_size <= MAX_BYTES else b""
    except FileNotFoundError as error:
        raise ImageError("does not exist: check the path.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible name"
        raise ImageError(f"cannot be read: {reason}; check name and permissions.") from error
    if not plain:
        raise ImageError("must be a plain file, got a folder, pipe or device: name the picture.")
    if status.st_size > MAX_BYTES:
        raise ImageError(f"must have at most {MAX_BYTES:,} bytes, got {status.st_size:,}: shrink it.")
    return content


def count_processes(n_jobs: int | None) -> int:
    """Return how many processes ``n_jobs`` means: None is one, −1 all cores that this process may use.

    Where processes cannot be forked from a server (Windows), it is one.

    >>> count_processes(None), count_processes(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs < -1 or n_jobs == 0:
        raise ParameterError(
            f"n_jobs must be a whole number from 1, or -1, or None, got {n_jobs!r:.60}: None is one process, "
            "-1 is all cores."
        )
    if n_jobs == 1 or "forkserver" not in get_all_start_methods():  # Windows has none
        return 1
    if n_jobs > 0:
        return int(n_jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_files(
    function: Callable[[Any], T], tasks: Sequence[Any], n_jobs: int | None = None
) -> Generator[tuple[int, T | Failure], None, None]:
    """Yield (number of the task, result or Failure) as they are done, each once, on ``n_jobs`` processes.

    ``ImageError`` and ``OSError`` concern one file and become a Failure; so does a process that dies on a
    file. Any other exception is raised and ends the run. Each process works on one thread, so
    that results have the same bits for any ``n_jobs``.

    A worker holds the function, one file and what decoding it takes. For pictures that is 200 MB to begin
    with, most of it shared by all workers, and on top at most ``MAX_BYTES`` for the file and 1.5 GB to decode
    it (15 bytes per pixel at ``decode.MAX_PIXELS``, with transparency); 50 MB for 12 megapixels. The function
    must be importable: workers do not see ``__main__``.
    """
    n_processes = min(count_processes(n_jobs), len(tasks))
    if n_processes > 1:
        yield from run_pool(function, tasks, n_processes)
        return
    with one_thread():
        for number, task in enumerate(tasks):
            yield number, _attempt(function, task)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS, OpenMP and OpenCV to one thread: several processes of several threads fight for cores."""
    _ONE_THREAD.enter()
    try:
        yield
    finally:
        _ONE_THREAD.leave()


class _OneThread:
    """The limit of ``one_thread``, which belongs to the whole process and not to a thread of it.

    Two threads may be inside at once, so the first one in sets the limit and the last one out restores
    what was there: restoring earlier would change the number of threads under the other one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._restore = contextlib.ExitStack()

    def enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._restore.callback(cv2.setNumThreads, cv2.getNumThreads())
                cv2.setNumThreads(1)
                self._restore.enter_context(threadpool_limits(1))

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._restore.close()


_ONE_THREAD = _OneThread()


def _attempt(function: Callable[[Any], T], task: Any) -> T | Failure:
    try:
        return function(task)
    except ImageError as error:
        return Failure(str(error))
    except OSError as error:  # its text would repeat the file's name
        return Failure(f"it cannot be used ({error.strerror or error}): check the file.")


class _Worker:
    """A process with the function, and its current task; None until the process is ready."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, function), daemon=True)
        self.task: int | None = None
        try:
            with theirs, _apart():
                self.process.start()
        except (EOFError, OSError) as error:  # the server that workers are forked from is gone
            raise WorkerError(
                f"a worker process should have started, but could not ({error!r:.100}): run it again, free "
                "some memory, or use one process."
            ) from error

    def give(self, number: int, task: Any) -> None:
        self.task = number
        with contextlib.suppress(OSError):  # it has died since; the next receive reports it
            self.connection.send(task)

    def receive(self) -> Any:
        """Return the result of the task in hand, CRASHED if the process died on it; raise what it raised."""
        try:
            good, value = self.connection.recv()
        except (EOFError, OSError) as error:
            if self.task is not None:
                return CRASHED
            self.process.join(PATIENCE)
            raise WorkerError(
                f"a worker process should have started, but it ended (exit code {self.process.exitcode}): "
                "free some memory, or use n_jobs=1."
            ) from error
        if not good:
            raise value
        return value


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    """Hide the user's script and Ctrl-C from processes that start meanwhile.

    A worker needs nothing of the script, and importing it would run it again where it lacks the guard
    ``if __name__ == "__main__"``. Ctrl-C reaches every process of a terminal; the parent alone answers it.
    """
    with _STARTING:
        resource_tracker.ensure_running()  # first: its own start would let Ctrl-C through again
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def run_pool(
    function: Callable[[Any], T], tasks: Sequence[Any], n_processes: int
) -> Iterator[tuple[int, T | Failure]]:
    """Yield (number of the task, result or Failure) as worker processes finish them.

    A task whose process died is tried once more, in another process, before it becomes ``CRASHED``.
    """
    pending = deque(range(len(tasks)))
    crew: dict[Any, _Worker] = {}
    suspects: set[int] = set()
    try:
        while pending or crew:
            while pending and len(crew) < n_processes:
                worker = _Worker(function)
                crew[worker.connection] = worker
            for connection in wait(list(crew)):
                worker = crew[connection]
                number, result = worker.task, worker.receive()
                if pending and result is not CRASHED:
                    following = pending.popleft()
                    worker.give(following, tasks[following])
                else:
                    _dismiss([crew.pop(connection)])
                if number is None:
                    continue  # it only reported that it is ready
                if result is CRASHED and number not in suspects:
                    suspects.add(number)
                    pending.append(number)  # something else may have killed the process: try once more
                else:
                    yield number, result
    finally:
        _dismiss(list(crew.values()))


def _dismiss(workers: list[_Worker]) -> None:
    """End workers: idle ones at once, the others after their current file or after ``PATIENCE`` seconds."""
    for worker in workers:
        worker.connection.close()
    deadline = time.monotonic() + PATIENCE
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        worker.process.kill()
        worker.process.join()


def _serve(connection: Connection, function: Callable[[Any], Any]) -> None:
    """Do tasks until the parent closes the connection or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with one_thread(), contextlib.suppress(EOFError, OSError):
        connection.send((True, None))
        while True:
            connection.send(_outcome(function, connection.recv()))


def _outcome(function: Callable[[Any], Any], task: Any) -> tuple[bool, Any]:
    try:
        return True, _attempt(function, task)
    except Exception as error:  # raised again in the parent
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # not every exception can be pickled
            return False, RuntimeError(f"{type(error).__name__}: {error}")
        return False, error
