"""Check paths that come from files: none may lead out of the album's folder."""

import os
import posixpath
import re
import unicodedata
from pathlib import Path
from typing import Any

from tagmix.errors import AlbumError

DRIVE = re.compile(r"[A-Za-z]:")
LONGEST = 4096


def contained(root: Path, relative: Any) -> Path:
    r"""Return the path ``relative`` below ``root``; raise AlbumError if it leads out of it.

    Backslashes are separators, as in files from Windows. Absolute paths, drive letters, ``..``, zero bytes
    and links that lead out of ``root`` are refused. The path need not exist.

    >>> contained(Path("/albums"), "a\\b.jpg").as_posix().endswith("/albums/a/b.jpg")
    True
    >>> contained(Path("/albums"), "../secret")
    Traceback (most recent call last):
    ...
    tagmix.errors.AlbumError: path '../secret' leads out of the album: use a path below its folder
    """
    parts = _parts(relative)
    try:
        base = os.path.realpath(root)
        real = os.path.realpath(os.path.join(base, *parts))
    except (OSError, ValueError) as error:
        raise AlbumError(f"path {shown(relative)} is not a valid name: rename the file") from error
    if os.path.commonpath([base, real]) != base:
        raise AlbumError(
            f"path {shown(relative)} is a link that leads out of the album: copy the file instead"
        )
    return Path(base, *parts)


def _parts(relative: Any) -> list[str]:
    if not isinstance(relative, str) or not relative.strip() or len(relative) > LONGEST:
        raise AlbumError(
            f"a path must be a short text, got {shown(relative)}: write it relative to the album"
        )
    if "\0" in relative or not _encodable(relative):
        raise AlbumError(f"path {shown(relative)} is not a valid name: rename the file")
    text = relative.replace("\\", "/")
    if text.startswith("/") or DRIVE.match(text):
        raise AlbumError(f"path {shown(relative)} is absolute: write it relative to the album")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise AlbumError(f"path {shown(relative)} leads out of the album: use a path below its folder")
    return parts


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can contain
        return False
    return True


def existing(root: Path, relative: Any) -> Path:
    """Return the contained path of an existing file, whether its accents are composed or decomposed."""
    path = contained(root, relative)
    for form in (None, "NFC", "NFD"):  # macOS stores é as two characters, files contain it as one
        candidate = path if form is None else contained(root, unicodedata.normalize(form, relative))
        if is_file(candidate):
            return candidate
    raise AlbumError(f"{shown(relative)} does not exist: check the path, or remove the entry")


def is_file(path: Path) -> bool:
    """Return whether a regular file exists; names that are too long for the system do not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def holds(root: Path, relative: Any) -> bool:
    """Return whether a contained regular file exists, for readers that search several places."""
    try:
        return is_file(contained(root, relative))
    except AlbumError:
        return False


def beside(root: Path, file: Path, relative: Any) -> str:
    """Return ``relative``, which is relative to the folder of ``file``, as a path relative to ``root``.

    Tools that store labels and pictures in sibling folders write ``../images/a.jpg``; this is legal inside
    the album, and :func:`contained` checks the result.
    """
    if not isinstance(relative, str):
        raise AlbumError(
            f"a path must be a short text, got {shown(relative)}: write it relative to the album"
        )
    text = relative.replace("\\", "/")
    folder = file.parent.relative_to(root).as_posix()
    if text.startswith("/") or DRIVE.match(text):
        return relative  # refused by contained()
    return posixpath.normpath(posixpath.join(folder, text))


def shown(value: Any) -> str:
    """Return a value for messages: quoted, on one line, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
