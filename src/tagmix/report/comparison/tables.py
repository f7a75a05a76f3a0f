"""The tables of a comparison: every method with its scores, their intervals and the time it took."""

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from tagmix.comparison.methods import RIVALS
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import Interval
from tagmix.report import page
from tagmix.report.comparison.intervals import Unit, differ, difference, interval
from tagmix.report.comparison.names import (
    CONTEXT,
    FREQUENCY,
    in_order,
    label,
    listed,
    strong,
    top_k,
)
from tagmix.report.comparison.samples import Group, MethodSample, Samples
from tagmix.report.comparison.titles import views_listed
from tagmix.report.page import Cell, Line, Table

# Metrics of the records: the head of the column, and its meaning.
METRICS = {
    "per_tag_precision": ("P", "precision of a tag over the pictures that it is shown for; mean over tags"),
    "per_tag_recall": ("R", "recall of a tag over the pictures that have it; mean over tags"),
    "per_tag_f1": ("Per-tag F1", "harmonic mean of P and R"),
    "n_plus": ("N+", "number of tags that are found on at least one picture"),
    "mean_average_precision_of_pictures": (
        "MAP, pictures", "average precision of the ranking of each picture's tags, mean over pictures",
    ),
    "mean_average_precision_of_tags": (
        "MAP, tags", "average precision of the ranking of pictures for each tag, mean over tags",
    ),
    "ndcg_at_k": ("nDCG@k", "normalised discounted cumulative gain of the tags shown"),
    "ranking_loss": ("Ranking loss", "share of pairs (right, wrong tag) in the wrong order; lower is better"),
    "coverage": ("Coverage", "number of tags to show until all right ones are shown; lower is better"),
}  # fmt: skip
FIRST = "share of pictures whose first tag is right"
# The meanings of the columns of the main table.
MEANINGS = {
    "P@1": FIRST,
    "Per-tag F1": "harmonic mean of precision and recall, both means over tags",
    "N+": METRICS["n_plus"][1],
}
SEEDS = "Seeds, lowest … highest"
OVER_SEEDS = "top-k accuracy of the worst and of the best seed of patches and words"
FOLDS = "Mean over folds ± 95 %"
OVER_FOLDS = "top-k accuracy, mean over folds with its 95 % interval for another training part"
MAIN = ("per_tag_f1", "n_plus")
SECONDS = ("choose", "fit", "annotate")
NONE = "–"


def number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    """Return a number with a typographic minus sign; a dash for an unknown one.

    >>> number(-0.25, 2), number(None), number(0.5, 1, sign=True)
    ('−0.25', '–', '+0.5')
    """
    if value is None or isnan(value):
        return NONE
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def span(low: float, high: float, digits: int = 3, sign: bool = False) -> str:
    """Return the ends of an interval."""
    if isnan(low) or isnan(high):
        return ""
    return f"{number(low, digits, sign)} … {number(high, digits, sign)}"


def score_cell(parts: Mapping[Unit, Parts], look: str = "") -> Cell:
    """Return a score with its interval over pictures and a bar."""
    found = interval(parts)
    ends = (found.low, found.high)
    return Cell(number(found.mean), span(*ends), found.mean, look, ends)


def behind_cell(own: Mapping[Unit, Parts], best: Mapping[Unit, Parts] | None) -> Cell:
    """Return the difference to the best over the same pictures; ≈ if it is not significant."""
    if best is None:
        return Cell("best", look="best")
    found = difference(own, best)
    if isnan(found.mean):
        return Cell(NONE, "other pictures")
    same = "" if differ(own, best) else "≈ "
    return Cell(f"{same}{number(found.mean, sign=True)}", span(found.low, found.high, sign=True))


def folds_cell(found: Interval | None) -> Cell:
    """Return mean ± half of the t interval over folds."""
    return Cell(NONE) if found is None else Cell(f"{number(found.mean)} ± {number(found.high - found.mean)}")


def seeds_cell(scores: Sequence[float]) -> Cell:
    """Return the lowest and the highest score of several seeds."""
    return Cell(span(min(scores), max(scores)) if scores else NONE)


def scores_table(group: Group) -> str:
    """Return the main table, and the meanings of its columns."""
    table = scores_lines(group)
    meanings = "; ".join(f"{head}: {MEANINGS[head]}" for head in table.heads if head in MEANINGS)
    return page.grid(*table) + page.paragraph(f"{meanings}.", "note")


def scores_lines(group: Group) -> Table:
    """Return the methods by top-k accuracy, best first, then a perfect ranking."""
    best = group.whole[group.order[0]]
    saved = [key for key in MAIN if _known(group, key)]
    timed = any(record.seconds for record in group.records)
    mean = " (mean over seeds)" if group.n_seeds > 1 else " (mean over folds)" if len(best.units) > 1 else ""
    heads = ["", f"{top_k([group.whole])} (95 % interval)", "Difference to best", "P@1"]
    heads += [METRICS[key][0] for key in saved] + [f"Seconds{mean}"] * timed
    lines = []
    for name in group.order:
        sample = group.whole[name]
        parts = sample.parts()
        cells = [score_cell(parts), behind_cell(parts, None if sample is best else best.parts())]
        cells += [Cell(number(sample.first())), *(Cell(metric_of(sample, key)) for key in saved)]
        cells += [Cell(seconds([sum(r.seconds.values()) for r in sample.records]))] * timed
        lines.append(Line(label(name).name, note(group, name), cells, look(group, name)))
    ceiling = best.ceiling()
    perfect = [Cell(number(ceiling), "maximum", ceiling), *[Cell("") for _ in heads[2:]]]
    return Table(heads, [*lines, Line("Ceiling", "a perfect ranking of the tags", perfect, "quiet")])


