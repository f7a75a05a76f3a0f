"""tagmix info: the model card of a file."""

import json
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click
from rich.cells import cell_len, set_cell_size

from tagmix.report.model_card import facts_of
from tagmix.report.model_card_sections import Row, Section, markdown, sections_of

MOST_TAGS = 20
NARROW, WIDE = 40, 100
SHORT = {"Average precision": "AP", "Precision": "Prec."}


@click.command("info", short_help="what is in a model")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--all-tags", is_flag=True, help=f"List all tags, instead of the {MOST_TAGS} most frequent.")
@click.option("--json", "as_json", is_flag=True, help="Print all facts as one JSON object.")
@click.option(
    "--markdown", "as_markdown", is_flag=True, help="Print the model card as Markdown, with all tags."
)
@click.option(
    "--paths", is_flag=True, help="Also print where the files of networks were: paths can be private."
)
def command(model: Path, all_tags: bool, as_json: bool, as_markdown: bool, paths: bool) -> None:
    """Print the model card of MODEL: what it was trained on, how well it does, and what it is not for.

    MODEL is any file of tagmix: a model of `tagmix train`, or a learner or bags of the Python library. Only
    what is in the file is printed; older files do not record their training data. The model id is what other
    commands name the model by; it changes when its predictions do.

    \b
    Examples:
      tagmix info photos.tagmix
      tagmix info photos.tagmix --markdown > MODEL_CARD.md
      tagmix info photos.tagmix --json
    """
    if as_json and as_markdown:
        raise click.UsageError("--json and --markdown exclude each other: give one of them.")
    facts = facts_of(model, places=paths)
    if as_json:
        click.echo(json.dumps(facts, indent=1))  # ASCII: any terminal and any encoding can hold it
        return
    if as_markdown:
        click.echo(markdown(facts), nl=False)
        return
    most = len(facts["tags"]) if all_tags else MOST_TAGS
    for line in text([_cut_off(one, most) for one in sections_of(facts)], shutil.get_terminal_size().columns):
        click.echo(line)


def _cut_off(section: Section, most: int) -> Section:
    """Return the section with at most so many rows of its table."""
    more = len(section.table) - 1 - most
    if more <= 0:
        return section
    note = f"… and {more:,} more tags: --all-tags. {section.note}"
    return section._replace(table=section.table[: 1 + most], note=note)


def text(sections: Sequence[Section], width: int) -> list[str]:
    """Return the sections as lines for a terminal of this width; at least ``NARROW`` columns are used."""
    width = min(max(width, NARROW), WIDE)
    labels = [label for one in sections for label, _ in one.rows]
    column = min(max(map(cell_len, labels), default=0), width // 3)
    lines: list[str] = []
    for one in sections:
        lines += ["", one.title] if one.title else []
        for line in one.lines:
            lines += _wrapped(line, "  ", "  ", width)
        for label, value in one.rows:
            lines += _labelled(label, value, column, width)
        lines += _table(one.table, width) if len(one.table) > 1 else []
        lines += _wrapped(one.note, "  ", "  ", width)
    return lines


def _labelled(label: str, value: str, column: int, width: int) -> list[str]:
    """Return a value beside its label, or below a label that is too long."""
    after = " " * (column + 4)
    if cell_len(label) > column:
        return [*_wrapped(label, "  ", "  ", width), *_wrapped(value, after, after, width)]
    return _wrapped(value, "  " + set_cell_size(label, column) + "  ", after, width)


def _wrapped(line: str, first: str, others: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, initial_indent=first, subsequent_indent=others) if line else []


def _table(rows: Sequence[Row], width: int) -> list[str]:
    """Return a table: names to the left, cut where the terminal is narrow, numbers to the right."""
    heads = [SHORT.get(head, head) for head in rows[0]]
    cells = [heads, *rows[1:]]
    widths = [max(len(row[i]) for row in cells) for i in range(1, len(heads))]
    room = width - 2 - sum(2 + own for own in widths)
    names = min(room, max(cell_len(row[0]) for row in cells))
    return [
        "  "
        + set_cell_size(_cut(row[0], names), names)
        + "".join(f"  {cell:>{own}}" for cell, own in zip(row[1:], widths, strict=True))
        for row in cells
    ]


def _cut(name: str, width: int) -> str:
    return name if cell_len(name) <= width else set_cell_size(name, width - 1).rstrip() + "…"
