"""Mulan's multi-label data sets: ARFF, dense or sparse, with labels in XML; read as Bags, not as an album."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from tagmix.bags import Bags
from tagmix.datasets.files import read_text, read_xml
from tagmix.datasets.paths import shown
from tagmix.errors import AlbumError
from tagmix.tag_names import normal_name

# a name, with or without quotes, then a type: {values} or a word
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(\{[^}]*\}|\w+)""", re.I)
NUMERIC = {"numeric", "real", "integer"}
MAX_DENSE = 2**28  # cells, 2 GB as doubles


class _Table(NamedTuple):
    names: list[str]
    matrix: csr_array[Any]


def read_mulan(arff: str | os.PathLike[str], xml: str | os.PathLike[str] | None = None) -> Bags:
    """Return a Mulan data set as bags with one region per row.

    ``xml`` names the attributes that are labels; by default it is the file of the same name. Non-negative
    whole numbers are read as word counts, others as an embedding.
    """
    file = Path(arff)
    labels = _labels(file.with_suffix(".xml") if xml is None else Path(xml))
    table = _table(read_text(file), shown(file.name))
    place = {name: k for k, name in enumerate(table.names)}
    missing = [name for name in labels if name not in place]
    if missing:
        raise AlbumError(
            f"{shown(file.name)} must have the label {shown(missing[0])} as attribute: check the XML"
        )
    columns = [place[name] for name in labels]
    others = np.setdiff1d(np.arange(len(table.names)), columns)
    tags = table.matrix[:, columns]
    if tags.nnz and not np.all(tags.data == 1):
        raise AlbumError(f"{shown(file.name)} must have labels of 0 and 1, got other values: check the XML")
    n_rows = table.matrix.shape[0]
    names = [normal_name(name) for name in labels]
    return Bags(_features(table.matrix[:, others], file), np.arange(n_rows + 1), tags=tags, tag_names=names)


def _features(matrix: csr_array[Any], file: Path) -> Any:
    if not matrix.shape[1]:
        raise AlbumError(
            f"{shown(file.name)} must have attributes besides its labels, got none: check the XML"
        )
    if not matrix.nnz or (matrix.data.min() >= 0 and np.all(matrix.data == np.floor(matrix.data))):
        return matrix
    if matrix.shape[0] * matrix.shape[1] > MAX_DENSE:
        raise AlbumError(f"{shown(file.name)} must have at most {MAX_DENSE:,} real numbers: split it")
    return matrix.toarray()


def _labels(file: Path) -> list[str]:
    root = read_xml(file)
    found = [element.get("name", "") for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    if not found or not all(normal_name(name) for name in found) or len(set(found)) < len(found):
        raise AlbumError(f"{shown(file.name)} must name each label once in <label name=…>: check the file")
    return found


def _table(text: str, name: str) -> _Table:
    """Return the names of the attributes and the data; % starts a comment."""
    lines = enumerate(text.split("\n"), 1)
    names = list(_header(lines, name))
    if not names or len(set(names)) < len(names):
        raise AlbumError(f"{name} must be ARFF with attributes, each named once: check the format")
    rows = [(number, row) for number, line in lines if (row := line.strip()) and not row.startswith("%")]
    if not rows:
        raise AlbumError(f"{name} must have rows after @data, got none: check the file")
    entries = [
        (k, column, value)
        for k, (number, row) in enumerate(rows)
        for column, value in _cells(row, len(names), f"{name} line {number}")
    ]
    where, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    matrix = coo_array((values, (where, columns)), shape=(len(rows), len(names)), dtype=np.float64)
    return _Table(names, csr_array(matrix))


def _header(lines: Iterator[tuple[int, str]], name: str) -> Iterator[str]:
    """Yield the names of the attributes up to @data; keywords are case-insensitive."""
    for number, line in lines:
        word = line.strip().casefold()
        if word.startswith("@data"):
            return
        if word.startswith("@attribute"):
            yield _attribute(line.strip(), f"{name} line {number}")
        elif word and not word.startswith(("%", "@relation")):
            raise AlbumError(
                f"{name} line {number} must be an ARFF header, got {shown(line)}: check the format"
            )


def _attribute(line: str, where: str) -> str:
    found = ATTRIBUTE.match(line)
    if found is None:
        raise AlbumError(f"{where} must be `@attribute name type`, got {shown(line)}: check the file")
    name, kind = found.groups()
    values = [value.strip().strip("'\"") for value in kind.strip("{}").split(",")]
    # A sparse row omits zeros and the first of a list of values, so that must be 0
    numbers = kind.startswith("{") and values[0] == "0" and set(values) <= {"0", "1"}
    if not numbers and kind.casefold() not in NUMERIC:
        raise AlbumError(f"{where} must be numeric or {{0,1}}, got {shown(kind)}: convert it to numbers")
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name


def _cells(row: str, width: int, where: str) -> Iterator[tuple[int, float]]:
    """Yield column and value of the nonzero entries of a row, ``1,0,2`` or ``{0 1, 2 2}``."""
    sparse = row.startswith("{")
    try:
        if sparse:
            cells = [cell.split() for cell in row.strip("{}").split(",") if cell.strip()]
            pairs = [(int(column), _number(value)) for column, value in cells]
        else:
            pairs = list(enumerate(map(_number, row.split(","))))
    except ValueError as error:
        raise AlbumError(f"{where} must be a row of {width:,} numbers, got {shown(row)}: check it") from error
    columns = {column for column, _ in pairs}
    fits = len(columns) == len(pairs) and all(0 <= column < width for column in columns)
    if not fits or (not sparse and len(pairs) != width):
        raise AlbumError(f"{where} must be a row of {width:,} numbers, got {len(pairs):,}: check it")
    return ((column, value) for column, value in pairs if value)


def _number(text: str) -> float:
    value = float(text.strip().strip("'\""))
    if not np.isfinite(value):
        raise ValueError(text)
    return value
