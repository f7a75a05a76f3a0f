"""CSV, for spreadsheets, and JSON lines, the native format of albums: a line per photo."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tagmix.library.export.chosen import Chosen
from tagmix.library.export.rings import box, rings
from tagmix.library.export.sheet import GENERATOR, Sheet

# Without it, Excel takes UTF-8 for another encoding.
BYTE_ORDER_MARK = "\ufeff"
HEADER = ("image", "tags")
SEPARATOR = ";"
# A cell that begins with one of these is run as a formula by spreadsheets, also in their wide forms.
FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")


def csv_blocks(sheet: Sheet, photos: Iterable[Chosen]) -> Iterator[bytes]:
    """Yield a table: a row per photo with its path and its tags, separated by semicolons.

    No cell begins as a formula does: a path then begins with ``./``, and tags with a semicolon, which change
    neither. A tag with a semicolon gets a comma instead.
    """
    yield _row(HEADER, BYTE_ORDER_MARK)
    for photo in photos:
        yield _row((_path_cell(sheet.name(photo)), _tags_cell(sheet, photo.tags)))


def _path_cell(name: str) -> str:
    return f"./{name}" if name.startswith(FORMULA) or name != name.strip() else name


def _tags_cell(sheet: Sheet, tags: Iterable[str]) -> str:
    names = []
    for tag in tags:
        if SEPARATOR in tag:
            sheet.altered.add(tag)
        names.append(tag.replace(SEPARATOR, ","))
    text = SEPARATOR.join(names)
    # To a reader, bars are separators of tags, but levels of a tag if the cell ends with a semicolon
    text += SEPARATOR if "|" in text else ""
    return SEPARATOR + text if text.startswith(FORMULA) else text


def _row(cells: Iterable[str], before: str = "") -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream).writerow(cells)
    return (before + stream.getvalue()).encode()


def jsonl_blocks(sheet: Sheet, photos: Iterable[Chosen]) -> Iterator[bytes]:
    """Yield an object per photo, as ``tagmix train`` reads it; the first has our mark."""
    mark: dict[str, Any] = GENERATOR
    for photo, regions in _with_regions(sheet, photos):
        record = mark | {"image": sheet.name(photo), "tags": list(photo.tags)}
        yield json.dumps(record | regions, ensure_ascii=False).encode() + b"\n"
        mark = {}


def _with_regions(sheet: Sheet, photos: Iterable[Chosen]) -> Iterator[tuple[Chosen, dict[str, Any]]]:
    for photo in photos:
        if not photo.shapes:  # a photo is opened only where pixels are needed
            yield photo, {}
            continue
        for _, height, width in sheet.sized((photo,)):
            regions: list[dict[str, Any]] = []
            for shape in photo.shapes:
                found = rings(shape, height, width)
                regions += [{"tag": shape.tag, "polygon": ring} for ring in found]
                regions += [] if found else [{"tag": shape.tag, "box": box(shape, height, width)}]
            yield photo, {"regions": regions}
