"""Choose the views that regions are read by and their κ where there is a context, without a region's label.

As for τ, captions of held-out pictures are asked. Good evidence gives a region the same tag with the caption
and without (agreement, at the best τ), and when the caption is known it finds a region for each of its tags
(coverage). Evidence of the scene instead of the region gives all regions of a picture one tag and fails the
second. What is best is what has the largest product of the two.

Evidence can also be consistent and wrong: the place of a region alone cuts all pictures alike, whatever the
cuts are called. It shows where there is no context to lean on, because what it then names is rarely in the
caption. So the search begins with one view, the best of those that name tags about as well as any, and takes
others in one at a time, until none is left that helps: the product must rise by more than chance would raise
it, and the agreement without any context must not fall. Then each κ is searched more finely, under the same
condition. Embeddings are read by a normal distribution and by a scorer, which share their κ.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tagmix.arrays import is_sparse
from tagmix.bags import Bags
from tagmix.evaluation.search import SearchResult, Setting, coordinate_search
from tagmix.learners.context.fitting import Regions, Trial, powers_of, try_powers
from tagmix.learners.context.prior import HeldOut, fit_prior
from tagmix.learners.context.scorer import scorer_of
from tagmix.learners.emm import EMM
from tagmix.learners.fitting import learn_regions
from tagmix.learners.parameters import check_parameters, settings_of_views
from tagmix.model.instance import InstanceModel
from tagmix.model.params import LINEAR, Params, view_of

# Of many pictures, halves teach as well.
FOLDS, FOLDS_OF_MANY, MANY = 3, 2, 500
# Iterations of a model that is only judged: what is left to learn after them changes no choice.
MAX_ITER = 10
# κ that a view is tried at first, of steps of three: the fine search follows.
COARSE = slice(2, None, 2)
# The search begins with a view that is at least so good without context, beside the best one there.
AS_WELL = 0.5
# What a view must add to join: a standard error of the share of some thousand regions.
LEAST_GAIN = 0.005


class Chosen(NamedTuple):
    """What the search found, and the context of the pictures it was made on."""

    found: SearchResult
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
    seed: int,
    progress: Callable[[int], None] | None,
    instances: Sequence[str] | None = None,
) -> Chosen:
    """Return the κ that the captions of held-out pictures speak for, of all instance models or of these."""
    check_parameters(emm)
    _, held_out = fit_prior(emm.context, bags, seed)
    names = instances_of(bags) if instances is None else list(instances)
    ask = _Asking(emm, bags, held_out, names, seed, progress)
    best = _grown(list(ask.models), tuple(values)[COARSE], ask)
    found = coordinate_search(
        {view: values for view in best}, best, lambda other: ask.worth_beside(other, best)
    )
    return Chosen(SearchResult(ask.evidence(found.setting), found.value, tuple(ask.tried(names))), held_out)


def _grown(views: Sequence[str], coarse: Sequence[float], ask: "_Asking") -> Setting:
    """Return the best view alone, and what gains by joining it, at coarse κ."""
    singles = {view: max(({view: kappa} for kappa in coarse), key=ask.worth) for view in views}
    enough = AS_WELL * max(ask.known_alone(single) for single in singles.values())
    order = sorted(views, key=lambda view: -ask.worth(singles[view]))
    first = next(view for view in order if ask.known_alone(singles[view]) >= enough)
    best, n_last = singles[first], 0
    while len(best) > n_last:  # what did not join may do so beside what has joined since
        n_last = len(best)
        for view in order:
            if view not in best:
                joined = [{**best, view: kappa} for kappa in coarse]
                better = max(joined, key=lambda other, own=best: ask.worth_beside(other, own))  # type: ignore[misc]
                best = better if ask.worth_beside(better, best) >= ask.worth(best) + LEAST_GAIN else best
    return best


class _Asking:
    """Asks held-out pictures about settings of κ, one for each view, each setting once."""

    def __init__(
        self,
        emm: EMM,
        bags: Bags,
        held_out: HeldOut,
        names: Sequence[str],
        seed: int,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.models: dict[str, list[str]] = {}
        for name in names:
            self.models.setdefault(view_of(name), []).append(name)
        short = {"max_iter": min(MAX_ITER, emm.max_iter)}
        self.emm = EMM(**{**emm.get_params(deep=False), **short})
        self.bags, self.held_out, self.seed, self.progress = bags, held_out, seed, progress
        self.counted = {view: is_sparse(matrix) for view, matrix in bags.views.items()}
        self.scorers: dict[tuple[int, str], InstanceModel] = {}
        self.asked: dict[frozenset[tuple[str, float]], tuple[Setting, Trial]] = {}

    def evidence(self, setting: Setting) -> Setting:
        """Return κ of each instance model: that of the view it reads."""
        return {name: kappa for view, kappa in setting.items() for name in self.models[view]}

    def worth(self, setting: Setting) -> float:
        """Return agreement × coverage."""
        trial = self(setting)
        return max(trial.agreement.values()) * trial.coverage

    def known_alone(self, setting: Setting) -> float:
        """Return agreement × coverage of the evidence without any context."""
        trial = self(setting)
        return trial.alone * trial.coverage

    def worth_beside(self, setting: Setting, other: Setting) -> float:
        """Return the worth; nothing if regions are named worse without a context than by the other."""
        return self.worth(setting) if self(setting).alone >= self(other).alone else 0.0

    def __call__(self, setting: Setting) -> Trial:
        """Return what the held-out pictures say."""
        key = frozenset(setting.items())
        if key not in self.asked:
            self.asked[key] = setting, self._try(self.evidence(setting))
            if self.progress is not None:
                self.progress(len(self.asked))
        return self.asked[key][1]

    def tried(self, names: Sequence[str]) -> Iterator[tuple[Setting, float]]:
        """Yield every setting with a κ for each of the names, 0 for those left out, and its worth."""
        for setting, _ in self.asked.values():
            evidence = self.evidence(setting)
            yield {name: evidence.get(name, 0.0) for name in names}, self.worth(setting)

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
        powers, folds = powers_of(self.emm), FOLDS_OF_MANY if len(self.bags) > MANY else FOLDS
        return try_powers(self.bags, self.held_out, regions, powers, folds, self.seed, with_shares=False)
