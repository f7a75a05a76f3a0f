"""Checks of the machine: cores, memory, threads of libraries, terminal; and the self test."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tagmix.cli.checks.finding import OK, PROBLEM, REPORT, WARNING, Finding, in_bytes

LITTLE = 2e9  # bytes of memory for two workers and a model
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PATIENCE = 300  # seconds for the self test, which may have to compile kernels


def machine() -> Iterator[Finding]:
    """Yield how many cores and how much memory there is."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    total, free = memory()
    shown = f"{cores} cores" + (f", {in_bytes(total)} of memory" if total else "")
    shown += f", {in_bytes(free)} available" if free is not None else ""
    if free is not None and free < LITTLE:
        yield Finding("machine", WARNING, shown, "close other programs, or use --jobs 1")
    else:
        yield Finding("machine", OK, shown)


def memory(report: Path = Path("/proc/meminfo")) -> tuple[int | None, int | None]:
    """Return the memory of the machine and how much of it is available, in bytes; None where unknown."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None, None
    try:
        rows = dict(line.split(":", 1) for line in report.read_text(encoding="ascii").splitlines())
        return total, int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return total, None


def threads() -> Iterator[Finding]:
    """Yield the libraries that compute in threads, and what the environment says about these."""
    for module in ("numpy", "scipy.linalg", "numba"):
        import_module(module)
    pools = import_module("threadpoolctl").threadpool_info()
    found = [f"{pool['internal_api']} {pool.get('version') or ''}: {pool['num_threads']}" for pool in pools]
    given = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    yield Finding("threads", OK, ", ".join([*dict.fromkeys(found), *given]) or "no library of its own")


def self_test() -> Iterator[Finding]:
    """Yield whether a drawn picture can be described and annotated, in a process that may crash."""
    call = [sys.executable, "-m", "tagmix.cli.checks.self_test"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        yield Finding(
            "self test", PROBLEM, f"it took more than {PATIENCE} seconds", "try again, see threads above"
        )
        return
    if done.returncode == 0:
        yield Finding("self test", OK, done.stdout.strip())
        return
    last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    yield Finding("self test", PROBLEM, f"a drawn picture could not be annotated: {last:.300}", REPORT)
