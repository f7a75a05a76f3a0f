"""Progress of long runs: one bar per stage on a terminal, silence in a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

STAGES = {
    "reading": "reading the album",
    "album": "drawing pictures",
    "vocabulary": "sampling pictures for words",
    "words": "learning visual words",
    "pictures": "describing pictures",
    "context": "learning from whole pictures",
    "evidence": "choosing the weights of views",
    "model": "learning tags",
    "truth": "finding the tags of regions",
    "tasks": "measuring",
    "converting": "converting the network",
    "page": "writing the page",
}


@contextmanager
def bars() -> Iterator[Callable[[str, int, int], None]]:
    """Give a function to call with (stage, done, of), of 0 for an unknown total; bars vanish at the end."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks: dict[str, int] = {}

        def report_progress(stage: str, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(STAGES.get(stage, stage), total=of or None)
            for earlier in set(tasks) - {stage}:  # a stage may end early: the next one completes it
                task = progress.tasks[tasks[earlier]]
                progress.update(task.id, completed=task.total)
            progress.update(tasks[stage], completed=done, total=of or None)  # type: ignore[arg-type]

        yield report_progress
