"""The page of a contest: who names pictures and regions best, how sure that is, and what the paper says."""

import re
from collections.abc import Iterable, Mapping, Sequence

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
from tagmix.report.contest.figures import Drawn
from tagmix.report.contest.gains import Found, percent, steps
from tagmix.report.contest.names import FREQUENCY, champion, is_rich, method, of_paper, title_of, top_k
from tagmix.report.contest.numbers import interval
from tagmix.report.contest.probabilities import diagram
from tagmix.report.contest.sections import general_sections, group_section, in_sections
from tagmix.report.contest.tables import number, span
from tagmix.report.contest.verdict import verdict

MOST_TILES = 8
HOW = (
    "The ceiling is what a perfect ranking would reach, because pictures have more or fewer tags than are "
    "shown. Intervals are 95 %, drawn on the bars as a bracket, from "
    f"{DRAWS:,} draws of the test pictures with replacement (bootstrap), all folds together. "
    "Differences use the same draws for both methods; ≈ marks those that cannot be told from 0 on "
    "these pictures. A picture that was tested with several seeds is one picture, with the mean of them. "
    "Intervals over pictures say nothing about another training part; those over folds do."
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
    shown = in_sections(found)
    best, paper = _showing(shown), of_paper(shown)
    sections = [(title_of(g), group_section(g, g in best, examples, pictures, paper)) for g in shown]
    sections += [(name, body) for name, body in general_sections(found) if body]
    small = {**(facts or {}), **provenance(records), "Written by": written_by}
    body = [
        page.header("tagmix · measured", title, lead),
        *_verdicts(best),
        page.tiles(_tiles(best)),
        page.contents([name for name, _ in sections]),
        page.paragraph(f"{_score_told(found, paper)} {HOW}", "note"),
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


def contest_figures(records: Sequence[Record]) -> dict[str, Drawn]:
    """Return the figures by name, such as "figure2-corel5k"; "-sift" follows if there are other words too."""
    found = in_sections(groups(records))
    names = [group.data for group in found]
    made: dict[str, Drawn] = {}
    for group in found:
        name = group.data if names.count(group.data) == 1 else f"{group.data}-{'+'.join(group.views)}"
        panels, samples = figure_2(group), region_samples(group)
        made |= {f"figure2-{name}": drawing(group, list(panels.values()))} if panels else {}
        made |= {f"figure3-{name}": drawing(group, region_panels(samples))} if samples else {}
        reliable = diagram(group)
        made |= {f"probabilities-{name}": reliable} if reliable else {}
        curves = {curve: points_panel(points, curve) for curve, points in other_curves(group).items()}
        made |= {f"why-{curve}-{name}": drawing(group, [panel]) for curve, panel in curves.items() if panel}
    # They become names of files, and an album or a setting may be called anything
    return {re.sub(r"[^\w+=,.-]", "_", name): figure for name, figure in made.items()}


def _verdicts(shown: Sequence[Group]) -> list[str]:
    """Return who is best on each data set, above everything else."""
    if len(shown) == 1:
        return [page.paragraph(verdict(shown[0]), "said")]
    return [page.paragraph(f"{title_of(group)}: {verdict(group)}", "said") for group in shown]


def _score_told(found: Sequence[Group], paper: bool) -> str:
    score = top_k(group.whole for group in found)
    told = f"{score} is {'that of the paper, ' if paper else ''}the F1 of the best tags over all pictures"
    k = score.removeprefix("Top-").removesuffix(" accuracy")
    half = "; k is 5, or half of the tags where there are fewer than 10" if k == "k" else ""
    return f"{told}, k of them for each picture{half}." if half else f"{told}, {k} for each picture."


def _tiles(shown: Sequence[Group]) -> list[tuple[str, str, str]]:
    """Return what was found: who names pictures and regions best, and the paper's first step."""
    tiles = [_best_tile(group) for group in shown]
    tiles += [_region_tile(group) for group in shown if region_samples(group)]
    claimed = [group for group in shown if not is_rich(group)]
    tiles += [_claim_tile(group, step) for group in claimed for step in steps(group.whole)[:1]]
    return tiles[:MOST_TILES]


def _region_tile(group: Group) -> tuple[str, str, str]:
    samples = region_samples(group)
    shares = {name: interval(sample.regions(1, False)) for name, sample in samples.items()}
    best = max(shares, key=lambda name: shares[name].mean)
    _, low, high = (100 * end for end in shares[best])
    told = (
        f"of the regions on {title_of(group)} are named rightly without a caption, by {method(best).name} "
        f"({span(low, high, 0)})"
    )
    if (emm := champion(shares)) in shares and best != emm:
        told += f"; {method(emm).name} reaches {100 * shares[emm].mean:.0f} %"
    return f"{100 * shares[best].mean:.0f} %", told, ""


def _claim_tile(group: Group, step: Found) -> tuple[str, str, str]:
    low, high = (percent(end) for end in step.here[1:])
    paper = " and ".join(f"{percent(gain / 100)} on {data}" for data, gain in step.claim.percent.items())
    claim = f"{step.claim.method} over {step.claim.over}"
    told = f"{claim} in {top_k([group.whole])} on {title_of(group)} ({low} to {high}); the paper has {paper}"
    return percent(step.here.mean), told, "" if step.verdict == "holds" else "wrong"


def _best_tile(group: Group) -> tuple[str, str, str]:
    best = group.whole[group.order[0]]
    score, low, high = interval(best.parts())
    words = [
        f"{top_k([group.whole])} ({span(low, high, 2)}) on {title_of(group)}, by {method(best.method).name}"
        + (f", first of {len(group.whole)}" if len(group.whole) > 1 else "")
    ]
    for name in (champion(group.whole), FREQUENCY):
        if name in group.whole and name != best.method:
            words.append(f"{method(name).name} reaches {number(group.whole[name].score(), 2)}")
    words.append(f"a perfect ranking {number(best.ceiling(), 2)}")
    return number(score, 2), "; ".join(words), ""
