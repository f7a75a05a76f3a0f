"""Runs of tagging: begun when there is something to record, taken up again after an interruption."""

import contextlib
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tagmix.catalogue import Catalogue, Entry, PhotoId, Run
from tagmix.errors import CatalogueError, MetadataError
from tagmix.library.events import RunFinished, RunStarted
from tagmix.library.records import note_now, record_of, records_inside
from tagmix.metadata.embed import apply_embedding, plan_unembedding
from tagmix.metadata.write import apply_change, plan_removal

KIND = "tag"
# What ``storage.atomic`` calls files before they are whole, and after how many seconds nobody writes them.
UNFINISHED = re.compile(r"\.tagmix-[0-9a-f]{16}\.tmp")
ABANDONED = 60.0
# The arguments of a run that only sidecars knew.
ADOPTED = {"adopted": True}
# What the arguments of a run that asks a human have besides: what a run wrote unasked is still to be asked.
ASKED = {"asked": True}


class Session:
    """The run of one call of ``tag``: taken up, or begun with its first photo."""

    def __init__(self, catalogue: Catalogue, model: str, arguments: dict[str, Any]) -> None:
        self.catalogue, self._model, self._arguments = catalogue, model, arguments
        self._same = (
            [arguments] if ASKED.items() <= arguments.items() else [arguments, arguments | ASKED, ADOPTED]
        )
        self.run: Run | None = None

    @property
    def running(self) -> Run:
        """The run; it must have begun."""
        assert self.run is not None
        return self.run

    def take_up(self) -> Iterator[RunStarted | RunFinished]:
        """Settle interrupted runs: the latest with this model and these arguments goes on, others end."""
        for old in self.catalogue.runs.all(kind=KIND):
            if old.state != "interrupted":
                continue
            try:
                run = self.catalogue.runs.resume(old)
            except CatalogueError:  # another process was faster
                continue
            settled = settle(self.catalogue, run)
            if self.run is None and (run.model, run.arguments) == (self._model, self._arguments):
                self.run = run
                yield RunStarted(run, resumed=True, settled=settled)
            else:
                yield RunFinished(self.catalogue.runs.finish(run))

    def begin(self) -> Iterator[RunStarted]:
        """Begin a run unless there is one."""
        if self.run is None:
            self.run = self.catalogue.runs.begin(KIND, self._model, self._arguments)
            yield RunStarted(self.run, resumed=False)

    def finish(self, *, stopped: bool = False) -> Iterator[RunFinished]:
        """Finish the run if there is one."""
        if self.run is not None:
            run, self.run = self.run, None
            yield RunFinished(self.catalogue.runs.finish(run), stopped)

    def close(self) -> None:
        """Settle and finish the run, wherever it was interrupted."""
        if self.run is not None:
            settle(self.catalogue, self.run)
            list(self.finish())

    def is_done(self, photo: PhotoId) -> bool:
        """Return whether the photo, as its file is now, was handled by a run of this model and arguments.

        Also by one that another process is working on.
        """
        for run, state in self.catalogue.runs.done(photo, KIND):
            is_same = run.model == self._model and run.arguments in self._same
            if is_same and (state != "planned" or self._is_elsewhere(run) or self._is_written(run, photo)):
                return True
        return False

    def _is_written(self, run: Run, photo: PhotoId) -> bool:
        """Return whether a run that was killed since has written what it planned for a photo."""
        if self.run is not None and run.id == self.run.id:
            return False
        with contextlib.suppress(MetadataError):
            place = self.catalogue.photos.get(photo).place
            return record_of(self.catalogue.root / place, run.name) is not None
        return False

    def _is_elsewhere(self, run: Run) -> bool:
        return run.state == "running" and (self.run is None or run.id != self.run.id)

    def has(self, photo: PhotoId) -> bool:
        """Return whether this run has written to the photo, whatever its file was then."""
        entry = None if self.run is None else self.catalogue.runs.entry(self.run, photo)
        return entry is not None and entry.state == "written"


def settle(catalogue: Catalogue, run: Run) -> int:
    """Ask the sidecars which planned photos of a run were written; return how many of the run are done.

    Those that were not written leave the run; those whose sidecar cannot be read stay planned.
    """
    for entry in catalogue.runs.entries(run, state="planned"):
        path = catalogue.root / entry.place
        remove_unfinished(path.parent)
        try:
            record = record_of(path, run.name) if path.exists() else None
        except MetadataError:
            continue
        if record is not None:
            release(path, run, entry)
            note_now(catalogue, path)
            catalogue.runs.wrote(run, entry.photo, record.names)
        elif path.exists():
            catalogue.runs.drop(run, entry.photo)
    return sum(entry.state != "planned" for entry in catalogue.runs.entries(run))


def remove_unfinished(folder: Path) -> None:
    """Remove unfinished files that a killed process left in a folder; those of others may be in use."""
    with contextlib.suppress(OSError):
        for file in folder.glob(".tagmix-*.tmp"):
            if UNFINISHED.fullmatch(file.name) and time.time() - file.stat().st_mtime > ABANDONED:
                file.unlink()


def release(path: Path, run: Run, entry: Entry) -> None:
    """Give the tags that a human confirmed to the human: the sidecar no longer calls them tagmix's own."""
    if entry.confirmed and set(entry.confirmed) >= set(entry.tags):
        with contextlib.suppress(MetadataError):  # undo keeps them in any case, by the catalogue
            remove_from_photo(path, run.name, entry.confirmed)
            apply_change(plan_removal(path, run.name, keep=entry.confirmed))


def remove_from_photo(
    path: Path, run: str | None, keep: Collection[str], *, dry: bool = False
) -> tuple[str, ...]:
    """Take what a run embedded out of a JPEG; return the tags that are gone."""
    if not any(run in (None, record.run) for record in records_inside(path)):
        return ()
    change = plan_unembedding(path, run, keep=keep)
    if not dry:
        apply_embedding(change)
    return change.removed
