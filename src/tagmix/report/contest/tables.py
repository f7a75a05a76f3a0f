"""The tables of a contest: every method with its scores, how sure they are, and what they cost."""

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import Interval
from tagmix.report import page
from tagmix.report.contest.data import Group, Sample, Samples
from tagmix.report.contest.names import (
    CONTEXT,
    EMM,
    FREQUENCY,
    METHODS,
    OURS,
    listed,
    method,
    strong,
    top_k,
    views_told,
)
from tagmix.report.contest.numbers import Unit, difference, interval, told_apart
from tagmix.report.page import Cell, Line

# Metrics of the records: how a column is headed, and what it means; k is the number of tags shown.
METRICS = {
    "per_tag_precision": ("P", "of the pictures a tag is shown on, the share that have it; mean over tags"),
    "per_tag_recall": ("R", "of the pictures that have a tag, the share it is shown on; mean over tags"),
    "per_tag_f1": ("Per-tag F1", "harmonic mean of P and R"),
    "n_plus": ("N+", "how many tags are found on at least one picture"),
    "mean_average_precision_of_pictures": (
        "MAP, pictures", "how far the tags of a picture stand before all others in its ranking; 1 is perfect",
    ),
    "mean_average_precision_of_tags": (
        "MAP, tags", "the same with pictures ranked for each tag; rare tags count as much as frequent ones",
    ),
    "ndcg_at_k": ("nDCG@k", "right tags among those shown, those shown first counting more; 1 is perfect"),
    "ranking_loss": ("Ranking loss", "share of pairs, a right and a wrong tag, in wrong order; low is good"),
    "coverage": ("Coverage", "how many tags must be shown until all of a picture's are; low is good"),
}  # fmt: skip
FIRST = "share of pictures whose first tag is right"
# What the columns of the main table mean, whoever has not met them.
TOLD = {
    "P@1": FIRST,
    "Per-tag F1": "harmonic mean of precision and recall, both means over tags, so that rare ones count as "
    "much as frequent ones",
    "N+": METRICS["n_plus"][1],
}
SEEDS = "Seeds, lowest … highest"
OVER_SEEDS = "Top-k accuracy with the worst and with the best seed of patches and words"
FOLDS = "Mean of folds ± 95 %"
OVER_FOLDS = "Top-k accuracy of each fold, its mean, and how far another training part might be from it"
MAIN = ("per_tag_f1", "n_plus")
SECONDS = ("choose", "fit", "annotate")
NONE = "–"


