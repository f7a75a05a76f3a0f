"""RegionScorer: linear scores of regions, trained through a soft maximum over each picture."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.evaluation.folds import Fold
from tagmix.kernels.compiled.pooling import pool_regions, spread_slopes
from tagmix.learners.base import RegionLearner
from tagmix.learners.checks import check_numbers
from tagmix.learners.inputs import as_bags, check_vocabulary
from tagmix.learners.linear import CELLS
from tagmix.learners.linear_solver import Loss, minimise
from tagmix.learners.regions.instances import (
    Instances,
    along_axes,
    instances_of,
    read_views,
    sample_of,
    scaling_of_all,
    scores_of,
)
from tagmix.learners.schema import Array, ByName, Number
from tagmix.learners.targets import Targets, targets_of

# A tag with n pictures has the ridge (n / median n)^TILT: frequent tags can support more of a score.
TILT = 0.5
# A picture is scored by a soft maximum so much sharper than that of training, in which many regions of a
# picture are to learn from each caption (decision 21).
SHARPER = 2.0
# Regions of a picture, drawn at random, that the scorers of folds learn from.
REGIONS_OF_FOLDS = 20
BOUNDS = {
    "ridge": (1e-9, 1e9, False),
    "sharpness": (1e-6, 1e6, False),
    "absent": (0, 0.5, False),
    "tol": (1e-12, 1.0, False),
    "max_iter": (1, 10**6, True),
}


class RegionScorer(RegionLearner):
    """Score pictures by the soft maximum of linear scores of their regions and of the whole.

    Each tag has a linear score f_c(x). A picture's score is log-mean-exp over its regions and the whole
    picture, s_c = 1/β log mean_m e^{β f_c(x_m)}, trained by the logistic loss against the caption; new
    pictures are scored with 2β. Captions are incomplete, so an absent tag has the target ``absent`` instead
    of 0. f_c(x) itself is the log odds that the region shows the tag: 0 separates the tag from none of the
    tags. The loss is that of Ramon and De Raedt [1]_ with soft targets. The wide embeddings are read if there
    are any, along their principal axes, else words.

    Parameters
    ----------
    ridge : the weight of ½‖w‖² for a tag of median frequency, against the summed loss.
    sharpness : β of the soft maximum; ∞ is the maximum.
    absent : the target of tags that a caption lacks; rejected tags have 0, unknown ones do not enter.
    tol : a tag has converged if its largest gradient is below this fraction of its number of pictures.
    max_iter : the largest number of steps: more fit captions better, and new pictures worse.

    Attributes
    ----------
    weights_ : features and bias × tags. ``scaling_`` : mean and scale of each embedding.
    n_iter_ : steps of the slowest tags.

    References
    ----------
    .. [1] J. Ramon and L. De Raedt. Multi instance neural networks. ICML workshop on attribute-value and
       relational learning (2000).

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> scorer = RegionScorer().fit(sample.bags[:100])
    >>> bool(scorer.score(sample.bags[100:]) > 0.6)
    True
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        "weights_": Array(("features + bias", "tags")),
        "scaling_": ByName(Array(None)),
        "n_iter_": Number(0, 10**9, whole=True),
    }
    reads_dense: ClassVar[bool] = True
    for_regions: ClassVar[bool] = True  # compared where the tags of regions are known
    storable_as_expert = True

    weights_: Floats
    scaling_: dict[str, Floats]

    def __init__(
        self,
        *,
        ridge: float = 0.12,
        sharpness: float = 1.5,
        absent: float = 0.015,
        tol: float = 1e-3,
        max_iter: int = 8,
    ) -> None:
        self.ridge = ridge
        self.sharpness = sharpness
        self.absent = absent
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, bags: Bags) -> None:
        check_numbers(self, BOUNDS)
        self._learn(self._prepared(bags), pictures_per_tag(bags), targets_of(bags, self.absent))

    def fit_with_folds(
        self, bags: Bags, folds: Sequence[Fold], report: Callable[[int, int], None] = lambda done, of: None
    ) -> tuple[list["RegionScorer"], Floats]:
        """Fit to all pictures, and to those of each fold; return the folds' scorers and held-out scores.

        Views are scaled, and turned along axes, once for all: that reads no tag. Folds learn from some of the
        regions, which changes their scores less than noise. ``report`` is called with how many of the fits
        are done.
        """
        self.tag_names_ = tuple(bags.tag_names or ())
        instances, targets = self._prepared(bags), targets_of(bags, self.absent)
        some = instances.with_at_most(REGIONS_OF_FOLDS)
        scorers: list[RegionScorer] = []
        held = np.empty_like(targets.y)
        for train, test in folds:
            report(len(scorers), len(folds) + 1)
            scorers.append(copy(self))
            weights = scorers[-1]._learn(some.of(train), pictures_per_tag(bags, train), targets.of(train))
            held[test] = self._pooled(instances.of(test), weights)
        report(len(folds), len(folds) + 1)
        self._learn(instances, pictures_per_tag(bags), targets)
        return scorers, held

    def _prepared(self, bags: Bags) -> Instances:
        """Return the instances to learn from, after the views and their scaling were set.

        Single precision halves the time and moves no score by more than 1e-4. New pictures are scored in
        double precision: a score must not depend on the other pictures of its batch.
        """
        bags = bags.select_views(read_views(bags.views))
        self.widths_ = {name: int(view.shape[1]) for name, view in bags.views.items()}
        self.scaling_ = scaling_of_all(sample_of(bags).views)
        if not self.scaling_:
            return instances_of(bags, self.scaling_, np.float32)
        return along_axes(bags, self.scaling_)

    def _learn(self, instances: Instances, n: Ints, targets: Targets) -> Floats:
        """Set the weights, and return them for the features of the instances; tags have ``n`` pictures."""
        features, starts, axes = instances
        ridges = self.ridge * ((n + 1) / np.median(n + 1)) ** TILT
        weights = np.zeros((features.width + 1, len(n)))
        rate = (n + 0.5) / len(starts)
        weights[-1] = logit(rate)
        loss = soft_maximum_loss(starts, *targets, self.sharpness, ridges)
        # Each loss is divided by the tag's ridge, which leaves the minimum and gives all tags the ridge 1.
        tol = self.tol * (1 + n) / ridges
        inverse = None if axes is None else inverse_hessian(instances, rate * (1 - rate) / ridges)
        weights, self.n_iter_ = minimise(features, loss, weights, 1.0, tol, self.max_iter, inverse)
        self.weights_ = weights if axes is None else np.vstack([axes @ weights[:-1], weights[-1:]])
        return weights

    def _pooled(self, instances: Instances, weights: Floats) -> Floats:
        scores = np.ascontiguousarray(instances.features.scores(weights))
        best: Floats = pool_regions(scores, instances.starts, SHARPER * self.sharpness)[0]
        return best

    def score_regions(self, views: Mapping[str, Any]) -> Floats:
        """Return f of each region, regions × tags: the log odds of the tag against none of the tags."""
        return scores_of({name: views[name] for name in self.widths_}, self.scaling_, self.weights_)

    def _checked(self, X: Any) -> Bags:
        """Return bags that have the views that the scorer reads; they may have others."""
        check_is_fitted(self)
        bags = as_bags(self, X)
        check_vocabulary(bags, self.widths_, self.scaling_)
        return bags

    def _region_scores(self, bags: Bags) -> Floats:
        return self.score_regions(bags.views)

    def _scores(self, bags: Bags) -> Floats:
        out = np.empty((len(bags), len(self.tag_names_)))
        own = bags.select_views(self.widths_)
        for where in own.shards(max(1, CELLS // len(self.tag_names_))):
            out[where] = self._pooled(instances_of(own[where], self.scaling_), self.weights_)
        return out

    def _check_state(self) -> None:
        check_numbers(self, BOUNDS)
        width = sum(self.widths_.values()) + 1
        if self.weights_.shape != (width, len(self.tag_names_)):
            raise ValueError(f"weights_ must be {width} × {len(self.tag_names_)}, got {self.weights_.shape}")
        if self.scaling_ and self.scaling_.keys() != self.widths_.keys():
            raise ValueError("a scorer must read embeddings alone, or words alone")
        for name, scaling in self.scaling_.items():
            if scaling.shape != (2, self.widths_[name]) or not (scaling[1] > 0).all():
                raise ValueError(f"scaling_ of {name!r:.60} must be 2 × its width, scales positive")


def pictures_per_tag(bags: Bags, pictures: Any = slice(None)) -> Ints:
    """Return the number of these pictures that have each tag in their caption."""
    counts: Ints = bags.captions[pictures].sum(axis=0)
    return counts


def inverse_hessian(instances: Instances, curvature: Floats) -> Floats:
    """Return a diagonal estimate of the inverse Hessian, features and bias × tags, where L-BFGS starts.

    The loss of a tag that says the same of every picture has the Hessian curvature · XᵀX + 1 over the rows X
    of whole pictures. Along principal axes it is nearly diagonal, and L-BFGS takes 8 steps for what takes it
    20 from the identity.
    """
    wholes = instances.wholes()
    lengths = np.einsum("na,na->a", wholes, wholes)
    return np.vstack([1 / (1 + lengths[:, None] * curvature), 1 / (len(wholes) * curvature)])


def soft_maximum_loss(starts: Ints, y: Floats, known: Any, sharpness: float, ridges: Floats) -> Loss:
    """Return the logistic loss of the soft maximum over each picture's instances, divided by the ridges."""

    def loss(scores: Floats, columns: Ints) -> tuple[Floats, Floats]:
        own = y[:, columns]
        best, shares = pool_regions(np.ascontiguousarray(scores), starts, sharpness)
        value, slope = np.logaddexp(0, best) - own * best, expit(best) - own
        if known is not None:
            value, slope = value * known[:, columns], slope * known[:, columns]
        slope /= ridges[columns]
        spread_slopes(shares, starts, slope)
        return value.sum(axis=0) / ridges[columns], shares

    return loss
