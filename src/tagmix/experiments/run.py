"""Run tasks: choose, learn, test, and keep a record of each; what is done is not done again."""

import hashlib
import platform
import subprocess
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError, TagmixError
from tagmix.evaluation.metrics import METRICS, top_tags
from tagmix.evaluation.probabilities import reliability
from tagmix.experiments.data import Part, load_part
from tagmix.experiments.methods import (
    ENOUGH,
    ENOUGH_TAGS,
    FOLDS,
    FOLDS_OF_ENOUGH,
    Method,
    chosen,
    method_of,
    views_read,
)
from tagmix.experiments.points import at_point, settings_at, with_views
from tagmix.experiments.records import BINS, LONGEST, Probabilities, Record, Regions, Task
from tagmix.images.process_pool import CRASHED, Failure, map_files

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "opencv-python-headless", "pillow")
K = 5
# Part of every mark: raise it when the same task would come to other numbers.
FORM = 2
KILLED = "its process was ended, perhaps for want of memory: use fewer --jobs"


class Problem(NamedTuple):
    """A task that could not be done, and why."""

    task: Task
    reason: str


class Outcome(NamedTuple):
    """Records in the order of their tasks, and the tasks that failed."""

    records: list[Record]
    problems: list[Problem]


def run_all(
    tasks: Sequence[Task],
    folder: Path,
    *,
    n_jobs: int = -1,
    again: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Do every task whose record is not there yet, on several processes, one thread each.

    ``folder`` has the data sets below "data" and gets the records below "records". A record made from
    other data or other settings is made anew, all of them with ``again``. It never changes with ``n_jobs``.
    """
    marks = [mark_of(task, folder) for task in tasks]
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
                problems.append(Problem(task, KILLED if outcome == CRASHED else outcome.reason))
            done += 1
            if progress is not None:
                progress("tasks", done, len(tasks))
    return Outcome([record for record in known if record is not None], problems)


def run_one(job: tuple[Task, str], folder: Path, common: dict[str, Any]) -> Record | Failure:
    """Do one task and keep its record; a method that refuses the data is a failure, not the end."""
    task, mark = job
    try:
        part = with_views(load_part(folder / "data", task.data, task.part), task.views)
        read = views_read(task.method, part.train)
        told = {} if set(read) == set(task.views) else {"read": list(read)}
        part = at_point(with_views(part, read), task.point)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence and rare tags: the figures tell
            record = measured(task, part, {**common, "mark": mark, **told})
        record.save(folder / "records")
    except (TagmixError, MemoryError, ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
        kind = "" if isinstance(error, TagmixError) else f"{type(error).__name__}: "
        return Failure(" ".join(f"{kind}{error}".split()).rstrip(": "))
    return record


def measured(task: Task, part: Part, provenance: dict[str, Any]) -> Record:
    """Choose settings on the training pictures, learn from all of them, and test."""
    if not part.test.captions.nnz:
        raise BagsError("no picture to test on has one of the tags, so nothing can be measured: add pictures")
    method = _method(task, part)
    started = time.perf_counter()
    k = shown(part.train.n_tags)
    found = chosen(method, part.train, k=k)
    setting = {} if found is None else found.setting
    chose = time.perf_counter()
    learner = method.configured(setting, part.train.n_tags).fit(part.train)
    fitted = time.perf_counter()
    scores = scores_of(learner, part.test)
    annotated = time.perf_counter()
    inside = getattr(learner, "choose_seconds_", 0.0)
    truth = part.test.captions
    return Record(
        task=task,
        chosen={**setting, **settings_at(task.point), **_own_choices(learner)},
        tried=[] if found is None else [{**one, "accuracy": value} for one, value in found.tried],
        seconds={
            "choose": chose - started + inside,
            "fit": fitted - chose - inside,
            "annotate": annotated - fitted,
        },
        n_train=len(part.train),
        tag_names=list(part.train.tag_names or ()),
        ids=list(part.test.ids),
        captions=captions_of(part.test),
        top=top_tags(scores, LONGEST).tolist(),
        metrics=metrics_of(truth, scores, k),
        regions=regions_of(learner, part),
        provenance=provenance,
        probabilities=probabilities_of(learner, part.test),
    )


def captions_of(bags: Bags) -> list[list[int]]:
    """Return the tag numbers of each picture."""
    tags = bags.captions
    return [tags.indices[a:b].tolist() for a, b in zip(tags.indptr, tags.indptr[1:], strict=False)]


def metrics_of(truth: Counts, scores: Floats, k: int) -> dict[str, float]:
    """Return those metrics that have a value: without a wrong tag, say, none can be ranked too high."""
    values = {name: float(metric(truth, scores, k)) for name, metric in METRICS.items()}
    return {name: value for name, value in values.items() if np.isfinite(value)}


def shown(n_tags: int) -> int:
    """Return how many tags of a picture are counted: 5, or half of them where they are fewer than 10.

    >>> shown(374), shown(7), shown(1)
    (5, 3, 1)
    """
    return max(1, min(K, n_tags // 2))


def _method(task: Task, part: Part) -> Method:
    method = method_of(task.method, tuple(part.train.views))
    held = settings_at(task.point)
    return method.without(held) if held else method


def scores_of(learner: Any, test: Bags) -> Floats:
    """Return the scores of the test pictures, which are handed over without their captions."""
    ask = getattr(learner, "decision_scores", None) or learner.predict_proba
    return np.asarray(ask(test.with_tags(None)), dtype=np.float64)


def probabilities_of(learner: Any, test: Bags) -> Probabilities | None:
    """Return how true its probabilities are, and the tags it shows by them; None if it has none."""
    if not hasattr(learner, "predict_marginals") or getattr(learner, "calibration_", learner) is None:
        return None
    bins = reliability(test.captions, learner.predict_marginals(test.with_tags(None)), BINS)
    shown = [np.flatnonzero(row).tolist() for row in learner.predict(test.with_tags(None))]
    pairs, right = (row.astype(np.int64).tolist() for row in (bins.pairs, bins.right))
    return Probabilities(pairs, bins.said.tolist(), right, shown)


def regions_of(learner: Any, part: Part) -> Regions | None:
    """Return the place of each known region's tag, without and with the caption; None if nobody can tell."""
    if not part.knows_regions or not hasattr(learner, "predict_regions"):
        return None
    known = part.truth >= 0
    picture = np.repeat(np.arange(len(part.test)), np.diff(part.test.offsets))[known]
    free = places(learner.predict_regions(part.test.with_tags(None)), part.truth)
    captioned = places(learner.predict_regions(part.test, captioned=True), part.truth)
    return Regions(picture.tolist(), free.tolist(), captioned.tolist())


def places(scores: Floats, truth: Ints) -> Ints:
    """Return the place of the true tag of each region with a known one; of equals the lower column is first.

    >>> places(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [1, 0, 0]]), np.array([2, 1, -1])).tolist()
    [2, 2]
    """
    rows, own = scores[truth >= 0], truth[truth >= 0][:, None]
    if np.isnan(rows).any():
        raise BagsError("scores of regions must be numbers, got nan: report it with the pictures")
    score = np.take_along_axis(rows, own, axis=1)
    before = (rows > score) | ((rows == score) & (np.arange(scores.shape[1]) < own))
    return 1 + before.sum(axis=1)


def _own_choices(learner: Any) -> dict[str, Any]:
    """Return what the learner itself chose inside ``fit``."""
    names = ("ridge_", "k_", "view_weights_", "loo_accuracy_", "n_iter_")
    own = {name: getattr(learner, name) for name in names if hasattr(learner, name)}
    if hasattr(learner, "choice_"):
        own["evidence"] = learner.choice_.evidence
    if (context := getattr(learner, "context_", None)) is not None:
        own |= {"context_power": context.power, "region_power": context.region_power}
    return {name: _plain(value) for name, value in own.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return np.asarray(value).tolist()


def provenance() -> dict[str, Any]:
    """Return what the numbers depend on beside data and settings."""
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
    """Return the commit of the checkout that tagmix runs from; None for an installed one."""
    where = Path(__file__).resolve().parents[3]
    if not (where / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(where), "describe", "--always", "--dirty", "--abbrev=12"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def mark_of(task: Task, folder: Path) -> str:
    """Return a print of the task, of how its method is set up and of its data."""
    about = (folder / "data" / task.data / "about.json").read_bytes()
    method = method_of(task.method, task.views)
    choice = (ENOUGH, ENOUGH_TAGS, FOLDS, FOLDS_OF_ENOUGH)
    settings = (method.learner.get_params(), method.axes, method.start, choice)
    return hashlib.sha256(repr((FORM, task, settings)).encode() + about).hexdigest()[:32]


def _kept(tasks: Sequence[Task], marks: Sequence[str], folder: Path) -> list[Record | None]:
    """Return the record of each task if it was made from the same data and settings, and fits the data."""
    part_of = cache(partial(load_part, folder / "data"))

    def fits(record: Record) -> bool:
        task = record.task
        test = at_point(part_of(task.data, task.part), task.point).test
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
