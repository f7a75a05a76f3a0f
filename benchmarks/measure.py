"""Run a function in its own process, and measure time and memory."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def timed(work: Callable[[], Any], repeat: int = 1) -> dict[str, float]:
    """Return the best wall and CPU seconds (all threads) of ``repeat`` runs."""
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {"wall": min(walls), "cpu": min(cpus)}


def isolated(module: str, function: str, *arguments: Any) -> dict[str, Any]:
    """Return what ``benchmarks.module.function`` returns, with the peak memory of its own process."""
    call = [sys.executable, "-m", "benchmarks.measure", module, function, json.dumps(arguments)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module}.{function} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the function of the command line and print its result as JSON."""
    from importlib import import_module

    module, function, arguments = sys.argv[1:]
    result = getattr(import_module(f"benchmarks.{module}"), function)(*json.loads(arguments))
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
