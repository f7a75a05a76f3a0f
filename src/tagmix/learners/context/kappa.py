"""Choose the views that regions are read by and their κ, without a region's label.

Good evidence gives a region the same tag with the caption and without it (agreement, at the best τ), and when
the caption is known it finds a region for each of its tags (coverage). Evidence of the scene instead of the
region gives all regions of a picture one tag and fails the second. The score of a setting is the product.

Evidence can also be consistent and wrong: the place of a region alone cuts all pictures alike, whatever the
cuts are called. That shows without context, because what it then names is rarely in the caption. So forward
selection begins with one view, the best of those that name tags about as well as any, and adds others one at
a time: the score must rise by more than noise, and the agreement without context must not fall. Then a
coordinate search refines each κ under the same condition. The Gaussian and the linear scorer of a view of
embeddings share their κ.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tagmix.bags import Bags
from tagmix.evaluation.folds import grouped_folds
from tagmix.evaluation.search import PASSES, SearchResult, Setting, coordinate_search
from tagmix.learners.context.agreement import Trial, try_powers
from tagmix.learners.context.prior import PriorOfTraining, n_folds
from tagmix.learners.context.regions import RegionTrainer, TrainedFold, train_scorer
from tagmix.model.instance import InstanceModel
from tagmix.model.params import LINEAR, view_of

# Iterations of EM for a model that is only scored: what is left to learn changes no choice.
MAX_ITER = 10
# κ in steps of three, and those of the forward selection: the coordinate search refines them.
START = 0.1
VALUES = tuple(round(START * 3.0**step, 6) for step in range(-4, 3))
COARSE = VALUES[2::2]
# Selection begins with a view that has at least this share of the best agreement without context.
MIN_RELATIVE_AGREEMENT = 0.5
# What a view must add to be selected: a standard error of the share of some thousand regions.
MIN_GAIN = 0.005


class KappaSearch:
    """Scores settings of κ, one number per view, each setting once.

    ``prior`` holds the context of ``bags``, row by row; ``names`` are the instance models to choose among;
    ``progress`` is called with the number of settings scored so far.
    """

    def __init__(
        self,
        bags: Bags,
        prior: PriorOfTraining,
        trainer: RegionTrainer,
        powers: Sequence[float],
        names: Sequence[str],
        seed: int,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.models: dict[str, list[str]] = {}
        for name in names:
            self.models.setdefault(view_of(name), []).append(name)
        self.bags, self.prior, self.powers, self.progress = bags, prior, powers, progress
        self.trainer = trainer._replace(max_iter=min(MAX_ITER, trainer.max_iter))
        self.folds = grouped_folds(prior.groups, n_folds(len(prior.rows)), seed)
        self.scorers: dict[tuple[int, str], InstanceModel] = {}
        self.trials: dict[frozenset[tuple[str, float]], tuple[Setting, Trial]] = {}

    def choose(self) -> SearchResult:
        """Return the best setting found, as κ of each instance model."""
        best = self.forward_selection()
        axes = dict.fromkeys(best, VALUES)
        found = coordinate_search(axes, best, lambda other: self.score_if_not_worse(other, best))
        return SearchResult(self.evidence(found.setting), found.value, tuple(self.scored()))

    def forward_selection(self) -> Setting:
        """Return the best view alone, and those that gain by joining it, at coarse κ."""
        singles = {view: max(({view: kappa} for kappa in COARSE), key=self.score) for view in self.models}
        enough = MIN_RELATIVE_AGREEMENT * max(map(self.score_without_context, singles.values()))
        order = sorted(singles, key=lambda view: -self.score(singles[view]))
        best = next(singles[v] for v in order if self.score_without_context(singles[v]) >= enough)
        n_last = 0
        while len(best) > n_last:  # a view that was not selected may be, beside those selected since
            n_last = len(best)
            for view in order:
                best = best if view in best else self._with(view, best)
        return best

    def _with(self, view: str, best: Setting) -> Setting:
        """Return the setting with one more view at its best κ, or as it was if that gains too little."""
        wider = max(
            ({**best, view: kappa} for kappa in COARSE),
            key=lambda other: self.score_if_not_worse(other, best),
        )
        return wider if self.score_if_not_worse(wider, best) >= self.score(best) + MIN_GAIN else best

    def evidence(self, setting: Setting) -> Setting:
        """Return κ of each instance model: that of its view."""
        return {name: kappa for view, kappa in setting.items() for name in self.models[view]}

    def score(self, setting: Setting) -> float:
        """Return agreement × coverage."""
        trial = self.trial(setting)
        return max(trial.agreement.values()) * trial.coverage

    def score_without_context(self, setting: Setting) -> float:
        """Return agreement × coverage of the evidence alone."""
        trial = self.trial(setting)
        return trial.agreement_without_context * trial.coverage

    def score_if_not_worse(self, setting: Setting, other: Setting) -> float:
        """Return the score, or 0 where the other setting names regions better without context."""
        own, others = self.trial(setting), self.trial(other)
        worse = own.agreement_without_context < others.agreement_without_context
        return 0.0 if worse else self.score(setting)

    def scored(self) -> Iterator[tuple[Setting, float]]:
        """Yield every setting that was tried, κ = 0 for models left out, and its score."""
        names = [name for names in self.models.values() for name in names]
        for setting, _ in self.trials.values():
            evidence = self.evidence(setting)
            yield {name: evidence.get(name, 0.0) for name in names}, self.score(setting)

    def trial(self, setting: Setting) -> Trial:
        """Return what cross-validated pictures say about a setting."""
        key = frozenset(setting.items())
        if key not in self.trials:
            self.trials[key] = setting, self._try(self.evidence(setting))
            if self.progress is not None:
                self.progress(len(self.trials))
        return self.trials[key][1]

    def _try(self, evidence: Setting) -> Trial:
        trainer = self.trainer._replace(settings=replace(self.trainer.settings, evidence=evidence))
        trained = []
        for number, (train, test) in enumerate(self.folds):
            part = self.bags[train]
            scorers = {name: self._scorer(number, name, part) for name in evidence if name.endswith(LINEAR)}
            trained.append(TrainedFold(trainer.fit(part, scorers), test))
        return try_powers(self.bags, self.prior, trained, trainer, self.powers)

    def _scorer(self, fold: int, name: str, part: Bags) -> InstanceModel:
        """Return the linear scorer of a fold, trained once: κ does not change it."""
        if (fold, name) not in self.scorers:
            self.scorers[fold, name] = train_scorer(part, name, self.trainer.settings)
        return self.scorers[fold, name]


def most_tried(n_views: int) -> int:
    """Return the most settings that are scored: some κ for each view alone and joining, then along each.

    >>> most_tried(2)
    33
    """
    return len(COARSE) * n_views * (n_views + 1) // 2 + PASSES * (len(VALUES) - 1) * n_views
