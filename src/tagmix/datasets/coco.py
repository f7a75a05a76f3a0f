"""COCO: instances (boxes, polygons, runs) and captions, one JSON file for all pictures."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.files import read_json, write_text
from tagmix.datasets.items import Item, TrueRegion
from tagmix.datasets.jsonl import below
from tagmix.datasets.paths import shown
from tagmix.datasets.tags import words
from tagmix.datasets.truth import rolled, unrolled
from tagmix.errors import AlbumError
from tagmix.images.decode import decode_labels, size_of


def read_coco(path: str | os.PathLike[str], *, images: str | os.PathLike[str] | None = None) -> Album:
    """Return the album in a COCO file; ``images`` is the folder of the pictures, by default its own."""
    file = Path(path)
    content = read_json(file)
    pictures = content.get("images") if isinstance(content, Mapping) else None
    if not isinstance(pictures, list):
        raise AlbumError(f"{shown(file.name)} must be COCO, an object with a list `images`: check the format")
    collector = Collector(file.parent if images is None else Path(images))
    notes = _by_picture(content.get("annotations"), collector)
    categories = _categories(content.get("categories"), collector)
    seen: set[Any] = set()
    for number, picture in enumerate(pictures):
        where = f"image {number}"
        with collector.setting_aside(where):
            if not isinstance(picture, Mapping) or not _is_id(picture.get("id")):
                raise AlbumError(f"must be an object with an id, got {shown(picture)}")
            if picture["id"] in seen:
                raise AlbumError(f"id {shown(picture['id'])} occurs twice: the first entry is used")
            seen.add(picture["id"])
            collector.add(where, _record(picture, notes.pop(picture["id"], []), categories, collector))
    for picture_id in notes.keys() - seen:
        collector.problem("annotations", f"image_id {shown(picture_id)} has no picture")
    return collector.album()


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _by_picture(annotations: Any, collector: Collector) -> dict[Any, list[tuple[str, Mapping[str, Any]]]]:
    grouped: dict[Any, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    if annotations is not None and not isinstance(annotations, list):
        collector.problem("annotations", f"must be a list, got {shown(annotations)}")
        return grouped
    for number, note in enumerate(annotations or ()):
        where = f"annotation {number}"
        if isinstance(note, Mapping) and _is_id(note.get("image_id")):
            grouped[note["image_id"]].append((where, note))
        else:
            collector.problem(where, f"must be an object with an image_id, got {shown(note)}")
    return grouped


def _categories(records: Any, collector: Collector) -> dict[Any, str]:
    names: dict[Any, str] = {}
    for record in records if isinstance(records, list) else ():
        if isinstance(record, Mapping) and _is_id(record.get("id")) and isinstance(record.get("name"), str):
            names[record["id"]] = record["name"]
        else:
            collector.problem("categories", f"a category must have an id and a name, got {shown(record)}")
    return names


def _record(
    picture: Mapping[str, Any],
    notes: list[tuple[str, Mapping[str, Any]]],
    categories: dict[Any, str],
    collector: Collector,
) -> dict[str, Any]:
    tags: list[str] = []
    regions: list[dict[str, Any]] = []
    for where, note in notes:
        with collector.setting_aside(where):
            if "caption" in note:
                tags += _words(note["caption"])
                continue
            category = note.get("category_id")
            if not _is_id(category) or category not in categories:
                raise AlbumError(f"category_id {shown(category)} has no category")
            tags.append(categories[category])
            regions += _regions(categories[category], note)
    return {
        "image": picture.get("file_name"),
        "tags": picture.get("tags", tags),  # our extension: COCO has no tags of the whole picture
        "split": picture.get("split"),
        "regions": regions,
    }


def _words(caption: Any) -> tuple[str, ...]:
    if not isinstance(caption, str) or not words(caption):
        raise AlbumError(f"a caption must be a text with words, got {shown(caption)}")
    return words(caption)


def _regions(tag: str, note: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the regions of one annotation: its polygons, its runs, or else its box."""
    outline = note.get("segmentation")
    if isinstance(outline, Mapping):
        yield {"tag": tag, "runs": outline}
    elif isinstance(outline, list) and outline:
        for part in outline:
            if not isinstance(part, list) or len(part) % 2:
                raise AlbumError(f"a polygon must be a list x, y, x, y, …, got {shown(part)}")
            yield {"tag": tag, "polygon": list(zip(part[::2], part[1::2], strict=True))}
    elif note.get("bbox"):
        yield {"tag": tag, "box": note["bbox"]}


def write_coco(album: Album, path: str | os.PathLike[str]) -> None:
    """Write an album as COCO instances; label masks become one region of runs per label.

    Tags and split of a picture are written as ``tags`` and ``split``, which other programs ignore.
    """
    file = Path(path)
    regions = {item.id: [*_mask_regions(album, item), *item.regions] for item in album}
    names = sorted({region.tag for several in regions.values() for region in several})
    number = {name: k for k, name in enumerate(names, 1)}
    pictures: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for k, item in enumerate(album, 1):
        height, width = size_of(item.image)
        entry = {"id": k, "file_name": below(item.image, file.parent), "height": height, "width": width}
        extra = {"tags": list(item.tags)} | ({"split": item.split} if item.split is not None else {})
        pictures.append(entry | extra)
        for region in regions[item.id]:
            kind = {"id": len(notes) + 1, "image_id": k, "category_id": number[region.tag], "iscrowd": 0}
            notes.append(kind | _geometry(region))
    categories = [{"id": k, "name": name} for name, k in number.items()]
    content = {"images": pictures, "annotations": notes, "categories": categories}
    write_text(file, json.dumps(content, ensure_ascii=False))


def _mask_regions(album: Album, item: Item) -> Iterator[TrueRegion]:
    if item.mask is not None:
        values = decode_labels(item.mask)
        for value in np.unique(values):
            if int(value) in album.mask_labels:
                yield TrueRegion(album.mask_labels[int(value)], runs=rolled(values == value))


def _geometry(region: TrueRegion) -> dict[str, Any]:
    if region.polygon is not None:
        xs, ys = zip(*region.polygon, strict=True)
        area = abs(sum(x * ys[k - 1] - xs[k - 1] * y for k, (x, y) in enumerate(region.polygon))) / 2
        outline: Any = [[value for point in region.polygon for value in point]]
        return {"segmentation": outline, "bbox": _around(xs, ys), "area": area}
    if region.runs is not None:
        rows, columns = np.nonzero(unrolled(region.runs))
        ends = _around(columns, rows, 1) if rows.size else [0.0, 0.0, 0.0, 0.0]
        outline = {"size": [region.runs.height, region.runs.width], "counts": region.runs.counts}
        return {"segmentation": outline, "bbox": ends, "area": int(rows.size)}
    if region.box is None:
        raise AlbumError(f"region {region.tag!r} must have a box, a polygon or runs: remove it from the item")
    x, y, width, height = region.box
    return {"segmentation": [], "bbox": [x, y, width, height], "area": width * height}


def _around(xs: Any, ys: Any, pixel: int = 0) -> list[float]:
    left, top = float(min(xs)), float(min(ys))
    return [left, top, float(max(xs)) - left + pixel, float(max(ys)) - top + pixel]
