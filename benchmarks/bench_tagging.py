"""Tag 2,000 photos of which 50 are broken, with a kill on the way: memory of all processes, and time.

Everything goes through the command line. The memory is the sum of what each process of the tree has for
itself and its part of what they share (PSS), sampled ten times a second, so Linux alone can measure it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tagmix.datasets.scenes import draw_album

PHOTOS = int(os.environ.get("TAGMIX_BENCH_PHOTOS", "2000"))
BROKEN = PHOTOS // 40
DRAWN = 60  # pictures that are drawn; the photos are copies with a byte of their own
KILL_AT = 0.4  # of the photos
MOST_MEMORY = 1.0  # GB


def tree(process: int) -> list[int]:
    """Return a process and all below it."""
    found = [process]
    for one in found:
        for tasks in Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(child) for child in tasks.read_text().split()]
    return found


def memory(process: int) -> int:
    """Return the bytes that a process and all below it hold."""
    total = 0
    for one in tree(process):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except (OSError, ProcessLookupError):
            continue
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def photos_of(folder: Path) -> Path:
    """Draw an album; copy its pictures to as many photos, some of them broken."""
    album = draw_album(folder / "album", DRAWN, seed=5, size=(160, 120))
    pictures = sorted((album / "images").iterdir())
    photos = folder / "photos"
    for number in range(PHOTOS):
        place = photos / f"{number % 20:02}" / f"{number:05}{pictures[0].suffix}"
        place.parent.mkdir(parents=True, exist_ok=True)
        content = pictures[number % DRAWN].read_bytes() + number.to_bytes(4, "little")
        place.write_bytes(content[:60] if number % (PHOTOS // BROKEN) == 7 else content)
    return photos


class Tagging:
    """Calls of ``tagmix tag`` on the photos."""

    def __init__(self, folder: Path) -> None:
        self.photos, self.folder = photos_of(folder), folder
        self.peak = 0
        own = {"XDG_DATA_HOME": str(folder / "data"), "XDG_CACHE_HOME": str(folder / "cache")}
        self.environment = {**os.environ, **own}
        small = ["--words", "60", "--colours", "20", "--patches", "200", "--network", "none"]
        self.call(
            "train", str(folder / "album"), "--model", str(folder / "m.tagmix"), "--evidence", "0.1", *small
        )

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb to its end."""
        command = [sys.executable, "-m", "tagmix", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def tag(self, *, until: int | None = None) -> tuple[int, str, str]:
        """Tag all photos, or kill it when so many sidecars are there; return status, output, errors."""
        command = [
            sys.executable,
            "-m",
            "tagmix",
            "tag",
            str(self.photos),
            "-m",
            str(self.folder / "m.tagmix"),
        ]
        with (self.folder / "out").open("w+") as out, (self.folder / "err").open("w+") as err:
            process = subprocess.Popen(command, env=self.environment, stdout=out, stderr=err)
            while process.poll() is None:
                self.peak = max(self.peak, memory(process.pid))
                if until is not None and self.sidecars() >= until:
                    process.send_signal(signal.SIGKILL)
                time.sleep(0.1)
            out.seek(0)
            err.seek(0)
            return process.returncode, out.read(), err.read()

    def sidecars(self) -> int:
        """Return how many sidecars there are."""
        return sum(name.endswith(".xmp") for _, _, names in os.walk(self.photos) for name in names)


def run() -> list[dict[str, Any]]:
    """Return the rows; an AssertionError if anything is not as it must be."""
    folder = Path(tempfile.mkdtemp(prefix="tagmix-bench-"))
    try:
        return _rows(Tagging(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rows(tagging: Tagging) -> list[dict[str, Any]]:
    killed, _, _ = tagging.tag(until=int(KILL_AT * PHOTOS))
    assert killed == -signal.SIGKILL
    at_kill = tagging.sidecars()
    since = time.monotonic()
    status, out, err = tagging.tag()
    seconds = time.monotonic() - since
    assert status == 1, err[-500:]
    assert f"{BROKEN:,} photos had problems" in err
    assert f"{BROKEN:,} with problems" in out
    shown = json.loads(tagging.call("runs", str(tagging.photos), "--json").stdout)
    assert [(one["photos"], one["state"]) for one in shown] == [(PHOTOS - BROKEN, "finished")], shown
    assert "0 photos tagged, 0 tags added" in tagging.tag()[1]
    undone = tagging.call("undo", str(tagging.photos), "--yes").stdout
    assert tagging.sidecars() == 0, undone
    return [
        {"what": f"photos tagged of {PHOTOS:,}, {BROKEN} broken", "ours": f"{PHOTOS - BROKEN:,}"},
        {"what": "sidecars when it was killed", "ours": f"{at_kill:,}"},
        {"what": "seconds for the rest", "ours": f"{seconds:.0f}"},
        {
            "what": "peak memory of all processes",
            "ours": f"{tagging.peak / 2**20:.0f} MB",
            "ratio": tagging.peak / 2**30,
            "limit": MOST_MEMORY,
            "unit": "GB",
        },
    ]
