"""The tables of a contest: every method with its scores, how sure they are, and what they cost."""

from collections.abc import Iterable, Mapping
from math import isnan
from typing import NamedTuple

from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import Interval
from tagmix.report import page
from tagmix.report.contest.data import Group, Sample, Samples
from tagmix.report.contest.numbers import Unit, difference, interval
from tagmix.report.page import Cell, Line


class Method(NamedTuple):
    """How a method is shown: its name, a note that says what it is, and whether the paper compares it."""

    name: str
    note: str
    paper: bool = False


# In the order of legends; others follow under their own names.
METHODS = {
    "EMM_d": Method("EMM_d", "Yang, Bian, Zha 2010, tags weighted by maximum margin", True),
    "EMM_m": Method("EMM_m", "Yang, Bian, Zha 2010, by maximum likelihood", True),
    "DBA": Method("DBA", "Yang, Zha, Hu 2009", True),
    "CorrLDA": Method("CorrLDA", "Blei, Jordan 2003", True),
    "EMM_calibrated": Method("EMM_m, calibrated", "ranked by calibrated probability, as shown to users"),
    "KNN": Method("KNN", "nearest neighbours; Makadia, Pavlovic, Kumar 2008"),
    "TagProp": Method("TagProp", "Guillaumin, Mensink, Verbeek, Schmid 2009"),
    "TwoPassKNN": Method("2PKNN", "Verma, Jawahar 2012, without its metric learning"),
    "KernelRidge": Method("Kernel ridge", "Saunders, Gammerman, Vovk 1998"),
    "LinearRanker": Method("Linear ranker", "logistic regression for each tag"),
    "TopicRidge": Method("Topics + ridge", "topics without tags (Hoffman, Blei, Bach 2010), then ridge"),
    "NaiveRegions": Method("Naive regions", "each region has all its picture's tags; Ray, Craven 2005"),
    "CandidateEM": Method("Candidate EM", "Jin, Ghahramani 2002"),
    "MaxPooling": Method("Max pooling", "best region speaks; Ramon, De Raedt 2000, Andrews et al. 2002"),
    "frequency": Method("Tag frequency", "always the most frequent tags"),
}
DATA = {
    "corel5k": "Corel5k",
    "msrc_v2": "MSRC v2",
    "scenes": "Scenes (drawn, every pixel known)",
    "tate": "Tate catalogue",
}
PER_TAG = {"per_tag_precision": "P %", "per_tag_recall": "R %", "per_tag_f1": "F1 %"}
SAVED = {
    "n_plus": "N+",
    "mean_average_precision_of_pictures": "MAP, pictures",
    "mean_average_precision_of_tags": "MAP, tags",
    "ndcg_at_k": "nDCG@5",
    "ranking_loss": "Ranking loss",
    "coverage": "Coverage",
}
SECONDS = ("choose", "fit", "annotate")
NONE = "–"


def method(name: str) -> Method:
    """Return how a method is shown; one that is not known under its own name."""
    return METHODS.get(name, Method(name, ""))


def in_order(names: Iterable[str]) -> list[str]:
    """Return methods in the order of ``METHODS``, then the others by name."""
    known = list(METHODS)
    return sorted(names, key=lambda name: (known.index(name) if name in METHODS else len(known), name))


def title_of(group: Group) -> str:
    """Return the data set and its words, as headings name them."""
    words = " and ".join(
        [", ".join(group.views[:-1]), group.views[-1]] if len(group.views) > 1 else group.views
    )
    name = DATA.get(group.data, group.data)
    return f"{name}, {words.replace('sift', 'SIFT')} words" if words else name


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
    return Cell(number(found.mean), span(found.low, found.high), found.mean, look)


def behind_cell(own: Mapping[Unit, Parts], best: Mapping[Unit, Parts] | None) -> Cell:
    """Return how far a method is from the best, over the same pictures; ≈ where it cannot be told apart."""
    if best is None:
        return Cell("best", look="best")
    found = difference(own, best)
    if isnan(found.mean):
        return Cell(NONE, "other pictures")
    same = found.low <= 0 <= found.high
    return Cell(
        f"{'≈ ' if same else ''}{number(found.mean, sign=True)}", span(found.low, found.high, sign=True)
    )


