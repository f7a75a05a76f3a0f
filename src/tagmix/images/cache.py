"""Results kept by content: the key is a digest of the picture's bytes, the settings and the version."""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tagmix import storage
from tagmix.errors import ModelFileError, TagmixError


class CacheError(TagmixError, OSError):
    """The cache cannot be written."""


class Cache:
    """A folder of small files, each written whole or not at all; None keeps nothing.

    A file that is damaged, or of another version, is as good as none: it is made again.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else Path(folder)

    def _path(self, key: str) -> Path | None:
        return None if self.folder is None else self.folder / key[:2] / f"{key}.tagmix"

    def get(self, key: str) -> dict[str, NDArray[Any]] | None:
        """Return what was kept under this key, if anything whole is there."""
        path = self._path(key)
        if path is None or not path.exists():
            return None
        with contextlib.suppress(ModelFileError):
            return storage.read(path, "Cached").arrays
        return None

    def put(self, key: str, arrays: dict[str, NDArray[Any]]) -> None:
        """Keep arrays under this key; CacheError if the folder cannot take them."""
        path = self._path(key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            storage.write(path, "Cached", {}, arrays)
        except (OSError, ModelFileError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise CacheError(
                f"the cache {self.folder} cannot be written ({reason}): free some space, choose another "
                "folder, or go without a cache"
            ) from error


def key_of(*parts: bytes | str) -> str:
    """Return a key that differs when any part does.

    >>> key_of("a", b"bc") == key_of("ab", b"c")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
