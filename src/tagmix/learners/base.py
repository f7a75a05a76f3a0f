"""Base classes of all learners over Bags: checks, scores and files."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation import metrics
from tagmix.learners import serialise
from tagmix.learners.inputs import as_bags, check_tags, useful_pictures

# What a rounded sum lacks of 1 is no share of anything.
ROUNDING = 1e-9


def none_shares(shares: Floats) -> Floats:
    """Return the share of each region that is none of the tags: what its row, regions × tags, lacks of 1.

    >>> none_shares(np.array([[0.5, 0.25], [0.5, 0.5]])).tolist()
    [0.25, 0.0]
    """
    rest = 1.0 - shares.sum(axis=1)
    return np.where(rest > ROUNDING, rest, 0.0)


def best_region_tags(shares: Floats, k: int) -> Ints:
    """Return the k best tags of each region, best first; −1 throughout where none of the tags is better.

    >>> best_region_tags(np.array([[0.25, 0.5], [0.25, 0.125]]), 1).tolist()
    [[1], [-1]]
    """
    best = metrics.top_tags(shares, k)
    best[none_shares(shares) > shares.max(axis=1)] = -1
    return best


class BagsEstimator(BaseEstimator):
    """An estimator over Bags; its scikit-learn tags declare sparse counts and multi-label ``y``."""

    tag_names_: tuple[str, ...]

    @property
    def classes_(self) -> Any:
        """The tag names, as scikit-learn calls them."""
        return np.array(self.tag_names_, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


class TagLearner(BagsEstimator, ABC):
    """A scikit-learn estimator that ranks the tags of pictures.

    A subclass defines ``_fit(bags)``, which sets attributes that end in an underscore, and ``_scores(bags)``,
    which returns pictures × tags, larger for more likely tags. ``SCHEMA`` declares the fitted attributes for
    files (``learners/schema.py``); ``reads_dense``: whether it reads embeddings in addition to word counts;
    ``reads_pictures``: whether it reads views of whole pictures.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {}
    reads_dense: ClassVar[bool] = False
    reads_pictures: ClassVar[bool] = False
    # Whether a model file may hold this learner as an expert of its context.
    storable_as_expert: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from Bags with tags, or from counts (pictures × words) and ``y``."""
        bags = as_bags(self, X, y, reset=True)
        self._check_trainable(bags)
        useful = useful_pictures(bags)
        bags = bags if useful.all() else bags[useful]
        self.tag_names_ = tuple(bags.tag_names or ())
        self.widths_ = {name: int(view.shape[1]) for name, view in bags.views.items()}
        self._fit(bags)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return scores for ranking, pictures × tags, rows nonnegative and summing to 1."""
        scores = self.decision_scores(X)
        shifted = scores - scores.min(axis=1, keepdims=True)
        total = shifted.sum(axis=1, keepdims=True)
        return np.where(total > 0, shifted / np.where(total > 0, total, 1.0), 1 / scores.shape[1])

    def decision_scores(self, X: Any) -> Floats:
        """Return the method's own scores, pictures × tags, not normalised."""
        bags = self._checked(X)
        return np.asarray(self._scores(bags), dtype=np.float64)

    def top_tags(self, X: Any, k: int = 5) -> Ints:
        """Return the indices of the k best tags of each picture, best first."""
        return metrics.top_tags(self.decision_scores(X), k)

    def predict(self, X: Any) -> Ints:
        """Return the k best tags of each picture, pictures × tags of 0 and 1; k as in ``score``."""
        scores = self.decision_scores(X)
        best = metrics.top_tags(scores, metrics.default_k(len(self.tag_names_)))
        shown = np.zeros(scores.shape, dtype=np.int64)
        np.put_along_axis(shown, best, 1, axis=1)
        return shown

    def score(self, X: Any, y: Any = None) -> float:
        """Return the top-k accuracy against the bags' own tags, or ``y``; k as in ``EMM.score``."""
        check_is_fitted(self)
        bags = as_bags(self, X, y)
        check_tags(bags, self.tag_names_)
        k = metrics.default_k(len(self.tag_names_))
        return metrics.top_k_accuracy(bags.tags, self.decision_scores(bags), k, bags.unknown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted learner to one file without pickled code; ``tagmix.load`` reads it."""
        check_is_fitted(self)
        serialise.save(self, Path(path))

    @abstractmethod
    def _fit(self, bags: Bags) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _scores(self, bags: Bags) -> Floats:
        """Return pictures × tags, larger for more likely tags."""

    def _check_state(self) -> None:
        """Raise ValueError if the attributes read from a file are inconsistent."""

    def _check_trainable(self, bags: Bags) -> None:
        if bags.tags is None or not useful_pictures(bags).any():
            raise BagsError(
                "no picture has both a tag and a region, so there is nothing to learn: pass bags with tags."
            )
        if bags.n_tags < 2:
            raise BagsError(
                f"at least 2 tags are needed to tell apart, got {bags.n_tags} (1 class): add tags."
            )
        dense = [name for name, view in bags.views.items() if not issparse(view)]
        if dense and not self.reads_dense:
            raise BagsError(
                f"{type(self).__name__} reads word counts, view {dense[0]!r} is dense: omit it, or "
                "choose a learner for embeddings."
            )

    def _checked(self, X: Any) -> Bags:
        check_is_fitted(self)
        bags = as_bags(self, X)
        widths = {name: int(view.shape[1]) for name, view in bags.views.items()}
        if widths != self.widths_:
            raise BagsError(
                f"the learner was fitted with the views {self.widths_}, these bags have {widths}: describe "
                "them as the training pictures were."
            )
        return bags


class RegionLearner(TagLearner):
    """A learner that also ranks the tags of each region; a subclass defines ``_region_scores(bags)``.

    These scores are on a log scale: a softmax over all tags, or over the caption's tags, normalises them.
    """

    def predict_regions(self, X: Any, captioned: bool = False) -> Floats:
        """Return p(tag | region), regions × tags; ``captioned`` uses the captions.

        Rows sum to at most 1: the rest is the share of none of the tags.
        """
        bags = self._checked(X)
        if captioned:
            check_tags(bags, self.tag_names_)
            scores = _within_captions(self._captioned_region_scores(bags), bags)
        else:
            scores = self._region_scores(bags)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    def top_region_tags(self, X: Any, k: int = 1, captioned: bool = False) -> Ints:
        """Return the k best tags of each region, best first; a row of −1 is a region of none of the tags."""
        return best_region_tags(self.predict_regions(X, captioned), k)

    @abstractmethod
    def _region_scores(self, bags: Bags) -> Floats:
        """Return regions × tags, on a log scale."""

    def _captioned_region_scores(self, bags: Bags) -> Floats:
        """Return regions × tags where captions may be used; the caller masks the other tags."""
        return self._region_scores(bags)


def _within_captions(scores: Floats, bags: Bags) -> Floats:
    """Return the scores with tags outside the picture's caption masked, if it has a caption."""
    own = bags.captions.toarray() > 0
    own[~own.any(axis=1)] = True
    return np.where(np.repeat(own, np.diff(bags.offsets), axis=0), scores, -1e300)
