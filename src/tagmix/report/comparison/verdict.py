"""Which method is best, and whether significantly so, in a sentence or two."""

from collections.abc import Mapping

from tagmix.evaluation.blocks import Parts
from tagmix.report.comparison.intervals import Unit, differ, difference, interval
from tagmix.report.comparison.names import FREQUENCY, label, learners, listed, ours_of
from tagmix.report.comparison.samples import Group, Samples
from tagmix.report.comparison.tables import number, span

# The terms of a method's score, for each set of pictures.
Gained = Mapping[Unit, Parts]

FEW = 100  # pictures: with fewer, a difference may be missed


def verdict(group: Group) -> str:
    """Return the outcome of the scores of whole pictures."""
    if not learners(group) or len(group.order) == 1:
        return f"Only {listed(group.order)} was measured: there is no other method to compare."
    gained = {name: group.whole[name].parts() for name in group.order}
    if FREQUENCY in gained and not any(_ahead(gained[name], gained[FREQUENCY]) for name in learners(group)):
        return _none_learns(group, gained)
    return _standing(gained)


def region_verdict(samples: Samples) -> str:
    """Return the outcome for regions, without and with captions; empty for a single method."""
    if len(samples) < 2:
        return ""
    outcomes = []
    for captioned, where in ((False, "Without captions,"), (True, "With captions,")):
        gained = {name: sample.regions(1, captioned) for name, sample in samples.items()}
        order = sorted(gained, key=lambda name: -interval(gained[name]).mean)
        outcomes.append(f"{where} {_standing({name: gained[name] for name in order})}")
    return " ".join(outcomes)


def _standing(gained: Mapping[str, Gained]) -> str:
    """Return which methods differ, of methods in the order of their scores, best first."""
    best, *others = gained
    same = [name for name in others if not _ahead(gained[best], gained[name])]
    if not same:
        first = f"{label(best).name} is better than {_all(others)}."
    else:
        first = f"{label(best).name} is first, but not significantly better than {listed(same)}."
    behind = [name for name in ours_of(gained) if name in others and name not in same]
    return f"{first} {_ours_behind(gained, best, behind[0])}" if behind else first


def _all(others: list[str]) -> str:
    return "all other methods" if len(others) > 1 else listed(others)


def _ahead(first: Gained, second: Gained) -> bool:
    """Return whether the first is significantly better than the second."""
    return differ(first, second) and difference(first, second).mean > 0


def _none_learns(group: Group, gained: Mapping[str, Gained]) -> str:
    n = group.n_tested
    behind = [name for name in learners(group) if _ahead(gained[FREQUENCY], gained[name])]
    if n < FEW and not behind:
        return f"Too few pictures ({n:,}) to show that any learner is better than the most frequent tags."
    outcome = f"No learner is better than the most frequent tags on {n:,} pictures"
    verb = "are" if len(behind) > 1 else "is"
    return f"{outcome}; {listed(behind)} {verb} worse." if behind else f"{outcome}."


def _ours_behind(gained: Mapping[str, Gained], best: str, ours: str) -> str:
    apart = difference(gained[best], gained[ours])
    return (
        f"{label(ours).name}, {label(ours).note}, is lower by {number(apart.mean)} "
        f"({span(apart.low, apart.high)})."
    )
