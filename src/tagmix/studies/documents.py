"""Write the results of the studies for the documentation: Markdown tables and a few figures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tagmix.comparison.records import Record
from tagmix.report import markdown
from tagmix.report.comparison.charts import Drawn
from tagmix.report.comparison.curves import drawing, ranking_panel, region_panels, region_samples
from tagmix.report.comparison.page import in_detail
from tagmix.report.comparison.samples import Group, groups
from tagmix.report.comparison.settings import provenance
from tagmix.report.comparison.tables import regions_lines, scores_lines
from tagmix.report.comparison.verdict import region_verdict, verdict
from tagmix.storage import put
from tagmix.studies.ablation import NOTE, ablation_tables
from tagmix.studies.claims import checked_claims, gains_lines, order_outcome
from tagmix.studies.literature import published_lines
from tagmix.studies.names import is_rich
from tagmix.studies.page import OTHERS_NOTE, PaperPage

# The first line, by which a later run recognises a file that it may replace.
GENERATOR = '<!-- "generator": "tagmix" -->'
TABLES = "tables.md"
INTRODUCTION = (
    "Written by `tagmix reproduce --docs`. Intervals are 95 %, over bootstrap samples of the test pictures; "
    "≈ marks differences whose interval includes 0."
)


def write_documents(folder: Path, records: Sequence[Record]) -> Path:
    """Write tables.md and figures/*.svg of the best group of each data set; return the path of tables.md."""
    pages = PaperPage()
    found = groups(records, pages.title_of)
    shown = pages.in_sections(found)
    figures = {name: figure for group in in_detail(shown) for name, figure in _figures(group)}
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        put(folder / "figures" / f"{name}.svg", figure.svg.encode())
    parts = [GENERATOR, "# Tables", INTRODUCTION, _provenance(records)]
    for group in shown:
        parts += _group(group, [name for name in figures if name.endswith(f"-{group.data}")])
    parts += _general(found)
    put(folder / TABLES, ("\n\n".join(parts) + "\n").encode(errors="replace"))
    return folder / TABLES


def commits_of(records: Sequence[Record]) -> list[str]:
    """Return the commits that the records were measured at, "unknown" for an installed package."""
    return sorted({str(record.provenance.get("commit") or "unknown") for record in records})


def _provenance(records: Sequence[Record]) -> str:
    facts = provenance(records)
    known = {name: facts[name] for name in ("commit", "date", "machine", "packages") if name in facts}
    return "; ".join(f"{name}: {value}" for name, value in known.items()) + "."


def _figures(group: Group) -> Iterator[tuple[str, Drawn]]:
    if group.whole:
        panels = [ranking_panel(group), *(panel for panel, _ in PaperPage().curves(group).values())]
        yield f"figure2-{group.data}", drawing(group, panels)
    if samples := region_samples(group):
        yield f"figure3-{group.data}", drawing(group, region_panels(samples))


def _group(group: Group, figures: Sequence[str]) -> list[str]:
    """Return the scores, claims and regions of one group; curves without the whole have no table."""
    if not group.whole:
        return []
    parts = [f"## {group.title}", verdict(group), markdown.table(*scores_lines(group))]
    claims = [] if is_rich(group.data) else checked_claims(group.whole)
    if claims:
        parts += ["### The paper's claims", order_outcome(claims), markdown.table(*gains_lines(claims))]
    if samples := region_samples(group):
        parts += ["### Regions", region_verdict(samples), markdown.table(*regions_lines(group, samples))]
    return [part for part in parts if part] + [f"![{name}](figures/{name}.svg)" for name in figures]


def _general(found: Sequence[Group]) -> list[str]:
    parts = []
    if tables := ablation_tables(found):
        parts += ["## Ablation of EMM with context", NOTE]
        for title, table in tables:
            parts += [f"### {title}", markdown.table(*table)]
    if (published := published_lines(found)) is not None:
        parts += ["## Published results on Corel5k", OTHERS_NOTE, markdown.table(*published)]
    return parts
