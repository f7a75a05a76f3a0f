"""The page of a contest: who names pictures and regions best, how sure that is, and what the paper says."""

import re
from collections.abc import Iterable, Mapping, Sequence

from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.significance import DRAWS
from tagmix.experiments.records import Record
from tagmix.report import page
from tagmix.report.contest.curves import (
    drawing,
    figure_2,
    other_curves,
    points_panel,
    region_panels,
    region_samples,
)
from tagmix.report.contest.data import Group, groups
from tagmix.report.contest.extra import provenance
from tagmix.report.contest.figures import Drawing
from tagmix.report.contest.gains import Found, percent, steps
from tagmix.report.contest.numbers import joined
from tagmix.report.contest.sections import general_sections, group_section
from tagmix.report.contest.tables import method, number, title_of

MOST_TILES = 8
HOW = (
    "Top-5 accuracy is the paper's: the F1 of the five best tags over all pictures; the ceiling is what a "
    "perfect ranking would reach, because pictures have more or fewer than five tags. Intervals are 95 %, "
    f"from {DRAWS:,} draws of the test pictures with replacement (bootstrap), all folds together. "
    "Differences use the same draws for both methods; ≈ marks those whose interval holds 0, not "
    "distinguishable on these pictures. Intervals over pictures say nothing about another training part; "
    "those over folds do."
)


def contest_page(
    records: Sequence[Record],
    *,
    title: str,
    lead: str,
    written_by: str,
    examples: Sequence[str] | None = None,
    facts: Mapping[str, str] | None = None,
    pictures: bool = True,
) -> str:
    """Return the whole page, one HTML file that needs nothing else.

    Parameters
    ----------
    records : what was run; what is missing is left out.
    examples : names of the pictures to show, as in ``Record.ids``; None draws some blindly.
    facts : more small print.
    pictures : whether to embed them, read from their names as paths, shrunk.
    """
    found = groups(records)
    best = _showing(found)
    sections = [(title_of(g), group_section(g, g in best, examples, pictures)) for g in found]
    sections += [(name, body) for name, body in general_sections(found) if body]
    small = {**(facts or {}), **provenance(records), "Written by": written_by}
    body = [
        page.header("tagmix · the contest", title, lead),
        page.tiles(_tiles(best)),
        page.contents([name for name, _ in sections]),
        page.paragraph(HOW, "note"),
        *(page.section(name, body, anchor=f"s{i}") for i, (name, body) in enumerate(sections)),
        f"<footer>{page.facts(small)}</footer>",
    ]
    return page.document(f"tagmix: {title}", "\n".join(body))


def _showing(found: Iterable[Group]) -> list[Group]:
    """Return the group of each data set whose examples are shown: the one with the best method."""
    best: dict[str, Group] = {}
    for group in found:
        rival = best.get(group.data)
        if group.whole and (rival is None or _top(group) > _top(rival)):
            best[group.data] = group
    return list(best.values())


def _top(group: Group) -> float:
    return group.whole[group.order[0]].score()


def contest_figures(records: Sequence[Record]) -> dict[str, Drawing]:
    """Return the figures by name, such as "figure2-corel5k"; "-sift" follows if there are other words too."""
    found = groups(records)
    names = [group.data for group in found]
    made: dict[str, Drawing] = {}
    for group in found:
        name = group.data if names.count(group.data) == 1 else f"{group.data}-{'+'.join(group.views)}"
        panels, samples = figure_2(group), region_samples(group)
        made |= {f"figure2-{name}": drawing(list(panels.values()))} if panels else {}
        made |= {f"figure3-{name}": drawing(region_panels(samples))} if samples else {}
        curves = {curve: points_panel(points, curve) for curve, points in other_curves(group).items()}
        made |= {f"why-{curve}-{name}": drawing([panel]) for curve, panel in curves.items() if panel}
    # They become names of files, and an album or a setting may be called anything
    return {re.sub(r"[^\w+=,.-]", "_", name): figure for name, figure in made.items()}


def _tiles(shown: Sequence[Group]) -> list[tuple[str, str, str]]:
    """Return what was found: who names pictures and regions best, and the paper's first step."""
    tiles = [_best_tile(group) for group in shown]
    tiles += [_region_tile(group) for group in shown if region_samples(group)]
    tiles += [_claim_tile(group, step) for group in shown for step in steps(group.whole)[:1]]
    return tiles[:MOST_TILES]


def _region_tile(group: Group) -> tuple[str, str, str]:
    samples = region_samples(group)
    shares = {name: quotient(joined(list(s.regions(1, False).values()))) for name, s in samples.items()}
    best = max(shares, key=lambda name: shares[name])
    told = f"of the regions on {title_of(group)} are named rightly without a caption, by {method(best).name}"
    if "EMM_d" in shares and best != "EMM_d":
        told += f"; EMM_d reaches {100 * shares['EMM_d']:.0f} %"
    return f"{100 * shares[best]:.0f} %", told, ""


def _claim_tile(group: Group, step: Found) -> tuple[str, str, str]:
    low, high = (percent(end) for end in step.here[1:])
    paper = " and ".join(f"{percent(gain / 100)} on {data}" for data, gain in step.claim.percent.items())
    claim = f"{step.claim.method} over {step.claim.over}"
    told = f"{claim} in Top-5 accuracy on {title_of(group)} ({low} to {high}); the paper has {paper}"
    return percent(step.here.mean), told, "" if step.verdict == "holds" else "wrong"


def _best_tile(group: Group) -> tuple[str, str, str]:
    best = group.whole[group.order[0]]
    words = [
        f"Top-5 accuracy on {title_of(group)}, by {method(best.method).name}, the best of {len(group.whole)}"
    ]
    for name in ("EMM_d", "frequency"):
        if name in group.whole and name != best.method:
            words.append(f"{method(name).name} reaches {number(group.whole[name].score(), 2)}")
    words.append(f"a perfect ranking {number(best.ceiling(), 2)}")
    return number(best.score(), 2), "; ".join(words), ""
