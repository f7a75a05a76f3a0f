"""What the paper claims beside what was found: gains, their order, and who loses less as tags increase."""

from collections.abc import Sequence
from math import isfinite, isnan
from typing import Any, NamedTuple

from tagmix.evaluation.published import Gain, published
from tagmix.evaluation.significance import Interval
from tagmix.report import page
from tagmix.report.contest.data import Group, Sample, Samples, is_number
from tagmix.report.contest.names import in_order, method, top_k
from tagmix.report.contest.numbers import gain, lost
from tagmix.report.contest.tables import NONE, number, score_cell, span
from tagmix.report.page import Cell, Line


class Found(NamedTuple):
    """One step of the paper's order, and what it came to here."""

    claim: Gain
    here: Interval

    @property
    def verdict(self) -> str:
        """Whether the better method of the paper is the better one here, beyond chance."""
        if self.here.low > 0:
            return "holds"
        return "is reversed" if self.here.high < 0 else "cannot be told"

    @property
    def size(self) -> str:
        """Whether the paper's gains lie within our interval."""
        claimed = list(self.claim.percent.values())
        if not claimed or isnan(self.here.low):
            return ""
        if 100 * self.here.high < min(claimed):
            return "less than the paper's"
        return (
            "more than the paper's" if 100 * self.here.low > max(claimed) else "within reach of the paper's"
        )


def steps(samples: Samples) -> list[Found]:
    """Return the steps of the paper's order of which both methods were run."""
    return [
        Found(claim, gain(samples[claim.method].parts(), samples[claim.over].parts()))
        for claim in published().gains
        if claim.method in samples and claim.over in samples
    ]


def gains_table(found: Sequence[Found]) -> str:
    """Return the relative gains in Top-k accuracy beside the paper's."""
    data = [dataset.name for dataset in published().datasets]
    lines = []
    for step in found:
        here = _gain_cell(step.here)
        theirs = [Cell(number(step.claim.percent.get(name), 1, sign=True), look="") for name in data]
        theirs = [cell._replace(text=f"{cell.text} %") if cell.text != NONE else cell for cell in theirs]
        verdict = Cell(step.verdict, step.size, look="text")
        lines.append(Line(_pair(step.claim), "", [here, *theirs, verdict]))
    heads = ["", "Here (95 % interval)", *(f"Paper, {name}" for name in data), "The paper's order"]
    return page.grid(heads, lines)


def order_said(found: Sequence[Found]) -> str:
    """Return a sentence on whether the paper's order holds here."""
    order = " > ".join(published().order)
    told = {verdict: [s for s in found if s.verdict == verdict] for verdict in
            ("holds", "is reversed", "cannot be told")}  # fmt: skip
    if len(told["holds"]) == len(found):
        return f"The paper's order, {order}, holds here in every step that was run."
    parts = [
        f"{_listed(own)} {verdict if len(own) == 1 else _plural(verdict)}"
        for verdict, own in told.items()
        if own
    ]
    return (
        f"The paper's order is {order}. Here, by 95 % intervals over the same pictures: {'; '.join(parts)}."
    )


def _listed(found: Sequence[Found]) -> str:
    return ", ".join(f"{_pair(s.claim)} ({percent(s.here.mean)})" for s in found)


def _plural(verdict: str) -> str:
    return {"holds": "hold", "is reversed": "are reversed"}.get(verdict, verdict)


def percent(share: float) -> str:
    """Return a relative change in per cent, with its sign.

    >>> percent(0.0213), percent(-0.1)
    ('+2.1 %', '−10.0 %')
    """
    return NONE if isnan(share) else f"{number(100 * share, 1, sign=True)} %"


def ahead_said(samples: Samples) -> str:
    """Return at how many k each of the paper's methods is ahead; nothing with fewer than two."""
    four = [name for name in published().order if name in samples]
    if len(four) < 2:
        return ""
    places = range(1, min(samples[name].longest for name in four) + 1)
    scores = {name: [samples[name].score(k) for k in places] for name in four}
    best = [max(own) for own in zip(*scores.values(), strict=True)]
    first = [[name for name in four if scores[name][i] == top] for i, top in enumerate(best)]
    won = [names[0] if len(names) == 1 else "none alone" for names in first]
    told = ", ".join(f"{name} at {won.count(name)}" for name in (*four, "none alone") if name in won)
    return (
        f"Of the paper's methods, ahead for k = 1 … {len(won)}: {told}. In the paper it is EMM_d at every k."
    )


