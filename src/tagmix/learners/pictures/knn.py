"""KNN: weighted votes of the nearest pictures for their tags."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.folds import grouped_folds
from tagmix.evaluation.search import pattern_search
from tagmix.learners.checks import check_choice, check_number
from tagmix.learners.pictures.base import PictureLearner, accuracy
from tagmix.learners.pictures.distances import ReferenceSet
from tagmix.learners.schema import Maybe, Number, StoredMatrix
from tagmix.learners.targets import shares_of_tags

# Initial a of exp(−a·distance), with distances in medians: neighbours are at .6 to .9 of the median.
START = 8.0
# Largest log2 ratio of two view weights: beyond it a view has no effect.
LOG_RANGE = 12.0
# Less than this part of the votes is rounding.
LEAST_HEARD = 1e-12
# Number of folds of the cross-validated votes.
LEFT_OUT_FOLDS = 5


class Voters(PictureLearner):
    """A learner whose reference set votes with its own tags; a subclass defines ``_shares``.

    Settings are chosen by leave-one-out on ``max_search`` training pictures, or on as many as fit into
    ``memory_mb`` with their distances to all others.
    A reference abstains from tags that are unknown of it.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        **PictureLearner.SCHEMA,
        "tags_": StoredMatrix(("references", "tags"), 0, 1),
        "loo_accuracy_": Number(0, 1),
    }

    weights: str
    random_state: Any
    tags_: Counts
    unknown_: Counts | None = None
    loo_accuracy_: float

    @abstractmethod
    def _shares(self, apart: Floats, tags: Counts, size: int) -> Floats:
        """Return the weights of the neighbours selected by ``size``, queries × references."""

    def _fit_votes(self, bags: Bags, sizes: Sequence[int], max_search: int) -> int:
        """Set the reference set, its tags and view weights; return the best of ``sizes``."""
        check_choice("weights", self.weights, ("equal", "learnt"))
        check_number("max_search", max_search, 2, 10**9, whole=True)
        reference, tags, unknown = self._describe(bags), bags.captions, bags.unknown
        rows = searched_rows(reference, max_search, self.random_state)
        part = bags[rows]
        apart, truth = reference.others(rows), part.captions
        tried: dict[tuple[float, ...], tuple[float, int]] = {}

        def value(logs: Floats) -> float:
            key = tuple(logs)
            if max(logs) - min(logs) > LOG_RANGE or abs(logs).max() > 2 * LOG_RANGE:
                return -np.inf
            if key not in tried:
                # A sum view by view avoids 0 × infinity and copies.
                total = sum(2.0**log * one for log, one in zip(logs, apart, strict=True))
                scores = (votes(self._shares(np.asarray(total), tags, s), tags, unknown) for s in sizes)
                tried[key] = max(
                    (accuracy(score, truth, part.unknown), -s) for s, score in zip(sizes, scores, strict=True)
                )
            return tried[key][0]

        n_views = len(reference.views)
        directions = np.ones((1, n_views))
        if n_views > 1 and self.weights == "learnt":
            directions = np.vstack([directions, np.eye(n_views)])
        start = np.full(n_views, np.log2(START / n_views))
        best = pattern_search(value, start, directions, (1.0, 0.5))
        self._keep(reference, 2.0**best)
        self.tags_ = tags.astype(np.float64)
        self.unknown_ = None if unknown is None else unknown.astype(np.float64)
        self.loo_accuracy_ = tried[tuple(best)][0]
        return -tried[tuple(best)][1]

    def _cross_validated(self, rows: Ints, size: int, fold: Ints) -> Floats:
        """Return the votes for these references by the references of all other folds."""
        reference, tags = self._references(), self.tags_
        weights = [float(weight) for weight in self.view_weights_.values()]
        out, step = np.empty((len(rows), tags.shape[1])), reference.rows_at_once()
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            # A sum view by view avoids 0 × infinity.
            apart = sum(w * one for w, one in zip(weights, reference.others(rows[block]), strict=True))
            same_fold = fold[rows[block], None] == fold
            out[block] = votes(
                self._shares(np.where(same_fold, np.inf, apart), tags, size), tags, self.unknown_
            )
        return out

    def _voted(self, bags: Bags, size: int) -> Floats:
        tags = self.tags_
        out = np.empty((len(bags), tags.shape[1]))
        for rows, apart in self._combined(bags):
            out[rows] = votes(self._shares(apart, tags, size), tags, self.unknown_)
        return out


def searched_rows(reference: ReferenceSet, most: int, random_state: Any) -> Ints:
    """Return sorted rows to choose settings on: at most ``most``, and as many as fit into memory."""
    n = min(most, reference.rows_at_once(), len(reference))
    if n == len(reference):
        return np.arange(n)
    return np.sort(check_random_state(random_state).permutation(len(reference))[:n])


