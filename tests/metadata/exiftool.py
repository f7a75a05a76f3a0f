"""The oracle: what exiftool reads, a program that nobody here wrote."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NEEDED = "exiftool is the independent reader of these tests: apt-get install libimage-exiftool-perl"


def exiftool(*arguments: str | Path) -> str:
    """Return what exiftool prints; in continuous integration it must be there."""
    if shutil.which("exiftool") is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NEEDED)
        pytest.skip(NEEDED)
    done = subprocess.run(["exiftool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fields(path: Path, *arguments: str) -> dict[str, Any]:
    """Return the fields of a file with their groups, lists and structures as such."""
    found = json.loads(exiftool("-j", "-G1", "-struct", "-n", "-XMP:all", *arguments, path))[0]
    return {key: value for key, value in found.items() if ":" in key}


def listed(value: Any) -> list[Any]:
    """Return a list also where exiftool shows a single value."""
    return value if isinstance(value, list) else [] if value is None else [value]
