"""Tables (CSV, TSV): one row per picture, with tags in one cell or one column per tag."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagmix.datasets.album import Album
from tagmix.datasets.collect import Collector
from tagmix.datasets.files import read_text
from tagmix.datasets.paths import shown
from tagmix.datasets.tags import listed, words
from tagmix.errors import AlbumError
from tagmix.tag_names import normal_names

DELIMITERS = ",;\t|"
ROLES = {
    "image": ("image", "file", "filename", "file_name", "path", "picture", "photo"),
    "tags": ("tags", "keywords", "labels"),
    "caption": ("caption", "description", "title"),
    "split": ("split", "part", "subset"),
}
MARKS = {"", "0", "1"}


class _Layout(NamedTuple):
    """The role of each column; the others are tags, by heading (if they contain marks) or by cell."""

    image: int
    tags: int | None
    caption: int | None
    split: int | None
    others: dict[int, str]
    marks: bool


def read_csv(path: str | os.PathLike[str], *, delimiter: str | None = None) -> Album:
    """Return the album in a table; by default the delimiter is detected in the first line."""
    file = Path(path)
    rows = _rows(read_text(file), delimiter, file.name)
    names = [cell.strip().casefold() for cell in rows[0][1]]
    headed = any(name in ROLES["image"] for name in names)
    body = rows[1:] if headed else rows
    layout = _layout(names if headed else ["image"] + [""] * (len(names) - 1), [row for _, row in body])
    headings = rows[0][1] if headed else ()
    collector = Collector(file.parent)
    for line, row in body:
        where = f"{file.name} line {line}"
        if len(row) <= layout.image:
            collector.problem(where, f"a row must have a picture, got {shown(row)}")
        else:
            collector.add(where, _record(row, layout, headings))
    return collector.album()


def _rows(text: str, delimiter: str | None, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, each with the number of its last line."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    mark = delimiter or max(DELIMITERS, key=first.count)  # any, if there is only one column
    if len(mark) != 1:
        raise AlbumError(f"delimiter must be one character, got {delimiter!r}: pass for example ';'")
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (csv.Error, TypeError, ValueError) as error:
        raise AlbumError(f"{shown(name)} must be a table (CSV), got: {error}; check its quotes") from error
    if not rows:
        raise AlbumError(
            f"{shown(name)} must be a table (CSV) with one row per picture, got none: check the file"
        )
    return rows


def _layout(names: list[str], rows: list[list[str]]) -> _Layout:
    found: dict[str, int] = {}
    for role, synonyms in ROLES.items():
        column = next((k for k, name in enumerate(names) if name in synonyms), None)
        if column is not None:
            found[role] = column
    others = {k: name for k, name in enumerate(names) if k not in found.values()}
    named = bool(others) and all(others.values())
    marks = named and all(row[k].strip() in MARKS for row in rows for k in others if k < len(row))
    return _Layout(found["image"], found.get("tags"), found.get("caption"), found.get("split"), others, marks)


def _record(row: list[str], layout: _Layout, headings: Sequence[str]) -> dict[str, Any]:
    def cell(column: int | None) -> str:
        return row[column].strip() if column is not None and column < len(row) else ""

    if layout.marks:
        tags = [headings[k] for k in layout.others if cell(k) == "1"]
    else:  # without a header, or with columns tag1, tag2 and so on
        tags = [tag for k in layout.others for tag in listed(cell(k), ";|")]
    tags += [*_listed(cell(layout.tags)), *words(cell(layout.caption))]
    blank = cell(layout.tags) and not tags  # only separators: an empty caption
    return {
        "image": cell(layout.image),
        "tags": [""] if blank else normal_names(tags),
        "split": cell(layout.split) or None,
    }


def _listed(cell: str) -> tuple[str, ...]:
    """Return the tags of a cell; in one that ends with a semicolon, bars are between the levels of a tag."""
    return listed(cell, ";" if cell.endswith(";") else ";|")
