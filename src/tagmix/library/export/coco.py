"""COCO: pictures, regions as polygons, and tags as categories with the tag above as supercategory."""

import json
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from tagmix import __version__
from tagmix.library.export.chosen import Chosen, Shape
from tagmix.library.export.rings import area, box, rings
from tagmix.library.export.sheet import GENERATOR, Sheet

SPOOL = 2**24  # bytes of annotations that stay in memory; more go to the disk
BLOCK = 2**20


def coco_blocks(sheet: Sheet, photos: Iterable[Chosen]) -> Iterator[bytes]:
    """Yield a COCO file. ``tags`` of a picture has the tags of the whole, for which COCO has no place."""
    info = {**GENERATOR, "version": __version__, "description": f"photos of {sheet.base.name}"}
    numbers: dict[str, int] = {}
    yield b'{"info": ' + _json(info) + b',\n"licenses": [],\n"images": [\n'
    n_notes = 0
    # The list of annotations follows that of pictures: it waits here
    with tempfile.SpooledTemporaryFile(SPOOL) as notes:
        for k, (photo, height, width) in enumerate(sheet.sized(photos), 1):
            picture = {"id": k, "file_name": sheet.name(photo), "height": height, "width": width}
            yield (b",\n" if k > 1 else b"") + _json(picture | {"tags": list(photo.tags)})
            for tag in photo.tags:
                numbers.setdefault(tag, len(numbers) + 1)
            for shape in photo.shapes:
                n_notes += 1
                kind = numbers.setdefault(shape.tag, len(numbers) + 1)
                note = {"id": n_notes, "image_id": k, "category_id": kind, "iscrowd": 0}
                line = _json(note | _geometry(shape, height, width))
                notes.write((b",\n" if n_notes > 1 else b"") + line)
        yield b'\n],\n"annotations": [\n'
        notes.seek(0)
        while block := notes.read(BLOCK):
            yield block
    kinds = [{"id": k, "name": tag, "supercategory": sheet.above(tag)} for tag, k in numbers.items()]
    yield b'\n],\n"categories": [\n' + b",\n".join(map(_json, kinds)) + b"\n]}\n"


def _geometry(shape: Shape, height: int, width: int) -> dict[str, Any]:
    found = rings(shape, height, width)
    x, y, across, down = box(shape, height, width)
    return {
        "segmentation": [[value for point in ring for value in point] for ring in found],
        "bbox": [x, y, across, down],
        "area": sum(map(area, found)) if found else across * down,
    }


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()
