"""Choose the instance models and their κ where there is a context, without a label of any region.

As for τ, captions of held-out pictures are asked. Good evidence gives a region the same tag with the caption
and without (agreement, at the best τ), and when the caption is known it finds a region for each of its tags
(coverage). Evidence of the scene instead of the region gives all regions of a picture one tag and fails the
second. What is best is what has the largest product of the two.

Evidence can also be consistent and wrong: the place of a region alone cuts all pictures alike, whatever the
cuts are called. It shows where there is no context to lean on, because what it then names is rarely in the
caption. So the search begins with one model, the best of those that name tags about as well as any, and takes
others in one at a time: the product must rise, and the agreement without any context must not fall. Then each
κ is searched more finely, under the same condition.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tagmix.arrays import is_sparse
from tagmix.bags import Bags
from tagmix.evaluation.search import Found, Setting, line_search
from tagmix.learners.context.fitting import Regions, Trial, powers_of, try_powers
from tagmix.learners.context.prior import HeldOut, fit_prior
from tagmix.learners.context.scorer import scorer_of
from tagmix.learners.emm import EMM
from tagmix.learners.fitting import learn_regions
from tagmix.learners.parameters import check_parameters, settings_of_views
from tagmix.model.instance import InstanceModel
from tagmix.model.params import LINEAR, Params

FOLDS = 3
# Iterations of a model that is only judged: what is left to learn after them changes no choice.
MAX_ITER = 20
# κ that a model is tried at first, of steps of three: the fine search follows.
COARSE = slice(2, None, 2)
# The search begins with a model that is at least so good without context, beside the best one there.
AS_WELL = 0.5


class Chosen(NamedTuple):
    """What the search found, and the context of the pictures it was made on."""

    found: Found
    held_out: HeldOut


def instances_of(bags: Bags) -> list[str]:
    """Return the instance models there may be: one for each view, and a linear scorer for embeddings."""
    names = []
    for view, matrix in bags.views.items():
        names += [view] if is_sparse(matrix) else [view, view + LINEAR]
    return names


def choose_by_agreement(
    emm: EMM,
    bags: Bags,
    values: Sequence[float],
    start: float,
    seed: int,
    progress: Callable[[int], None] | None,
    instances: Sequence[str] | None = None,
) -> Chosen:
    """Return the κ that the captions of held-out pictures speak for, of all instance models or of these."""
    check_parameters(emm)
    _, held_out = fit_prior(emm.context, bags, seed)
    names = instances_of(bags) if instances is None else list(instances)
    ask = _Asking(emm, bags, held_out, seed, progress)
    coarse = tuple(values)[COARSE]
    best = _grown(names, coarse, ask)
    found = line_search({name: values for name in best}, best, lambda other: ask.worth_beside(other, best))
    return Chosen(Found(found.setting, found.value, tuple(ask.tried(names))), held_out)


def _grown(names: Sequence[str], coarse: Sequence[float], ask: "_Asking") -> Setting:
    """Return the best model alone, and what gains by joining it, at coarse κ."""
    singles = {name: max(({name: kappa} for kappa in coarse), key=ask.worth) for name in names}
    enough = AS_WELL * max(ask.known_alone(single) for single in singles.values())
    order = sorted(names, key=lambda name: -ask.worth(singles[name]))
    first = next(name for name in order if ask.known_alone(singles[name]) >= enough)
    best = singles[first]
    for name in order:
        if name != first:
            joined = [best, *({**best, name: kappa} for kappa in coarse)]
            best = max(joined, key=lambda other, own=best: ask.worth_beside(other, own))  # type: ignore[misc]
    return best


class _Asking:
    """Asks held-out pictures about settings of κ, each once."""

    def __init__(
        self, emm: EMM, bags: Bags, held_out: HeldOut, seed: int, progress: Callable[[int], None] | None
    ) -> None:
        short = {"max_iter": min(MAX_ITER, emm.max_iter)}
        self.emm = EMM(**{**emm.get_params(deep=False), **short})
        self.bags, self.held_out, self.seed, self.progress = bags, held_out, seed, progress
        self.counted = {view: is_sparse(matrix) for view, matrix in bags.views.items()}
        self.scorers: dict[tuple[int, str], InstanceModel] = {}
        self.asked: dict[frozenset[tuple[str, float]], tuple[Setting, Trial]] = {}

    def worth(self, evidence: Setting) -> float:
        """Return agreement × coverage."""
        trial = self(evidence)
        return max(trial.agreement.values()) * trial.coverage

    def known_alone(self, evidence: Setting) -> float:
        """Return agreement × coverage of the evidence without any context."""
        trial = self(evidence)
        return trial.alone * trial.coverage

    def worth_beside(self, evidence: Setting, best: Setting) -> float:
        """Return the same; nothing if regions are named worse without a context than by the best so far."""
        return self.worth(evidence) if self(evidence).alone >= self(best).alone else 0.0

    def __call__(self, evidence: Setting) -> Trial:
        """Return what the held-out pictures say."""
        key = frozenset(evidence.items())
        if key not in self.asked:
            self.asked[key] = evidence, self._try(evidence)
            if self.progress is not None:
                self.progress(len(self.asked))
        return self.asked[key][1]

    def tried(self, names: Sequence[str]) -> Iterator[tuple[Setting, float]]:
        """Yield every setting with a κ for each of the names, 0 for those left out, and its worth."""
        for evidence, _ in self.asked.values():
            yield {name: evidence.get(name, 0.0) for name in names}, self.worth(evidence)

    def _try(self, evidence: Setting) -> Trial:
        own = {**self.emm.get_params(deep=False), "evidence": evidence}
        settings = settings_of_views(EMM(**own), self.counted)

        def learn(part: Bags, fold: int) -> Params:
            linear = [name for name in evidence if name.endswith(LINEAR)]
            for name in linear:
                if (fold, name) not in self.scorers:  # κ does not change it
                    self.scorers[fold, name] = scorer_of(part, name, settings)
            scorers = {name: self.scorers[fold, name] for name in linear}
            return learn_regions(self.emm, settings, part, fold, scorers)

        regions = Regions(learn, settings, self.emm.memory_mb * 2**20)
        powers = powers_of(self.emm)
        return try_powers(self.bags, self.held_out, regions, powers, FOLDS, self.seed, with_shares=False)
