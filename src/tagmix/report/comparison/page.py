"""The page of a comparison: which method ranks pictures and regions best, and with what certainty."""

import re
from collections.abc import Iterable, Mapping, Sequence

from tagmix.comparison.records import Record
from tagmix.evaluation.significance import DRAWS
from tagmix.report import page
from tagmix.report.comparison.charts import Drawn
from tagmix.report.comparison.curves import drawing, ranking_panel, region_panels, region_samples
from tagmix.report.comparison.extras import Extras, Tile
from tagmix.report.comparison.intervals import interval
from tagmix.report.comparison.names import FREQUENCY, champion, label, top_k
from tagmix.report.comparison.probabilities import diagram
from tagmix.report.comparison.samples import Group, groups
from tagmix.report.comparison.sections import group_section, settings_section
from tagmix.report.comparison.settings import provenance
from tagmix.report.comparison.tables import number, span
from tagmix.report.comparison.verdict import verdict

MOST_TILES = 8
HOW = (
    "The ceiling is the score of a perfect ranking: pictures have more or fewer tags than are shown. "
    f"Intervals are 95 %, drawn as brackets on the bars, from {DRAWS:,} bootstrap samples of the test "
    "pictures of all folds. Differences use the same bootstrap samples for both methods; ≈ marks those "
    "whose interval includes 0. A picture that was tested with several seeds counts once, with its mean. "
    "Intervals over pictures do not cover the choice of training pictures; those over folds do."
)
PLAIN = Extras()


def comparison_page(
    records: Sequence[Record],
    *,
    title: str,
    lead: str,
    written_by: str,
    examples: Sequence[str] | None = None,
    facts: Mapping[str, str] | None = None,
    pictures: bool = True,
    extras: Extras = PLAIN,
) -> str:
    """Return the page as one HTML file without external parts.

    Parameters
    ----------
    records : the results; missing ones are left out.
    examples : names of the pictures to show, as in ``Record.ids``; None chooses some at random.
    facts : more entries for the footer.
    pictures : whether to embed pictures, read from their names as paths and shrunk.
    extras : what the page adds to a plain comparison.
    """
    found = groups(records, extras.title_of)
    shown = extras.in_sections(found)
    best = in_detail(shown)
    sections = [(g.title, group_section(g, g in best, examples, pictures, extras)) for g in shown]
    general = [*extras.general(found), ("Settings", settings_section(shown))]
    sections += [(name, body) for name, body in general if body]
    small = {**(facts or {}), **provenance(records), "Written by": written_by}
    body = [
        page.header("tagmix · measured", title, lead),
        *_verdicts(best),
        page.tiles(_tiles(best, extras)),
        page.contents([name for name, _ in sections]),
        page.paragraph(f"{_score_definition(found, extras)} {HOW}", "note"),
        *(page.section(name, body, anchor=f"s{i}") for i, (name, body) in enumerate(sections)),
        f"<footer>{page.facts(small)}</footer>",
    ]
    return page.document(f"tagmix: {title}", "\n".join(body))


def in_detail(found: Iterable[Group]) -> list[Group]:
    """Return the group of each data set that is shown in detail: the one with the best method."""
    best: dict[str, Group] = {}
    for group in found:
        rival = best.get(group.data)
        if group.whole and (rival is None or _top(group) > _top(rival)):
            best[group.data] = group
    return list(best.values())


def _top(group: Group) -> float:
    return group.whole[group.order[0]].score()


def comparison_figures(records: Sequence[Record], extras: Extras = PLAIN) -> dict[str, Drawn]:
    """Return the figures by name, such as "ranking-album"; "-sift" follows if there are other views too."""
    found = extras.in_sections(groups(records, extras.title_of))
    names = [group.data for group in found]
    made: dict[str, Drawn] = {}
    for group in found:
        name = group.data if names.count(group.data) == 1 else f"{group.data}-{'+'.join(group.views)}"
        panels = [ranking_panel(group)] if group.whole else []
        panels += [panel for panel, _ in extras.curves(group).values()]
        samples, reliable = region_samples(group), diagram(group)
        made |= {f"ranking-{name}": drawing(group, panels)} if panels else {}
        made |= {f"regions-{name}": drawing(group, region_panels(samples))} if samples else {}
        made |= {f"probabilities-{name}": reliable} if reliable else {}
        made |= {f"{own}-{name}": figure for own, figure in extras.closing_figures(group).items()}
    # Figures become file names, and an album or a setting may have any name
    return {re.sub(r"[^\w+=,.-]", "_", name): figure for name, figure in made.items()}


def _verdicts(shown: Sequence[Group]) -> list[str]:
    """Return the best method on each data set, for the head of the page."""
    if len(shown) == 1:
        return [page.paragraph(verdict(shown[0]), "said")]
    return [page.paragraph(f"{group.title}: {verdict(group)}", "said") for group in shown]


def _score_definition(found: Sequence[Group], extras: Extras) -> str:
    score, source = top_k(group.whole for group in found), extras.score_source(found)
    k = score.removeprefix("Top-").removesuffix(" accuracy")
    shown = (
        "k per picture; k is 5, or half of the tags if there are fewer than 10"
        if k == "k"
        else f"{k} per picture"
    )
    return f"{score}{source} is the micro-averaged F1 of the best tags, {shown}."


def _tiles(shown: Sequence[Group], extras: Extras) -> list[Tile]:
    """Return the best method for pictures and for regions on each data set, and what the study adds."""
    tiles = [_best_tile(group) for group in shown]
    tiles += [_region_tile(group) for group in shown if region_samples(group)]
    return [*tiles, *extras.tiles(shown)][:MOST_TILES]


def _region_tile(group: Group) -> Tile:
    samples = region_samples(group)
    shares = {name: interval(sample.regions(1, False)) for name, sample in samples.items()}
    best = max(shares, key=lambda name: shares[name].mean)
    _, low, high = (100 * end for end in shares[best])
    text = (
        f"of the regions of {group.title} get the right tag without a caption, by {label(best).name} "
        f"({span(low, high, 0)})"
    )
    if (emm := champion(shares)) in shares and best != emm:
        text += f"; {label(emm).name} reaches {100 * shares[emm].mean:.0f} %"
    return f"{100 * shares[best].mean:.0f} %", text, ""


def _best_tile(group: Group) -> Tile:
    best = group.whole[group.order[0]]
    score, low, high = interval(best.parts())
    words = [
        f"{top_k([group.whole])} ({span(low, high, 2)}) on {group.title}, by {label(best.method).name}"
        + (f", first of {len(group.whole)}" if len(group.whole) > 1 else "")
    ]
    for name in (champion(group.whole), FREQUENCY):
        if name in group.whole and name != best.method:
            words.append(f"{label(name).name} reaches {number(group.whole[name].score(), 2)}")
    words.append(f"a perfect ranking {number(best.ceiling(), 2)}")
    return number(score, 2), "; ".join(words), ""
