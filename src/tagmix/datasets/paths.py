"""The one gate for paths that come out of files: nothing a file says leads out of its folder."""

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
    r"""Return the path below ``root`` that a file means by ``relative``; AlbumError if it would lead out.

    Backslashes are separators, as files from Windows have them. Absolute paths, drive letters, ``..``, zero
    bytes and links that lead out of ``root`` are refused. The path need not exist.

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
        raise AlbumError(f"path {shown(relative)} is not a possible name: rename the file") from error
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
        raise AlbumError(f"path {shown(relative)} is not a possible name: rename the file")
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
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can smuggle in
        return False
    return True


def existing(root: Path, relative: Any) -> Path:
    """Return the contained path of a file that is there, whichever way its accents are stored."""
    path = contained(root, relative)
    for form in (None, "NFC", "NFD"):  # macOS stores é as two characters, files say it as one
        candidate = path if form is None else contained(root, unicodedata.normalize(form, relative))
        if is_file(candidate):
            return candidate
    raise AlbumError(f"{shown(relative)} is not there: check the path, or take the entry out")


def is_file(path: Path) -> bool:
    """Return whether a plain file is there; names too long for the system are simply not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def holds(root: Path, relative: Any) -> bool:
    """Return whether a plain file is there, for readers that have several places to look."""
    try:
        return is_file(contained(root, relative))
    except AlbumError:
        return False


def beside(root: Path, file: Path, relative: Any) -> str:
    """Return ``relative``, which is meant from ``file``'s folder, as a path from ``root``.

    Tools that keep labels and pictures in sister folders write ``../images/a.jpg``; inside the album that is
    legal, and :func:`contained` still has the last word.
    """
    if not isinstance(relative, str):
        raise AlbumError(
            f"a path must be a short text, got {shown(relative)}: write it relative to the album"
        )
    text = relative.replace("\\", "/")
    folder = file.parent.relative_to(root).as_posix()
    if text.startswith("/") or DRIVE.match(text):
        return relative  # for contained() to refuse
    return posixpath.normpath(posixpath.join(folder, text))


def shown(value: Any) -> str:
    """Return a value for messages: quoted, on one line, not too long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
