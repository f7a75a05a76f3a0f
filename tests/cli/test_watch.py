"""tagmix watch as a process: it tags what arrives, and ends cleanly on SIGTERM."""

import os
import shutil
import signal
import subprocess
import sys
import time

from tagmix.catalogue import open_catalogue


def test_a_watch_tags_what_arrives_and_sigterm_ends_it_with_a_finished_run(album, model, tmp_path):
    photos, file = tmp_path / "photos", tmp_path / "catalogue.sqlite"
    photos.mkdir()
    arrival = next((album / "images").iterdir())
    options = ["-m", str(model), "--jobs", "1", "--no-cache", "--catalogue", str(file)]
    command = [sys.executable, "-m", "tagmix", "watch", str(photos), *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **pipes) as process:
        assert process.stderr.readline().startswith("watching ")
        time.sleep(0.5)  # for the listener
        shutil.copy(arrival, photos / "new.jpg")
        line = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert line.startswith("new.jpg: ")
    assert (photos / "new.jpg.xmp").exists()
    assert "1 photo tagged" in out
    assert "tagmix undo 1" in out
    assert (process.returncode, err.count("\n")) == (143, 1)
    with open_catalogue(file, photos) as catalogue:
        assert [run.state for run in catalogue.runs.all()] == ["finished"]
