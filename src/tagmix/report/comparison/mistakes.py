"""Tags that were found, missed and wrongly shown."""

from collections import Counter
from html import escape
from typing import NamedTuple

from tagmix.report import page
from tagmix.report.comparison.names import label, learners, ours_of
from tagmix.report.comparison.samples import Group, MethodSample
from tagmix.report.comparison.tables import NONE
from tagmix.report.page import Cell, Line

TAGS, WRONG = 12, 8


class Tally(NamedTuple):
    """Per tag: pictures that have it, those of them it is shown for, and other pictures it is shown for."""

    has: Counter[str]
    found: Counter[str]
    wrong: Counter[str]


def tally(sample: MethodSample) -> Tally:
    """Return the tally of one method with k tags shown per picture; of the first seed."""
    made = Tally(Counter(), Counter(), Counter())
    for record in (records[0] for records in sample.units.values()):
        for caption, ranked in zip(record.captions, record.top, strict=True):
            own, shown = set(caption), set(ranked[: sample.k])
            for counter, tags in zip(made, (own, own & shown, shown - own), strict=True):
                counter.update(record.tag_names[tag] for tag in tags)
    return made


def most(counter: Counter[str], n: int) -> list[str]:
    """Return the tags with the most pictures; of equals the first by name."""
    return sorted(counter, key=lambda tag: (-counter[tag], tag))[:n]


def mistakes(group: Group) -> str:
    """Return a table by tag of the best learner and of ours, and their most frequent wrong tags."""
    names = dict.fromkeys([*learners(group)[:1], *ours_of(group.whole)])
    tallies = {name: tally(group.whole[name]) for name in names}
    if not tallies:
        return ""
    has = next(iter(tallies.values())).has
    heads = ["", "Pictures that have it"]
    for name in tallies:
        heads += [f"{label(name).name}: found", "missed", "wrongly shown"]
    lines = [
        Line(
            tag, "", [Cell(f"{has[tag]:,}"), *(cell for own in tallies.values() for cell in _cells(own, tag))]
        )
        for tag in most(has, TAGS)
    ]
    legend = (
        f"The {len(lines)} most frequent tags of the test pictures, with {group.k} tags shown per picture. "
        "Wrongly shown: for pictures whose caption lacks the tag, although some may show the object."
        + (" First seed only." if group.n_seeds > 1 else "")
    )
    wrong = "\n".join(_wrong(name, own) for name, own in tallies.items())
    return page.subsection("Mistakes", page.paragraph(legend, "legend"), page.grid(heads, lines), wrong)


def _cells(own: Tally, tag: str) -> list[Cell]:
    has, found, wrong = (counter[tag] for counter in own)
    share = found / has if has else None
    return [Cell(f"{found:,}", share=share), Cell(f"{has - found:,}"), Cell(f"{wrong:,}")]


def _wrong(name: str, own: Tally) -> str:
    tags = [f"<bdi>{escape(tag)}</bdi>&nbsp;{own.wrong[tag]:,}" for tag in most(own.wrong, WRONG)]
    lead = page.prose(f"Most often wrongly shown by {label(name).name}: ")
    return f'<p class="legend">{lead}{", ".join(tags) or NONE}</p>'
