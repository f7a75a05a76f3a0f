"""Compare learners on the same folds, in memory; settings are chosen inside each training part.

Any learner with scikit-learn's ``get_params``, ``set_params`` and ``fit`` takes part, if it ranks tags by
``decision_scores`` or ``predict_proba``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.folds import checked_folds, group_numbers
from tagmix.evaluation.metrics import METRICS, PICTURE_PARTS
from tagmix.evaluation.search import SearchResult, Setting
from tagmix.evaluation.selection import Grid, check_learner, choose, choose_fit_score, known_name, of_known
from tagmix.evaluation.significance import (
    Difference,
    Interval,
    bootstrap_interval,
    paired_bootstrap,
    permutation_test,
    sign_test,
    t_interval,
)


class Comparison(NamedTuple):
    """The scores of each learner on each fold, and what each picture contributes to them.

    ``scores`` is learners × folds × metrics; ``parts[metric][learner]`` has the terms of the pictures (or
    groups) of all test parts, for metrics that are sums over pictures; ``chosen[learner]`` has the setting of
    each fold.
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
        """Return mean and 95 % interval over folds, widened because folds share training pictures.

        It is symmetric and not clipped: with few folds it may reach below 0 or above 1.
        """
        row = self.learners.index(known_name(learner, self.learners))
        values = self.scores[row, :, self.metrics.index(known_name(metric, self.metrics))]
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
        if known_name(metric, self.metrics) not in self.parts:
            sums = ", ".join(name for name in METRICS if name in PICTURE_PARTS)
            raise ParameterError(
                f"a bootstrap over pictures needs a metric that is a sum over them, got {metric!r}: use "
                f"over_folds, or compare by one of {sums}."
            )
        return self.parts[metric][known_name(learner, self.learners)]


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
    """Return the scores of all learners on the same folds.

    A learner with a grid is tuned in each fold by the first metric, on ``inner_folds`` of the training part.
    With ``groups`` intervals and tests count a group once, as its pictures are not independent. ``learners``
    and ``grids`` are named; ``metrics`` are one or several names in ``METRICS``, with ``k`` tags per picture;
    ``folds``, ``groups`` and each grid are as in ``choose``.
    """
    metrics = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    _check_arguments(learners, metrics, grids or {}, inner_folds)
    cut = checked_folds(folds, len(bags), seed=seed, groups=groups)
    units = group_numbers(groups, len(bags))
    scores = np.zeros((len(learners), len(cut), len(metrics)))
    parts = {m: {n: _none(units) for n in learners} for m in metrics if m in PICTURE_PARTS}
    chosen: dict[str, list[Setting]] = {name: [] for name in learners}
    inner = _Inner(metrics[0], k, inner_folds, seed)
    for i, (name, learner) in enumerate(learners.items()):
        for j, fold in enumerate(cut):
            search = inner.search(learner, (grids or {}).get(name), units[fold.train])
            train, test = bags[fold.train], bags[fold.test]
            tested = choose_fit_score(search, _configured(learner), train, test)
            chosen[name].append(tested.setting)
            scores[i, j] = [of_known(METRICS[m], test)(tested.scores, k) for m in metrics]
            for m, by_learner in parts.items():
                terms = of_known(PICTURE_PARTS[m], test)(tested.scores, k)
                _add(by_learner[name], terms, units[fold.test])
    share = float(np.mean([len(fold.test) / len(fold.train) for fold in cut]))
    settings = {name: tuple(tried) for name, tried in chosen.items()}
    return Comparison(tuple(learners), metrics, scores, parts, settings, share)


def _configured(learner: Any) -> Callable[[Setting], Any]:
    return lambda setting: clone(learner).set_params(**setting)


def _check_arguments(
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
        known_name(name, METRICS)
    for name in grids:
        known_name(name, learners)
    for name, learner in learners.items():
        check_learner(learner, f"learner {name!r}")
    if not isinstance(inner_folds, Integral) or inner_folds < 2:
        raise ParameterError(f"inner_folds must be a whole number >= 2, got {inner_folds!r}: 3 is usual.")


class _Inner(NamedTuple):
    """How a setting is chosen inside a training part."""

    metric: str
    k: int
    folds: int
    seed: int

    def search(self, learner: Any, grid: Grid | None, groups: Ints) -> Callable[[Bags], SearchResult | None]:
        """Return the search of a grid; without a grid, one that changes nothing."""
        if grid is None:
            return lambda train: None
        return lambda train: choose(
            learner, grid, train, self.folds, self.metric, self.seed, k=self.k, groups=groups
        )


def _none(units: Ints) -> Parts:
    n = int(units.max(initial=-1)) + 1
    return Parts(np.zeros(n), np.zeros(n))


def _add(total: Parts, new: Parts, units: Ints) -> None:
    """Add the terms of pictures to their units; a picture that is tested twice adds twice."""
    np.add.at(total.gain, units, new.gain)
    np.add.at(total.weight, units, new.weight)