def number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    """Return a number with a true minus sign; a dash for what is not known.

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
    """Return how far a method is from the best, over the same pictures; ≈ where it cannot be told apart."""
    if best is None:
        return Cell("best", look="best")
    found = difference(own, best)
    if isnan(found.mean):
        return Cell(NONE, "other pictures")
    same = "" if told_apart(own, best) else "≈ "
    return Cell(f"{same}{number(found.mean, sign=True)}", span(found.low, found.high, sign=True))


def folds_cell(found: Interval | None) -> Cell:
    """Return mean ± half of the t interval over folds."""
    return Cell(NONE) if found is None else Cell(f"{number(found.mean)} ± {number(found.high - found.mean)}")


def seeds_cell(scores: Sequence[float]) -> Cell:
    """Return the lowest and the highest score of several seeds."""
    return Cell(span(min(scores), max(scores)) if scores else NONE)


def scores_table(group: Group) -> str:
    """Return the main table: methods by Top-k accuracy, best first, and a perfect ranking below them."""
    best = group.whole[group.order[0]]
    saved = [key for key in MAIN if _known(group, key)]
    timed = any(record.seconds for record in group.records)
    mean = " (mean of seeds)" if group.n_seeds > 1 else " (mean of folds)" if len(best.units) > 1 else ""
    heads = ["", f"{top_k([group.whole])} (95 % interval)", "Behind the best", "P@1"]
    heads += [METRICS[key][0] for key in saved] + [f"Seconds in all{mean}"] * timed
    lines = []
    for name in group.order:
        sample = group.whole[name]
        parts = sample.parts()
        cells = [score_cell(parts), behind_cell(parts, None if sample is best else best.parts())]
        cells += [Cell(number(sample.first())), *(Cell(metric_of(sample, key)) for key in saved)]
        cells += [Cell(seconds([sum(r.seconds.values()) for r in sample.records]))] * timed
        lines.append(Line(method(name).name, note(group, name), cells, look(group, name)))
    ceiling = best.ceiling()
    perfect = [Cell(number(ceiling), "the most there is", ceiling), *[Cell("") for _ in heads[2:]]]
    table = page.grid(heads, [*lines, Line("Ceiling", "a perfect ranking of the tags", perfect, "quiet")])
    told = "; ".join(f"{head}: {TOLD[head]}" for head in heads if head in TOLD)
    return table + page.paragraph(f"{told}.", "note")


def note(group: Group, name: str) -> str:
    """Return what a method is, and in what it differs from the others of its table."""
    sample = group.whole[name]
    reads = f"reads {views_told(sample.read)} only" if sample.read and name != FREQUENCY else ""
    seeds = "first seed only" if sample.n_seeds < group.n_seeds else ""
    return "; ".join(filter(None, (method(name).note, reads, seeds)))


def metrics_table(group: Group) -> str:
    """Return all metrics that came with the records, and a line on each of them."""
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
        lines.append(Line(method(name).name, "", cells, look(group, name)))
    meanings = ({FOLDS: OVER_FOLDS} if folds else {}) | ({SEEDS: OVER_SEEDS} if seeded else {})
    meanings |= {"P@1": FIRST, **dict(METRICS[key] for key in saved)}
    heads = ["", *meanings, *(f"Seconds to {key}" for key in timed)]
    return page.grid(heads, lines) + page.facts(meanings)


def where_from(group: Group) -> str:
    """Return where a reader finds the methods: in the program, or in the library."""
    known = [name for name in METHODS if name in group.whole and name not in (*OURS, FREQUENCY)]
    classes = list(dict.fromkeys("tagmix.EMM" if name in EMM else f"tagmix.{name}" for name in known))
    others = f"; the other methods are classes of the Python library: {', '.join(classes)}" if classes else ""
    ours = (
        "tagmix train learns EMM with context"
        if CONTEXT in group.whole
        else "tagmix train --context none learns EMM_m"
    )
    return f"{ours} and ranks by calibrated probability{others}."


def look(group: Group, name: str) -> str:
    """Return how the line of a method looks."""
    return "quiet" if name == FREQUENCY else "strong" if name in strong(group) else ""


def _known(group: Group, key: str) -> bool:
    return any(sample.metric(key) is not None for sample in group.whole.values())


def metric_of(sample: Sample, key: str) -> str:
    """Return a metric that came with the records, mean over them."""
    return number(sample.metric(key), 0 if key == "n_plus" else 1 if key == "coverage" else 3)


def seconds(each: Sequence[float]) -> str:
    """Return the mean of seconds, as exactly as anybody cares."""
    if not each:
        return NONE
    mean = sum(each) / len(each)
    return f"{mean:,.0f}" if mean >= 10 else f"{mean:.1f}" if mean >= 0.1 else "<0.1"


def regions_table(group: Group, samples: Samples) -> str:
    """Return the share of regions whose first tag is right, without and with the caption."""
    order = sorted(samples, key=lambda name: -_share(samples[name]))
    folds = any(len(sample.units) > 1 for sample in samples.values())
    best = {told: max(samples.values(), key=lambda s, t=told: _share(s, t)) for told in (False, True)}  # type: ignore[misc]
    heads = [""]
    for given in ("no caption", "caption given"):
        heads += [f"Regions right, {given}", "Behind the best"] + ([FOLDS] if folds else [])
    lines = []
    for name in order:
        cells: list[Cell] = []
        for told in (False, True):
            cells += _region_cells(samples[name], best[told], told, folds)
        lines.append(Line(method(name).name, note(group, name), cells, look(group, name)))
    blank = [Cell("")] * (2 if folds else 1)
    guessed = [[Cell(number(share), "", share), *blank] for share in chance(samples[order[0]])]
    told_by = "any tag, or any of the caption, as likely as the others"
    lines.append(Line("Chance", told_by, guessed[0] + guessed[1], "quiet"))
    return page.grid(heads, lines)


def chance(sample: Sample) -> tuple[float, float]:
    """Return the share of regions named rightly by chance: any tag, and any tag of the caption if given."""
    free, told = [], []
    for record in sample.records:
        n_tags = len(record.tag_names)
        for picture in record.regions.picture if record.regions else ():
            free.append(1 / n_tags)
            told.append(1 / (len(record.captions[picture]) or n_tags))
    return float(np.mean(free)), float(np.mean(told))


def without_regions(group: Group, samples: Samples) -> str:
    """Return a sentence on the methods that say nothing about regions; nothing if all do."""
    silent = [name for name in group.order if name not in samples]
    verb = "ranks" if len(silent) == 1 else "rank"
    return f"{listed(silent)} {verb} tags for whole pictures only." if silent else ""


def _share(sample: Sample, told: bool = False) -> float:
    return interval(sample.regions(1, told), 1).mean


def _region_cells(sample: Sample, best: Sample, told: bool, folds: bool) -> list[Cell]:
    parts = sample.regions(1, told)
    cells = [score_cell(parts), behind_cell(parts, None if sample is best else best.regions(1, told))]
    return cells + ([folds_cell(sample.over_folds(parts))] if folds else [])
