"""LabelMe: the XML of the web tool (2010) and the JSON of the desktop tool."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.elements import checked_folder, files_below, number_of, text_of
from tagmix.datasets.files import read_json, read_xml, write_text
from tagmix.datasets.items import Item, TrueRegion
from tagmix.datasets.jsonl import below
from tagmix.datasets.paths import beside, contained, holds, shown
from tagmix.datasets.shapes import circle
from tagmix.errors import AlbumError
from tagmix.images.decode import size_of
from tagmix.tag_names import normal_name

SUFFIXES = frozenset({".xml", ".json"})
MAX_FILE = 64 * 2**20  # the file can contain the picture in base64


def read_labelme(path: str | os.PathLike[str]) -> Album:
    """Return the album of all LabelMe files below a folder, or of one file."""
    given = Path(path)
    single = given.is_file()
    folder = checked_folder(given.parent if single else given, "a folder of LabelMe files")
    collector = Collector(folder)
    names = [given.name] if single else list(files_below(folder, SUFFIXES))
    foreign = 0
    for name in names:
        try:
            _read(name, collector)
        except AlbumError as error:
            collector.problem(name, error)
            foreign += 1
    if foreign == len(names):
        raise AlbumError(f"{shown(given.name)} must contain LabelMe files, got none: check the format")
    return collector.album()


def _read(name: str, collector: Collector) -> None:
    file = contained(collector.root, name)
    if file.suffix.lower() == ".xml":
        root = read_xml(file, MAX_FILE)
        if root.tag != "annotation":
            raise AlbumError(f"must be a LabelMe <annotation>, got <{root.tag[:40]}>")
        record = _from_xml(root, name, collector)
    else:
        content = read_json(file, MAX_FILE)
        if not isinstance(content, Mapping) or not isinstance(content.get("shapes"), list):
            raise AlbumError("must be a LabelMe object with a list `shapes`")
        record = _from_json(content, file, name, collector)
    collector.add(name, record)


def _from_xml(root: Element, name: str, collector: Collector) -> dict[str, Any]:
    regions = []
    for thing in root.findall("object"):
        if text_of(thing, "deleted") == "1":
            continue
        with collector.setting_aside(name):
            points = thing.findall("polygon/pt")
            corners = [[number_of(point, "x"), number_of(point, "y")] for point in points]
            regions.append({"tag": text_of(thing, "name"), "polygon": corners})
    return {"image": _picture(root, name, collector), "regions": regions}


def _picture(root: Element, name: str, collector: Collector) -> str:
    """Return the path of the picture: in LabelMe's layout, or beside the annotation, as in exports."""
    file, folder = text_of(root, "filename"), text_of(root, "folder")
    if not file:
        raise AlbumError("must name its picture in <filename>")
    near = (Path(name).parent / file).as_posix()
    places = [f"Images/{folder}/{file}", near, f"{folder}/{file}" if folder else file, file]
    for place in places:
        if holds(collector.root, place):
            return place
    return near


def _from_json(content: Mapping[str, Any], file: Path, name: str, collector: Collector) -> dict[str, Any]:
    tags: list[Any] = []
    regions: list[dict[str, Any]] = []
    flags = content.get("flags")
    if isinstance(flags, Mapping):
        tags += [flag for flag, on in flags.items() if on is True]
    for shape in content["shapes"]:
        with collector.setting_aside(name):
            label = shape.get("label") if isinstance(shape, Mapping) else None
            if not isinstance(label, str) or not normal_name(label):
                raise AlbumError(f"a shape must be an object with a label, got {shown(label)}")
            tags.append(label)
            regions += _shape(shape)
    return {
        "image": beside(collector.root, file, content.get("imagePath")),
        "tags": content.get("tags", tags),  # our extension, which the tool ignores
        "split": content.get("split"),
        "regions": regions,
    }


def _shape(shape: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the region of a shape; points and lines have none."""
    kind, points, tag = shape.get("shape_type", "polygon"), shape.get("points"), shape.get("label")
    if kind == "polygon" or kind is None:
        yield {"tag": tag, "polygon": points}
    elif kind in ("rectangle", "mask"):  # the box of a mask: the mask itself is ignored
        yield {"tag": tag, "box": _box(points)}
    elif kind == "circle":
        centre, edge = _two(points)
        yield {"tag": tag, "polygon": circle(centre, edge)}


def _two(points: Any) -> tuple[Any, Any]:
    if not isinstance(points, list) or len(points) != 2:
        raise AlbumError(f"a rectangle or circle must have two points, got {shown(points)}")
    return points[0], points[1]


def _box(points: Any) -> list[float]:
    """Return the box between two opposite corners, in any order."""
    try:
        (left, top), (right, bottom) = _two(points)
        return [min(left, right), min(top, bottom), abs(right - left), abs(bottom - top)]
    except (TypeError, ValueError) as error:
        if isinstance(error, AlbumError):
            raise
        raise AlbumError(f"a rectangle must have two points [x, y], got {shown(points)}") from error


def write_labelme(album: Album, path: str | os.PathLike[str]) -> None:
    """Write one JSON file beside each picture, for the desktop tool; ``path`` is a folder above them.

    Masks and runs are refused, because the tool supports neither: write them as jsonl or coco.
    """
    folder = Path(path)
    written: dict[Path, str] = {}
    for item in album:
        below(item.image, folder)
        file = item.image.with_suffix(".json")
        if file in written:
            raise AlbumError(f"{shown(item.id)} and {shown(written[file])} need the same file: rename one")
        written[file] = item.id
    contents = {file: _content(item) for file, item in zip(written, album, strict=True)}
    for file, content in contents.items():
        write_text(file, json.dumps(content, ensure_ascii=False, indent=2))


def _content(item: Item) -> dict[str, Any]:
    if item.mask is not None or any(region.runs is not None for region in item.regions):
        raise AlbumError(f"{shown(item.id)} has a mask or runs, unknown to LabelMe: write jsonl or coco")
    height, width = size_of(item.image)
    split = {} if item.split is None else {"split": item.split}
    return {
        "version": "5.5.0",
        "flags": {tag: True for tag in item.tags},
        "shapes": [_written(region) for region in item.regions],
        "imagePath": item.image.name,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
        "tags": list(item.tags),
    } | split


def _written(region: TrueRegion) -> dict[str, Any]:
    kind, points = "polygon", [list(point) for point in region.polygon or ()]
    if region.box is not None:
        x, y, width, height = region.box
        kind, points = "rectangle", [[x, y], [x + width, y + height]]
    return {"label": region.tag, "points": points, "group_id": None, "shape_type": kind, "flags": {}}
