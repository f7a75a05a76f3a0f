"""RegionScorer: linear scores of regions, trained through a soft maximum over each picture."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.kernels.compiled.pooling import pool_regions
from tagmix.learners.base import RegionLearner
from tagmix.learners.checks import check_number
from tagmix.learners.inputs import as_bags, check_vocabulary
from tagmix.learners.linear import CELLS, Features, features_of, scaling_of
from tagmix.learners.linear_solver import Loss, minimise
from tagmix.learners.schema import Array, ByName, Number
from tagmix.learners.targets import targets_of
from tagmix.learners.whole_pictures import pooled_views

# A tag with n pictures has the ridge (n / median n)^TILT: frequent tags can support more of a score.
TILT = 0.5
# Of several embeddings, those at least this wide, relative to the widest, are read: the deepest map of each
# network. With block14 beside block19, pictures of coco_part lose .006 of their precision, regions .004.
WIDE = 0.75


class RegionScorer(RegionLearner):
    """Score pictures by the soft maximum of linear scores of their regions and of the whole.

    Each tag has a linear score f_c(x). A picture's score is log-mean-exp over its regions and the whole
    picture, s_c = 1/β log mean_m e^{β f_c(x_m)}, trained by the logistic loss against the caption. Captions
    are incomplete, so an absent tag has the target ``absent`` instead of 0. f_c(x) itself is the log odds
    that the region shows the tag: 0 separates the tag from none of the tags. The loss is that of Ramon and De
    Raedt [1]_ with soft targets. The wide embeddings are read if there are any, else words.

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
        max_iter: int = 20,
    ) -> None:
        self.ridge = ridge
        self.sharpness = sharpness
        self.absent = absent
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, bags: Bags) -> None:
        check_number("ridge", self.ridge, 1e-9, 1e9)
        check_number("sharpness", self.sharpness, 1e-6, 1e6)
        check_number("absent", self.absent, 0, 0.5)
        check_number("tol", self.tol, 1e-12, 1.0)
        check_number("max_iter", self.max_iter, 1, 10**6, whole=True)
        views = {name: bags.views[name] for name in read_views(bags.views)}
        self.widths_ = {name: int(view.shape[1]) for name, view in views.items()}
        self.scaling_ = scaling_of(views)
        features, starts = self._instances(bags)
        y, known = targets_of(bags, self.absent)
        n = bags.captions.sum(axis=0)
        ridges = self.ridge * ((n + 1) / np.median(n + 1)) ** TILT
        weights = np.zeros((features.width + 1, bags.n_tags))
        weights[-1] = logit((n + 0.5) / (len(bags) + 1))
        loss = soft_maximum_loss(starts, y, known, self.sharpness, ridges)
        # Each loss is divided by the tag's ridge, which leaves the minimum and gives all tags the ridge 1.
        tol = self.tol * (1 + n) / ridges
        self.weights_, self.n_iter_ = minimise(features, loss, weights, 1.0, tol, self.max_iter)

    def score_regions(self, views: Mapping[str, Any]) -> Floats:
        """Return f of each region, regions × tags: the log odds of the tag against none of the tags."""
        return features_of({name: views[name] for name in self.widths_}, self.scaling_).scores(self.weights_)

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
        for where in bags.shards(max(1, CELLS // len(self.tag_names_))):
            features, starts = self._instances(bags[where])
            scores = np.ascontiguousarray(features.scores(self.weights_))
            out[where] = pool_regions(scores, starts, self.sharpness)[0]
        return out

    def _instances(self, bags: Bags) -> tuple[Features, Ints]:
        """Return the features of the regions of each picture, followed by those of the whole, and starts."""
        names = list(self.widths_)
        regions = features_of({name: bags.views[name] for name in names}, self.scaling_)
        pooled = pooled_views(bags)
        wholes = features_of({name: pooled[name] for name in names}, self.scaling_)
        starts = bags.offsets + np.arange(len(bags) + 1)
        order = np.empty(int(starts[-1]), dtype=np.int64)
        last = starts[1:] - 1
        order[last] = bags.n_regions + np.arange(len(bags))
        order[np.setdiff1d(np.arange(len(order)), last)] = np.arange(bags.n_regions)
        return regions.stacked(wholes)[order], starts

    def _check_state(self) -> None:
        width = sum(self.widths_.values()) + 1
        if self.weights_.shape != (width, len(self.tag_names_)):
            raise ValueError(f"weights_ must be {width} × {len(self.tag_names_)}, got {self.weights_.shape}")
        if self.scaling_ and self.scaling_.keys() != self.widths_.keys():
            raise ValueError("a scorer must read embeddings alone, or words alone")
        for name, scaling in self.scaling_.items():
            if scaling.shape != (2, self.widths_[name]) or not (scaling[1] > 0).all():
                raise ValueError(f"scaling_ of {name!r:.60} must be 2 × its width, scales positive")


def embeddings_of(views: Mapping[str, Any]) -> list[str]:
    """Return the names of the embeddings, or of all views if there are none."""
    dense = [name for name, view in views.items() if not is_sparse(view)]
    return dense or list(views)


def read_views(views: Mapping[str, Any]) -> list[str]:
    """Return the views that the scorer reads: the wide embeddings, or all words if there are none.

    >>> read_views({"block14": np.ones((1, 120)), "block19": np.ones((1, 208))})
    ['block19']
    """
    names = embeddings_of(views)
    if any(is_sparse(views[name]) for name in names):
        return names
    widest = max(views[name].shape[1] for name in names)
    return [name for name in names if views[name].shape[1] >= WIDE * widest]


def soft_maximum_loss(starts: Ints, y: Floats, known: Any, sharpness: float, ridges: Floats) -> Loss:
    """Return the logistic loss of the soft maximum over each picture's instances, divided by the ridges."""
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))

    def loss(scores: Floats, columns: Ints) -> tuple[Floats, Floats]:
        own = y[:, columns]
        best, shares = pool_regions(np.ascontiguousarray(scores), starts, sharpness)
        value, slope = np.logaddexp(0, best) - own * best, expit(best) - own
        if known is not None:
            value, slope = value * known[:, columns], slope * known[:, columns]
        slope /= ridges[columns]
        return value.sum(axis=0) / ridges[columns], shares * slope[owner]

    return loss
