"""KNN: tags voted by the nearest pictures, near ones louder."""

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
from tagmix.learners.checks import check_choice, check_number
from tagmix.learners.pictures.distances import (
    PictureLearner,
    ReferenceSet,
    accuracy,
    climb,
)
from tagmix.learners.schema import Number, StoredMatrix

# exp(−a·distance) to start from, with distances in medians: neighbours are at .6 to .9 of the median.
START = 8.0
# Weights of views further apart than this say that a view is useless.
LOG_RANGE = 12.0
# Parts of the reference, each left out as a whole.
LEFT_OUT_FOLDS = 5


class Voters(PictureLearner):
    """A learner whose reference votes with its own tags; a method writes ``_shares`` and its grid's name.

    Settings are chosen by leaving one training picture out: ``max_search`` of them, or as many as fit into
    ``memory_mb`` with their distances to all others.
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        **PictureLearner.SCHEMA,
        "tags_": StoredMatrix(("references", "tags"), 0, 1),
        "loo_accuracy_": Number(0, 1),
    }

    weights: str
    max_search: int
    random_state: Any
    tags_: Counts
    loo_accuracy_: float

    @abstractmethod
    def _shares(self, apart: Floats, tags: Counts, size: int) -> Floats:
        """Return weights, pictures × reference, of the neighbours that ``size`` lets in."""

    def _fit_votes(self, bags: Bags, sizes: Sequence[int]) -> int:
        """Set reference, tags and view weights, and return the best of ``sizes``."""
        check_choice("weights", self.weights, ("equal", "learnt"))
        check_number("max_search", self.max_search, 2, 10**9, whole=True)
        reference, tags = self._describe(bags), bags.captions
        rows = searched_rows(reference, self.max_search, self.random_state)
        apart, truth = reference.others(rows), csr_array(tags[rows])
        tried: dict[tuple[float, ...], tuple[float, int]] = {}

        def value(logs: Floats) -> float:
            key = tuple(logs)
            if max(logs) - min(logs) > LOG_RANGE or abs(logs).max() > 2 * LOG_RANGE:
                return -np.inf
            if key not in tried:
                # One by one: 0 × infinity must not come up, and nothing is copied.
                total = sum(2.0**log * one for log, one in zip(logs, apart, strict=True))
                scores = (votes(self._shares(np.asarray(total), tags, s), tags) for s in sizes)
                graded = [(accuracy(score, truth), -s) for s, score in zip(sizes, scores, strict=True)]
                tried[key] = max(graded)
            return tried[key][0]

        n_views = len(reference.views)
        together = np.ones((1, n_views))
        ways = together if n_views == 1 or self.weights == "equal" else np.vstack([together, np.eye(n_views)])
        best = climb(value, np.full(n_views, np.log2(START / n_views)), ways, (1.0, 0.5))
        self._keep(reference, 2.0**best)
        self.tags_ = tags.astype(np.float64)
        self.loo_accuracy_ = tried[tuple(best)][0]
        return -tried[tuple(best)][1]

    def _left_out(self, rows: Ints, size: int, part: Ints) -> Floats:
        """Return the votes for these pictures of the reference by those of all other parts."""
        reference, tags = self._references(), self.tags_
        weights = [float(weight) for weight in self.view_weights_.values()]
        out, step = np.empty((len(rows), tags.shape[1])), reference.rows_at_once()
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            # One by one: 0 × infinity must not come up.
            apart = sum(w * one for w, one in zip(weights, reference.others(rows[some]), strict=True))
            alike = part[rows[some], None] == part
            out[some] = votes(self._shares(np.where(alike, np.inf, apart), tags, size), tags)
        return out

    def _voted(self, bags: Bags, size: int) -> Floats:
        tags = self.tags_
        out = np.empty((len(bags), tags.shape[1]))
        for rows, apart in self._combined(bags):
            out[rows] = votes(self._shares(apart, tags, size), tags)
        return out


def searched_rows(reference: ReferenceSet, most: int, random_state: Any) -> Ints:
    """Return pictures, in their order, to try settings on: ``most``, or what the memory holds."""
    n = min(most, reference.rows_at_once(), len(reference))
    if n == len(reference):
        return np.arange(n)
    return np.sort(check_random_state(random_state).permutation(len(reference))[:n])


def nearest(apart: Floats, size: int) -> Floats:
    """Return exp(−distance), up to a factor, of the ``size`` nearest (and of who ties), 0 for others.

    >>> nearest(np.array([[0.0, 5.0, 0.0, 1.0]]), 3).round(2).tolist()
    [[1.0, 0.0, 1.0, 0.37]]
    """
    cut = np.partition(apart, min(size, apart.shape[1]) - 1, axis=1)[:, [min(size, apart.shape[1]) - 1]]
    near = (apart <= cut) & np.isfinite(apart)
    return np.exp(np.where(near, apart.min(axis=1, keepdims=True) - apart, -np.inf))


def votes(shares: Floats, tags: Counts) -> Floats:
    """Return Σ share × tags / Σ share, pictures × tags."""
    total = shares.sum(axis=1, keepdims=True)
    return (csr_array(shares) @ tags).toarray() / np.where(total > 0, total, 1.0)


class KNN(Voters):
    """Let the k nearest pictures vote for their tags, with weights exp(−Σ_v a_v d_v).

    The simplest thing that works: Makadia, Pavlovic and Kumar, "A new baseline for image annotation" (ECCV
    2008), found that it beats the models of its time. k and a are chosen by leaving one picture out.

    Parameters
    ----------
    k : the number of neighbours; several to choose among.
    weights : "learnt" gives every view its own a_v, "equal" one for all.
    distance : between histograms: "hellinger", "chi2" (slow) or "l1". Embeddings take half of the squared
        Euclidean distance. Each is divided by its median.
    max_search : training pictures to choose settings on, each left out in turn.
    memory_mb : most memory for distances; beside it the reference is kept.
    random_state : which pictures are searched, if there are more than ``max_search``.

    Attributes
    ----------
    k_ : the number chosen. ``view_weights_``: a_v. ``loo_accuracy_``: what they reached, left out.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> knn = KNN().fit(sample.bags[:100])
    >>> bool(knn.score(sample.bags[100:]) > 0.6)
    True
    """

    SCHEMA: ClassVar[dict[str, Any]] = {**Voters.SCHEMA, "k_": Number(1, 10**9, whole=True)}
    storable_as_expert = True
    k_: int

    def __init__(
        self,
        *,
        k: int | tuple[int, ...] = (10, 30, 100, 300),
        weights: str = "learnt",
        distance: str = "hellinger",
        max_search: int = 2000,
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
        self.k_ = self._fit_votes(bags, list(grid("k", self.k)))

    def _shares(self, apart: Floats, tags: Counts, size: int) -> Floats:
        return nearest(apart, size)

    def _scores(self, bags: Bags) -> Floats:
        return self._voted(bags, self.k_)

    def left_out_scores(self, bags: Bags, rows: Ints, duplicates: Ints) -> Floats:
        """Return what these training pictures would have scored without their fifth of all, and duplicates.

        Left out alone, a picture would be told by what the votes of all others lack, where distances say
        little; what a fifth lacks is the same for all in it.
        """
        part = np.empty(len(bags), dtype=np.int64)
        for number, fold in enumerate(grouped_folds(duplicates, LEFT_OUT_FOLDS, 0)):
            part[fold.test] = number
        return self._left_out(rows, self.k_, part)


def grid(name: str, sizes: Any) -> Iterator[int]:
    """Yield one number, or several to choose among, each a whole number from 1."""
    several = sizes if isinstance(sizes, tuple | list) else (sizes,)
    if not several:
        raise ParameterError(f"{name} must be a whole number or several of them, got none: pass one.")
    for size in several:
        check_number(name, size, 1, 10**9, whole=True)
        yield int(size)
