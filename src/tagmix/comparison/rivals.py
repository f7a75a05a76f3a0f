"""Plain ways to name regions, or none of the tags: what a region model has to beat."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from tagmix.arrays import Floats, centre_and_spread, is_sparse
from tagmix.bags import Bags
from tagmix.comparison.forms import Frequency
from tagmix.errors import BagsError
from tagmix.evaluation.folds import duplicate_groups, picture_folds
from tagmix.learners.base import RegionLearner, _within_captions
from tagmix.learners.calibrate import Calibration, fit_calibration
from tagmix.learners.inputs import check_tags
from tagmix.learners.pictures.ridge_fits import left_out
from tagmix.learners.regions.max_pooling import MaxPooling
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.learners.whole_pictures import pooled_views

# The ridges of CAM, for features of mean squared length 1.
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
# The square of CAM's constant feature: the ridge hardly shrinks its weight, the bias.
CONSTANT = 100.0


class AlwaysNone(Frequency):
    """Call every region none of the tags; rank pictures by tag frequency."""

    reads_dense: ClassVar[bool] = True

    def predict_regions(self, X: Bags, captioned: bool = False) -> Floats:
        """Return shares of zero."""
        return np.zeros((X.n_regions, len(self.counts_)))


class BesideNone(RegionLearner):
    """A learner of regions whose scores are logits: none of the tags has the score 0 beside them."""

    def predict_regions(self, X: Any, captioned: bool = False) -> Floats:
        """Return regions × tags, rows summing to at most 1: none where the best score is below 0.

        With ``captioned`` the best of the picture's own tags, if it has a caption.
        """
        bags = self._checked(X)
        scores = self._region_scores(bags)
        if captioned:
            check_tags(bags, self.tag_names_)
            scores = _within_captions(scores, bags)
        return shares_beside_none(scores)


class ScorerZero(BesideNone, RegionScorer):
    """Name a region by the scorer that ``ContextEMM`` has inside, none where its best score is below 0."""


class MaxPoolingZero(BesideNone, MaxPooling):
    """Name a region by the linear scorer of ``MaxPooling``, none where its best score is below 0.

    The zero is meant as a probability of one half, so the ridge is the one with the smallest cross-validated
    log loss of captions; top-k accuracy does not depend on where zero is, and its ridges are ten times
    stronger.
    """

    grid: ClassVar[tuple[float, ...]] = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

    def _choose_ridge(self, bags: Bags) -> tuple[float, Floats]:
        if self.ridge is not None or len(bags) < 2 * self.folds:
            return super()._choose_ridge(bags)
        folds = picture_folds(len(bags), self.folds, groups=duplicate_groups(bags))
        paths = [(test, self._path(bags[train], bags[test])) for train, test in folds]
        losses: list[float] = []
        for _ in self.grid:
            losses.append(sum(log_loss(next(path), bags[test]) for test, path in paths))
            if losses[-1] > min(losses):
                break
        return self.grid[int(np.argmin(losses))], np.array([])


def log_loss(logits: Floats, bags: Bags) -> float:
    """Return the summed log loss of the captions.

    >>> bags = Bags(np.ones((1, 1), int), [0, 1], tags=[["a"]], tag_names=["a", "b"])
    >>> round(log_loss(np.zeros((1, 2)), bags), 3)  # 2 log 2
    1.386
    """
    tags = bags.captions.toarray() > 0
    return float(np.logaddexp(0, np.where(tags, -logits, logits)).sum())


class CAM(BesideNone):
    """Name a region by a linear model of whole pictures: class activation maps (Zhou et al., CVPR 2016).

    Ridge regression of tags on the picture's vector, with the ridge of the smallest leave-one-out error; its
    leave-one-out scores are calibrated to logits. A region's logits are those of its own features of the same
    layer: the view of regions that is as wide as the view of pictures; without one, the last dense view,
    and its mean over a picture's regions.

    Attributes
    ----------
    weights_, biases_ : features × tags, and one per tag. ``centre_``, ``scale_``: of the features.
    ridge_ : the ridge chosen. ``layer_``: the views of regions and of pictures.
    calibration_ : from scores to probabilities.
    """

    reads_dense: ClassVar[bool] = True
    reads_pictures: ClassVar[bool] = True
    for_regions: ClassVar[bool] = True
    calibration_: Calibration

    def _fit(self, bags: Bags) -> None:
        self.layer_ = layer_of(bags)
        whole = self._whole(bags)
        self.centre_, spread = centre_and_spread(whole)
        self.scale_ = float(np.sqrt((spread**2).sum())) or 1.0
        features = self._scaled(whole)
        tags = bags.captions.toarray().astype(np.float64)
        kernel = features @ features.T + CONSTANT
        fits = [left_out(kernel, tags, ridge) for ridge in RIDGES]
        best = int(np.argmin([((tags - scores) ** 2).sum() for _, scores, _ in fits]))
        alpha, scores, _ = fits[best]
        self.ridge_ = RIDGES[best]
        self.weights_, self.biases_ = features.T @ alpha, CONSTANT * alpha.sum(axis=0)
        self.calibration_, _ = fit_calibration([scores], tags, duplicate_groups(bags), 0)

    def _scores(self, bags: Bags) -> Floats:
        return self._logits(self._whole(bags))

    def _region_scores(self, bags: Bags) -> Floats:
        return self._logits(np.asarray(bags.views[self.layer_[0]], dtype=np.float64))

    def _logits(self, vectors: Floats) -> Floats:
        return self.calibration_.logistic.logits([self._scaled(vectors) @ self.weights_ + self.biases_])

    def _scaled(self, vectors: Floats) -> Floats:
        return (vectors - self.centre_) / self.scale_

    def _whole(self, bags: Bags) -> Floats:
        """Return the vector of each picture in the layer of its regions."""
        regions, picture = self.layer_
        if picture:
            return np.asarray(bags.pictures[picture], dtype=np.float64)
        return np.asarray(pooled_views(bags)[regions], dtype=np.float64)


def layer_of(bags: Bags) -> tuple[str, str]:
    """Return a view of regions and the view of pictures of the same width; empty if there is none.

    >>> views = {"block": np.ones((2, 3)), "head": np.ones((2, 4))}
    >>> layer_of(Bags(views, [0, 2], pictures={"pooled": np.ones((1, 4))}))
    ('head', 'pooled')
    >>> layer_of(Bags(views, [0, 2]))
    ('head', '')
    """
    dense = [name for name, view in bags.views.items() if not is_sparse(view)]
    if not dense:
        raise BagsError("CAM needs a dense view of regions, got none: describe pictures with --network.")
    alike = [
        (region, picture)
        for region in dense
        for picture, vectors in bags.pictures.items()
        if vectors.shape[1] == bags.views[region].shape[1]
    ]
    return alike[-1] if alike else (dense[-1], "")


def shares_beside_none(logits: Floats) -> Floats:
    """Return the softmax of each row and one more score, the 0 of none of the tags, without its share.

    >>> shares_beside_none(np.array([[0.0, 0.0], [-1e300, 0.0]])).round(3).tolist()
    [[0.333, 0.333], [0.0, 0.5]]
    """
    whole: Floats = softmax(np.hstack([logits, np.zeros((len(logits), 1))]), axis=1)
    return whole[:, :-1]
