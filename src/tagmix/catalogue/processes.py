"""Who works on a run: tells a run that goes on from one that was interrupted."""

import contextlib
import os
import platform
from pathlib import Path


def this_process() -> str:
    """Return a text that names this process, also after its number was given to another."""
    return "|".join((str(os.getpid()), _started(os.getpid()), platform.node()))


def is_alive(process: str) -> bool:
    """Return whether a process may still run; one of another machine may."""
    number, started, machine = (*process.split("|", 2), "", "")[:3]
    if machine != platform.node() or not number.isdecimal():
        return machine != platform.node()
    try:
        os.kill(int(number), 0) if os.name == "posix" else None
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, for another user
    return _started(int(number)) == started


def _started(number: int) -> str:
    # Ticks since the machine started, on Linux; elsewhere the number of the process has to do
    with contextlib.suppress(OSError, IndexError):
        return (
            Path(f"/proc/{number}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[19]
        )
    return ""
