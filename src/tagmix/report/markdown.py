"""Tables as Markdown, for documents."""

from collections.abc import Iterable, Sequence

from tagmix.report.page import Line


def table(heads: Sequence[str], lines: Iterable[Line]) -> str:
    """Return a table; notes and small print follow in brackets, empty columns are left out.

    >>> from tagmix.report.page import Cell
    >>> print(table(["", "Score"], [Line("KNN", "neighbours", [Cell("0.5", "0.4 … 0.6")])]))
    | | Score |
    |---|---|
    | KNN (neighbours) | 0.5 (0.4 … 0.6) |
    """
    rows = [
        [_text(line.name, line.note), *(_text(cell.text, cell.small) for cell in line.cells)]
        for line in lines
    ]
    kept = [i for i in range(len(heads)) if i == 0 or any(row[i] for row in rows)]
    made = [row_of([heads[i] for i in kept]), "|" + len(kept) * "---|"]
    return "\n".join([*made, *(row_of([row[i] for i in kept]) for row in rows)])


def _text(text: str, small: str) -> str:
    return f"{text} ({small})" if small else text


def row_of(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return "".join(f"| {escaped(cell)} " if cell else "| " for cell in cells) + "|"


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is: in one line, and without marks of its own."""
    shown = " ".join(text.split())
    for mark in "\\|*_<`[":
        shown = shown.replace(mark, f"\\{mark}")
    return shown
