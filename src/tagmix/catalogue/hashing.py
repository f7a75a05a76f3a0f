"""The content of photo files as digests."""

import hashlib
import os
import stat
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, int]


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a regular file; OSError if it cannot be read."""
    # Without waiting for a pipe that took the photo's place
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(None, "not a regular file")
        return hashlib.file_digest(stream, "sha256").digest()


def stamp_of(path: Path) -> Stamp | None:
    """Return size and time of change in nanoseconds of a file, or None if there is none."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return facts.st_size, facts.st_mtime_ns
