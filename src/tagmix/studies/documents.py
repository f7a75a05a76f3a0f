"""Write the results of the studies for the documentation: Markdown tables and two figures."""

from collections.abc import Sequence
from pathlib import Path

from tagmix.comparison.records import Record, RecordError, Task
from tagmix.comparison.run import Outcome
from tagmix.report import markdown
from tagmix.report.comparison.charts import Drawn
from tagmix.report.comparison.curves import drawing, ranking_panel, region_panels, region_samples
from tagmix.report.comparison.page import in_detail
from tagmix.report.comparison.samples import Group, groups
from tagmix.report.comparison.settings import provenance
from tagmix.report.comparison.tables import regions_lines, scores_lines
from tagmix.report.comparison.verdict import region_verdict, verdict
from tagmix.storage import write_atomic
from tagmix.studies.ablation import NOTE, ablation_tables
from tagmix.studies.claims import (
    checked_claims,
    gains_lines,
    losses_lines,
    losses_outcome,
    order_outcome,
)
from tagmix.studies.curves import curve_points
from tagmix.studies.literature import published_lines
from tagmix.studies.names import is_rich
from tagmix.studies.openworld_tables import NOTE as NOTE_OPEN
from tagmix.studies.openworld_tables import facts_of, open_groups, open_tables
from tagmix.studies.page import OTHERS_NOTE, WHY, PaperPage, variation_tables

# The first line, by which a later run recognises a file that it may replace.
GENERATOR = '<!-- "generator": "tagmix" -->'
UNKNOWN = "unknown"  # the commit of an installed package
TABLES, OPEN_TABLES = "tables.md", "openworld.md"
INTRODUCTION = (
    "Written by `tagmix reproduce --docs`. Intervals are 95 %, over bootstrap samples of the test pictures; "
    "≈ marks differences whose interval includes 0."
)


def write_documents(folder: Path, records: Sequence[Record]) -> list[Path]:
    """Write tables.md, with at most two figures, and openworld.md; return the paths of those written."""
    pages = PaperPage()
    found = groups(records, pages.title_of)
    opened = open_groups(found)
    others = [group for group in found if group not in opened]
    written = [_write(folder / TABLES, _tables(folder, others, records))] if others else []
    return written + ([_write(folder / OPEN_TABLES, _open_world(opened, records))] if opened else [])


def documents_of(folder: Path) -> list[Path]:
    """Return the paths that documents may be written to."""
    return [folder / TABLES, folder / OPEN_TABLES]


def _write(path: Path, parts: Sequence[str]) -> Path:
    write_atomic(path, ("\n\n".join(parts) + "\n").encode(errors="replace"))
    return path


def _tables(folder: Path, found: Sequence[Group], records: Sequence[Record]) -> list[str]:
    """Return the parts of tables.md, and write its figures."""
    shown = PaperPage().in_sections(found)
    figures = _figures(in_detail(shown))
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, (_, figure) in figures.items():
        write_atomic(folder / "figures" / f"{name}.svg", figure.svg.encode())
    parts = [GENERATOR, "# Tables", INTRODUCTION, _provenance(records)]
    parts += [f"![{name}: {title}](figures/{name}.svg)" for name, (title, _) in figures.items()]
    return parts + [part for group in shown for part in _group(group)] + _general(found)


def _open_world(found: Sequence[Group], records: Sequence[Record]) -> list[str]:
    """Return the parts of openworld.md."""
    parts = [GENERATOR, "# Open world: tables", f"Written by `tagmix reproduce --docs`. {NOTE_OPEN}"]
    parts.append(_provenance(records))
    for group in found:
        parts += [f"## {group.title}", facts_of(group)]
        for title, note, table in open_tables(group):
            parts += [f"### {title}", note, markdown.table(*table)]
    return parts


def check_documented(tasks: Sequence[Task], outcome: Outcome) -> None:
    """Raise RecordError unless every task has a record, and all were measured at one clean commit.

    A fold or a seed that is missing would change the means of one method alone.
    """
    missing = len(tasks) - len(outcome.records)
    if missing:
        first = f", the first: {outcome.problems[0].reason}" if outcome.problems else ""
        raise RecordError(
            f"documented tables must have every fold and method, got {missing} of {len(tasks)} tasks without "
            f"a result{first}; no tables were written: run the command again"
        )
    commits = commits_of(outcome.records)
    if len(commits) != 1:
        raise RecordError(
            f"documented results must be of one clean commit, got {', '.join(commits)}; no tables were "
            "written: use --again"
        )
    check_commit(commits[0])


def check_commit(commit: str | None) -> None:
    """Raise RecordError unless this is the name of a commit without further changes."""
    if not commit or commit == UNKNOWN or commit.endswith("-dirty"):
        raise RecordError(
            f"documented results must be of one clean commit, got {commit or UNKNOWN}; no tables were "
            "written: commit the changes in a checkout, and use --again"
        )


def commits_of(records: Sequence[Record]) -> list[str]:
    """Return the commits that the records were measured at, "unknown" for an installed package."""
    return sorted({str(record.provenance.get("commit") or UNKNOWN) for record in records})


def _provenance(records: Sequence[Record]) -> str:
    facts = provenance(records)
    known = {name: facts[name] for name in ("commit", "date", "machine", "packages") if name in facts}
    return "; ".join(f"{name}: {value}" for name, value in known.items()) + "."


def _figures(shown: Sequence[Group]) -> dict[str, tuple[str, Drawn]]:
    """Return the paper's Figures 2 and 3, each of one data set, with its title."""
    figures: dict[str, tuple[str, Drawn]] = {}
    if group := _preferred("corel5k", [group for group in shown if group.whole]):
        panels = [ranking_panel(group), *(panel for panel, _ in PaperPage().curves(group).values())]
        figures["figure2"] = group.title, drawing(group, panels)
    if group := _preferred("msrc_v2", [group for group in shown if region_samples(group)]):
        figures["figure3"] = group.title, drawing(group, region_panels(region_samples(group)))
    return figures


def _preferred(data: str, shown: Sequence[Group]) -> Group | None:
    """Return the group of this data set, or else the first."""
    return next((group for group in shown if group.data == data), shown[0] if shown else None)


def _group(group: Group) -> list[str]:
    """Return the scores, claims, losses, regions and variations of one group."""
    if not group.whole:
        return []
    parts = [f"## {group.title}", verdict(group), markdown.table(*scores_lines(group))]
    claims = [] if is_rich(group.data) else checked_claims(group.whole)
    if claims:
        parts += ["### The paper's claims", order_outcome(claims), markdown.table(*gains_lines(claims))]
    if len(points := curve_points(group, "tags")) > 1:
        parts += ["### Loss as tags increase", losses_outcome(points), markdown.table(*losses_lines(points))]
    if samples := region_samples(group):
        parts += ["### Regions", region_verdict(samples), markdown.table(*regions_lines(group, samples))]
    for name, table in variation_tables(group):
        parts += [f"### Why: {name}", WHY.get(name, ""), markdown.table(*table)]
    return [part for part in parts if part]


def _general(found: Sequence[Group]) -> list[str]:
    parts = []
    if tables := ablation_tables(found):
        parts += ["## Ablation of EMM with context", NOTE]
        for title, table in tables:
            parts += [f"### {title}", markdown.table(*table)]
    if (published := published_lines(found)) is not None:
        parts += ["## Published results on Corel5k", OTHERS_NOTE, markdown.table(*published)]
    return parts
