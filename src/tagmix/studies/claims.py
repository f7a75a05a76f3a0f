"""The paper's claims beside our results: gains, their order, and the loss as tags increase."""

from collections.abc import Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple

from tagmix.evaluation.significance import Interval
from tagmix.report import page
from tagmix.report.comparison.intervals import gain, lost
from tagmix.report.comparison.names import in_order, label, top_k
from tagmix.report.comparison.samples import Group, MethodSample, Samples, is_number
from tagmix.report.comparison.tables import NONE, number, score_cell, span
from tagmix.report.page import Cell, Line, Table
from tagmix.studies.published import Gain, published


class ClaimCheck(NamedTuple):
    """One gain that the paper claims, and the gain measured here."""

    claim: Gain
    here: Interval

    @property
    def verdict(self) -> str:
        """Whether the paper's better method is significantly better here."""
        if self.here.low > 0:
            return "holds"
        return "is reversed" if self.here.high < 0 else "is not significant"

    @property
    def size(self) -> str:
        """Whether the paper's gains lie within our interval."""
        claimed = list(self.claim.percent.values())
        if not claimed or isnan(self.here.low):
            return ""
        if 100 * self.here.high < min(claimed):
            return "smaller than the paper's"
        return (
            "larger than the paper's" if 100 * self.here.low > max(claimed) else "consistent with the paper's"
        )


def checked_claims(samples: Samples) -> list[ClaimCheck]:
    """Return the paper's claims of which both methods were run."""
    return [
        ClaimCheck(claim, gain(samples[claim.method].parts(), samples[claim.over].parts()))
        for claim in published().gains
        if claim.method in samples and claim.over in samples
    ]


def gains_lines(found: Sequence[ClaimCheck]) -> Table:
    """Return the relative gains in top-k accuracy beside the paper's."""
    data = [dataset.name for dataset in published().datasets]
    lines = []
    for step in found:
        here = _gain_cell(step.here)
        theirs = [Cell(number(step.claim.percent.get(name), 1, sign=True), look="") for name in data]
        theirs = [cell._replace(text=f"{cell.text} %") if cell.text != NONE else cell for cell in theirs]
        verdict = Cell(step.verdict, step.size, look="text")
        lines.append(Line(_pair(step.claim), "", [here, *theirs, verdict]))
    heads = ["", "Here (95 % interval)", *(f"Paper, {name}" for name in data), "The paper's order"]
    return Table(heads, lines)


def order_outcome(found: Sequence[ClaimCheck]) -> str:
    """Return a sentence on whether the paper's order holds here."""
    order = " > ".join(published().order)
    outcomes = ("holds", "is reversed", "is not significant")
    by_verdict = {verdict: [s for s in found if s.verdict == verdict] for verdict in outcomes}
    if len(by_verdict["holds"]) == len(found):
        return f"The paper's order, {order}, holds here for every pair that was run."
    parts = [
        f"{_listed(own)} {verdict if len(own) == 1 else _plural(verdict)}"
        for verdict, own in by_verdict.items()
        if own
    ]
    return (
        f"The paper's order is {order}. Here, by 95 % intervals over the same pictures: {'; '.join(parts)}."
    )


def _listed(found: Sequence[ClaimCheck]) -> str:
    return ", ".join(f"{_pair(s.claim)} ({percent(s.here.mean)})" for s in found)


def _plural(verdict: str) -> str:
    return {"holds": "hold"}.get(verdict, verdict.replace("is ", "are "))


def percent(share: float) -> str:
    """Return a relative change in per cent, with its sign.

    >>> percent(0.0213), percent(-0.1)
    ('+2.1 %', '−10.0 %')
    """
    return NONE if isnan(share) else f"{number(100 * share, 1, sign=True)} %"


def best_at_k(samples: Samples) -> str:
    """Return at how many k each of the paper's methods is best; empty with fewer than two."""
    four = [name for name in published().order if name in samples]
    if len(four) < 2:
        return ""
    places = range(1, min(samples[name].longest for name in four) + 1)
    scores = {name: [samples[name].score(k) for k in places] for name in four}
    best = [max(own) for own in zip(*scores.values(), strict=True)]
    first = [[name for name in four if scores[name][i] == top] for i, top in enumerate(best)]
    won = [names[0] if len(names) == 1 else "tied" for names in first]
    counts = ", ".join(f"{name} at {won.count(name)}" for name in (*four, "tied") if name in won)
    return f"Best of the paper's methods for k = 1 … {len(won)}: {counts}. In the paper, EMM_d at every k."


Ends = tuple[MethodSample, MethodSample]


