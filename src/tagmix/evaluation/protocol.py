"""Fair comparison: what is chosen is chosen inside the training part, what is tested is tested on the rest.

Any learner with scikit-learn's ``get_params``, ``set_params`` and ``fit`` takes part, if it ranks tags by
``decision_scores`` or ``predict_proba``. Pictures to be tested are handed over without their captions.
"""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.folds import Fold, checked_folds, group_numbers
from tagmix.evaluation.metrics import LOWER_IS_BETTER, METRICS, PICTURE_PARTS, Metric
from tagmix.evaluation.significance import (
    Difference,
    Interval,
    bootstrap_interval,
    paired_bootstrap,
    permutation_test,
    sign_test,
    t_interval,
)

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


class Trial(NamedTuple):
    """One setting, its metric on each fold and their mean."""

    params: dict[str, Any]
    scores: tuple[float, ...]
    mean: float


class Choice(NamedTuple):
    """The best setting, its mean over the folds, and all that were tried, in the order of the grid."""

    params: dict[str, Any]
    score: float
    table: tuple[Trial, ...]


def held_out_scores(learner: Any, bags: Bags, train: Any, test: Any) -> Floats:
    """Return the scores of the test pictures by a fresh copy of the learner that saw only the others."""
    fitted = clone(learner).fit(bags[train])
    unseen = bags[test].with_tags(None)
    ask = getattr(fitted, "decision_scores", None) or fitted.predict_proba
    return np.asarray(ask(unseen), dtype=np.float64)


def choose(
    learner: Any,
    grid: Grid,
    bags: Bags,
    folds: int | Iterable[Any] = 3,
    metric: str | Metric = "top_k_accuracy",
    seed: int = 0,
    *,
    k: int = 5,
    groups: Any = None,
) -> Choice:
    """Return the setting of the grid that ranks held-out pictures of these bags best.

    Pass the training part only: whatever is in ``bags`` takes part in the choice. The earlier of two equal
    settings wins. A metric that is passed as a function counts as better when it is larger.

    Parameters
    ----------
    learner : an estimator; it is copied, never fitted itself.
    grid : ``{"name": [values]}``, all combinations, or a list of ``{"name": value}``.
    folds : their number, or a list of (train, test) picture numbers.
    metric : a name in ``METRICS``, or a function of (tags, scores, k).
    groups : the group of each picture; pictures of a group are never parted.
    """
    _check_learner(learner, "learner")
    cut = checked_folds(folds, len(bags), seed=seed, groups=groups)
    measure = METRICS[_named(metric, METRICS)] if isinstance(metric, str) else metric
    table = tuple(_trial(learner, params, bags, cut, measure, k) for params in _settings(grid))
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    known = [trial for trial in table if not np.isnan(trial.mean)]
    if not known:
        raise ParameterError(
            f"at least one setting must be measurable, got nan for all {len(table)}: give "
            "every fold pictures with tags."
        )
    best = max(known, key=lambda trial: sign * trial.mean)
    return Choice(best.params, best.mean, table)


def _trial(
    learner: Any, params: dict[str, Any], bags: Bags, cut: Sequence[Fold], measure: Metric, k: int
) -> Trial:
    """Return how one setting does on each fold."""
    candidate = clone(learner).set_params(**params)
    scores = tuple(
        float(measure(bags[f.test].captions, held_out_scores(candidate, bags, f.train, f.test), k))
        for f in cut
    )
    return Trial(params, scores, float(np.mean(scores)))


class Comparison(NamedTuple):
    """What each learner reached on each fold, and what each picture added to it.

    ``scores`` is learners × folds × metrics; ``parts[metric][learner]`` are the pictures (or groups) of
    all test parts, for metrics that are sums over pictures; ``chosen[learner]`` the setting of each fold.
    Printed, it is a table of the means over folds.
    """

    learners: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: Floats
    parts: dict[str, dict[str, Parts]]
    chosen: dict[str, tuple[dict[str, Any], ...]]
    test_share: float

    def __repr__(self) -> str:
        first = max(map(len, self.learners))
        widths = [max(len(name), 8) for name in self.metrics]
        head = "  ".join(f"{name:>{width}}" for name, width in zip(self.metrics, widths, strict=True))
        lines = [f"mean of {self.scores.shape[1]} folds", f"{'':<{first}}  {head}"]
        for name, means in zip(self.learners, self.scores.mean(axis=1), strict=True):
            row = "  ".join(f"{mean:>{width}.3f}" for mean, width in zip(means, widths, strict=True))
            lines.append(f"{name:<{first}}  {row}")
        return "\n".join(lines)

    def over_folds(self, learner: str, metric: str) -> Interval:
        """Return mean and 95 % interval over folds, widened because folds share what they learnt from.

        It is symmetric and not cut off: with few folds it may reach below 0 or above 1.
        """
        row = self.learners.index(_named(learner, self.learners))
        values = self.scores[row, :, self.metrics.index(_named(metric, self.metrics))]
        return t_interval(values, test_share=self.test_share)

    def over_pictures(self, learner: str, metric: str, *, seed: int = 0) -> Interval:
        """Return the metric of all test parts together and its 95 % bootstrap interval over pictures."""
        return bootstrap_interval(self._parts(learner, metric), seed=seed)

    def difference(self, first: str, second: str, metric: str, *, seed: int = 0) -> Difference:
        """Return first minus second over pictures, with interval and p of the paired bootstrap."""
        return paired_bootstrap(self._parts(first, metric), self._parts(second, metric), seed=seed)

    def p_values(self, first: str, second: str, metric: str, *, seed: int = 0) -> dict[str, float]:
        """Return p by the three paired tests over pictures."""
        pair = self._parts(first, metric), self._parts(second, metric)
        return {
            "bootstrap": paired_bootstrap(*pair, seed=seed).p,
            "permutation": permutation_test(*pair, seed=seed),
            "sign": sign_test(*pair),
        }

    def _parts(self, learner: str, metric: str) -> Parts:
        if _named(metric, self.metrics) not in self.parts:
            sums = ", ".join(name for name in METRICS if name in PICTURE_PARTS)
            raise ParameterError(
                f"pictures can be drawn again for metrics that are sums over them, {metric!r} is none: use "
                f"over_folds, or compare by one of {sums}."
            )
        return self.parts[metric][_named(learner, self.learners)]


