"""The small print of a contest: what was chosen, where it ran, and what others have published."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tagmix.evaluation.published import TagFigures, published
from tagmix.experiments.records import Record
from tagmix.experiments.studies import rich_name
from tagmix.report import page
from tagmix.report.contest.data import Group, Sample
from tagmix.report.contest.names import in_order, method, title_of
from tagmix.report.contest.tables import NONE, number
from tagmix.report.page import Cell, Line

PER_TAG = {"per_tag_precision": "P %", "per_tag_recall": "R %", "per_tag_f1": "F1 %"}
COREL5K = ("corel5k", rich_name("corel5k"))
MOST_VALUES = 3
LONGEST = 300  # letters of a setting
OF_TASKS = frozenset({"mark", "read"})  # what is another for each task tells a reader nothing


def settings_table(group: Group) -> str:
    """Return what each method chose inside its training part, and among how many settings."""
    lines = [_settings_line(group.whole[name]) for name in in_order(group.whole)]
    return page.grid(["", "Settings tried", "Chosen"], lines)


def _settings_line(sample: Sample) -> Line:
    records = sorted(sample.records, key=lambda record: record.task.part)
    tried = sorted({len(record.tried) for record in records})
    ends = dict.fromkeys((tried[0], tried[-1]))
    own = "in its own fit" if any(record.chosen for record in records) else NONE
    told = " to ".join(f"{n:,}" for n in ends) if tried[-1] else own
    chosen = settings_told(_over_parts([record.chosen for record in records]))
    return Line(method(sample.method).name, "", [Cell(told), Cell(chosen, look="text")])


def _over_parts(chosen: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return each setting with its values in the parts, once if they are all the same."""
    names = dict.fromkeys(name for own in chosen for name in own)
    values = {name: [_value(own[name]) if name in own else NONE for own in chosen] for name in names}
    return {name: own[0] if len(set(own)) == 1 else " / ".join(own) for name, own in values.items()}


def settings_told(chosen: Mapping[str, Any]) -> str:
    """Return settings in one line.

    >>> settings_told({"evidence": 0.05, "passes": 3})
    'evidence 0.05, passes 3'
    """
    told = ", ".join(f"{key.rstrip('_')} {_value(value)}" for key, value in chosen.items())
    return f"{told[:LONGEST]}…" if len(told) > LONGEST else told or "nothing to choose"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return f"({settings_told(value)})"
    if isinstance(value, list | tuple):
        return f"({', '.join(_value(part) for part in value)})"
    return str(value)


def provenance(records: Iterable[Record]) -> dict[str, str]:
    """Return what the records say about where they come from, the few different values of each."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        for key, value in record.provenance.items():
            if key in OF_TASKS or value is None:
                continue
            told = settings_told(value) if isinstance(value, Mapping) else _value(value)
            found.setdefault(key, {})[told] = None
    return {key: _few(list(values)) for key, values in found.items()}


def _few(values: Sequence[str]) -> str:
    if len(values) <= MOST_VALUES:
        return "; ".join(values)
    ordered = sorted(values)
    return f"{len(values)} values, from {ordered[0]} to {ordered[-1]}"


def published_table(groups: Sequence[Group]) -> str:
    """Return the published figures of Corel5k and ours with their best words, by F1; nothing without ours."""
    ours: dict[tuple[str, str], tuple[float, Line]] = {}
    for group in groups:
        for note, sample in _measured(group) if group.data in COREL5K else ():
            f1, key = sample.metric("per_tag_f1"), (sample.method, note)
            if f1 is not None and (key not in ours or f1 > ours[key][0]):
                ours[key] = (f1, _our_line(group, sample, note))
    if not ours:
        return ""
    theirs = [(row.f1 / 100, _their_line(row)) for row in published().corel5k]
    ordered = sorted([*ours.values(), *theirs], key=lambda pair: -pair[0])
    heads = ["", *PER_TAG.values(), "N+", "From"]
    return page.grid(heads, [line for _, line in ordered])


def _measured(group: Group) -> Iterator[tuple[str, Sample]]:
    """Yield how each method was measured on all pictures and tags, and the method."""
    for sample in group.whole.values():
        yield "measured here", sample
    for even, samples in group.curves.get("even", ()):
        for sample in samples.values() if even is True else ():
            yield "measured here; ranked so that rare tags count as much", sample


def _our_line(group: Group, sample: Sample, note: str) -> Line:
    rates = [Cell(number(100 * (sample.metric(key) or 0.0), 1)) for key in PER_TAG]
    n_plus = Cell(number(sample.metric("n_plus"), 0))
    name = method(sample.method).name
    return Line(name, note, [*rates, n_plus, Cell(title_of(group), look="text")], "strong")


def _their_line(row: TagFigures) -> Line:
    rates = [Cell(number(value, 1)) for value in (row.precision, row.recall, row.f1)]
    source = Cell(str(row.source), "; ".join(filter(None, (row.features, row.note))), look="text")
    follows = f"published; followed by our {method(row.ours).name}" if row.ours else "published"
    return Line(row.name, follows, [*rates, Cell(str(row.n_plus) if row.n_plus else NONE), source], "quiet")