def ends(points: Sequence[tuple[Any, Samples]]) -> dict[str, Ends]:
    """Return, for each method that has both, its samples at the first and at the last point of a curve."""
    first, last = points[0][1], points[-1][1]
    return {name: (first[name], last[name]) for name in in_order(first) if name in last}


def losses_lines(points: Sequence[tuple[Any, Samples]]) -> Table:
    """Return the top-k accuracy that each method loses from the fewest to the most tags."""
    lines = []
    for name, (few, many) in ends(points).items():
        share = lost(few.parts(), many.parts())
        reach = [f"{100 * s.score() / s.ceiling():.0f} %" if s.ceiling() else NONE for s in (few, many)]
        cells = [
            Cell(number(few.score()), f"{reach[0]} of the ceiling"),
            Cell(number(many.score()), f"{reach[1]} of the ceiling"),
            Cell(number(few.score() - many.score())),
            Cell(f"{number(100 * share.mean, 1)} %", span(100 * share.low, 100 * share.high, 1)),
        ]
        lines.append(Line(*label(name)[:2], cells, "strong" if label(name).paper else ""))
    heads = ["", f"With {points[0][0]:g} tags", f"With {points[-1][0]:g} tags", "Lost", "Lost, share"]
    return Table(heads, lines)


def losses_outcome(points: Sequence[tuple[Any, Samples]]) -> str:
    """Return whether the paper's models lose less than DBA, for which it claims an exponential fall."""
    both = ends(points)
    outcomes = []
    for name in ("EMM_d", "EMM_m"):
        if name in both and "DBA" in both:
            apart = lost(*(s.parts() for s in both[name]), *(s.parts() for s in both["DBA"]))
            outcomes.append(f"{name} {_slower(apart)} ({_points(apart)})")
    if not outcomes:
        return ""
    return (
        "The paper claims that DBA falls far faster than EMM as tags increase. Here, in the share of "
        f"{top_k(samples for _, samples in points)} lost: {'; '.join(outcomes)}. The ceiling also "
        "changes with the number of tags, so the table gives both."
    )


def _slower(apart: Interval) -> str:
    if apart.high < 0:
        return "loses less than DBA"
    return "loses more than DBA" if apart.low > 0 else "does not differ significantly from DBA"


def _points(apart: Interval) -> str:
    low, high = (
        span(100 * apart.low, 100 * apart.high, 1, sign=True).split(" … ")
        if isfinite(apart.low)
        else ("", "")
    )
    return f"{number(100 * apart.mean, 1, sign=True)} points, {low} to {high}"


def points_lines(points: Sequence[tuple[Any, Samples]], name: str) -> Table:
    """Return top-k accuracy and the paper's gains: one column per point, one line per method or pair."""
    names = in_order({found for _, samples in points for found in samples})
    score = top_k(samples for _, samples in points)
    lines = []
    for own in names:
        cells = [score_cell(samples[own].parts()) if own in samples else Cell(NONE) for _, samples in points]
        lines.append(Line(label(own).name, score, cells))
    found = [{_pair(step.claim): step.here for step in checked_claims(samples)} for _, samples in points]
    for pair in map(_pair, published().gains):
        if any(pair in own for own in found):
            cells = [_gain_cell(own[pair]) if pair in own else Cell(NONE) for own in found]
            lines.append(Line(pair, "relative gain", cells))
    heads = [f"{name} {value:g}" if is_number(value) else str(value) for value, _ in points]
    return Table(["", *heads], lines)


def _pair(claim: Gain) -> str:
    return f"{claim.method} over {claim.over}"


def _gain_cell(here: Interval) -> Cell:
    return Cell(percent(here.mean), span(100 * here.low, 100 * here.high, 1, sign=True))


def claim_tile(group: Group, step: ClaimCheck) -> tuple[str, str, str]:
    """Return the tile of one claim: the gain measured here beside the paper's."""
    low, high = (percent(end) for end in step.here[1:])
    paper = " and ".join(f"{percent(gain / 100)} on {data}" for data, gain in step.claim.percent.items())
    where = f"{_pair(step.claim)} in {top_k([group.whole])} on {group.title}"
    text = f"{where} ({low} to {high}); the paper has {paper}"
    return percent(step.here.mean), text, "" if step.verdict == "holds" else "wrong"


def group_claims(group: Group) -> str:
    """Return the subsection with the paper's gains; empty if none of its pairs was run."""
    found = checked_claims(group.whole)
    if not found:
        return ""
    note = (
        f"Relative gain in {top_k([group.whole])}, (first − second) / second, over the same pictures. Paper: "
        f"{published().paper}; its collections are not available, so sizes need not agree."
    )
    return page.subsection(
        "The paper's claims",
        page.paragraph(order_outcome(found), "said"),
        page.grid(*gains_lines(found)),
        page.paragraph(note, "note"),
    )
