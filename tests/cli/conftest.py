"""A drawn album and a model trained on it by the command line, once for all tests of this folder."""

from pathlib import Path

import pytest

from tagmix.cli import run
from tagmix.datasets.scenes import draw_album

FAST = ["--words", "40", "--colours", "10", "--patches", "120", "--jobs", "1", "--no-cache"]
QUICK = [*FAST, "--network", "none"]


@pytest.fixture(scope="session")
def album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_album(tmp_path_factory.mktemp("drawn") / "album", 40, seed=3, size=(96, 72))


@pytest.fixture(scope="session")
def model(album: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "scenes.tagmix"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SOURCE_DATE_EPOCH", "0")
        assert run(["train", str(album), "--model", str(path), "--evidence", "0.1", *QUICK]) == 0
    return path
