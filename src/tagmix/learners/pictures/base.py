"""The base of the learners that compare whole pictures with a reference set."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from tagmix.arrays import Counts, Floats, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.blocks import shut_out
from tagmix.evaluation.metrics import default_k, top_tags
from tagmix.evaluation.top_k import n_known
from tagmix.learners.base import TagLearner
from tagmix.learners.checks import check_choice, check_number
from tagmix.learners.pictures.distances import DISTANCES, ReferenceSet, reference_set_of
from tagmix.learners.schema import ByName, Number, StoredMatrix
from tagmix.learners.whole_pictures import WHOLE, Views, whole_pictures


class PictureLearner(TagLearner):
    """A learner that compares whole pictures with a stored reference set.

    ``reference_`` holds the pictures by view (8 bytes per dense number, 12 per word that occurs),
    ``scales_`` the median distance and ``view_weights_`` the weight of each view.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        "reference_": ByName(StoredMatrix(("references", None))),
        "scales_": ByName(Number(1e-300, 1e60)),
        "view_weights_": ByName(Number(0, 1e60)),
    }

    reads_dense = True
    reads_pictures = True
    distance: str
    memory_mb: float
    reference_: Views
    scales_: dict[str, float]
    view_weights_: dict[str, float]

    def _describe(self, bags: Bags) -> ReferenceSet:
        check_choice("distance", self.distance, DISTANCES)
        check_number("memory_mb", self.memory_mb, 1e-3, 1e6)
        return reference_set_of(whole_pictures(bags, self.distance), self.distance, self.memory_mb * 2**20)

    def _keep(self, reference: ReferenceSet, weights: Floats) -> None:
        self.reference_ = dict(reference.views)
        self.scales_ = dict(zip(reference.views, map(float, reference.scales), strict=True))
        self.view_weights_ = dict(zip(reference.views, map(float, weights), strict=True))

    def _weights(self) -> Floats:
        return np.array(list(self.view_weights_.values()))

    def _references(self) -> ReferenceSet:
        scales = np.array(list(self.scales_.values()))
        return ReferenceSet(self.reference_, scales, self.distance, self.memory_mb * 2**20)

    def _queries(self, reference: ReferenceSet, bags: Bags) -> Views:
        views = whole_pictures(bags, self.distance)
        expected = {name: (view.shape[1], is_sparse(view)) for name, view in reference.views.items()}
        got = {name: (view.shape[1], is_sparse(view)) for name, view in views.items()}
        if expected != got:
            raise BagsError(
                f"the learner was fitted with views (width, whether words) {expected}, these bags have "
                f"{got}: describe them as the training pictures were."
            )
        return views

    def _combined(self, bags: Bags) -> Iterator[tuple[slice, Floats]]:
        """Yield rows and their weighted distances to the reference set."""
        reference = self._references()
        weights = self._weights()
        yield from reference.weighted_blocks(self._queries(reference, bags), weights)

    def _check_state(self) -> None:
        check_choice("distance", self.distance, DISTANCES)
        check_number("memory_mb", self.memory_mb, 1e-3, 1e6)
        widths = {
            name: int(view.shape[1])
            for name, view in self.reference_.items()
            if name in self.widths_ or not name.startswith(WHOLE)
        }
        if not self.reference_ or not len(self._references()) or widths != self.widths_:
            raise ValueError(
                "the reference set must hold every view that fit read, with at least one picture"
            )
        if not self.reference_.keys() == self.scales_.keys() == self.view_weights_.keys():
            raise ValueError("every view must have a scale and a weight")


def accuracy(scores: Floats, tags: Counts, unknown: Counts | None = None) -> float:
    """Return the top-k accuracy, k as in ``score``, for choosing between settings."""
    return grade(hits(scores, tags, unknown), tags, unknown)


def hits(scores: Floats, tags: Counts, unknown: Counts | None = None) -> int:
    """Return how many of the k best known tags are correct."""
    best = top_tags(shut_out(scores, tags, unknown), default_k(tags.shape[1]))
    return int(np.take_along_axis(tags.toarray(), best, axis=1).sum())


def grade(n_hits: int, tags: Counts, unknown: Counts | None = None) -> float:
    """Return the top-k accuracy for this number of hits."""
    n_shown = int(np.minimum(default_k(tags.shape[1]), n_known(tags, unknown)).sum())
    return 2 * n_hits / (n_shown + tags.nnz)
