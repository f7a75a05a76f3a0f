"""Tagging and undoing that are killed at random moments."""

import subprocess
import sys
from pathlib import Path


def test_a_kill_at_any_moment_leaves_whole_files_and_work_that_can_be_finished():
    # A process of its own: it forks, which one with threads must not
    command = [sys.executable, "-m", "tests.library.storm", "--times", "20", "--photos", "6"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("2")
