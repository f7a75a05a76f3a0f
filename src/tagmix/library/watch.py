"""Watch a folder: new photos are tagged as soon as they are whole.

A photo is new if the catalogue came to know it after the first watching of its library began. So photos that
arrive while nobody watches are found by the scan at the next start, and a kill loses none.
"""

import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeGuard

import watchfiles

from tagmix.annotate import Annotator
from tagmix.catalogue import Catalogue
from tagmix.catalogue.hashing import Stamp, stamp_of
from tagmix.files import model_id
from tagmix.images.decode import SUFFIXES
from tagmix.images.sources import Problem
from tagmix.library.events import Scanned, TagEvent
from tagmix.library.scan import photos_below, scan, scan_photos
from tagmix.library.sessions import Session
from tagmix.library.tag import tag_in
from tagmix.library.wishes import Wishes

# The fact of a library that says which photos are new.
SINCE = "watch.since"
# Kinds of file systems whose changes by other machines no event reports.
REMOTE = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "fuse.sshfs",
        "fuse.rclone",
        "vboxsf",
        "drvfs",
    }
)


class Pace(NamedTuple):
    """Times in seconds.

    A photo whose size and time of change stay for ``settled`` is whole. All of the folder is looked at every
    ``rescan``, in case events were lost, and every ``poll`` where there are none.
    """

    settled: float = 2.0
    rescan: float = 600.0
    poll: float = 10.0
    step: float = 0.5


class Watching(NamedTuple):
    """The watch has begun: how many photos the library has, and whether its folder is polled."""

    photos: int
    is_polled: bool


WatchEvent: TypeAlias = Watching | TagEvent


def watch(
    catalogue: Catalogue,
    annotator: Annotator,
    folder: Path,
    wishes: Wishes | None = None,
    *,
    existing: bool = False,
    poll: bool | None = None,
    pace: Pace | None = None,
) -> Generator[WatchEvent, None, None]:
    """Yield what becomes of new photos below a folder, until the iterator is closed or interrupted.

    ``existing`` also tags photos that were there before the first watch. ``poll`` looks at the folder again
    and again instead of waiting for events; by default where the system reports none, as on network drives.
    All photos are one run.
    """
    wishes, pace = wishes or Wishes(), pace or Pace()
    annotator.check_precision(wishes.precision)
    session = Session(catalogue, model_id(annotator), wishes.plain())
    yield from session.take_up()
    since = _since(catalogue, existing)
    arrivals = Arrivals(folder, pace, is_remote(folder) if poll is None else poll)
    try:
        yield Watching(catalogue.photos.count(), arrivals.is_polled)
        while True:
            if arrivals.is_rescan_due():
                arrivals.add(event.path for event in scan(catalogue, folder) if _is_new(event, since))
            ripe = arrivals.ripe()
            new = [event.path for event in scan_photos(catalogue, ripe) if _is_new(event, since)]
            if new:
                yield from tag_in(session, annotator, new, wishes)
            arrivals.wait()
    finally:
        arrivals.close()
        session.close()


def _since(catalogue: Catalogue, existing: bool) -> int:
    """Return the number of the last photo that is not new, for all watches of this library."""
    known = "0" if existing else catalogue.readings.fact(SINCE)
    if known is None:
        numbers = (event.photo for event in scan(catalogue) if isinstance(event, Scanned))
        known = str(max(numbers, default=0))
    catalogue.readings.remember(SINCE, known)
    return int(known)


def _is_new(event: Scanned | Problem, since: int) -> TypeGuard[Scanned]:
    return isinstance(event, Scanned) and event.photo > since and event.change != "missing"


class Arrivals:
    """Photos that may be new, from events and scans, until they are whole."""

    def __init__(self, folder: Path, pace: Pace, polled: bool) -> None:
        self._folder, self._pace = folder, pace
        self._found: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self._growing: dict[Path, tuple[Stamp | None, float]] = {}
        self._handled: dict[Path, Stamp] = {}
        self._scanned: float | None = None
        self._stop = threading.Event()
        self._is_deaf = threading.Event()
        if polled:
            self._is_deaf.set()
        else:
            threading.Thread(target=self._listen, daemon=True).start()

    @property
    def is_polled(self) -> bool:
        """Return whether the folder is looked at again and again, for there are no events."""
        return self._is_deaf.is_set()

    def _listen(self) -> None:
        try:
            changes = watchfiles.watch(
                self._folder,
                watch_filter=self._is_heard,
                stop_event=self._stop,
                debounce=400,
                rust_timeout=1000,
            )
            for several in changes:
                for _, path in several:
                    self._found.put(Path(path))
        except Exception:  # too many folders for the system, or the folder is gone: look instead
            self._is_deaf.set()

    def _is_heard(self, change: watchfiles.Change, path: str) -> bool:
        # Sidecars are no photos and unfinished files are hidden: our own writes are not heard
        inside = Path(path).relative_to(self._folder).parts
        if change is watchfiles.Change.deleted or any(part.startswith(".") for part in inside):
            return False
        return os.path.splitext(path)[1].lower() in SUFFIXES or os.path.isdir(path)

    def is_rescan_due(self) -> bool:
        """Return whether it is time to look at all of the folder; the first time it is."""
        every = self._pace.poll if self.is_polled else self._pace.rescan
        now = time.monotonic()
        if self._scanned is not None and now - self._scanned < every:
            return False
        self._scanned = now
        return True

    def add(self, paths: Iterable[Path]) -> None:
        """Note photos that may be new."""
        for path in paths:
            if path not in self._growing and self._handled.get(path) != stamp_of(path):
                self._growing[path] = None, time.monotonic()

    def ripe(self) -> list[Path]:
        """Return the photos that are whole, each once while it does not change."""
        now, whole = time.monotonic(), []
        for path, (before, since) in list(self._growing.items()):
            stamp = stamp_of(path)
            if stamp is None:
                del self._growing[path]
            elif stamp != before:
                self._growing[path] = stamp, now
            elif now - since >= self._pace.settled:
                del self._growing[path]
                self._handled[path] = stamp
                whole.append(path)
        return sorted(whole)

    def wait(self) -> None:
        """Wait for events for a moment; a signal ends it at once."""
        with contextlib.suppress(queue.Empty):
            path = self._found.get(timeout=self._pace.step)
            while True:
                below = photos_below(path) if path.is_dir() else (path,)
                self.add(one for one in below if not isinstance(one, Problem))
                path = self._found.get_nowait()

    def close(self) -> None:
        """Stop listening."""
        self._stop.set()


def is_remote(folder: Path) -> bool:
    """Return whether a folder lies on a file system of another machine, whose changes are not reported."""
    if sys.platform != "linux":
        return False
    best, kind = "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    for line in mounts.splitlines():
        _, place, found, *_ = (*line.split(" "), "", "", "")
        place = place.replace("\\040", " ")
        if (folder == Path(place) or Path(place) in folder.parents) and len(place) >= len(best):
            best, kind = place, found
    return kind in REMOTE
