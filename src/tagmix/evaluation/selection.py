"""Choose settings inside the training part, fit on all of it, and score the test part.

``compare`` and the tasks of ``tagmix.comparison`` both run on this module. Pictures to be scored are passed
without their captions.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.folds import Fold, checked_folds
from tagmix.evaluation.metrics import LOWER_IS_BETTER, METRICS, Metric
from tagmix.evaluation.search import SearchResult, Setting

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]


class Tested(NamedTuple):
    """A learner fitted on a training part, its scores of the test part, and how its setting was found.

    ``search`` is None if nothing was searched; ``seconds`` are those to choose, fit and annotate.
    """

    fitted: Any
    scores: Floats
    setting: Setting
    search: SearchResult | None
    seconds: dict[str, float]


def choose_fit_score(
    search: Callable[[Bags], SearchResult | None],
    configure: Callable[[Setting], Any],
    train: Bags,
    test: Bags,
) -> Tested:
    """Choose a setting on the training part, fit it on all of that part, and score the test part."""
    started = time.perf_counter()
    found = search(train)
    setting = {} if found is None else found.setting
    chosen = time.perf_counter()
    fitted = configure(setting).fit(train)
    trained = time.perf_counter()
    scores = scores_of(fitted, test)
    ended = time.perf_counter()
    # A learner that chooses inside ``fit`` reports how long that took.
    inside = getattr(fitted, "choose_seconds_", 0.0)
    seconds = {
        "choose": chosen - started + inside,
        "fit": trained - chosen - inside,
        "annotate": ended - trained,
    }
    return Tested(fitted, scores, setting, found, seconds)


def scores_of(fitted: Any, bags: Bags) -> Floats:
    """Return the scores of pictures, which are passed without their captions."""
    score = getattr(fitted, "decision_scores", None) or fitted.predict_proba
    return np.asarray(score(bags.with_tags(None)), dtype=np.float64)


def held_out_scores(learner: Any, bags: Bags, train: Any, test: Any) -> Floats:
    """Return the scores of the test pictures by a fresh copy of the learner that saw only the others."""
    return scores_of(clone(learner).fit(bags[train]), bags[test])


def cross_validated(
    learner: Any, bags: Bags, folds: Sequence[Fold], k: int, measure: Metric = METRICS["top_k_accuracy"]
) -> float:
    """Return the mean over folds of a metric of the held-out pictures."""
    values = []
    for fold in folds:
        scores = held_out_scores(learner, bags, fold.train, fold.test)
        values.append(float(of_known(measure, bags[fold.test])(scores, k)))
    return float(np.mean(values))


def of_known(measure: Callable[..., Any], bags: Bags) -> Callable[[Floats, int], Any]:
    """Return a metric of scores of these pictures; it is given their unknown tags, if there are any."""
    left_out = {} if bags.unknown is None else {"unknown": bags.unknown}
    return lambda scores, k: measure(bags.captions, scores, k, **left_out)


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
) -> SearchResult:
    """Return the setting of the grid that ranks held-out pictures of these bags best.

    Pass the training part only: all of ``bags`` takes part in the choice. The earlier of two equal settings
    wins. A metric that is passed as a function is maximised.

    Parameters
    ----------
    learner : an estimator; it is copied, never fitted itself.
    grid : ``{"name": [values]}``, all combinations, or a list of ``{"name": value}``.
    folds : their number, or a list of (train, test) picture numbers.
    metric : a name in ``METRICS``, or a function of (tags, scores, k), with ``unknown`` if the bags have such
        pairs.
    groups : the group of each picture; pictures of a group stay in one fold.
    """
    check_learner(learner, "learner")
    cut = checked_folds(folds, len(bags), seed=seed, groups=groups)
    measure = METRICS[known_name(metric, METRICS)] if isinstance(metric, str) else metric
    tried = tuple(
        (params, cross_validated(clone(learner).set_params(**params), bags, cut, k, measure))
        for params in _settings(grid)
    )
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    known = [trial for trial in tried if not np.isnan(trial[1])]
    if not known:
        raise ParameterError(
            f"at least one setting must be measurable, got nan for all {len(tried)}: give "
            "every fold pictures with tags."
        )
    setting, value = max(known, key=lambda trial: sign * trial[1])
    return SearchResult(setting, value, tried)


def _settings(grid: Grid) -> list[Setting]:
    made = list(ParameterGrid(grid)) if isinstance(grid, Mapping) else [dict(params) for params in grid]
    if not made:
        raise ParameterError("grid must hold at least one setting, got none: give {} to try the defaults.")
    return made


def check_learner(learner: Any, what: str) -> None:
    """Refuse what is not an estimator instance."""
    if isinstance(learner, type):
        raise ParameterError(
            f"{what} must be an instance, got the class {learner.__name__}: write {learner.__name__}()."
        )
    if not all(hasattr(learner, name) for name in ("fit", "get_params", "set_params")):
        raise ParameterError(
            f"{what} must have fit, get_params and set_params, got a {type(learner).__name__}: pass an "
            "estimator such as KNN()."
        )


def known_name(name: str, known: Iterable[str]) -> str:
    """Return the name if it is known; else ParameterError with the known names."""
    if name not in (names := list(known)):
        raise ParameterError(f"{name!r} is not among {', '.join(map(repr, names))}: choose one of them.")
    return name
