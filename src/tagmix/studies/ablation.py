"""The ablation of EMM with context: one table per data set, one line per change."""

from collections.abc import Sequence
from typing import Any

from tagmix.report import page
from tagmix.report.comparison.intervals import differ, difference
from tagmix.report.comparison.names import CONTEXT, top_k
from tagmix.report.comparison.samples import Group, MethodSample, Samples
from tagmix.report.comparison.tables import (
    MAIN,
    METRICS,
    NONE,
    SECONDS,
    metric_of,
    number,
    score_cell,
    seconds,
    span,
)
from tagmix.report.comparison.titles import views_listed
from tagmix.report.page import Cell, Line, Table
from tagmix.studies.curves import AXES, Points, reference
from tagmix.studies.names import rich_parts

NOTE = (
    "One thing is changed at a time, and all settings are chosen again. Change: in top-k accuracy, over the "
    "same pictures and seeds; ≈ if its interval includes 0. With another segmenter, the shares are of other "
    "regions. Seconds are on one core, mean over folds."
)
SEGMENTED = {"grid": "regions from a grid", "graph": "regions from merged superpixels"}


def ablation(found: Sequence[Group]) -> str:
    """Return the tables of all data sets with changes; empty if there are none."""
    tables = [page.subsection(title, page.grid(*table)) for title, table in ablation_tables(found)]
    return page.paragraph(NOTE, "note") + "\n".join(tables) if tables else ""


def ablation_tables(found: Sequence[Group]) -> list[tuple[str, Table]]:
    """Return a title and a table for each data set with changes."""
    tables = []
    for group in found:
        points = [(name, *point) for name, own in group.curves.items() if name not in AXES for point in own]
        changed = [(name, value, own[CONTEXT]) for name, value, own in points if CONTEXT in own]
        changed.sort(key=_is_network)  # last, before the segmenters, which have no network either
        if changed and CONTEXT in group.whole:
            tables.append((group.title, _table(group, changed, _other_segmenters(group, found))))
    return tables


def _is_network(change: tuple[str, Any, MethodSample]) -> bool:
    """Return whether a change removes several views at once, those of a network."""
    return change[0] == "without" and isinstance(change[1], list)


Changed = Sequence[tuple[str, Any, MethodSample]]


def _table(group: Group, changed: Changed, segmented: Samples) -> Table:
    points: Points = [(value, {CONTEXT: sample}) for _, value, sample in changed]
    whole = reference(group, points)[CONTEXT]
    lines = [_line("unchanged", "", whole, None)]
    for change in changed:
        note = "no network features" if _is_network(change) else ""
        same_parts = reference(group, [(change[1], {CONTEXT: change[2]})])[CONTEXT]
        lines.append(_line(_change_name(*change[:2]), note, change[2], same_parts))
    # With another segmenter, pictures are described without a network: compare with that line
    plain = [change[2] for change in changed if _is_network(change)]
    beside = "without a network; change from that line" if plain else ""
    lines += [
        _line(SEGMENTED.get(cut, cut), beside, sample, (plain or [whole])[0])
        for cut, sample in segmented.items()
    ]
    heads = ["", f"{top_k([group.whole])} (95 % interval)", "Change"]
    heads += [*(METRICS[key][0] for key in MAIN), "Regions right, no caption", "Regions right, caption given"]
    return Table([*heads, *(f"Seconds to {key}" for key in SECONDS)], lines)


def _line(name: str, note: str, sample: MethodSample, whole: MethodSample | None) -> Line:
    parts = sample.parts()
    cells = [score_cell(parts), Cell("") if whole is None else _change(sample, whole)]
    cells += [Cell(metric_of(sample, key)) for key in MAIN]
    for captioned in (False, True):
        cells.append(score_cell(sample.regions(1, captioned)) if sample.knows_regions else Cell(NONE))
    for key in SECONDS:
        cells.append(Cell(seconds([r.seconds[key] for r in sample.records if key in r.seconds])))
    return Line(name, note, cells, "strong" if whole is None else "")


def _change(sample: MethodSample, whole: MethodSample) -> Cell:
    found = difference(sample.parts(), whole.parts())
    same = "" if differ(sample.parts(), whole.parts()) else "≈ "
    return Cell(f"{same}{number(found.mean, sign=True)}", span(found.low, found.high, sign=True))


def _change_name(name: str, value: Any) -> str:
    """Return the name of a change.

    >>> _change_name("evidence", 0.1), _change_name("context", ["kernel", "neighbours"])
    ('κ = 0.1, fixed', 'context by kernel and neighbours')
    """
    several = views_listed([str(one) for one in value] if isinstance(value, list) else [str(value)])
    return {
        "context": f"context by {several}",
        "without": f"without {several}",
        "evidence": f"κ = {value}, fixed",
    }.get(name, f"{name} {several}")


def _other_segmenters(group: Group, found: Sequence[Group]) -> Samples:
    """Return EMM with context on the same album with other segmenters, by segmenter."""
    album, cut = rich_parts(group.data) or (group.data, "")
    named = [(rich_parts(other.data) or ("", ""), other) for other in found]
    return {
        own[1]: other.whole[CONTEXT]
        for own, other in named
        if not cut and own[0] == album and own[1] and CONTEXT in other.whole
    }
