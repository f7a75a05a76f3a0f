"""Progress of long runs: one bar per stage on a terminal, plain lines in a pipe or a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

Report = Callable[[str, int, int], None]
STAGES = {
    "reading": "reading the album",
    "album": "drawing pictures",
    "vocabulary": "sampling pictures for words",
    "words": "learning visual words",
    "pictures": "describing pictures",
    "thumbnails": "making thumbnails",
    "exporting": "exporting photos",
    "scanning": "reading keywords",
    "context": "learning from whole pictures",
    "evidence": "choosing the weights of views",
    "model": "learning tags",
    "truth": "finding the tags of regions",
    "tasks": "measuring",
    "converting": "converting the network",
    "page": "writing the page",
}


QUIET = 5.0  # seconds: quick commands print no progress to a pipe
EVERY = 60.0  # seconds between two lines of one stage
FEWEST = 5  # done before the time left is estimated
_TOLD: dict[str, float] = {}  # when each stage was last told: one run may open bars many times


@contextmanager
def bars() -> Iterator[Report]:
    """Give a function to call with (stage, done, of), of 0 for an unknown total.

    On a terminal bars appear, with elapsed and remaining time, and vanish at the end. Elsewhere a plain line
    on stderr tells each stage, and then once a minute how far it is; runs of a few seconds stay quiet.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield plain_lines()
        return
    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, int] = {}

        def report_progress(stage: str, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(STAGES.get(stage, stage), total=of or None, completed=done)
            for earlier in set(tasks) - {stage}:  # a stage may end early: the next one completes it
                task = progress.tasks[tasks[earlier]]
                progress.update(task.id, completed=task.total)
            progress.update(tasks[stage], completed=done, total=of or None)  # type: ignore[arg-type]

        yield report_progress


def plain_lines(
    say: Callable[[str], None] = lambda line: click.echo(line, err=True),
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Return a function for (stage, done, of) that says a line per stage and then one per minute."""
    start = clock()
    first: dict[str, tuple[float, int]] = {}

    def report_progress(stage: str, done: int, of: int) -> None:
        now = clock()
        since, already = first.setdefault(stage, (now, done))
        last = _TOLD.get(stage)
        if now - start < QUIET or (last is not None and now - last < EVERY):
            return
        _TOLD[stage] = now
        # The first ones also wait for processes to start: they would promise hours
        enough = done - already >= min(FEWEST, of / 4)
        left = (now - since) * (of - done) / (done - already) if of and enough else None
        say(f"{STAGES.get(stage, stage)}{_how_far(done, of, left)}")

    return report_progress


def _how_far(done: int, of: int, left: float | None) -> str:
    if not of:
        return " …"
    return f": {done:,} of {of:,}" + ("" if left is None or done >= of else f", {in_words(left)} left")


def in_words(seconds: float) -> str:
    """Return a duration as people say it, rounded up.

    >>> in_words(40), in_words(61), in_words(4000), in_words(200_000)
    ('less than a minute', '2 minutes', '1 h 7 min', '2 d 7 h')
    """
    minutes = -(-int(seconds) // 60)
    if minutes <= 1:
        return "less than a minute"
    if minutes < 60:
        return f"{minutes} minutes"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
