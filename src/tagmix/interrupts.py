"""Ctrl-C and SIGTERM for the command line: one line and an exit status, never a traceback.

Imports nothing heavy: it is in force before click, NumPy or Numba are imported, because an import that is
interrupted half-way may fail with any error.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from types import FrameType

SAID = "Interrupted. No partial files; run the same command to resume."
# Ctrl-C comes twice from impatient fingers; the first one needs this long to end the workers (process_pool).
PATIENCE = 2.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal that ends the command; ``number`` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _State:
    """Whether signals are ours, whether an import runs, and when the first signal came."""

    ours = False
    importing = 0
    since: float | None = None


def status_of(number: int) -> int:
    """Return the exit status of a command that a signal ended, as shells count it.

    >>> status_of(signal.SIGINT), status_of(signal.SIGTERM)
    (130, 143)
    """
    return 128 + int(number)


def take_over() -> None:
    """Answer the signals from here on; what the caller of the process ignores (``nohup``) stays ignored."""
    _State.ours = True
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _answer)


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Leave at once on a signal in the meantime: there is nothing to clean up during imports."""
    _State.importing += 1
    try:
        yield
    finally:
        _State.importing -= 1


def _answer(number: int, _: FrameType | None) -> None:
    """Raise ``Interrupted``; leave at once during imports, and at a signal that comes again, later."""
    now = time.monotonic()
    if _State.importing or (_State.since is not None and now - _State.since > PATIENCE):
        with contextlib.suppress(OSError):
            os.write(2, f"tagmix: {SAID}\n".encode())
        os._exit(status_of(number))
    if _State.since is None:
        _State.since = now
        raise Interrupted(number)
