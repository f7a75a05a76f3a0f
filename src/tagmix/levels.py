"""Tags with levels in predictions: parents follow their children, and do not flood the suggestions."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tagmix.arrays import Floats
from tagmix.tag_names import SEPARATOR, ancestors

# Below every probability, and so below every threshold: the tag is no candidate.
NEVER = -1.0


class Levels:
    """The parents among the tags of a model, and which of them nobody gave to a picture: the implied ones.

    >>> levels = Levels(["Places", "Places|Rome", "sea"], ["Places"])
    >>> levels.raised(np.array([[0.25, 0.75, 0.5]])).tolist()
    [[0.75, 0.75, 0.5]]
    """

    def __init__(self, names: Sequence[str], implied: Collection[str] = ()) -> None:
        column = {name: i for i, name in enumerate(names)}
        self._below: dict[int, list[int]] = {}
        for name, i in column.items():
            for above in ancestors(name) if SEPARATOR in name else ():
                if above in column:
                    self._below.setdefault(column[above], []).append(i)
        self._implied = sorted(column[name] for name in implied if name in column)

    def raised(self, probability: Floats) -> Floats:
        """Return probabilities, pictures × tags, with no parent below one of its descendants."""
        raised = probability.copy() if self._below else probability
        for above, below in self._below.items():
            raised[:, above] = probability[:, [above, *below]].max(axis=1)
        return raised

    def candidates(self, probability: Floats) -> Floats:
        """Return probabilities with ``NEVER`` for implied tags, which are not suggested on their own."""
        if not self._implied:
            return probability
        kept = probability.copy()
        kept[:, self._implied] = NEVER
        return kept

    def uncovered(self, shown: Any) -> Any:
        """Return which tags to show, without parents of which a descendant is shown."""
        kept = shown.copy() if self._below else shown
        for above, below in self._below.items():
            kept[:, above] &= ~shown[:, below].any(axis=1)
        return kept

    def suggested(
        self, probability: Floats, rule: Callable[[Floats], Any], *, parents: bool = False
    ) -> tuple[Floats, Any]:
        """Return raised probabilities, with ``NEVER`` for tags not to list, and which of them to show.

        ``rule`` says of probabilities which are shown. ``parents`` suggests all of them like other tags.
        """
        raised = self.raised(probability)
        if parents:
            return raised, rule(raised)
        listed = self.candidates(raised)
        every = rule(listed)
        shown = self.uncovered(every)
        return (np.where(every & ~shown, NEVER, listed) if self._below else listed), shown

    def pushed(self, shares: Floats) -> Floats:
        """Return shares of regions with those of implied tags given to the tags below them, in proportion."""
        implied = set(self._implied)
        moved = shares.copy() if implied & self._below.keys() else shares
        for above in implied & self._below.keys():
            below = [i for i in self._below[above] if i not in implied]
            total = shares[:, below].sum(axis=1)
            some = total > 0
            part = np.divide(shares[:, above], total, out=np.zeros_like(total), where=some)
            moved[:, below] += shares[:, below] * part[:, None]
            moved[:, above] = np.where(some, 0.0, shares[:, above])
        return moved


def without_parents(tags: Sequence[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Return the tags of a region, best first, without parents of better ones.

    >>> without_parents([("dog", 0.4), ("Places|Rome", 0.3), ("Places", 0.2)])
    (('dog', 0.4), ('Places|Rome', 0.3))
    """
    said = [{*ancestors(tag)} for tag, _ in tags]
    return tuple(one for n, one in enumerate(tags) if not any(one[0] in above for above in said[:n]))
