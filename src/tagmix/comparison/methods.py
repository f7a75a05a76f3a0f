"""The methods of a comparison, and the settings of each that are chosen inside the training part.

All settings are chosen by the top-k accuracy on held-out training pictures. Methods with a shortcut
(closed-form leave-one-out, a path of ridges) use it inside ``fit``; for the others the axes here are searched
by ``coordinate_search`` on three folds, or on two halves of 2,000 pictures.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tagmix.arrays import Ints, is_sparse
from tagmix.bags import Bags
from tagmix.comparison.forms import BalancedContextEMM, CalibratedEMM, Frequency
from tagmix.comparison.rivals import CAM, AlwaysNone, MaxPoolingZero, ScorerZero
from tagmix.comparison.stacks import BalancedKernelRidge, CalibratedKernelRidge, Stack
from tagmix.evaluation.folds import picture_folds
from tagmix.evaluation.search import SearchResult, Setting, coordinate_search
from tagmix.evaluation.selection import cross_validated
from tagmix.learners import EMM, LEARNERS, ContextEMM, RegionScorer
from tagmix.learners.inputs import useful_pictures

# The most training pictures and tags (the most frequent) that settings are chosen on.
ENOUGH, ENOUGH_TAGS = 2000, 400
# The folds of the choice, and those with ENOUGH pictures.
FOLDS, FOLDS_OF_ENOUGH = 3, 2
# κ of each view, and where its search starts.
VALUES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
START = 0.1
# The views of text, and the most iterations of EMM, DBA and CorrLDA on it.
TEXT, TEXT_ITERATIONS = ("text",), 20
# The iterations of EM of every method that has them: stopping early is a choice like any other.
ITERATIONS = (10, (2, 5, 10, 20, 100))
# Captions restrict, or guide with a strength: "hard" is the limit of large ones.
SUPERVISION = ("hard", ("hard", 1000.0, 100.0, 30.0))
# ν₁/ν₂, on which the weights depend; the last is EMM_m, because ν₁ pulls the weights to 1.
NU1 = (1e-5, (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e9))
# ν₂/N, by which the multipliers of the margins are fed back; 0 is never.
NU2 = (0.0, (0.0, 0.1, 1.0, 10.0, 100.0))


class Method(NamedTuple):
    """A learner, the ordered values of each searched setting, and the start of the search.

    ``evidence.sift`` is the entry "sift" of the setting ``evidence``; ``total_alpha/tags`` is
    ``total_alpha`` divided by the number of tags.
    """

    learner: Any
    axes: Mapping[str, Sequence[Any]]
    start: Mapping[str, Any]

    def configured(self, setting: Mapping[str, Any], n_tags: int) -> Any:
        """Return a fresh learner with this setting, for data with ``n_tags`` tags.

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
        """Return the method with some settings fixed: they are no longer searched."""
        axes = {name: values for name, values in self.axes.items() if re.split("[./]", name)[0] not in fixed}
        start = {name: self.start[name] for name in axes}
        return Method(clone(self.learner).set_params(**fixed), axes, start)


Maker = Callable[[Sequence[str]], Method]


def _method(learner: Any, searched: Mapping[str, Any]) -> Maker:
    """Return a method from what is searched: name → (start, values); None is κ of each view."""

    def make(views: Sequence[str]) -> Method:
        axes: dict[str, Sequence[Any]] = {}
        start: dict[str, Any] = {}
        for name, line in searched.items():
            if line is None:
                axes |= {f"{name}.{view}": VALUES for view in views}
                start |= {f"{name}.{view}": START for view in views}
            else:
                start[name], axes[name] = line
        if "max_iter" in axes and tuple(views) == TEXT:
            # On text an iteration costs tags × words, up to 100 million.
            axes["max_iter"] = [n for n in axes["max_iter"] if n <= TEXT_ITERATIONS]
        return Method(clone(learner), axes, start)

    return make


