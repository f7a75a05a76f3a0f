"""ExpectedTags: an expert that knows a picture by the tags that the other experts expect of it."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.evaluation.folds import Fold
from tagmix.learners.logistic import TagLogistic, cross_fitted, fit_tag_logistic
from tagmix.learners.pictures.distances import ReferenceSet
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.ridge_fits import Tagging
from tagmix.learners.stored_parts import LOGISTIC

# The kernel falls to e⁻⁴ at the median distance; the ridge is the kernel of a picture with itself.
# On training folds of Corel5k weights from 2 to 8 and ridges from .3 to 3 are within noise of these.
WEIGHT, RIDGE = 4.0, 1.0
VIEW = "expected"


class Training(NamedTuple):
    """What the other experts say of training pictures: features of the pool, tags, groups and folds."""

    features: Sequence[Floats]
    bags: Bags
    y: Floats
    known: Any
    folds: Sequence[Fold]
    groups: Ints


class ExpectedTags(KernelRidge):
    """Regress tags on the tags that the experts before it expect, by a kernel: pictures expected alike.

    A pool of the other experts and the scorer gives π₁, the probability of each tag, and the kernel is
    exp(−4 d/median d) with d = ½‖√π₁ − √π₁'‖². It knows which tags come together, and corrects what the
    others confuse. Weight and ridge are fixed; leave-one-out has the closed form of ``KernelRidge``.

    Training pictures have the π₁ that experts gave which had not seen them. Those of the *other* pictures
    have heard a picture's caption: a score by leave-one-out is not quite unseen (decision 29).

    Attributes
    ----------
    first_pool_ : the pool of the other experts and the scorer, which gives π₁.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {**KernelRidge.SCHEMA, "first_pool_": LOGISTIC}
    first_pool_: TagLogistic

    def learn_from(self, told: Training) -> Floats:
        """Learn from what the other experts say of training pictures; return left-out scores of these."""
        logits = cross_fitted(told.features, told.y, told.folds, told.known)
        self.first_pool_ = fit_tag_logistic(told.features, told.y, told.known)
        own = described(logits, told.bags)
        self.fit(own)
        return self.left_out_scores(own, np.arange(len(own)), told.groups)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from pictures that are described by π₁ alone."""
        return super().fit(X, y)

    def bags_of(self, features: Sequence[Floats]) -> Bags:
        """Return pictures described by π₁, from what a pool reads of the other experts and the scorer."""
        return described(self.first_pool_.logits(features))

    def _search(self, reference: ReferenceSet, tags: Tagging, rows: Ints) -> tuple[Floats, float]:
        """Return the weight and the ridge, which are fixed."""
        return np.array([WEIGHT]), RIDGE

    def _ridges(self, ridge: float) -> list[float]:
        return [ridge]


def described(logits: Floats, like: Bags | None = None) -> Bags:
    """Return pictures by logit π₁, of one region, √π₁; with the tags of other bags, if given."""
    own = Bags({VIEW: np.sqrt(expit(logits))}, np.arange(len(logits) + 1))
    if like is None:
        return own
    return own.with_tags(like.tags, like.tag_names, rejected=like.rejected, unknown=like.unknown)
