"""Run tasks and store one record per task; a task with a valid record is not run again."""

import hashlib
import platform
import subprocess
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tagmix.comparison.measure import captions_of, measured
from tagmix.comparison.methods import ENOUGH, ENOUGH_TAGS, FOLDS, FOLDS_OF_ENOUGH, method_of, views_read
from tagmix.comparison.parts import load_part
from tagmix.comparison.records import Record, Task
from tagmix.comparison.variations import apply_variation, with_views
from tagmix.errors import TagmixError
from tagmix.images.process_pool import CRASHED, Failure, map_files

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "opencv-python-headless", "pillow")
# Part of every fingerprint: raise it when the same task would give other numbers.
FORM = 3
KILLED = "its process was killed, perhaps out of memory: use fewer --jobs"


class FailedTask(NamedTuple):
    """A task that failed, and why."""

    task: Task
    reason: str


class Outcome(NamedTuple):
    """Records in the order of their tasks, and the tasks that failed."""

    records: list[Record]
    problems: list[FailedTask]


def run_all(
    tasks: Sequence[Task],
    folder: Path,
    *,
    n_jobs: int = -1,
    again: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Run every task that has no valid record yet, on several processes with one thread each.

    ``folder`` has the data sets below "data" and gets the records below "records". A record of other data or
    other settings is replaced, with ``again`` every record. Records do not depend on ``n_jobs``.
    """
    marks = [fingerprint(task, folder) for task in tasks]
    known: list[Record | None] = [None] * len(tasks) if again else _kept(tasks, marks, folder)
    open_tasks = [i for i, record in enumerate(known) if record is None]
    done = len(tasks) - len(open_tasks)
    problems = []
    work = partial(run_one, folder=folder, common=provenance())
    with closing(map_files(work, [(tasks[i], marks[i]) for i in open_tasks], n_jobs)) as outcomes:
        for number, outcome in outcomes:
            task = tasks[open_tasks[number]]
            if isinstance(outcome, Record):
                known[open_tasks[number]] = outcome
            else:
                problems.append(FailedTask(task, KILLED if outcome == CRASHED else outcome.reason))
            done += 1
            if progress is not None:
                progress("tasks", done, len(tasks))
    return Outcome([record for record in known if record is not None], problems)


def run_one(job: tuple[Task, str], folder: Path, common: dict[str, Any]) -> Record | Failure:
    """Run one task and store its record; an error of the method is a failure of this task only."""
    task, mark = job
    try:
        part = with_views(load_part(folder / "data", task.data, task.part), task.views)
        read = views_read(task.method, part.train)
        partly = {} if set(read) == set(task.views) else {"read": list(read)}
        part = apply_variation(with_views(part, read), task.point)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence and rare tags: the scores show them
            record = measured(task, part, {**common, "mark": mark, **partly})
        record.save(folder / "records")
    except (TagmixError, MemoryError, ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
        kind = "" if isinstance(error, TagmixError) else f"{type(error).__name__}: "
        return Failure(" ".join(f"{kind}{error}".split()).rstrip(": "))
    return record


def provenance() -> dict[str, Any]:
    """Return what the numbers depend on besides data and settings."""
    return {
        "tagmix": version("tagmix"),
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in PACKAGES},
        "seed": 0,
        "date": datetime.now(UTC).date().isoformat(),
    }


def _commit() -> str | None:
    """Return the commit of the checkout that tagmix runs from; None for an installed package."""
    where = Path(__file__).resolve().parents[3]
    if not (where / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(where), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def fingerprint(task: Task, folder: Path) -> str:
    """Return a digest of the task, the configuration of its method and its data."""
    about = (folder / "data" / task.data / "about.json").read_bytes()
    method = method_of(task.method, task.views)
    choice = (ENOUGH, ENOUGH_TAGS, FOLDS, FOLDS_OF_ENOUGH)
    settings = (method.learner.get_params(), method.axes, method.start, choice)
    return hashlib.sha256(repr((FORM, task, settings)).encode() + about).hexdigest()[:32]


def _kept(tasks: Sequence[Task], marks: Sequence[str], folder: Path) -> list[Record | None]:
    """Return the valid record of each task: of the same data and settings; else None."""
    part_of = cache(partial(load_part, folder / "data"))

    def fits(record: Record) -> bool:
        task = record.task
        test = apply_variation(part_of(task.data, task.part), task.point).test
        same = record.ids == list(test.ids) and record.tag_names == list(test.tag_names or ())
        return same and record.captions == captions_of(test)

    def kept(task: Task, mark: str) -> Record | None:
        try:
            record = Record.load(folder / "records" / f"{task.name}.json")
            own = record.task == task and record.provenance.get("mark") == mark
            return record if own and fits(record) else None
        except TagmixError:
            return None

    return [kept(task, mark) for task, mark in zip(tasks, marks, strict=True)]
