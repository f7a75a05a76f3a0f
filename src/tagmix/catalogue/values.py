"""What a catalogue returns: verdicts, photos, runs."""

from typing import Literal, NamedTuple, NewType, TypeAlias

PhotoId = NewType("PhotoId", int)
Answer: TypeAlias = Literal["yes", "no", "unknown"]
Origin: TypeAlias = Literal["human", "metadata", "machine"]
Change: TypeAlias = Literal["new", "same", "edited", "moved", "copied", "back", "missing"]
RunState: TypeAlias = Literal["running", "interrupted", "finished", "undoing", "undone"]
EntryState: TypeAlias = Literal["guessed", "planned", "written", "removed"]


class Verdict(NamedTuple):
    """What holds of a pair (photo, tag): the verdict of its strongest source, human > metadata > machine.

    ``confirmed`` is true if a human said the same as the machine; ``run`` and ``probability`` are those of
    the latest run that said anything of the pair, whatever holds.
    """

    tag: str
    answer: Answer
    source: Origin
    date: int
    confirmed: bool = False
    run: int | None = None
    probability: float | None = None


class Photo(NamedTuple):
    """A photo: its place relative to the library's folder, and whether it was missing at the last scan."""

    id: PhotoId
    place: str
    digest: bytes
    size: int
    mtime_ns: int
    missing: bool
    reviewed: bool


class Noted(NamedTuple):
    """What became of a photo: what was recognised, and where it was ``before`` or what it copies."""

    id: PhotoId
    place: str
    change: Change
    before: str | None = None


class Run(NamedTuple):
    """A run of the machine. ``name`` is what sidecars say; it is unique beyond this catalogue."""

    id: int
    name: str
    kind: str
    model: str
    arguments: dict[str, object]
    started: int
    finished: int | None
    state: RunState


class Entry(NamedTuple):
    """One photo of a run: the tags that were added to its sidecar, and those a human confirmed since."""

    photo: PhotoId
    place: str
    state: EntryState
    tags: tuple[str, ...]
    confirmed: tuple[str, ...]
    missing: bool
