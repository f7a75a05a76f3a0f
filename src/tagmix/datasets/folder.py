"""A folder of photos, with keywords in the files, in sidecars, or in the names of sub-folders."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.elements import checked_folder, files_below
from tagmix.datasets.files import MAX_SIDECAR, read_bytes, read_json, read_text
from tagmix.datasets.metadata import iptc_keywords, xmp_keywords
from tagmix.datasets.paths import contained, is_file, shown
from tagmix.datasets.tags import listed, words
from tagmix.errors import AlbumError, ImageError
from tagmix.images.decode import SUFFIXES, embedded


def read_folder(path: str | os.PathLike[str], *, subfolders: bool = False, captions: bool = False) -> Album:
    """Return the album of all photos below a folder.

    Tags come from XMP and IPTC inside the photo, and from sidecars ``photo.jpg.xmp``, ``photo.xmp``,
    ``photo.txt``, ``photo.json``. With ``subfolders`` the names of the sub-folders are tags too; with
    ``captions`` text sidecars contain sentences rather than lists.
    """
    root = checked_folder(path, "a folder of photos")
    collector = Collector(root)
    photos = list(files_below(root, SUFFIXES))
    if not photos:
        raise AlbumError(f"{shown(root.name)} must be a folder of photos, got no photos: check the path")
    for name in photos:
        with collector.setting_aside(name):
            contained(root, name)  # before reading: the photo can be a link
            tags = list(PurePosixPath(name).parent.parts) if subfolders else []
            tags += _inside(name, collector)
            for sidecar, read in _sidecars(name, captions):
                with collector.setting_aside(sidecar):
                    file = contained(root, sidecar)
                    if is_file(file):
                        tags += read(file)
            collector.add(name, {"image": name, "tags": tags})
    return collector.album()


def _inside(name: str, collector: Collector) -> list[str]:
    try:
        found = embedded(collector.root / name)
    except ImageError as error:
        raise AlbumError(f"is not a picture: {error}") from error
    tags = iptc_keywords(found.iptc)
    if found.xmp:
        with collector.setting_aside(name):
            tags += xmp_keywords(found.xmp, "the XMP packet inside")
    return tags


def _sidecars(name: str, captions: bool) -> list[tuple[str, Any]]:
    """Return the possible names of a photo's sidecars, each with its reader."""
    stem = PurePosixPath(name).with_suffix("").as_posix()
    kinds = ((".xmp", _xmp), (".txt", lambda file: _txt(file, captions)), (".json", _json))
    return [(f"{base}{suffix}", read) for suffix, read in kinds for base in (name, stem)]


def _xmp(file: Path) -> list[str]:
    return xmp_keywords(read_bytes(file, MAX_SIDECAR), shown(file.name))


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
