"""The methods of the comparison, and what of each is chosen inside the training part.

All choices are made the same way: by the top-5 accuracy on training pictures that are held out. Methods
with a shortcut (closed-form leave-one-out, a path of ridges) use it inside ``fit``; for the others the axes
here are searched by ``evaluation.search`` on three folds, or on halves of 2,000 pictures.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.evaluation.folds import picture_folds
from tagmix.evaluation.protocol import choose
from tagmix.evaluation.search import Found, Setting, line_search
from tagmix.learners import (
    DBA,
    EMM,
    KNN,
    CandidateEM,
    CorrLDA,
    KernelRidge,
    LinearRanker,
    MaxPooling,
    NaiveRegions,
    TagProp,
    TopicRidge,
    TwoPassKNN,
)
from tagmix.learners.context.tuning import instances_of
from tagmix.learners.inputs import useful_images
from tagmix.learners.tuning import START, VALUES, choose_evidence
from tagmix.model.params import LINEAR, view_of

# Training pictures that settings are chosen on, and the tags: the most frequent ones.
ENOUGH, ENOUGH_TAGS = 2000, 400
# The folds of the choice; so many pictures are enough to learn from one half of them.
FOLDS, FOLDS_OF_ENOUGH = 3, 2
# The words of text, and the iterations of EMM and DBA on it: each costs tags × words, up to 100 million.
TEXT, TEXT_ITERATIONS = ("text",), 20
# ν2 stays 1: the weights that solve the margin problem depend on ν1/ν2 alone.
NU1 = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


class Method(NamedTuple):
    """A learner, the ordered values of what is chosen, and where the search begins.

    ``evidence.sift`` is the entry "sift" of the setting ``evidence``; ``total_alpha/tags`` is a
    ``total_alpha`` for each tag there is.
    """

    learner: Any
    axes: Mapping[str, Sequence[Any]]
    start: Mapping[str, Any]

    def configured(self, setting: Mapping[str, Any], n_tags: int) -> Any:
        """Return a fresh learner with this setting, for so many tags.

        >>> dba = method_of("DBA", ("sift",)).configured({"evidence.sift": 0.3, "total_alpha/tags": 0.1}, 374)
        >>> dba.evidence, dba.total_alpha
        ({'sift': 0.3}, 37.4)
        """
        params: dict[str, Any] = {}
        for name, value in setting.items():
            outer, dot, inner = name.partition(".")
            whole, slash, _ = name.partition("/")
            if dot:
                params.setdefault(outer, {})[inner] = value
            else:
                params[whole] = value * n_tags if slash and value is not None else value
        return clone(self.learner).set_params(**params)

    def without(self, fixed: Mapping[str, Any]) -> "Method":
        """Return the method with some settings held: they are no longer chosen."""
        axes = {name: values for name, values in self.axes.items() if re.split("[./]", name)[0] not in fixed}
        start = {name: self.start[name] for name in axes}
        return Method(clone(self.learner).set_params(**fixed), axes, start)


class Frequency(BaseEstimator):  # type: ignore[misc]
    """Rank the tags by how many training pictures have them, whatever a picture shows."""

    def fit(self, X: Bags, y: Any = None) -> Self:
        """Count the tags."""
        self.counts_ = np.asarray(X.captions.sum(axis=0), dtype=np.float64).ravel()
        return self

    def decision_scores(self, X: Bags) -> Floats:
        """Return the same for every picture."""
        return np.tile(self.counts_, (len(X), 1))


class ContextEMM(BaseEstimator):  # type: ignore[misc]
    """EMM as ``tagmix train`` uses it: κ chosen, context learnt, tags ranked by calibrated probability.

    The parameters are those of ``EMM``; ``evidence`` None chooses κ inside ``fit``. ``even`` ranks so that
    rare tags count as much as frequent ones. ``embeddings`` "gaussian" or "linear" reads embeddings of
    regions by that instance model alone, None by both.
    """

    reads_dense = True

    def __init__(
        self,
        context: Any = "kernel",
        context_power: float | None = None,
        learning: str = "likelihood",
        evidence: float | Mapping[str, float] | None = None,
        even: bool = False,
        embeddings: str | None = None,
    ) -> None:
        self.context = context
        self.context_power = context_power
        self.learning = learning
        self.evidence = evidence
        self.even = even
        self.embeddings = embeddings

    def fit(self, X: Bags, y: Any = None) -> Self:
        """Choose κ on held-out training pictures, then learn and calibrate."""
        started, evidence = time.perf_counter(), self.evidence
        emm = EMM(learning=self.learning, context=self.context, context_power=self.context_power)
        if evidence is None:
            self.choice_ = choose_evidence(emm, X, instances=self._instances(X))
            evidence = self.choice_.evidence
        self.choose_seconds_ = time.perf_counter() - started
        self.emm_ = emm.set_params(evidence=evidence).fit(X)
        self.context_ = self.emm_.context_
        return self

    def _instances(self, X: Bags) -> list[str] | None:
        if self.embeddings is None:
            return None
        linear = self.embeddings == "linear"
        return [
            name
            for name in instances_of(X)
            if is_sparse(X.views[view_of(name)]) or name.endswith(LINEAR) == linear
        ]

    def decision_scores(self, X: Bags) -> Floats:
        """Return the calibrated probability of each tag, evened out or not."""
        return self.emm_.balanced_scores(X) if self.even else self.emm_.predict_marginals(X)

    def predict_marginals(self, X: Bags) -> Floats:
        """Return the calibrated probability of each tag."""
        return self.emm_.predict_marginals(X)

    def predict(self, X: Bags) -> Ints:
        """Return the tags worth showing, pictures × tags of 0 and 1."""
        return self.emm_.predict(X)

    def predict_regions(self, X: Bags, captioned: bool = False) -> Floats:
        """Return p(tag | region)."""
        return self.emm_.predict_regions(X, captioned)


class CalibratedEMM(ContextEMM):
    """The same without a context and on words alone: EMM_m ranked by calibrated probability."""

    reads_dense = False

    def __init__(self) -> None:
        super().__init__(context=None)


def _plain(learner: Any) -> Callable[[Sequence[str]], Method]:
    return lambda views: Method(learner, {}, {})


def _with_evidence(learner: Any, **more: tuple[Sequence[Any], Any]) -> Callable[[Sequence[str]], Method]:
    """Return a method whose κ of each view is chosen, and then ``more``: name → (values, start)."""

    def make(views: Sequence[str]) -> Method:
        axes: dict[str, Sequence[Any]] = {f"evidence.{view}": VALUES for view in views}
        start = dict.fromkeys(axes, START)
        for name, (values, first) in more.items():
            axes[name], start[name] = values, first
        short = {"max_iter": TEXT_ITERATIONS} if tuple(views) == TEXT else {}
        return Method(clone(learner).set_params(**short), axes, start)

    return make


METHODS: dict[str, Callable[[Sequence[str]], Method]] = {
    "frequency": _plain(Frequency()),
    "CorrLDA": _with_evidence(CorrLDA(max_iter=10)),
    "DBA": _with_evidence(DBA(), **{"total_alpha/tags": ((None, 0.1, 1.0, 10.0, 100.0), 0.1)}),
    "EMM_m": _with_evidence(EMM(learning="likelihood", calibration_folds=0)),
    "EMM_d": _with_evidence(EMM(learning="margin", calibration_folds=0), nu1=(NU1, 1e-4)),
    "EMM_calibrated": _plain(CalibratedEMM()),
    "EMM_context": _plain(ContextEMM()),
    "TopicRidge": _plain(TopicRidge()),
    "KNN": _plain(KNN()),
    "TagProp": _plain(TagProp()),
    "TwoPassKNN": _plain(TwoPassKNN()),
    "KernelRidge": _plain(KernelRidge()),
    "LinearRanker": _plain(LinearRanker()),
    "NaiveRegions": _plain(NaiveRegions()),
    "CandidateEM": _plain(CandidateEM()),
    "MaxPooling": _plain(MaxPooling()),
}


# The methods that read views of whole pictures; the others look at regions alone.
READ_PICTURES = ("EMM_context", "KNN", "TagProp", "TwoPassKNN", "KernelRidge", "LinearRanker")


def method_of(name: str, views: Sequence[str]) -> Method:
    """Return the method of a name for these views of regions."""
    return METHODS[name](views)


def views_read(name: str, bags: Bags) -> tuple[str, ...]:
    """Return the views that a method can read: all, those of regions, or those of words.

    >>> views = {"sift": np.ones((2, 3), int), "net": np.ones((2, 3))}
    >>> bags = Bags(views, [0, 1, 2], pictures={"layout": np.ones((2, 4))})
    >>> [views_read(name, bags) for name in ("KNN", "MaxPooling", "DBA")]
    [('sift', 'net', 'layout'), ('sift', 'net'), ('sift',)]
    """
    reads_dense = getattr(method_of(name, ()).learner, "reads_dense", False)
    regions = [view for view, own in bags.views.items() if reads_dense or is_sparse(own)]
    return tuple(dict.fromkeys([*regions, *(bags.pictures if name in READ_PICTURES else ())]))


def most_frequent(bags: Bags, n: int) -> Ints:
    """Return the columns of the n tags on most pictures, ascending; of equals the lower ones.

    >>> bags = Bags(np.ones((2, 1), int), [0, 1, 2], tags=np.array([[0, 1, 1], [0, 0, 1]]))
    >>> most_frequent(bags, 2).tolist()
    [1, 2]
    """
    counts = np.asarray(bags.captions.sum(axis=0), dtype=np.int64).ravel()  # their sum is unsigned
    return np.sort(np.argsort(-counts, kind="stable")[:n])


def chosen(method: Method, bags: Bags, *, k: int = 5, seed: int = 0) -> Found | None:
    """Return the setting that ranks held-out pictures of these (training) bags best; None without axes."""
    if not method.axes:
        return None
    if bags.n_tags > ENOUGH_TAGS:
        bags = bags.select_tags(most_frequent(bags, ENOUGH_TAGS))
    useful = np.flatnonzero(useful_images(bags))
    part = bags[np.sort(np.random.default_rng(seed).permutation(useful)[:ENOUGH])]
    folds = picture_folds(len(part), FOLDS if len(part) < ENOUGH else FOLDS_OF_ENOUGH, seed=seed)

    def accuracy(setting: Setting) -> float:
        return choose(method.configured(setting, part.n_tags), [{}], part, folds, k=k).score

    views = [name for name in method.axes if name.startswith("evidence.")]
    return line_search(method.axes, method.start, accuracy, together=views)
