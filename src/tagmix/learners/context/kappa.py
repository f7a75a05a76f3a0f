"""Choose the views that regions are modelled by and their κ, from captions alone.

A region model that is right predicts captions that it has not seen: P(tag c) = 1 − Π_m (1 − φ_mc), where the
frequencies of tags take the place of the context, which would predict them without any region. The score of
a setting is minus the log loss of cross-validated pictures, per picture. Unlike the agreement of regions
with captions, it is low where every region gets a tag, and where no region does.

The scorer has κ = 1: its scores are log odds already. Views of words are added one at a time, as long as the
loss falls by more than noise. Embeddings are not searched. This loss and the agreement with the scorer both
prefer κ = .03 to .1, the true tags of the development pictures .1 to .3: a picture's caption is predicted
best by the scorer alone, which was trained for it, and says little about where to look (decision 15).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.evaluation.search import SearchResult, Setting
from tagmix.learners.context.regions import RegionTrainer, instance_names
from tagmix.learners.regions.instances import read_views
from tagmix.learners.targets import Known, targets_of
from tagmix.model.given import RegionModel, RegionScores, log_shares_of, posterior_given

# Iterations of EM for a model that is only scored: what is left to learn changes no choice.
MAX_ITER = 10
# κ of words, in steps of three.
VALUES = (0.003, 0.01, 0.03, 0.1, 0.3)
# The sum of κ of embeddings, and of those that the scorer reads too: these count twice (decision 21).
EMBEDDINGS, READ_TWICE = 0.2, 0.1
# What a view must take from the loss to be added, as a share of it.
MIN_GAIN = 0.01
# A probability of a caption's tag is at least and at most so near to 0 and 1.
SURE = 1e-6


class KappaChoice(NamedTuple):
    """κ of each view that was chosen, and every setting that was tried with its score."""

    evidence: dict[str, float]
    tried: tuple[tuple[dict[str, float], float], ...]


class HeldOut(NamedTuple):
    """Cross-validated pictures: those to learn from, those to score, and a scorer that saw only the first."""

    train: Bags
    log_prior: Floats
    test: Bags
    scorer: RegionScores


class KappaSearch:
    """Scores settings of κ, one number per view, each setting once."""

    def __init__(
        self,
        parts: Sequence[HeldOut],
        trainer: RegionTrainer,
        names: Sequence[str],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.parts, self.progress = parts, progress
        self.trainer = trainer._replace(max_iter=min(MAX_ITER, trainer.max_iter))
        self.names = names
        self.tried: dict[frozenset[tuple[str, float]], tuple[Setting, float]] = {}

    def choose(self) -> SearchResult:
        """Return the best setting found, as κ of each view."""
        best = max((self._best_with(name, {}) for name in self.names), key=self.score)
        n_last = 0
        while len(best) > n_last:  # a view that was not added may be, beside those added since
            n_last = len(best)
            for name in self.names:
                wider = best if name in best else self._best_with(name, best)
                if self.score(wider) > self.score(best) + MIN_GAIN * abs(self.score(best)):
                    best = wider
        return SearchResult(best, self.score(best), tuple(self.scored()))

    def _best_with(self, name: str, best: Setting) -> Setting:
        """Return the setting with one more view at its best κ."""
        return max(({**best, name: kappa} for kappa in VALUES), key=self.score)

    def scored(self) -> Iterator[tuple[Setting, float]]:
        """Yield every setting that was tried, κ = 0 for views left out, and its score."""
        for setting, score in self.tried.values():
            yield {name: setting.get(name, 0.0) for name in self.names}, score

    def score(self, setting: Setting) -> float:
        """Return minus the cross-validated log loss of captions by regions, per picture."""
        key = frozenset(setting.items())
        if key not in self.tried:
            self.tried[key] = setting, -self._loss(setting)
            if self.progress is not None:
                self.progress(len(self.tried))
        return self.tried[key][1]

    def _loss(self, setting: Setting) -> float:
        trainer = self.trainer.with_evidence(setting)
        total = n = 0.0
        for part in self.parts:
            model = trainer.fit(part.train, part.log_prior, part.scorer)
            total += caption_loss(model, part, trainer)
            n += len(part.test)
        return total / max(n, 1)


def usual_evidence(bags: Bags) -> dict[str, float]:
    """Return κ of each view that regions are modelled by, where none is searched.

    >>> maps = {"fine": np.ones((1, 2)), "deep": np.ones((1, 5))}
    >>> usual_evidence(Bags(maps, [0, 1])), usual_evidence(Bags({"deep": np.ones((1, 5))}, [0, 1]))
    ({'fine': 0.2}, {'deep': 0.1})
    """
    names = instance_names(bags)
    total = READ_TWICE if names[0] in read_views(bags.views) else EMBEDDINGS
    return dict.fromkeys(names, total / len(names))


def caption_loss(model: RegionModel, part: HeldOut, trainer: RegionTrainer) -> float:
    """Return the log loss of the captions of the test pictures, predicted by their regions alone."""
    n_tags, n_train = part.train.n_tags, len(part.train)
    frequency = (np.asarray(part.train.captions.sum(axis=0)).ravel() + 0.5) / (n_train + 1)
    total = 0.0
    for where in trainer.shards(part.test):
        shard = part.test[where]
        log_shares = log_shares_of(np.tile(np.log(frequency), (len(shard), 1)), 1.0, model)
        phi = posterior_given(shard, model, trainer.settings, log_shares).phi.reshape(-1, model.n_tags)
        total += noisy_or_loss(phi[:, :n_tags], shard, *targets_of(shard))
    return total


def noisy_or_loss(phi: Floats, bags: Bags, y: Floats, known: Known) -> float:
    """Return Σ −log P(y_nc) over pictures and known tags, with P(tag) = 1 − Π_m (1 − φ_mc).

    >>> bags = Bags(np.ones((2, 1), int), [0, 2])
    >>> round(noisy_or_loss(np.array([[0.5], [0.5]]), bags, np.array([[1.0]]), None), 4)  # −log .75
    0.2877
    """
    log_none = np.log1p(-np.minimum(phi, 1 - SURE))
    sums = np.zeros((len(bags), phi.shape[1]))
    has = np.diff(bags.offsets) > 0
    if has.any():
        sums[has] = np.add.reduceat(log_none, bags.offsets[:-1][has], axis=0)
    p = np.clip(-np.expm1(sums), SURE, 1 - SURE)
    losses = -(y * np.log(p) + (1 - y) * np.log1p(-p))
    return float(losses.sum() if known is None else losses[known].sum())


def most_tried(n_views: int) -> int:
    """Return the most settings that are scored: each κ for each view alone, and joining the others.

    >>> most_tried(2)
    15
    """
    return len(VALUES) * n_views * (n_views + 1) // 2
