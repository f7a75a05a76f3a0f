"""The settings that were chosen, and the provenance of the records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tagmix.comparison.records import Record
from tagmix.report import page
from tagmix.report.comparison.names import in_order, label
from tagmix.report.comparison.samples import Group, MethodSample
from tagmix.report.comparison.tables import NONE
from tagmix.report.page import Cell, Line

MOST_VALUES = 3
LONGEST = 300  # letters of a setting
OF_TASKS = frozenset({"mark", "read"})  # different for each task, so of no interest to a reader


def settings_table(group: Group) -> str:
    """Return the settings that each method chose inside its training part, and how many it tried."""
    lines = [_settings_line(group.whole[name]) for name in in_order(group.whole)]
    return page.grid(["", "Settings tried", "Chosen"], lines)


def _settings_line(sample: MethodSample) -> Line:
    records = sorted(sample.records, key=lambda record: record.task.part)
    tried = sorted({len(record.tried) for record in records})
    ends = dict.fromkeys((tried[0], tried[-1]))
    own = "inside fit" if any(record.chosen for record in records) else NONE
    number = " to ".join(f"{n:,}" for n in ends) if tried[-1] else own
    chosen = settings_line(_over_parts([record.chosen for record in records]))
    return Line(label(sample.method).name, "", [Cell(number), Cell(chosen, look="text")])


def _over_parts(chosen: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return each setting with its value per part, once if all are equal."""
    names = dict.fromkeys(name for own in chosen for name in own)
    values = {name: [_value(own[name]) if name in own else NONE for own in chosen] for name in names}
    return {name: own[0] if len(set(own)) == 1 else " / ".join(own) for name, own in values.items()}


def settings_line(chosen: Mapping[str, Any]) -> str:
    """Return settings in one line.

    >>> settings_line({"evidence": 0.05, "passes": 3})
    'evidence 0.05, passes 3'
    """
    line = ", ".join(f"{key.rstrip('_')} {_value(value)}" for key, value in chosen.items())
    return f"{line[:LONGEST]}…" if len(line) > LONGEST else line or "nothing to choose"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return f"({settings_line(value)})"
    if isinstance(value, list | tuple):
        return f"({', '.join(_value(part) for part in value)})"
    return str(value)


def provenance(records: Iterable[Record]) -> dict[str, str]:
    """Return the provenance of the records, with the different values of each entry."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for key, value in record.provenance.items():
            if key in OF_TASKS or value is None:
                continue
            shown = settings_line(value) if isinstance(value, Mapping) else _value(value)
            found.setdefault(key, {})[shown] = None
    return {key: _few(list(values)) for key, values in found.items()}


def _few(values: Sequence[str]) -> str:
    if len(values) <= MOST_VALUES:
        return "; ".join(values)
    ordered = sorted(values)
    return f"{len(values)} values, from {ordered[0]} to {ordered[-1]}"
