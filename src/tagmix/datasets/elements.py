"""Shared by VOC and LabelMe: finding annotation files and reading XML elements."""

import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from tagmix.datasets.paths import shown
from tagmix.errors import AlbumError


def text_of(element: Element, path: str) -> str:
    """Return the stripped text at a path below an element; empty if there is none."""
    return (element.findtext(path) or "").strip()


def number_of(element: Element, path: str) -> float:
    """Return the number at a path below an element."""
    text = text_of(element, path)
    try:
        return float(text)
    except ValueError as error:
        raise AlbumError(f"<{path}> must be a number, got {shown(text)}") from error


def files_below(root: Path, suffixes: frozenset[str] | None = None) -> Iterator[str]:
    """Yield the files with these endings (or all) below a folder, sorted relative paths, except hidden ones.

    Folders that are links are not entered: they can lead out of the album, or in circles.
    """
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            if suffixes is None or os.path.splitext(name)[1].lower() in suffixes:
                yield (Path(folder) / name).relative_to(root).as_posix()


def checked_folder(path: str | os.PathLike[str], what: str) -> Path:
    """Return the folder of an album with links resolved."""
    try:
        folder = Path(path).resolve()
        os.scandir(folder).close()
    except (OSError, ValueError, RuntimeError) as error:
        raise AlbumError(
            f"{shown(os.fspath(path))} must be {what}, which is not a readable folder: check the path"
        ) from error
    return folder
