"""Readers and writers of albums. A new format is one file and one line in READERS (and WRITERS)."""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tagmix.bags import Bags
from tagmix.datasets.album import Album, Item, Runs, TrueRegion
from tagmix.datasets.coco import read_coco, write_coco
from tagmix.datasets.corel5k import read_corel5k
from tagmix.datasets.elements import files_below
from tagmix.datasets.folder import read_folder
from tagmix.datasets.jsonl import NAME, read_jsonl, write_jsonl
from tagmix.datasets.labelme import read_labelme, write_labelme
from tagmix.datasets.mulan import read_mulan
from tagmix.datasets.paths import contained, holds, is_file, shown
from tagmix.datasets.tables import read_csv
from tagmix.datasets.voc import read_voc
from tagmix.errors import AlbumError
from tagmix.storage.container import MAGIC

READERS: dict[str, Callable[..., Album]] = {
    "jsonl": read_jsonl,
    "folder": read_folder,
    "csv": read_csv,
    "coco": read_coco,
    "voc": read_voc,
    "labelme": read_labelme,
    "corel5k": read_corel5k,
}
BAG_READERS: dict[str, Callable[..., Bags]] = {"mulan": read_mulan}
WRITERS: dict[str, Callable[[Album, str | os.PathLike[str]], None]] = {
    "jsonl": write_jsonl,
    "coco": write_coco,
    "labelme": write_labelme,
}
ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv", ".xml": "labelme"}
HEAD = 2**16  # bytes read to detect the format of a file


def open_album(spec: str | os.PathLike[str], **options: Any) -> Album:
    """Return the album at ``FORMAT:PATH``, or at a path whose format is detected from its name and content.

    The options are those of the format's reader. Invalid entries are skipped and listed in
    ``album.problems``.
    """
    text = os.fspath(spec)
    name, colon, rest = text.partition(":")
    if colon and name in READERS:
        return _read(name, Path(rest).expanduser(), options)
    path = Path(text).expanduser()
    if os.path.isdir(path):  # no error for names that are too long
        return _read(_folder_format(path), path, options)
    return _read(_file_format(path), path, options)


def _read(name: str, path: Path, options: dict[str, Any]) -> Album:
    return replace(READERS[name](path, **options), format=name)


def _file_format(path: Path) -> str:
    _check_there(path)
    suffix = path.suffix.lower()
    if suffix in ENDINGS:
        return ENDINGS[suffix]
    if suffix == ".json" and is_file(path):
        return "labelme" if _is_labelme(path.parent, path.name) else "coco"
    raise AlbumError(
        f"{shown(os.fspath(path))} must be a folder, .jsonl, .csv or .json, got another file: check the "
        f"path, or pass FORMAT:PATH with one of the formats {', '.join(READERS)}"
    )


def _check_there(path: Path) -> None:
    """Refuse a path that does not exist, and files of tagmix other than albums."""
    name = shown(os.fspath(path))
    if not os.path.exists(path):
        raise AlbumError(
            f"{name} does not exist: check the path, or pass FORMAT:PATH with one of the formats "
            f"{', '.join(READERS)}"
        )
    if is_file(path) and _head(path).startswith(MAGIC):
        raise AlbumError(f"{name} must be an album, got a tagmix model or bags: pass the album itself")


def _head(path: Path) -> bytes:
    """Return the beginning of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(HEAD)
    except OSError:
        return b""


def _folder_format(folder: Path) -> str:
    if is_file(folder / NAME):
        return "jsonl"
    if (folder / "Annotations").is_dir() and (folder / "JPEGImages").is_dir():
        return "voc"
    if any(folder.glob("*_list.txt")) and (
        any(folder.glob("*words.txt")) or any(folder.glob("*dictionary.txt"))
    ):
        return "corel5k"
    # a sample is enough: a folder of photos can have many sidecars
    notes = islice(files_below(folder, frozenset({".json", ".xml"})), 8)
    return "labelme" if any(_is_labelme(folder, name) for name in notes) else "folder"


def _is_labelme(folder: Path, name: str) -> bool:
    if not holds(folder, name):  # a pipe, or a link out of the folder
        return False
    head = _head(folder / name)
    return b"<annotation>" in head or (b'"shapes"' in head and b'"images"' not in head)


__all__ = [
    "BAG_READERS",
    "READERS",
    "WRITERS",
    "Album",
    "Item",
    "Runs",
    "TrueRegion",
    "contained",
    "open_album",
]
