"""What `tagmix tag` and `watch` print: a line per photo, or a difference, and a summary."""

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click

from tagmix.catalogue import Run
from tagmix.cli.annotate import percent
from tagmix.cli.library import way_back
from tagmix.cli.options import plural
from tagmix.cli.progress import Report, bars
from tagmix.errors import printable
from tagmix.images.sources import Problem
from tagmix.library.decisions import Decide, Decision, Proposal
from tagmix.library.events import Likely, PhotoTagged, RunStarted, Skipped, TagEvent

SKIPPED = {
    "done before": "done before",
    "has tags": "with tags already",
    "declined": "skipped by you",
    "nothing new": "without new tags",
}


class Output:
    """Print events as they come, and count them. Bars vanish while something is printed."""

    def __init__(
        self, root: Path, given: Path | None, dry: bool, total: int = 0, *, live: bool = False
    ) -> None:
        self._root, self._given, self._dry, self._total = root, given, dry, total
        self._bars: tuple[ExitStack, Report] | None = None
        self._counts: Counter[str] = Counter()
        self._tags = 0
        self._run: Run | None = None
        self._live, self._asked = live, False
        self.problems: list[str] = []

    def progress(self, stage: str, done: int, of: int) -> None:
        """Show how far the run is."""
        if self._bars is None:
            stack = ExitStack()
            self._bars = stack, stack.enter_context(bars())
        self._bars[1](stage, done, self._total)

    def close(self) -> None:
        """Take bars away."""
        if self._bars is not None:
            self._bars[0].close()
            self._bars = None

    def asking(self, decide: Decide) -> Decide:
        """Return a function that takes bars away before it asks."""

        def ask(proposal: Proposal) -> Decision | None:
            self.close()
            return decide(proposal)

        self._asked = True
        return ask

    def show(self, event: TagEvent) -> None:
        """Print an event, if it is one to print."""
        self.close()
        if isinstance(event, Problem):
            self.problems.append(str(event._replace(source=self._name(Path(event.source)))))
            if self._live:
                click.echo(printable(self.problems[-1]), err=True)
        elif isinstance(event, PhotoTagged):
            self._counts["tagged"] += 1
            self._tags += len(event.added)
            click.echo(self._difference(event) if self._dry else self._line(event))
        elif isinstance(event, Skipped):
            self._counts[event.reason] += 1
        elif isinstance(event, RunStarted):
            self._run = event.run
            if event.resumed:
                click.echo(f"run {event.run.id} goes on: {plural(event.settled, 'photo')} done", err=True)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._root)) if path.is_relative_to(self._root) else str(path)

    def _line(self, event: PhotoTagged) -> str:
        return f"{printable(self._name(event.path))}: {_listed(event.added)}"

    def _difference(self, event: PhotoTagged) -> str:
        name = click.style(printable(self._name(event.path)), bold=True)
        target = "the catalogue alone"
        if event.sidecar is not None:
            target = printable(event.sidecar.name) + (" (new)" if event.is_new_sidecar else "")
        lines = [f"{name} → {target}"]
        lines += [click.style(f"  + {printable(tag)} {percent(p)}", fg="green") for tag, p in event.added]
        lines += [f"    {printable(tag)} {percent(p)} (has it)" for tag, p in event.present]
        return "\n".join(lines)

    def summary(self) -> None:
        """Print what was done, and how to take it back."""
        self.close()
        would = "would be " if self._dry else ""
        parts = [
            f"{plural(self._counts['tagged'], 'photo')} {would}tagged, {plural(self._tags, 'tag')} added"
        ]
        parts += [f"{self._counts[reason]:,} {SKIPPED[reason]}" for reason in SKIPPED if self._counts[reason]]
        parts += [f"{len(self.problems):,} with problems"] if self.problems else []
        click.echo(", ".join(parts))
        if self._dry:
            click.echo("nothing was written; without --dry-run it is")
        elif self._run is not None and self._asked:
            click.echo(f"run {self._run.id}; the tags that you accepted are yours: undo keeps them")
        elif self._run is not None:
            back = way_back(self._run.id, self._root, self._given)
            click.echo(f"run {self._run.id}; to take it back: {back}")


def _listed(likely: Likely) -> str:
    return ", ".join(f"{printable(tag)} {percent(p)}" for tag, p in likely)
