"""Kill tagging and undoing at random moments, and look at every file afterwards.

``python -m tests.library.storm --times 500`` takes some minutes. Children are forked and killed by SIGKILL,
so that nothing is cleaned up; after each kill every sidecar must be old or new and the catalogue sound, and
the same call must finish the work without doing anything twice.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tagmix.catalogue import Catalogue, open_catalogue
from tagmix.library.records import records_of
from tagmix.library.tag import tag
from tagmix.library.undo import run_to_undo, undo
from tagmix.metadata.read import read_photo
from tests.library.makers import FixedAnnotator, draw_photo, sidecar, use_fixed_model

# A kill, unlike a power cut, loses nothing that was written: a disk in memory shows the same, sooner
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
TAGS = {"boat", "sea", "Places|Berlin"}


class Storm:
    """A library that is tagged and undone, again and again."""

    def __init__(self, folder: Path, n_photos: int, seed: int) -> None:
        self.photos, self.file = folder / "photos", folder / "catalogue.sqlite"
        self.random = random.Random(seed)
        self.paths = [draw_photo(self.photos / f"{n:03}.png", n) for n in range(n_photos)]
        for n, path in enumerate(self.paths):
            if n % 3 == 0:
                sidecar(path, *(["boat"] if n % 2 else []), f"mine {n}")
        self.before = {path: self.sidecar(path) for path in self.paths}
        self.killed = self.early = 0

    @staticmethod
    def sidecar(path: Path) -> bytes | None:
        beside = path.with_name(f"{path.name}.xmp")
        return beside.read_bytes() if beside.exists() else None

    def open(self) -> Catalogue:
        return open_catalogue(self.file, self.photos)

    def tag(self) -> None:
        with self.open() as catalogue:
            list(tag(catalogue, FixedAnnotator()))  # type: ignore[arg-type]

    def undo(self) -> None:
        with self.open() as catalogue:
            if any(run.state != "undone" for run in catalogue.runs.all()):
                list(undo(catalogue, run_to_undo(catalogue)))

    def strike(self, work: Callable[[], None], within: float) -> None:
        """Start the work in another process and kill it at a random moment."""
        child = os.fork()
        if child == 0:
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        time.sleep(self.random.uniform(0, within))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed"
        self.killed += os.WIFSIGNALED(status)

    def inspect(self) -> int:
        """Check every file; return how many sidecars are written."""
        written = 0
        with self.open() as catalogue:
            assert catalogue.check() == ()
        for path in self.paths:
            records = records_of(path)
            assert len(records) <= 1, f"{path} was written twice"
            if not records:
                assert self.sidecar(path) == self.before[path]
                continue
            written += 1
            self.inspect_written(path)
        return written

    def inspect_written(self, path: Path) -> None:
        found = read_photo(path)
        human = {f"mine {n}" for n, one in enumerate(self.paths) if one == path and n % 3 == 0}
        assert {tag for tag in found.tags if tag.startswith("mine")} == human
        assert set(found.machine) | set(found.tags) == TAGS | human
        assert not set(found.machine) & set(found.tags)

    def round(self, takes: float) -> None:
        """Kill a tagging and an undoing, and finish both."""
        self.strike(self.tag, takes)
        started = self.inspect()
        self.tag()
        assert self.inspect() == len(self.paths)
        with self.open() as catalogue:
            runs = [run for run in catalogue.runs.all() if run.state != "undone"]
            assert [run.state for run in runs] == ["finished"], f"{started} of an interrupted run"
            assert {entry.state for entry in catalogue.runs.entries(runs[0])} == {"written"}
        self.strike(self.undo, takes)
        self.inspect()
        self.undo()
        assert self.inspect() == 0

    def run(self, times: int) -> None:
        """Kill this many times."""
        since = time.monotonic()
        self.tag()
        takes = time.monotonic() - since
        self.undo()
        while self.killed < times:
            self.round(takes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--photos", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, pytest.MonkeyPatch.context() as patch:
        use_fixed_model(patch)
        storm = Storm(Path(folder), given.photos, given.seed)
        storm.run(given.times)
        print(f"{storm.killed} kills, {len(storm.paths)} photos: every file old or new, all work finished")  # noqa: T201


if __name__ == "__main__":
    main()
