"""Pascal VOC: a folder of XML annotations with boxes, beside a folder of pictures."""

import os
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.elements import checked_folder, files_below, number_of, text_of
from tagmix.datasets.files import MAX_SIDECAR, read_text, read_xml
from tagmix.datasets.paths import contained, is_file, shown
from tagmix.errors import AlbumError

XML = frozenset({".xml"})
SPLITS = ("train", "val", "test")


def read_voc(
    path: str | os.PathLike[str], *, annotations: str = "Annotations", images: str = "JPEGImages"
) -> Album:
    """Return the album in a VOC folder; the split comes from ``ImageSets/Main``, if it exists."""
    collector = Collector(checked_folder(path, f"a VOC folder with {annotations} and {images}"))
    folder = contained(collector.root, annotations)
    files = list(files_below(folder, XML)) if folder.is_dir() else []
    if not files:
        raise AlbumError(
            f"{shown(collector.root.name)} must have XML files in {annotations}, got none: check the format"
        )
    splits = _splits(collector)
    for name in files:
        with collector.setting_aside(name):
            root = read_xml(contained(collector.root, f"{annotations}/{name}"))
            if root.tag != "annotation":
                raise AlbumError(f"must be a VOC <annotation>, got <{root.tag[:40]}>")
            stem = Path(name).with_suffix("").as_posix()
            file = text_of(root, "filename") or f"{stem}.jpg"
            tags, regions = _objects(root, name, collector)
            record = {
                "image": f"{images}/{file}",
                "tags": tags,
                "regions": regions,
                "split": splits.get(stem),
            }
            collector.add(name, record)
    return collector.album()


def _objects(root: Element, where: str, collector: Collector) -> tuple[list[str], list[dict[str, Any]]]:
    tags: list[str] = []
    regions: list[dict[str, Any]] = []
    for thing in root.findall("object"):
        with collector.setting_aside(where):
            tag = text_of(thing, "name")
            tags.append(tag)
            ends = [number_of(thing, f"bndbox/{end}") for end in ("xmin", "ymin", "xmax", "ymax")]
            left, top, right, bottom = ends
            # VOC counts pixels from 1 and includes the last one
            box = [left - 1, top - 1, right - left + 1, bottom - top + 1]
            if tag:
                regions.append({"tag": tag, "box": box})
    return tags, regions


def _splits(collector: Collector) -> dict[str, str]:
    """Return the part of each picture; lists per class and trainval are ignored."""
    parts: dict[str, str] = {}
    for split in SPLITS:
        name = f"ImageSets/Main/{split}.txt"
        with collector.setting_aside(name):
            path = contained(collector.root, name)
            if is_file(path):
                for line in read_text(path, MAX_SIDECAR).split("\n"):
                    parts.setdefault(line.strip(), split)
    return parts