def note(group: Group, name: str) -> str:
    """Return the note of a method, and how its run differs from the others of the table."""
    sample = group.whole[name]
    reads = f"reads {views_listed(sample.read)} only" if sample.read and name != FREQUENCY else ""
    seeds = "first seed only" if sample.n_seeds < group.n_seeds else ""
    return "; ".join(filter(None, (label(name).note, reads, seeds)))


def metrics_table(group: Group) -> str:
    """Return all metrics of the records, and the meaning of each."""
    saved = [key for key in METRICS if _known(group, key)]
    folds, seeded = any(len(sample.units) > 1 for sample in group.whole.values()), group.n_seeds > 1
    keys = dict.fromkeys([*SECONDS, *(key for record in group.records for key in record.seconds)])
    timed = [key for key in keys if any(key in record.seconds for record in group.records)]
    lines = []
    for name in group.order:
        sample = group.whole[name]
        cells = [folds_cell(sample.over_folds(sample.parts()))] * folds
        cells += [seeds_cell(sample.over_seeds())] * seeded + [Cell(number(sample.first()))]
        cells += [Cell(metric_of(sample, key)) for key in saved]
        cells += [
            Cell(seconds([r.seconds[key] for r in sample.records if key in r.seconds])) for key in timed
        ]
        lines.append(Line(label(name).name, "", cells, look(group, name)))
    meanings = ({FOLDS: OVER_FOLDS} if folds else {}) | ({SEEDS: OVER_SEEDS} if seeded else {})
    meanings |= {"P@1": FIRST, **dict(METRICS[key] for key in saved)}
    heads = ["", *meanings, *(f"Seconds to {key}" for key in timed)]
    return page.grid(heads, lines) + page.facts(meanings)


def where_from(group: Group) -> str:
    """Return where the methods are found: in the command line, or in the library."""
    known = [name for name in in_order(group.whole) if name != FREQUENCY and name not in RIVALS]
    # A form is named after its class: EMM_m, ContextEMM_balanced
    classes = list(dict.fromkeys(f"tagmix.{name.partition('_')[0]}" for name in known))
    trained = "tagmix train fits EMM with context. " if CONTEXT in group.whole else ""
    return f"{trained}The methods are classes of the Python library: {', '.join(classes)}."


def look(group: Group, name: str) -> str:
    """Return the style of a method's line."""
    return "quiet" if name == FREQUENCY else "strong" if name in strong(group) else ""


def _known(group: Group, key: str) -> bool:
    return any(sample.metric(key) is not None for sample in group.whole.values())


def metric_of(sample: MethodSample, key: str) -> str:
    """Return the mean over the records of a stored metric."""
    return number(sample.metric(key), 0 if key == "n_plus" else 1 if key == "coverage" else 3)


def seconds(each: Sequence[float]) -> str:
    """Return the mean of seconds, rounded."""
    if not each:
        return NONE
    mean = sum(each) / len(each)
    return f"{mean:,.0f}" if mean >= 10 else f"{mean:.1f}" if mean >= 0.1 else "<0.1"


def regions_table(group: Group, samples: Samples) -> str:
    """Return the table of regions."""
    return page.grid(*regions_lines(group, samples))


def regions_lines(group: Group, samples: Samples) -> Table:
    """Return the share of regions whose first tag is right, without and with the caption."""
    order = sorted(samples, key=lambda name: -_share(samples[name]))
    folds = any(len(sample.units) > 1 for sample in samples.values())
    best = {own: max(samples.values(), key=lambda s, c=own: _share(s, c)) for own in (False, True)}  # type: ignore[misc]
    heads = [""]
    for given in ("no caption", "caption given"):
        heads += [f"Regions right, {given}", "Difference to best"] + ([FOLDS] if folds else [])
    lines = []
    for name in order:
        cells: list[Cell] = []
        for captioned in (False, True):
            cells += _region_cells(samples[name], best[captioned], captioned, folds)
        lines.append(Line(label(name).name, note(group, name), cells, look(group, name)))
    blank = [Cell("")] * (2 if folds else 1)
    guessed = [[Cell(number(share), "", share), *blank] for share in chance(samples[order[0]])]
    lines.append(
        Line("Chance", "a random tag, or a random tag of the caption", guessed[0] + guessed[1], "quiet")
    )
    return Table(heads, lines)


def chance(sample: MethodSample) -> tuple[float, float]:
    """Return the expected share of right regions with a random tag: of all, and of the caption."""
    free, captioned = [], []
    for record in sample.records:
        n_tags = len(record.tag_names)
        for picture in record.regions.picture if record.regions else ():
            free.append(1 / n_tags)
            captioned.append(1 / (len(record.captions[picture]) or n_tags))
    return float(np.mean(free)), float(np.mean(captioned))


def without_regions(group: Group, samples: Samples) -> str:
    """Return a sentence on the methods that do not rank regions; empty if all do."""
    others = [name for name in group.order if name not in samples]
    verb = "ranks" if len(others) == 1 else "rank"
    return f"{listed(others)} {verb} the tags of whole pictures only." if others else ""


def _share(sample: MethodSample, captioned: bool = False) -> float:
    return interval(sample.regions(1, captioned), 1).mean


def _region_cells(sample: MethodSample, best: MethodSample, captioned: bool, folds: bool) -> list[Cell]:
    parts = sample.regions(1, captioned)
    cells = [score_cell(parts), behind_cell(parts, None if sample is best else best.regions(1, captioned))]
    return cells + ([folds_cell(sample.over_folds(parts))] if folds else [])
