"""A run that is killed in the middle goes on where it was, and ends with the bits of a run left alone."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tagmix import storage
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.describe import Describer

N = 100  # those that are left must take longer than a busy machine needs to kill the run
SETTINGS = {"n_words": 30, "n_colours": 8, "n_patches": 100, "vocabulary_patches": 50, "restarts": 2}
RUN = f"""
import sys
import numpy as np
from tagmix.datasets import open_album
from tagmix.images.describe import Describer

album = open_album(sys.argv[1])
tell = lambda *step: print(*step, flush=True)
describer = Describer.paper(**{SETTINGS}, cache=sys.argv[2], n_jobs=2).fit(album, progress=tell)
bags, _, n_reused = describer.transform(album, progress=tell)
tell("described", n_reused)
np.savez(sys.argv[3], bags.offsets, *(view.toarray() for view in bags.views.values()))
"""


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    place = tmp_path_factory.mktemp("album")
    draw_album(place, N, size=(64, 48))
    return str(place / "annotations.jsonl")


@pytest.fixture(scope="module")
def undisturbed(album):
    """The result of one process without a cache."""
    pictures = open_album(album)
    bags = Describer.paper(**SETTINGS).fit(pictures).transform(pictures).bags
    return [bags.offsets, *(view.toarray() for view in bags.views.values())]


@contextlib.contextmanager
def started(album, cache, out):
    command = [sys.executable, "-c", RUN, album, str(cache), str(out)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield run
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.communicate()


def kill_when(album, cache, stage, done):
    """Start a run and kill all its processes once a stage has come so far."""
    with started(album, cache, cache / "none.npz") as run:
        assert any(line == f"{stage} {done} {N}\n" for line in run.stdout)
    for _ in range(600):  # the last of the group may take a moment to go
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, 0)
            time.sleep(0.05)
            continue
        return
    raise AssertionError("a killed run is still there")


def finish(album, cache, out):
    """Return what a run told (first word → the rest), and its result."""
    with started(album, cache, out) as run:
        told = [line.split() for line in run.stdout]
        assert run.wait() == 0
    with np.load(out) as arrays:
        return {words[0]: words[1:] for words in told}, list(arrays.values())


def count_kept(cache):
    """Return of how many pictures the cache has examples, and of how many the words."""
    contents = [set(storage.read(path).arrays) for path in cache.rglob("*.tagmix")]
    words = {"sift", "colour", "region", "boxes", "points", "sizes"}
    return contents.count({"sift", "colour"}), contents.count(words)


@pytest.mark.parametrize("stage", ["vocabulary", "pictures"])
def test_a_killed_run_goes_on_and_repeats_no_finished_picture(album, undisturbed, tmp_path, stage):
    kill_when(album, tmp_path, stage, 12)
    examples, described = count_kept(tmp_path)
    assert 12 <= (examples if stage == "vocabulary" else described) < N
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.tagmix")}
    half = tmp_path / "00" / ".tagmix-00.tmp"  # what a kill in the middle of writing leaves
    half.write_bytes(next(tmp_path.rglob("*.tagmix")).read_bytes()[:100])

    told, result = finish(album, tmp_path, tmp_path / "bags.npz")
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())  # none was made again
    assert told["described"] == [str(described)]
    assert ("words" in told) == (stage == "vocabulary")  # words that were learnt are not learnt again
    for ours, theirs in zip(result, undisturbed, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert count_kept(tmp_path) == (N, N)
