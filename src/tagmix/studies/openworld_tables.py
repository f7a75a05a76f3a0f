"""The tables of the open world: regions that may be none of the tags, pointing, and pictures."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tagmix.evaluation.blocks import Parts, quotient
from tagmix.report import page
from tagmix.report.comparison.balanced import balanced_cells
from tagmix.report.comparison.intervals import Unit, differ, difference, interval, joined
from tagmix.report.comparison.names import CONTEXT, label, top_k
from tagmix.report.comparison.samples import Group, MethodSample
from tagmix.report.comparison.tables import NONE, metric_of, number, score_cell, span
from tagmix.report.page import Cell, Line, Table
from tagmix.studies.names import open_parts

NOTE = (
    "Intervals are 95 %, over the same bootstrap samples of test pictures for all methods. Small print: the "
    "interval, and EMM with context minus the method with its paired interval; ≈ marks differences whose "
    "interval includes 0."
)
REGIONS_NOTE = (
    "Right: share of the regions with a known truth, which may be none of the tags, that are named right. "
    "F1: of the regions that have a tag. Captioned: with the picture's own tags, if it has any."
)
POINTING_NOTE = (
    "Share of pairs (picture, tag) whose best region lies mostly inside an area of the tag; 15 pixels: has "
    "its middle pixel inside an area or at most 15 pixels from it (Zhang et al. 2016). Covered: share of "
    "pairs for which a region is named with the tag, with the caption."
)
PICTURES_NOTE = (
    "P@1: share of pictures with tags whose first tag is right. mAP: average precision of each picture's "
    "tags, mean over pictures. Recall: of all true tags, at the threshold over all pairs at which .6 of the "
    "tags shown are right. mAP of tags has no interval; those of per-tag F1 and N+ are over tags."
)
REGION_COLUMNS = {
    "Right, free": "regions free",
    "Right, captioned": "regions captioned",
    "F1, free": "f1 free",
    "F1, captioned": "f1 captioned",
}
POINTING_COLUMNS = {
    "Inside, free": "inside free",
    "Inside, captioned": "inside captioned",
    "15 pixels, free": "near free",
    "15 pixels, captioned": "near captioned",
    "Covered": "covered captioned",
}
PICTURE_COLUMNS = {"P@1": "first", "mAP": "map", "Recall at precision .6": "recall"}
Terms = dict[Unit, Parts]


def open_groups(found: Sequence[Group]) -> list[Group]:
    """Return the groups of the open world."""
    return [group for group in found if open_parts(group.data) is not None and group.whole]


def open_world(found: Sequence[Group]) -> str:
    """Return the section of the page; empty without such groups."""
    shown = open_groups(found)
    if not shown:
        return ""
    parts = [page.paragraph(NOTE, "note")]
    for group in shown:
        tables = [page.paragraph(text, "note") + page.grid(*table) for _, text, table in open_tables(group)]
        facts = page.paragraph(facts_of(group))
        parts.append(page.subsection(group.title, facts, *tables))
    return "\n".join(parts)


def open_tables(group: Group) -> list[tuple[str, str, Table]]:
    """Return a title, a note and a table: of regions and of pointing where they are known, of pictures."""
    tables = []
    named = {name: own for name, own in group.whole.items() if terms_of(own, "regions free") is not None}
    if named:
        tables.append(("Regions", REGIONS_NOTE, _table(named, REGION_COLUMNS)))
    pointing = {name: own for name, own in named.items() if terms_of(own, "inside free") is not None}
    if pointing:
        tables.append(("Pointing", POINTING_NOTE, _table(pointing, POINTING_COLUMNS)))
    ranking = {name: own for name, own in group.whole.items() if terms_of(own, "map") is not None}
    return [*tables, ("Pictures", PICTURES_NOTE, _pictures(group, ranking))] if ranking else tables


def facts_of(group: Group) -> str:
    """Return how many regions are none, what pointing could reach, and what captions miss."""
    sample = next(iter(group.whole.values()))
    pictures = f"{group.n_tested:,} test pictures, {sample.records[0].n_train:,} training pictures."
    known = [own for own in group.whole.values() if terms_of(own, "regions free") is not None]
    if not known:
        return pictures
    facts = [
        pictures,
        f"{_share(known[0], 'missed')} of the regions with a tag have one that the caption lacks.",
    ]
    if "AlwaysNone" in group.whole:
        none = _share(group.whole["AlwaysNone"], "regions free")
        facts.append(f"{none} of the regions are none of the tags.")
    if terms_of(known[0], "inside any") is not None:
        inside, near = (_share(known[0], name) for name in ("inside any", "near any"))
        facts.append(f"Pointing can reach {inside} of the pairs, {near} within 15 pixels.")
    return " ".join(facts)


def _share(sample: MethodSample, name: str) -> str:
    return number(quotient(joined(list((terms_of(sample, name) or {}).values()))))


def terms_of(sample: MethodSample, name: str) -> Terms | None:
    """Return the terms of the pictures of each part in a metric of the records; None if one lacks it."""
    found: Terms = {}
    for unit, records in sample.units.items():
        parts = [own for own in (record.parts(name) for record in records) if own is not None]
        if len(parts) < len(records):
            return None
        found[unit] = Parts(*(np.mean(columns, axis=0) for columns in zip(*parts, strict=True)))
    return found


def _table(samples: Mapping[str, MethodSample], columns: Mapping[str, str]) -> Table:
    lines = []
    for name in _ordered(samples):
        cells = [_cell(samples, name, lambda own, key=key: terms_of(own, key)) for key in columns.values()]  # type: ignore[misc]
        lines.append(_line(name, cells))
    return Table(["", *columns], lines)


def _pictures(group: Group, samples: Mapping[str, MethodSample]) -> Table:
    balanced = balanced_cells(samples, CONTEXT)
    lines = []
    for name in _ordered(samples):
        cells = [_cell(samples, name, lambda own: own.parts())]
        cells += [
            _cell(samples, name, lambda own, key=key: terms_of(own, key))  # type: ignore[misc]
            for key in PICTURE_COLUMNS.values()
        ]
        cells.append(Cell(metric_of(samples[name], "mean_average_precision_of_tags")))
        lines.append(_line(name, [*cells, *balanced[name]]))
    heads = ["", top_k([group.whole]), *PICTURE_COLUMNS, "mAP of tags", "Per-tag F1", "N+"]
    return Table(heads, lines)


def _ordered(samples: Mapping[str, MethodSample]) -> list[str]:
    """Return ours first, then the others as they were run."""
    return [name for name in samples if name == CONTEXT] + [name for name in samples if name != CONTEXT]


def _line(name: str, cells: Sequence[Cell]) -> Line:
    return Line(label(name).name, "", cells, "strong" if name == CONTEXT else "")


def _cell(
    samples: Mapping[str, MethodSample], name: str, terms: Callable[[MethodSample], Terms | None]
) -> Cell:
    """Return a metric with its interval, and ours minus it with the paired interval."""
    parts = terms(samples[name])
    if parts is None or not any(own.weight.any() for own in parts.values()):
        return Cell(NONE)
    if name == CONTEXT or CONTEXT not in samples:
        return score_cell(parts)
    found = interval(parts)
    ours = terms(samples[CONTEXT])
    small = span(found.low, found.high)
    if ours is not None:
        apart = difference(ours, parts)
        mark = "" if differ(ours, parts) else "≈ "
        small += f"; {mark}{number(apart.mean, sign=True)}, {span(apart.low, apart.high, sign=True)}"
    return Cell(number(found.mean), small, found.mean)