def nearest(apart: Floats, size: int) -> Floats:
    """Return exp(−distance), up to a factor, of the ``size`` nearest (with ties), 0 for the others.

    >>> nearest(np.array([[0.0, 5.0, 0.0, 1.0]]), 3).round(2).tolist()
    [[1.0, 0.0, 1.0, 0.37]]
    """
    cut = np.partition(apart, min(size, apart.shape[1]) - 1, axis=1)[:, [min(size, apart.shape[1]) - 1]]
    near = (apart <= cut) & np.isfinite(apart)
    return np.exp(np.where(near, apart.min(axis=1, keepdims=True) - apart, -np.inf))


def votes(shares: Floats, tags: Counts, unknown: Counts | None = None) -> Floats:
    """Return Σ share × tags / Σ share over the references that know the tag, pictures × tags.

    Where none of them knows, the share of the tag among all references that do.

    >>> tags, unknown = csr_array(np.array([[1], [0], [0]])), csr_array(np.array([[0], [1], [0]]))
    >>> votes(np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]), tags, unknown).round(2).ravel().tolist()
    [0.67, 0.5]
    """
    total = shares.sum(axis=1, keepdims=True)
    yes = (csr_array(shares) @ tags).toarray()
    if unknown is None:
        return yes / np.where(total > 0, total, 1.0)
    known = total - (csr_array(shares) @ unknown).toarray()
    heard = known > LEAST_HEARD * total
    return np.where(heard, yes / np.where(heard, known, 1.0), shares_of_tags(tags, unknown))


class NeighbourVoters(Voters):
    """Voters whose number of neighbours k is chosen; a method writes ``_shares`` and its own defaults."""

    SCHEMA: ClassVar[dict[str, Any]] = {
        **Voters.SCHEMA,
        "unknown_": Maybe(StoredMatrix(("references", "tags"), 0, 1)),
        "k_": Number(1, 10**9, whole=True),
    }
    storable_as_expert = True
    # Where ``k`` and ``max_search`` are None.
    own_k: ClassVar[tuple[int, ...]]
    own_max_search: ClassVar[int]
    k_: int

    def __init__(
        self,
        *,
        k: int | tuple[int, ...] | None = None,
        weights: str = "learnt",
        distance: str = "hellinger",
        max_search: int | None = None,
        memory_mb: float = 512.0,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.k = k
        self.weights = weights
        self.distance = distance
        self.max_search = max_search
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _fit(self, bags: Bags) -> None:
        most = self.own_max_search if self.max_search is None else self.max_search
        self.k_ = self._fit_votes(bags, list(grid("k", self.own_k if self.k is None else self.k)), most)

    def _scores(self, bags: Bags) -> Floats:
        return self._voted(bags, self.k_)


class KNN(NeighbourVoters):
    """Let the k nearest pictures vote for their tags, with weights exp(−Σ_v a_v d_v).

    A simple and strong baseline: Makadia, Pavlovic and Kumar, "A new baseline for image annotation" (ECCV
    2008), found that it outperforms the models of its time. k and a are chosen by leave-one-out.

    Parameters
    ----------
    k : the number of neighbours, or several to choose from; None is (10, 30, 100, 300).
    weights : "learnt" gives every view its own a_v, "equal" one for all.
    distance : between histograms: "hellinger", "chi2" (slow) or "l1". Embeddings use half of the squared
        Euclidean distance. Each is divided by its median.
    max_search : number of training pictures on which settings are chosen, by leave-one-out; None is 2,000.
    memory_mb : memory limit for distances, in addition to the reference set.
    random_state : which pictures are searched, if there are more than ``max_search``.

    Attributes
    ----------
    k_ : the number chosen. ``view_weights_``: a_v. ``loo_accuracy_``: their leave-one-out accuracy.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> knn = KNN().fit(sample.bags[:100])
    >>> bool(knn.score(sample.bags[100:]) > 0.6)
    True
    """

    own_k: ClassVar[tuple[int, ...]] = (10, 30, 100, 300)
    own_max_search: ClassVar[int] = 2000

    def _shares(self, apart: Floats, tags: Counts, size: int) -> Floats:
        return nearest(apart, size)

    def left_out_scores(self, bags: Bags, rows: Ints, duplicates: Ints) -> Floats:
        """Return the cross-validated scores of these training pictures; folds keep duplicates together.

        Leave-one-out would leak the label where distances carry little information: the votes of all other
        pictures lack exactly its own tags. What a fold lacks is the same for all its pictures.
        """
        fold_of = np.empty(len(bags), dtype=np.int64)
        for number, fold in enumerate(grouped_folds(duplicates, LEFT_OUT_FOLDS, 0)):
            fold_of[fold.test] = number
        return self._cross_validated(rows, self.k_, fold_of)


def grid(name: str, sizes: Any) -> Iterator[int]:
    """Yield the candidates, one or several whole numbers of at least 1."""
    several = sizes if isinstance(sizes, tuple | list) else (sizes,)
    if not several:
        raise ParameterError(f"{name} must be a whole number or several of them, got none: pass one.")
    for size in several:
        check_number(name, size, 1, 10**9, whole=True)
        yield int(size)
