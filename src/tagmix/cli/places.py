"""Where the command line keeps what it can make again. Imports nothing heavy: completion uses it."""

import os
from pathlib import Path


def usual_cache() -> Path:
    """Return the user's cache folder for tagmix, made or not; RuntimeError where there is no home folder."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    home = home.expanduser() if not home.is_absolute() else home
    return (home if home.is_absolute() else Path.home() / ".cache") / "tagmix"
