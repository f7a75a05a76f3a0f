"""What EMM with context owes to its parts: one table, a line for each thing that was changed."""

from collections.abc import Sequence
from typing import Any

from tagmix.experiments.studies import rich_parts
from tagmix.report import page
from tagmix.report.contest.curves import AXES, Points, reference
from tagmix.report.contest.data import Group, Sample, Samples
from tagmix.report.contest.names import CONTEXT, title_of, top_k, views_told
from tagmix.report.contest.numbers import difference, told_apart
from tagmix.report.contest.tables import (
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
from tagmix.report.page import Cell, Line

NOTE = (
    "One thing is changed at a time, and everything else chosen anew. Change: in Top-k accuracy, over the "
    "same pictures and seeds; ≈ where it cannot be told from 0. Where pictures are cut otherwise, the shares "
    "are of other regions. Seconds are those of one core, means of folds."
)
CUTS = {"grid": "cut by a grid", "graph": "cut by merging superpixels"}


def cut_otherwise(group: Group) -> bool:
    """Return whether the pictures of a group are cut in another way than the album they are compared with."""
    return bool((rich_parts(group.data) or ("", ""))[1])


def ablation(found: Sequence[Group]) -> str:
    """Return the tables of all data sets on which something was changed; nothing if there is none."""
    tables = []
    for group in found:
        points = [(name, *point) for name, own in group.curves.items() if name not in AXES for point in own]
        changed = [(name, value, own[CONTEXT]) for name, value, own in points if CONTEXT in own]
        changed.sort(key=_is_network)  # it follows the lines that have one
        if changed and CONTEXT in group.whole:
            tables.append(page.subsection(title_of(group), _table(group, changed, _cuts(group, found))))
    return page.paragraph(NOTE, "note") + "\n".join(tables) if tables else ""


def _is_network(change: tuple[str, Any, Sample]) -> bool:
    """Return whether a change leaves out several views at once, those of a network."""
    return change[0] == "without" and isinstance(change[1], list)


Changed = Sequence[tuple[str, Any, Sample]]


def _table(group: Group, changed: Changed, cuts: Samples) -> str:
    points: Points = [(value, {CONTEXT: sample}) for _, value, sample in changed]
    whole = reference(group, points)[CONTEXT]
    lines = [_line("as it is", "", whole, None)]
    for change in changed:
        note = "no features of a network" if _is_network(change) else ""
        same_parts = reference(group, [(change[1], {CONTEXT: change[2]})])[CONTEXT]
        lines.append(_line(_told(*change[:2]), note, change[2], same_parts))
    # Cut otherwise, pictures are described without a network: compared with what is so too
    plain = [change[2] for change in changed if _is_network(change)]
    beside = "without a network; change from the line without it" if plain else ""
    lines += [
        _line(CUTS.get(cut, cut), beside, sample, (plain or [whole])[0]) for cut, sample in cuts.items()
    ]
    heads = ["", f"{top_k([group.whole])} (95 % interval)", "Change"]
    heads += [*(METRICS[key][0] for key in MAIN), "Regions right, no caption", "Regions right, caption given"]
    return page.grid([*heads, *(f"Seconds to {key}" for key in SECONDS)], lines)


def _line(name: str, note: str, sample: Sample, whole: Sample | None) -> Line:
    parts = sample.parts()
    cells = [score_cell(parts), Cell("") if whole is None else _change(sample, whole)]
    cells += [Cell(metric_of(sample, key)) for key in MAIN]
    for told in (False, True):
        cells.append(score_cell(sample.regions(1, told)) if sample.knows_regions else Cell(NONE))
    for key in SECONDS:
        cells.append(Cell(seconds([r.seconds[key] for r in sample.records if key in r.seconds])))
    return Line(name, note, cells, "strong" if whole is None else "")


def _change(sample: Sample, whole: Sample) -> Cell:
    found = difference(sample.parts(), whole.parts())
    same = "" if told_apart(sample.parts(), whole.parts()) else "≈ "
    return Cell(f"{same}{number(found.mean, sign=True)}", span(found.low, found.high, sign=True))


def _told(name: str, value: Any) -> str:
    """Return what was changed.

    >>> _told("context", None), _told("context", ["kernel", "neighbours"]), _told("without", "colour")
    ('no context', 'context by kernel and neighbours', 'without colour')
    """
    several = views_told([str(one) for one in value] if isinstance(value, list) else [str(value)])
    return {
        "context": "no context" if value is None else f"context by {several}",
        "without": f"without {several}",
        "evidence": f"κ = {value}, not chosen",
        "learning": f"tags weighted by {several}",
        "even": "ranked so that rare tags count as much",
        "embeddings": f"{several} instances of embeddings alone",
    }.get(name, f"{name} {several}")


def _cuts(group: Group, found: Sequence[Group]) -> Samples:
    """Return EMM with context on the same album cut otherwise, by the way it was cut."""
    album, cut = rich_parts(group.data) or (group.data, "")
    named = [(rich_parts(other.data) or ("", ""), other) for other in found]
    return {
        own[1]: other.whole[CONTEXT]
        for own, other in named
        if not cut and own[0] == album and own[1] and CONTEXT in other.whole
    }