def folds_cell(found: Interval | None) -> Cell:
    """Return mean ± half of the t interval over folds."""
    return Cell(NONE) if found is None else Cell(f"{number(found.mean)} ± {number(found.high - found.mean)}")


def scores_table(group: Group) -> str:
    """Return the main table: methods by Top-5 accuracy, best first, and a perfect ranking below them."""
    columns = _columns(group)
    best = group.whole[group.order[0]]
    lines = [_scores_line(group.whole[name], best, columns) for name in group.order]
    ceiling = best.ceiling()
    perfect = [
        Cell(number(ceiling), "the most there is", ceiling),
        *[Cell("") for _ in range(len(columns) - 1)],
    ]
    lines.append(Line("Ceiling", "a perfect ranking of the tags", perfect, "quiet"))
    return page.grid(["", *columns.values()], lines)


def _columns(group: Group) -> dict[str, str]:
    """Return the columns of which anything is known, by what they hold."""
    samples = list(group.whole.values())
    found = {"top": "Top-5 accuracy (95 % interval)", "behind": "Behind the best"}
    if any(len(sample.units) > 1 for sample in samples):
        found["folds"] = "Mean of folds ± 95 %"
    found["first"] = "P@1"
    saved = {**PER_TAG, **SAVED}
    found |= {k: head for k, head in saved.items() if any(s.metric(k) is not None for s in samples)}
    keys = dict.fromkeys([*SECONDS, *(key for record in group.records for key in record.seconds)])
    known = [key for key in keys if any(key in record.seconds for record in group.records)]
    return found | {f"seconds {key}": f"Seconds to {key}" for key in known}


def _scores_line(sample: Sample, best: Sample, columns: Mapping[str, str]) -> Line:
    parts = sample.parts()
    rival = None if sample is best else best.parts()
    made = {
        "top": score_cell(parts),
        "behind": behind_cell(parts, rival),
        "first": Cell(number(sample.first())),
    }
    if "folds" in columns:
        made["folds"] = folds_cell(sample.over_folds(parts))
    shown = method(sample.method)
    cells = [made[key] if key in made else Cell(_saved(sample, key)) for key in columns]
    return Line(shown.name, shown.note, cells, _look(sample.method))


def _look(name: str) -> str:
    return "quiet" if name == "frequency" else "strong" if method(name).paper else ""


def _saved(sample: Sample, key: str) -> str:
    """Return a metric or a time that came with the records, mean over them."""
    if key.startswith("seconds "):
        times = [record.seconds.get(key.removeprefix("seconds ")) for record in sample.records]
        known = [time for time in times if time is not None]
        return _time(sum(known) / len(known)) if known else NONE
    value = sample.metric(key)
    if key in PER_TAG:
        return number(None if value is None else 100 * value, 1)
    return number(value, 0 if key == "n_plus" else 1 if key == "coverage" else 3)


def _time(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.1f}" if seconds >= 0.1 else f"{seconds:.2g}"


def regions_table(samples: Samples) -> str:
    """Return the share of regions whose first tag is right, without and with the caption."""
    order = sorted(samples, key=lambda name: -_share(samples[name]))
    folds = any(len(sample.units) > 1 for sample in samples.values())
    best = {told: max(samples.values(), key=lambda s, t=told: _share(s, t)) for told in (False, True)}  # type: ignore[misc]
    heads = [""]
    for given in ("no caption", "caption given"):
        heads += [f"Regions right, {given}", "Behind the best"] + (["Mean of folds ± 95 %"] if folds else [])
    lines = []
    for name in order:
        cells: list[Cell] = []
        for told in (False, True):
            cells += _region_cells(samples[name], best[told], told, folds)
        lines.append(Line(*method(name)[:2], cells, _look(name)))
    return page.grid(heads, lines)


def _share(sample: Sample, told: bool = False) -> float:
    return interval(sample.regions(1, told), 1).mean


def _region_cells(sample: Sample, best: Sample, told: bool, folds: bool) -> list[Cell]:
    parts = sample.regions(1, told)
    cells = [score_cell(parts), behind_cell(parts, None if sample is best else best.regions(1, told))]
    return cells + ([folds_cell(sample.over_folds(parts))] if folds else [])
