"""A process that is killed at any moment, and two that write at once, leave a whole catalogue.

TAGMIX_KILLS=500 kills more often.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tagmix.catalogue import open_catalogue

KILLS = int(os.environ.get("TAGMIX_KILLS", "30"))

# The parent kills a child that works as fast as it can, looks at the catalogue, and starts the next one,
# which takes up what was interrupted.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from tagmix.catalogue import open_catalogue

path, root, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])

def work(seed):
    random.seed(seed)
    with open_catalogue(path, root) as catalogue:
        photos = [photo.id for photo in catalogue.photos.all()]
        for run in catalogue.runs.all():
            if run.state == "interrupted":
                run = catalogue.runs.resume(run)
                for entry in list(catalogue.runs.entries(run, state="planned")):
                    catalogue.runs.wrote(run, entry.photo)
                catalogue.runs.finish(run)
            elif run.state == "undoing":
                catalogue.runs.undo(run)
        while True:
            run = catalogue.runs.begin("tag", "model")
            for photo in random.sample(photos, 3):
                catalogue.runs.plan(run, photo, {"left": 0.9, "right": 0.9})
                catalogue.runs.wrote(run, photo)
            catalogue.runs.finish(run)
            with catalogue.batch():
                answer = random.choice(("yes", "no", "unknown"))
                for photo in random.sample(photos, 3):
                    catalogue.verdicts.set(photo, "one", answer)
                    catalogue.verdicts.set(photo, "two", answer)
            if random.random() < 0.5:
                catalogue.runs.begin_undo(run)
                for entry in list(catalogue.runs.entries(run)):
                    catalogue.runs.removed(run, entry.photo)
                catalogue.runs.finish_undo(run)

def look():
    with open_catalogue(path, root) as catalogue:
        assert catalogue.check() == (), catalogue.check()
        assert catalogue.mend() == 0
        assert catalogue.photos.count() == 10
        for photo in catalogue.photos.all():
            answers = {one.tag: one.answer for one in catalogue.verdicts.of(photo.id)}
            assert answers.get("one") == answers.get("two"), answers
            assert answers.get("left") == answers.get("right"), answers
        runs = catalogue.runs.all()
        assert sum(run.state not in ("finished", "undone") for run in runs) <= 1, runs
        return len(runs)

random.seed(0)
for n in range(rounds):
    child = os.fork()
    if child == 0:
        work(n)
    time.sleep(random.uniform(0, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    done = look()
print(done)
"""

WRITER = """
import sys
from pathlib import Path
from tagmix.catalogue import open_catalogue
with open_catalogue(Path(sys.argv[1]), Path(sys.argv[2])) as catalogue:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(60):
        with catalogue.batch():
            noted = catalogue.photos.note(f"{sys.argv[3]}/{n}.jpg", f"{sys.argv[3]}{n:31}".encode(), n, n)
            catalogue.verdicts.set(noted.id, f"tag {n}", "yes")
            catalogue.verdicts.set(noted.id, f"Common|{sys.argv[3]}", "yes")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_at_any_moment_leaves_a_whole_catalogue(library):
    with library.catalogue.batch():
        for n in range(10):
            library.catalogue.photos.note(f"{n}.jpg", n.to_bytes(32, "big"), n, n)
    library.catalogue.close()
    command = [sys.executable, "-c", KILLER, library.path, library.root, str(KILLS)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    library.catalogue = open_catalogue(library.path, library.root)
    assert killed.returncode == 0, killed.stderr[-2000:]
    assert int(killed.stdout) > 3  # they did some work between


def test_two_processes_that_write_at_once_lose_nothing(library):
    command = [sys.executable, "-c", WRITER, library.path, library.root]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    counts = library.catalogue.tags.counts()
    assert counts["Common"] == 120
    assert (counts["Common|a"], counts["Common|b"], counts["tag 7"]) == (60, 60, 2)
    assert Path(library.path).exists()
