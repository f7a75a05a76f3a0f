"""A cache by content: the key is a digest of the picture's bytes, the settings and the version."""

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray

from tagmix import storage
from tagmix.errors import ModelFileError, TagmixError

Arrays: TypeAlias = dict[str, NDArray[Any]]
Form: TypeAlias = dict[str, tuple[Any, tuple[int, ...]]]

# A temporary file this old belongs to a run that was killed: whole ones take well under a second.
LEFT_BEHIND = 3600.0
TEMPORARY = ("[0-9a-f][0-9a-f]/.tagmix-*.tmp", "networks/.tagmix-*.tmp")


class CacheError(TagmixError):
    """The cache cannot be written: an error of the run, not of one picture."""


class Cache:
    """A folder of small files, each written whole or not at all; None caches nothing.

    A file that is damaged, of another version, or not sound for its caller is ignored and made again.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def keep(
        self, key: str, make: Callable[[], Arrays], sound: Callable[[Arrays], bool]
    ) -> tuple[Arrays, bool]:
        """Return the arrays under this key, made and stored if missing, and whether they were there."""
        if self.folder is None:
            return make(), False
        path = self.folder / key[:2] / f"{key}.tagmix"
        with contextlib.suppress(ModelFileError):
            kept = storage.read(path, "Cached").arrays
            if sound(kept):
                return kept, True
        made = make()
        self._write(path, made)
        return made, False

    def prepare(self) -> None:
        """Raise CacheError now, before any work, if nothing can be written; delete files of killed runs."""
        if self.folder is None:
            return
        probe = self.folder / "00" / f"probe-{secrets.token_hex(8)}.tagmix"
        self._write(probe, {})
        with contextlib.suppress(OSError):  # another run may be doing the same
            probe.unlink()
        for path in chain(*(self.folder.glob(pattern) for pattern in TEMPORARY)):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFT_BEHIND:
                    path.unlink()

    def _write(self, path: Path, arrays: Arrays) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            storage.write(path, "Cached", {}, arrays, scratch=True)
        except (OSError, ModelFileError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            reason = getattr(cause, "strerror", None) or error
            raise CacheError(
                f"the cache {str(self.folder)!r} cannot be written ({reason}): free some space, choose "
                "another folder, or use no cache."
            ) from error


def form_of(arrays: Arrays) -> Form:
    """Return type and shape of each array, which are checked before its values."""
    return {name: (array.dtype, array.shape) for name, array in arrays.items()}


def key_of(*parts: bytes | str) -> str:
    """Return a key that differs when any part does.

    >>> key_of("a", b"bc") == key_of("ab", b"c")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
