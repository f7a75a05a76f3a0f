"""Our results on Corel5k beside published ones."""

from collections.abc import Sequence

from tagmix.report.comparison.names import label
from tagmix.report.comparison.samples import Group, MethodSample
from tagmix.report.comparison.tables import NONE, number
from tagmix.report.page import Cell, Line, Table
from tagmix.studies.names import rich_name
from tagmix.studies.published import TagFigures, published

PER_TAG = {"per_tag_precision": "P %", "per_tag_recall": "R %", "per_tag_f1": "F1 %"}
COREL5K = ("corel5k", rich_name("corel5k"))


def published_lines(groups: Sequence[Group]) -> Table | None:
    """Return the published figures of Corel5k and ours with the best views, by F1; None without ours."""
    ours: dict[str, tuple[float, Line]] = {}
    for group in groups:
        for name, sample in group.whole.items() if group.data in COREL5K else ():
            f1 = sample.metric("per_tag_f1")
            if f1 is not None and (name not in ours or f1 > ours[name][0]):
                ours[name] = (f1, _our_line(group, sample))
    if not ours:
        return None
    theirs = [(row.f1 / 100, _their_line(row)) for row in published().corel5k]
    ordered = sorted([*ours.values(), *theirs], key=lambda pair: -pair[0])
    heads = ["", *PER_TAG.values(), "N+", "From"]
    return Table(heads, [line for _, line in ordered])


def _our_line(group: Group, sample: MethodSample) -> Line:
    rates = [Cell(number(100 * (sample.metric(key) or 0.0), 1)) for key in PER_TAG]
    n_plus = Cell(number(sample.metric("n_plus"), 0))
    name = label(sample.method).name
    return Line(name, "measured here", [*rates, n_plus, Cell(group.title, look="text")], "strong")


def _their_line(row: TagFigures) -> Line:
    rates = [Cell(number(value, 1)) for value in (row.precision, row.recall, row.f1)]
    source = Cell(str(row.source), "; ".join(filter(None, (row.features, row.note))), look="text")
    follows = f"published; implemented as {label(row.ours).name}" if row.ours else "published"
    return Line(row.name, follows, [*rates, Cell(str(row.n_plus) if row.n_plus else NONE), source], "quiet")