Ends = tuple[Sample, Sample]


def ends(points: Sequence[tuple[Any, Samples]]) -> dict[str, Ends]:
    """Return, for each method that has both, its samples at the first and at the last point of a curve."""
    first, last = points[0][1], points[-1][1]
    return {name: (first[name], last[name]) for name in in_order(first) if name in last}


def losses_table(points: Sequence[tuple[Any, Samples]]) -> str:
    """Return what each method loses of its Top-k accuracy from the fewest to the most tags."""
    lines = []
    for name, (few, many) in ends(points).items():
        share = lost(few.parts(), many.parts())
        reach = [f"{100 * s.score() / s.ceiling():.0f} %" if s.ceiling() else NONE for s in (few, many)]
        cells = [
            Cell(number(few.score()), f"{reach[0]} of its ceiling"),
            Cell(number(many.score()), f"{reach[1]} of its ceiling"),
            Cell(number(few.score() - many.score())),
            Cell(f"{number(100 * share.mean, 1)} %", span(100 * share.low, 100 * share.high, 1)),
        ]
        lines.append(Line(*method(name)[:2], cells, "strong" if method(name).paper else ""))
    heads = ["", f"With {points[0][0]:g} tags", f"With {points[-1][0]:g} tags", "Lost", "Lost, share"]
    return page.grid(heads, lines)


def losses_said(points: Sequence[tuple[Any, Samples]]) -> str:
    """Return whether the paper's models fall more slowly than DBA, which it says falls exponentially."""
    both = ends(points)
    told = []
    for name in ("EMM_d", "EMM_m"):
        if name in both and "DBA" in both:
            apart = lost(*(s.parts() for s in both[name]), *(s.parts() for s in both["DBA"]))
            told.append(f"{name} {_slower(apart)} than DBA ({_points(apart)})")
    if not told:
        return ""
    return (
        "The paper says that DBA falls far faster than EMM as tags increase. Here, in the share of "
        f"{top_k(samples for _, samples in points)} lost: {'; '.join(told)}. The ceiling moves "
        "with the number of tags too, so the table gives both."
    )


def _slower(apart: Interval) -> str:
    if apart.high < 0:
        return "falls more slowly"
    return "falls faster" if apart.low > 0 else "falls neither more slowly nor faster, as far as can be told,"


def _points(apart: Interval) -> str:
    low, high = (
        span(100 * apart.low, 100 * apart.high, 1, sign=True).split(" … ")
        if isfinite(apart.low)
        else ("", "")
    )
    return f"{number(100 * apart.mean, 1, sign=True)} points, {low} to {high}"


def points_table(points: Sequence[tuple[Any, Samples]], name: str) -> str:
    """Return Top-k accuracy and the paper's gains at each point: a column each, a line a method or pair."""
    names = in_order({found for _, samples in points for found in samples})
    score = top_k(samples for _, samples in points)
    lines = []
    for own in names:
        cells = [score_cell(samples[own].parts()) if own in samples else Cell(NONE) for _, samples in points]
        lines.append(Line(method(own).name, score, cells))
    found = [{_pair(step.claim): step.here for step in steps(samples)} for _, samples in points]
    for pair in map(_pair, published().gains):
        if any(pair in own for own in found):
            cells = [_gain_cell(own[pair]) if pair in own else Cell(NONE) for own in found]
            lines.append(Line(pair, "relative gain", cells))
    heads = [f"{name} {value:g}" if is_number(value) else str(value) for value, _ in points]
    return page.grid(["", *heads], lines)


def _pair(claim: Gain) -> str:
    return f"{claim.method} over {claim.over}"


def _gain_cell(here: Interval) -> Cell:
    return Cell(percent(here.mean), span(100 * here.low, 100 * here.high, 1, sign=True))


def group_claims(group: Group) -> str:
    """Return the subsection with the paper's gains; nothing if none of its pairs was run."""
    found = steps(group.whole)
    if not found:
        return ""
    note = (
        f"Relative gain in {top_k([group.whole])}, (first − second) / second, over the same pictures. Paper: "
        f"{published().paper}; its pictures are not published, so sizes need not agree."
    )
    return page.subsection(
        "The paper's claims",
        page.paragraph(order_said(found), "said"),
        gains_table(found),
        page.paragraph(note, "note"),
    )
