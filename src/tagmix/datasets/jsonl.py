"""The native format of albums: one JSON object per line, see docs/guide/albums.md."""

import json
import os
from pathlib import Path
from typing import Any

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.files import MAX_SIDECAR, parse_json, read_text, write_text
from tagmix.datasets.items import Item, TrueRegion
from tagmix.datasets.paths import contained, is_file, shown
from tagmix.errors import AlbumError
from tagmix.tag_names import normal_name

NAME = "annotations.jsonl"
LABELS = "labels.txt"


def read_jsonl(path: str | os.PathLike[str]) -> Album:
    """Return the album in a ``.jsonl`` file, or in ``annotations.jsonl`` of a folder."""
    file = contained(Path(path), NAME) if Path(path).is_dir() else Path(path)
    collector = Collector(file.parent)
    lines = [(n, line) for n, line in enumerate(read_text(file).split("\n"), 1) if line.strip()]
    unreadable = 0
    for number, line in lines:
        where = f"{file.name} line {number}"
        try:
            record = parse_json(line, "the line")
        except AlbumError as error:
            collector.problem(where, error)
            unreadable += 1
            continue
        collector.add(where, record)
    if unreadable == len(lines):
        raise AlbumError(
            f"{shown(file.name)} must contain one JSON object per line, got none in {len(lines):,} lines: "
            "for another format pass for example coco:PATH"
        )
    return collector.album(_mask_labels(collector))


def _mask_labels(collector: Collector) -> dict[int, str]:
    """Return the names of mask values from ``labels.txt`` beside the file: lines ``value name``."""
    labels: dict[int, str] = {}
    with collector.setting_aside(LABELS):
        path = contained(collector.root, LABELS)
        if not is_file(path):
            if collector.has_masks:
                raise AlbumError("does not exist, so the values of the masks have no names: write it")
            return {}
        for number, line in enumerate(read_text(path, MAX_SIDECAR).split("\n"), 1):
            value, _, name = line.strip().partition(" ")
            if not value:
                continue
            if not (value.isascii() and value.isdigit() and len(value) <= 5 and normal_name(name)):
                collector.problem(f"{LABELS} line {number}", f"must be `value name`, got {shown(line)}")
            elif int(value) in labels or int(value) > 65535:
                collector.problem(f"{LABELS} line {number}", f"value {value} occurs twice, or is above 65535")
            elif int(value):  # 0 is void, whatever its name
                labels[int(value)] = normal_name(name)
    return labels


def write_jsonl(album: Album, path: str | os.PathLike[str]) -> None:
    """Write an album as ``.jsonl``, with ``labels.txt`` beside it if it has masks; pictures are not copied.

    The file must be in a folder that contains the pictures, at any depth, because its paths only lead down.
    """
    file = Path(path)
    lines = (json.dumps(_record(item, file.parent), ensure_ascii=False) for item in album)
    write_text(file, "".join(f"{line}\n" for line in lines))
    if album.mask_labels:
        names = (f"{value} {name}\n" for value, name in sorted(album.mask_labels.items()))
        write_text(file.parent / LABELS, "".join(names))


def below(path: Path, folder: Path) -> str:
    """Return the path of a picture relative to the folder of the written file."""
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except (ValueError, OSError) as error:
        raise AlbumError(
            f"{shown(path.name)} is not below the output folder: write into the folder of the album"
        ) from error


def _record(item: Item, folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = {"image": below(item.image, folder), "tags": list(item.tags)}
    if item.split is not None:
        record["split"] = item.split
    if item.mask is not None:
        record["mask"] = below(item.mask, folder)
    if item.regions:
        record["regions"] = [_region(region) for region in item.regions]
    return record


def _region(region: TrueRegion) -> dict[str, Any]:
    if region.polygon is not None:
        return {"tag": region.tag, "polygon": region.polygon}
    if region.runs is not None:
        height, width, counts = region.runs
        return {"tag": region.tag, "runs": {"size": [height, width], "counts": counts}}
    return {"tag": region.tag, "box": region.box}