_OF_EMM = {"evidence": None, "max_iter": ITERATIONS, "supervision": SUPERVISION}
# The forms of EMM that are compared, and the most frequent tags.
_FORMS: dict[str, Maker] = {
    "frequency": _method(Frequency(), {}),
    "EMM_m": _method(EMM(learning="likelihood", calibration_folds=0), _OF_EMM),
    "EMM_d": _method(
        EMM(learning="margin", margin_centre=1.0, margin_rounds=3, calibration_folds=0),
        {**_OF_EMM, "nu1": NU1, "nu2": NU2},
    ),
    "EMM_calibrated": _method(
        CalibratedEMM(learning="likelihood"), {"evidence": None, "max_iter": ITERATIONS}
    ),
    "ContextEMM_balanced": _method(BalancedContextEMM(), {}),
}
# Rivals in the open world (study ``openworld``), where regions may be none of the tags.
RIVALS: dict[str, Maker] = {
    "ContextEMM_expected": _method(ContextEMM(context=("kernel", "expected")), {}),
    "AlwaysNone": _method(AlwaysNone(), {}),
    "ScorerZero": _method(ScorerZero(), {}),
    "MaxPoolingZero": _method(MaxPoolingZero(), {}),
    "CAM": _method(CAM(), {}),
    "KernelRidge_calibrated": _method(CalibratedKernelRidge(), {}),
    "KernelRidge_balanced": _method(BalancedKernelRidge(), {}),
    "Stack": _method(Stack(), {}),
}
# Learners that are compared in the forms above, and settings that differ from a learner's defaults.
_IN_FORMS = (EMM, RegionScorer)
# Every learner of the registry takes part: a new one needs no line here.
METHODS: dict[str, Maker] = (
    _FORMS
    | RIVALS
    | {
        name: _method(learner(), getattr(learner, "searched", {}))
        for name, learner in LEARNERS.items()
        if learner not in _IN_FORMS
    }
)


def methods_with(attribute: str) -> tuple[str, ...]:
    """Return the methods, ``RIVALS`` aside, whose learner has a true class attribute.

    >>> methods_with("for_regions")
    ('CandidateEM', 'MaxPooling', 'NaiveRegions')
    """
    names = (name for name in METHODS if name not in RIVALS)
    return tuple(name for name in names if getattr(method_of(name, ()).learner, attribute, False))


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
    learner = method_of(name, ()).learner
    regions = [
        view for view, own in bags.views.items() if is_sparse(own) or getattr(learner, "reads_dense", False)
    ]
    pictures = bags.pictures if getattr(learner, "reads_pictures", False) else ()
    return tuple(dict.fromkeys([*regions, *pictures]))


def most_frequent(bags: Bags, n: int) -> Ints:
    """Return the columns of the n tags on most pictures, ascending; of equals the lower ones.

    >>> bags = Bags(np.ones((2, 1), int), [0, 1, 2], tags=np.array([[0, 1, 1], [0, 0, 1]]))
    >>> most_frequent(bags, 2).tolist()
    [1, 2]
    """
    counts = np.asarray(bags.captions.sum(axis=0), dtype=np.int64).ravel()  # their sum is unsigned
    return np.sort(np.argsort(-counts, kind="stable")[:n])


def choose_setting(method: Method, bags: Bags, *, k: int = 5, seed: int = 0) -> SearchResult | None:
    """Return the setting that ranks held-out pictures of the training bags best; None without axes."""
    if not method.axes:
        return None
    if bags.n_tags > ENOUGH_TAGS:
        bags = bags.select_tags(most_frequent(bags, ENOUGH_TAGS))
    useful = np.flatnonzero(useful_pictures(bags))
    part = bags[np.sort(np.random.default_rng(seed).permutation(useful)[:ENOUGH])]
    folds = picture_folds(len(part), FOLDS if len(part) < ENOUGH else FOLDS_OF_ENOUGH, seed=seed)

    def accuracy(setting: Setting) -> float:
        return cross_validated(method.configured(setting, part.n_tags), part, folds, k)

    views = [name for name in method.axes if name.startswith("evidence.")]
    return coordinate_search(method.axes, method.start, accuracy, together=views, entirely=("nu1", "nu2"))