def compare(
    learners: Mapping[str, Any],
    bags: Bags,
    folds: int | Iterable[Any] = 5,
    metrics: str | Sequence[str] = ("top_k_accuracy",),
    seed: int = 0,
    *,
    k: int = 5,
    grids: Mapping[str, Grid] | None = None,
    inner_folds: int = 3,
    groups: Any = None,
) -> Comparison:
    """Return how all learners do on the same folds.

    A learner with a grid is chosen anew in each fold, by the first metric, on ``inner_folds`` of the training
    part alone. With ``groups`` intervals and tests count a group once, as its pictures are not independent.
    ``learners`` and ``grids`` are named; ``metrics`` are one or several names in ``METRICS``, showing ``k``
    tags a picture; ``folds``, ``groups`` and each grid are as in ``choose``.
    """
    metrics = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    _check_asked(learners, metrics, grids or {}, inner_folds)
    cut = checked_folds(folds, len(bags), seed=seed, groups=groups)
    units = group_numbers(groups, len(bags))
    scores = np.zeros((len(learners), len(cut), len(metrics)))
    parts = {m: {n: _none(units) for n in learners} for m in metrics if m in PICTURE_PARTS}
    chosen: dict[str, list[dict[str, Any]]] = {name: [] for name in learners}
    inner = _Inner(metrics[0], k, inner_folds, seed, units)
    for i, (name, learner) in enumerate(learners.items()):
        for j, fold in enumerate(cut):
            chosen[name].append(_nested(learner, (grids or {}).get(name), bags, fold, inner))
            candidate = clone(learner).set_params(**chosen[name][-1])
            truth, said = bags[fold.test].captions, held_out_scores(candidate, bags, fold.train, fold.test)
            scores[i, j] = [METRICS[m](truth, said, k) for m in metrics]
            for m, by_learner in parts.items():
                _add(by_learner[name], PICTURE_PARTS[m](truth, said, k), units[fold.test])
    share = float(np.mean([len(fold.test) / len(fold.train) for fold in cut]))
    settings = {name: tuple(tried) for name, tried in chosen.items()}
    return Comparison(tuple(learners), metrics, scores, parts, settings, share)


def _check_asked(
    learners: Mapping[str, Any], metrics: Sequence[str], grids: Mapping[str, Grid], inner_folds: int
) -> None:
    if not isinstance(learners, Mapping):
        raise ParameterError(
            f"learners must be named, got a {type(learners).__name__}: pass {{'name': learner}}."
        )
    if not metrics or not learners:
        raise ParameterError(
            f"learners and metrics must be named, at least one of each, got {len(learners)} learners and "
            f"{metrics!r}: pass {{'name': learner}} and a list of names."
        )
    for name in metrics:
        _named(name, METRICS)
    for name in grids:
        _named(name, learners)
    for name, learner in learners.items():
        _check_learner(learner, f"learner {name!r}")
    if not isinstance(inner_folds, Integral) or inner_folds < 2:
        raise ParameterError(f"inner_folds must be a whole number >= 2, got {inner_folds!r}: 3 is usual.")


def _check_learner(learner: Any, what: str) -> None:
    if isinstance(learner, type):
        raise ParameterError(
            f"{what} must be an instance, got the class {learner.__name__}: write {learner.__name__}()."
        )
    if not all(hasattr(learner, name) for name in ("fit", "get_params", "set_params")):
        raise ParameterError(
            f"{what} must have fit, get_params and set_params, got a {type(learner).__name__}: pass an "
            "estimator such as KNN()."
        )


class _Inner(NamedTuple):
    """How a setting is chosen inside a training part."""

    metric: str
    k: int
    folds: int
    seed: int
    units: Ints


def _nested(learner: Any, grid: Grid | None, bags: Bags, fold: Fold, how: _Inner) -> dict[str, Any]:
    """Return the setting that is best inside the training part of a fold; without a grid, no change."""
    if grid is None:
        return {}
    own = how.units[fold.train]
    part = bags[fold.train]
    return choose(learner, grid, part, how.folds, how.metric, how.seed, k=how.k, groups=own).params


def _none(units: Ints) -> Parts:
    n = int(units.max(initial=-1)) + 1
    return Parts(np.zeros(n), np.zeros(n))


def _add(total: Parts, new: Parts, units: Ints) -> None:
    """Add what pictures gained to their own places; one that is tested twice adds twice."""
    np.add.at(total.gain, units, new.gain)
    np.add.at(total.weight, units, new.weight)


def _settings(grid: Grid) -> list[dict[str, Any]]:
    made = list(ParameterGrid(grid)) if isinstance(grid, Mapping) else [dict(params) for params in grid]
    if not made:
        raise ParameterError("grid must hold at least one setting, got none: give {} to try the defaults.")
    return made


def _named(name: str, known: Iterable[str]) -> str:
    """Return the name if it is known."""
    if name not in (names := list(known)):
        raise ParameterError(f"{name!r} is not among {', '.join(map(repr, names))}: choose one of them.")
    return name
