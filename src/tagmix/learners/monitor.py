"""Monitor a bound: history, convergence, and a warning if it decreases."""

import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.exceptions import ConvergenceWarning

ROUNDING = 1e-9  # smaller relative decreases of the bound are rounding errors


class Monitor:
    """Record the bound of every iteration and detect convergence.

    ``verbose=1`` shows a bar on a terminal and nothing in a pipe, 2 prints one line per iteration;
    ``progress("model", iteration, max_iter)`` is called after each.

    >>> monitor = Monitor(tolerance=0.01, max_iter=10)
    >>> [monitor.stop_after(bound) for bound in (-100.0, -50.0, -49.9)]
    [False, False, True]
    """

    def __init__(
        self,
        tolerance: float,
        max_iter: int,
        verbose: int = 0,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.tolerance, self.max_iter, self.verbose, self.progress = tolerance, max_iter, verbose, progress
        self.history: list[float] = []
        self.converged = False
        self._since = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self.verbose == 1:
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            console = Console(stderr=True)
            self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
            self._bar.start()
            self._bar.add_task("learning", total=self.max_iter)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def new_objective(self) -> None:
        """Restart the convergence test: later bounds belong to another objective."""
        self._since = len(self.history)
        self.converged = False

    def start_over(self) -> None:
        """Forget all bounds: another model is trained instead."""
        self.history.clear()
        self.new_objective()

    def stop_after(self, bound: float) -> bool:
        """Record a bound and return whether the relative gain is below the tolerance."""
        self.history.append(bound)
        self._show(bound)
        run = self.history[self._since :]
        if len(run) < 2:
            return False
        gain = run[-1] - run[-2]
        if gain < -ROUNDING * abs(run[-2]):
            warnings.warn(
                f"the bound fell by {-gain:.3g} at iteration {len(self.history)} (from {run[-2]:.10g}): "
                "the result is unreliable; please report it with the data.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.converged = gain <= self.tolerance * abs(run[-1])
        return self.converged

    def warn_if_early(self, above: int = 0) -> None:
        """Warn if the iterations ended before convergence; ``fit`` is ``above`` the caller."""
        if not self.converged:
            warnings.warn(
                f"stopped after {len(self.history)} iterations before the bound converged to a relative gain "
                f"of {self.tolerance:g}: raise max_iter, or tol if this is intended.",
                ConvergenceWarning,
                stacklevel=3 + above,
            )

    def _show(self, bound: float) -> None:
        iteration = len(self.history)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=1, description=f"learning, bound {bound:,.1f}")
        if self.verbose > 1:
            sys.stderr.write(f"iteration {iteration:3d}  bound {bound:,.3f}\n")
        if self.progress is not None:
            self.progress("model", min(iteration, self.max_iter), self.max_iter)
