"""Who is best, and how sure that is, in a sentence or two."""

from collections.abc import Mapping

from tagmix.evaluation.blocks import Parts
from tagmix.report.contest.data import Group, Samples
from tagmix.report.contest.names import FREQUENCY, learners, listed, method, ours_of
from tagmix.report.contest.numbers import Unit, difference, interval, told_apart
from tagmix.report.contest.tables import number, span

# What each method gained, of how much, with each set of pictures.
Gained = Mapping[Unit, Parts]

FEW = 100  # pictures: with fewer, what cannot be told may be for want of them


def verdict(group: Group) -> str:
    """Return what the scores of the whole come to."""
    if not learners(group) or len(group.order) == 1:
        return f"Only {listed(group.order)} was measured, so there is nothing to compare it with."
    gained = {name: group.whole[name].parts() for name in group.order}
    if FREQUENCY in gained and not any(_ahead(gained[name], gained[FREQUENCY]) for name in learners(group)):
        return _none_learns(group, gained)
    return _standing(gained)


def region_verdict(samples: Samples) -> str:
    """Return what the regions come to, without and with captions; nothing of one method alone."""
    if len(samples) < 2:
        return ""
    told = []
    for captioned, where in ((False, "Without captions"), (True, "With captions")):
        gained = {name: sample.regions(1, captioned) for name, sample in samples.items()}
        order = sorted(gained, key=lambda name: -interval(gained[name]).mean)
        told.append(f"{where} {_standing({name: gained[name] for name in order})}")
    return " ".join(told)


def _standing(gained: Mapping[str, Gained]) -> str:
    """Return who is ahead of whom, of methods in the order of their scores, the best first."""
    best, *others = gained
    same = [name for name in others if not _ahead(gained[best], gained[name])]
    if not same:
        first = f"{method(best).name} is ahead of {_all(others)}."
    else:
        first = f"{method(best).name} is first, but {listed(same)} cannot be told from it."
    behind = [name for name in ours_of(gained) if name in others and name not in same]
    return f"{first} {_ours_behind(gained, best, behind[0])}" if behind else first


def _all(others: list[str]) -> str:
    return "all others" if len(others) > 1 else listed(others)


def _ahead(first: Gained, second: Gained) -> bool:
    """Return whether the first is better than the second, beyond chance."""
    return told_apart(first, second) and difference(first, second).mean > 0


def _none_learns(group: Group, gained: Mapping[str, Gained]) -> str:
    n = group.n_tested
    behind = [name for name in learners(group) if _ahead(gained[FREQUENCY], gained[name])]
    if n < FEW and not behind:
        return f"Too few pictures ({n:,}) to tell any learner from always showing the most frequent tags."
    told = f"No learner is ahead of always showing the most frequent tags, on {n:,} pictures"
    verb = "are" if len(behind) > 1 else "is"
    return f"{told}; {listed(behind)} {verb} behind it." if behind else f"{told}."


def _ours_behind(gained: Mapping[str, Gained], best: str, ours: str) -> str:
    apart = difference(gained[best], gained[ours])
    return (
        f"{method(ours).name}, {method(ours).note}, is behind it by {number(apart.mean)} "
        f"({span(apart.low, apart.high)})."
    )
