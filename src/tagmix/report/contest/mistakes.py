"""Which tags were found, missed and wrongly shown."""

from collections import Counter
from html import escape
from typing import NamedTuple

from tagmix.report import page
from tagmix.report.contest.data import Group, Sample
from tagmix.report.contest.names import learners, method, ours_of
from tagmix.report.contest.tables import NONE
from tagmix.report.page import Cell, Line

TAGS, WRONG = 12, 8


class Tally(NamedTuple):
    """By tag: the pictures that have it, those of them that it is shown on, and others it is shown on."""

    has: Counter[str]
    found: Counter[str]
    wrong: Counter[str]


def tally(sample: Sample) -> Tally:
    """Return the tally of one method, with as many tags shown as its score counts; of the first seed."""
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
    """Return a table by tag of the best learner and of ours, and what they show wrongly most often."""
    names = dict.fromkeys([*learners(group)[:1], *ours_of(group.whole)])
    tallies = {name: tally(group.whole[name]) for name in names}
    if not tallies:
        return ""
    has = next(iter(tallies.values())).has
    heads = ["", "Pictures that have it"]
    for name in tallies:
        heads += [f"{method(name).name}: found", "missed", "wrongly shown"]
    lines = [
        Line(
            tag, "", [Cell(f"{has[tag]:,}"), *(cell for own in tallies.values() for cell in _cells(own, tag))]
        )
        for tag in most(has, TAGS)
    ]
    told = (
        f"The {len(lines)} most frequent tags of the test pictures, with {group.k} tags shown for each "
        "picture. Wrongly shown: on pictures whose caption lacks the tag, though some may show the thing."
        + (" Of several seeds, the first." if group.n_seeds > 1 else "")
    )
    wrong = "\n".join(_wrong(name, own) for name, own in tallies.items())
    return page.subsection(
        "What did it get wrong?", page.paragraph(told, "legend"), page.grid(heads, lines), wrong
    )


def _cells(own: Tally, tag: str) -> list[Cell]:
    has, found, wrong = (counter[tag] for counter in own)
    share = found / has if has else None
    return [Cell(f"{found:,}", share=share), Cell(f"{has - found:,}"), Cell(f"{wrong:,}")]


def _wrong(name: str, own: Tally) -> str:
    tags = [f"<bdi>{escape(tag)}</bdi>&nbsp;{own.wrong[tag]:,}" for tag in most(own.wrong, WRONG)]
    told = page.prose(f"Most often wrongly shown by {method(name).name}: ")
    return f'<p class="legend">{told}{", ".join(tags) or NONE}</p>'
