"""What the use cases of a library report, photo by photo; a ``Problem`` is one that could not be handled."""

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from tagmix.catalogue.values import Change, PhotoId, Run
from tagmix.images.sources import Problem

Likely: TypeAlias = tuple[tuple[str, float], ...]
Reason: TypeAlias = Literal["done before", "has tags", "declined", "nothing new"]


class Scanned(NamedTuple):
    """A photo that is in the catalogue now, and what became of it; ``missing``: its file is gone."""

    path: Path
    photo: PhotoId
    change: Change


class RunStarted(NamedTuple):
    """A run that begins, or an interrupted one that goes on with so many photos done."""

    run: Run
    resumed: bool
    settled: int = 0


class PhotoTagged(NamedTuple):
    """A photo with its new tags, those it had already, and its sidecar; none: the catalogue alone.

    For tags that were embedded, the sidecar is the photo itself.
    """

    path: Path
    added: Likely
    present: Likely
    sidecar: Path | None
    is_new_sidecar: bool = False


class Skipped(NamedTuple):
    """A photo that was left as it is, and why; ``present`` are the tags that were found but not new."""

    path: Path
    reason: Reason
    present: Likely = ()


class RunFinished(NamedTuple):
    """A run that is complete; ``stopped`` early by whoever decides."""

    run: Run
    stopped: bool = False


class Restored(NamedTuple):
    """A photo without what tagmix wrote: tags that are gone, tags kept for a human confirmed them.

    ``is_deleted`` is true if its sidecar, which tagmix had made, is gone too.
    """

    path: Path
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    is_deleted: bool


class RunUndone(NamedTuple):
    """A run that is undone; not ``complete`` if photos are left, for which it can be repeated."""

    run: Run
    is_complete: bool


ScanEvent: TypeAlias = Scanned | Problem
TagEvent: TypeAlias = Scanned | RunStarted | PhotoTagged | Skipped | RunFinished | Problem
UndoEvent: TypeAlias = Restored | RunUndone | Problem
