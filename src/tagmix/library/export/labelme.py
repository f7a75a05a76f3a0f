"""LabelMe: one JSON file per photo, for the desktop tool, in a folder of the same tree."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

from tagmix.library.export.chosen import Chosen, Shape
from tagmix.library.export.rings import box, rings
from tagmix.library.export.sheet import GENERATOR, beside


class LabelNames:
    """The names of LabelMe files, each used once: ``sea.json``, or ``sea.png.json`` where that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, place: str) -> str:
        """Return the name for a photo."""
        short = PurePosixPath(place).with_suffix(".json").as_posix()
        name = f"{place}.json" if short.casefold() in self._taken else short
        self._taken.add(name.casefold())  # a disk may ignore capitals
        return name


def labelme_content(photo: Chosen, height: int, width: int, folder: Path) -> bytes:
    """Return the file of a photo, to lie in ``folder``. ``flags`` and ``tags`` have the tags of the whole."""
    content = {
        **GENERATOR,
        "version": "5.5.0",
        "flags": dict.fromkeys(photo.tags, True),
        "shapes": [one for k, shape in enumerate(photo.shapes) for one in _written(shape, k, height, width)],
        "imagePath": beside(photo.path, folder),
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
        "tags": list(photo.tags),
    }
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def _written(shape: Shape, number: int, height: int, width: int) -> list[dict[str, Any]]:
    found, kind = rings(shape, height, width), "polygon"
    if not found:
        x, y, across, down = box(shape, height, width)
        found, kind = [[[x, y], [x + across, y + down]]], "rectangle"
    group = number if len(found) > 1 else None  # polygons of one region
    return [
        {"label": shape.tag, "points": ring, "group_id": group, "shape_type": kind, "flags": {}}
        for ring in found
    ]
