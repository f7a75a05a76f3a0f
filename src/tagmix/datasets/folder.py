"""A folder of photos, with keywords in the files, in sidecars, or in the names of sub-folders."""

import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.elements import checked_folder
from tagmix.datasets.files import MAX_SIDECAR, read_json, read_text
from tagmix.datasets.items import Notes
from tagmix.datasets.paths import contained, is_file, shown
from tagmix.datasets.survey import survey
from tagmix.datasets.tags import listed, words
from tagmix.errors import AlbumError, ImageError
from tagmix.images.decode import size_of
from tagmix.metadata.read import PhotoMetadata, read_photo
from tagmix.metadata.stop_list import STOP_LIST


def read_folder(
    path: str | os.PathLike[str],
    *,
    subfolders: bool = False,
    captions: bool = False,
    stop: Collection[str] = STOP_LIST,
) -> Album:
    """Return the album of all photos below a folder.

    Tags come from the metadata of the photo and its sidecar ``photo.jpg.xmp`` or ``photo.xmp`` (see
    ``tagmix.metadata.read``), and from ``photo.txt`` and ``photo.json``. With ``subfolders`` the names of the
    sub-folders are tags too; with ``captions`` text sidecars contain sentences rather than lists. ``stop``
    are patterns of tags to leave out. A raw file is left out beside a picture of the same name, which has
    the tags of both.
    """
    root = checked_folder(path, "a folder of photos")
    collector, found = Collector(root), survey(root)
    if not found.photos:
        raise AlbumError(
            f"{shown(root.name)} must be a folder of photos, got no photos{found.unread_shown()}: check the "
            "path"
        )
    stopped: Counter[str] = Counter()
    machine_only = 0
    for name in found.photos:
        with collector.setting_aside(name):
            contained(root, name)  # before reading: the photo can be a link
            own = _metadata(name, collector, stop)
            tags = list(PurePosixPath(name).parent.parts) if subfolders else []
            tags += own.tags
            if (raw := found.raw_of.get(name)) is not None:
                tags += _metadata(raw, collector, stop).tags
            for sidecar, read in _texts(name, captions):
                with collector.setting_aside(sidecar):
                    file = contained(root, sidecar)
                    if is_file(file):
                        tags += read(file)
            stopped.update(own.stopped)
            machine_only += bool(own.machine and not tags)
            collector.add(name, {"image": name, "tags": tags})
    notes = Notes(found.unread, dict(stopped), machine_only, len(found.raw_of))
    return replace(collector.album(), notes=notes)


def _metadata(name: str, collector: Collector, stop: Collection[str]) -> PhotoMetadata:
    path = contained(collector.root, name)
    try:
        size_of(path)
    except ImageError as error:
        raise AlbumError(f"is not a picture: {error}") from error
    found = read_photo(path, stop=stop, within=collector.root)
    for problem in found.problems:
        collector.problem(name, problem)
    return found


def _texts(name: str, captions: bool) -> list[tuple[str, Any]]:
    """Return the possible names of a photo's text sidecars, each with its reader."""
    stem = PurePosixPath(name).with_suffix("").as_posix()
    kinds = ((".txt", lambda file: _txt(file, captions)), (".json", _json))
    return [(f"{base}{suffix}", read) for suffix, read in kinds for base in (name, stem)]


def _txt(file: Path, captions: bool) -> list[str]:
    text = read_text(file, MAX_SIDECAR)
    tags = words(text) if captions else listed(text)
    if not tags:
        raise AlbumError("must contain words, got an empty caption")
    return list(tags)


def _json(file: Path) -> list[str]:
    """Return the tags of a JSON sidecar: a list, or an object with tags, keywords or a caption."""
    content = read_json(file, MAX_SIDECAR)
    if isinstance(content, list):
        content = {"tags": content}
    if not isinstance(content, Mapping):
        raise AlbumError(f"must be a list of tags or an object with tags, got {shown(content)}")
    tags: list[str] = []
    for key in ("tags", "keywords"):
        value = content.get(key)
        texts = listed(value) if isinstance(value, str) else value
        if texts is not None and not (
            isinstance(texts, list | tuple) and all(isinstance(t, str) for t in texts)
        ):
            raise AlbumError(f"{key} must be a list of texts, got {shown(value)}")
        tags += texts or ()
    caption = content.get("caption")
    return [*tags, *words(caption)] if isinstance(caption, str) else tags
