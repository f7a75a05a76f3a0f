"""Undo runs: take out of sidecars what tagmix wrote and nobody confirmed."""

import itertools
from collections.abc import Collection, Iterator
from pathlib import Path

from tagmix.catalogue import Catalogue, Run, relative_place
from tagmix.errors import CatalogueError, MetadataError
from tagmix.images.sources import Problem
from tagmix.library.events import Restored, RunUndone, UndoEvent
from tagmix.library.records import records_of
from tagmix.library.scan import orphans_below, photos_below
from tagmix.library.sessions import KIND, remove_from_photo
from tagmix.metadata.sidecars import sidecar_of
from tagmix.metadata.write import apply_change, plan_removal

MISSING = "is missing: bring it back and repeat, or leave it with --leave-missing."


def run_to_undo(catalogue: Catalogue, name: str | None = None) -> Run:
    """Return the run of this number or name, or the latest that is not undone; CatalogueError if none is."""
    if name is not None:
        return catalogue.runs.get(name)
    for run in catalogue.runs.all(kind=KIND):
        if run.state != "undone":
            return run
    raise CatalogueError("there is no run to undo: tagmix runs lists all.")


def undo(
    catalogue: Catalogue, run: Run, *, dry: bool = False, leave_missing: bool = False
) -> Iterator[UndoEvent]:
    """Yield each photo of a run while what the run wrote is taken out of its sidecar.

    Where nobody else changed the sidecar its former bytes come back. Tags that a human confirmed stay. If a
    photo is missing or its sidecar cannot be written, the run stays open: the same call does the rest.
    """
    run = run if dry else catalogue.runs.begin_undo(run)
    is_complete = True
    for entry in catalogue.runs.entries(run):
        if entry.state not in ("planned", "written"):
            continue
        path = catalogue.root / entry.place
        if not path.exists() and sidecar_of(path) is None:
            if not leave_missing:
                is_complete = False
                yield Problem(path, MISSING)
            continue
        event = restore(path, run.name, entry.confirmed, dry=dry)
        yield event
        if isinstance(event, Problem):
            is_complete = False
        elif not dry:
            catalogue.runs.removed(run, entry.photo)
    if is_complete and not dry:
        run = catalogue.runs.finish_undo(run)
    yield RunUndone(run if dry else catalogue.runs.get(run.id), is_complete)


def restore(path: Path, run: str | None, keep: Collection[str], *, dry: bool) -> Restored | Problem:
    """Take what a run wrote (None: any run) out of the sidecar of a photo."""
    try:
        inside = remove_from_photo(path, run, keep, dry=dry)
        change = plan_removal(path, run, keep=keep)
        if not dry:
            try:
                apply_change(change)
            except MetadataError:  # another program may have changed it in this moment
                change = plan_removal(path, run, keep=keep)
                apply_change(change)
    except MetadataError as error:
        return Problem(path, str(error))
    removed = tuple(dict.fromkeys((*inside, *change.removed)))
    kept = tuple(tag for tag in keep if tag not in removed)
    return Restored(path, removed, kept, change.before is not None and change.after is None)


def undo_all(catalogue: Catalogue | None, folder: Path, *, dry: bool = False) -> Iterator[Restored | Problem]:
    """Yield each photo below a folder while all that any run wrote is taken out, as the sidecars say.

    Without a catalogue nobody knows what a human confirmed in tagmix, so nothing is kept for that reason.
    """
    for path in itertools.chain(photos_below(folder), orphans_below(folder)):
        event = path if isinstance(path, Problem) else _all_of(catalogue, path, dry)
        if event is not None:
            yield event


def _all_of(catalogue: Catalogue | None, path: Path, dry: bool) -> Restored | Problem | None:
    try:
        records = records_of(path)
    except MetadataError as error:
        return Problem(path, str(error))
    photo = None if catalogue is None else catalogue.photos.at(relative_place(catalogue.root, path))
    keep: list[str] = []
    if catalogue is not None and photo is not None:
        human = catalogue.verdicts.by_source(photo)["human"]
        keep = [tag for tag, answer in human.items() if answer == "yes"]
    ours = {tag for record in records for tag in record.names}
    event = restore(path, None, [tag for tag in keep if tag in ours], dry=dry) if records else None
    if catalogue is not None and photo is not None and not dry and not isinstance(event, Problem):
        catalogue.runs.forget(photo)
    return event
