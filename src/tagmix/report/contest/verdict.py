"""Who is best, and how sure that is, in a sentence or two."""

from tagmix.report.contest.data import Group
from tagmix.report.contest.names import FREQUENCY, learners, listed, method, ours_of
from tagmix.report.contest.numbers import difference, told_apart
from tagmix.report.contest.tables import number, span

FEW = 100  # pictures: with fewer, what cannot be told may be for want of them


def verdict(group: Group) -> str:
    """Return what the scores of the whole come to."""
    if not learners(group) or len(group.order) == 1:
        return f"Only {listed(group.order)} was measured, so there is nothing to compare it with."
    if FREQUENCY in group.whole and not any(_ahead(group, name, FREQUENCY) for name in learners(group)):
        return _none_learns(group)
    best, *others = group.order
    same = [name for name in others if not _ahead(group, best, name)]
    if not same:
        first = f"{method(best).name} is ahead of {_all(others)}."
    else:
        first = f"{method(best).name} is first, but {listed(same)} cannot be told from it."
    behind = [name for name in ours_of(group.whole) if name in others and name not in same]
    return f"{first} {_ours_behind(group, best, behind[0])}" if behind else first


def _all(others: list[str]) -> str:
    return "all others" if len(others) > 1 else listed(others)


def _ahead(group: Group, first: str, second: str) -> bool:
    """Return whether the first is better than the second, beyond chance."""
    ours, theirs = (group.whole[name].parts() for name in (first, second))
    return told_apart(ours, theirs) and difference(ours, theirs).mean > 0


def _none_learns(group: Group) -> str:
    n = group.n_tested
    behind = [name for name in learners(group) if _ahead(group, FREQUENCY, name)]
    if n < FEW and not behind:
        return f"Too few pictures ({n:,}) to tell any learner from always showing the most frequent tags."
    told = f"No learner is ahead of always showing the most frequent tags, on {n:,} pictures"
    verb = "are" if len(behind) > 1 else "is"
    return f"{told}; {listed(behind)} {verb} behind it." if behind else f"{told}."


def _ours_behind(group: Group, best: str, ours: str) -> str:
    apart = difference(group.whole[best].parts(), group.whole[ours].parts())
    return (
        f"{method(ours).name}, {method(ours).note}, is behind it by {number(apart.mean)} "
        f"({span(apart.low, apart.high)})."
    )
