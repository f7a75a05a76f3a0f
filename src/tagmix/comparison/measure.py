"""Run one method on one part, and record its rankings, metrics, regions and probabilities."""

from typing import Any

import numpy as np

from tagmix.arrays import Counts, Floats
from tagmix.bags import Bags
from tagmix.comparison.levels import LEVELS, Level
from tagmix.comparison.methods import Method, choose_setting, method_of
from tagmix.comparison.parts import DataPart
from tagmix.comparison.records import (
    BINS,
    LONGEST,
    Probabilities,
    Record,
    RegionRanks,
    Task,
)
from tagmix.comparison.terms import picture_terms, ranks_of_regions, region_terms
from tagmix.comparison.variations import settings_at
from tagmix.errors import BagsError, ParameterError
from tagmix.evaluation.metrics import METRICS, default_k, top_tags
from tagmix.evaluation.probabilities import reliability
from tagmix.evaluation.selection import choose_fit_score
from tagmix.learners.calibrate import Calibration


def measured(task: Task, part: DataPart, provenance: dict[str, Any]) -> Record:
    """Choose settings on the training pictures, fit all of them, and test."""
    if not part.test.captions.nnz:
        raise BagsError("test pictures must have tags of the training pictures, got none: add pictures")
    method, k = _method(task, part), default_k(part.train.n_tags)
    tested = choose_fit_score(
        lambda train: choose_setting(method, train, k=k),
        lambda setting: method.configured(setting, part.train.n_tags),
        part.train,
        part.test,
    )
    learner, tried = tested.fitted, () if tested.search is None else tested.search.tried
    shares = region_shares(learner, part)
    terms = picture_terms(part.test.captions, tested.scores, marginals_of(learner, part.test))
    return Record(
        task=task,
        chosen={**tested.setting, **settings_at(task.point), **_own_choices(learner)},
        tried=[{**one, "accuracy": value} for one, value in tried],
        seconds=tested.seconds,
        n_train=len(part.train),
        tag_names=list(part.train.tag_names or ()),
        ids=list(part.test.ids),
        captions=captions_of(part.test),
        top=top_tags(tested.scores, LONGEST).tolist(),
        metrics=metrics_of(part.test.captions, tested.scores, k),
        regions=None if shares is None else ranks_of_regions(part, *shares),
        provenance=provenance,
        probabilities=probabilities_of(learner, part.test),
        terms=terms if shares is None else {**terms, **region_terms(part, *shares)},
    )


def captions_of(bags: Bags) -> list[list[int]]:
    """Return the tag numbers of each picture."""
    tags = bags.captions
    return [tags.indices[a:b].tolist() for a, b in zip(tags.indptr, tags.indptr[1:], strict=False)]


def metrics_of(truth: Counts, scores: Floats, k: int) -> dict[str, float]:
    """Return the metrics that are defined; ranking loss, for example, needs a tag that is wrong."""
    values = {name: float(metric(truth, scores, k)) for name, metric in METRICS.items()}
    return {name: value for name, value in values.items() if np.isfinite(value)}


def _method(task: Task, part: DataPart) -> Method:
    method = method_of(task.method, tuple(part.train.views))
    held = settings_at(task.point)
    return method.without(held) if held else method


def marginals_of(learner: Any, test: Bags) -> Floats | None:
    """Return calibrated probabilities of the test pictures; None if the learner has none."""
    if not hasattr(learner, "predict_marginals") or getattr(learner, "calibration_", learner) is None:
        return None
    p: Floats = learner.predict_marginals(test.with_tags(None))
    return p


def probabilities_of(learner: Any, test: Bags) -> Probabilities | None:
    """Return the calibration of its probabilities and the tags it selects; None if it has none."""
    p = marginals_of(learner, test)
    if p is None:
        return None
    bins = reliability(test.captions, p, BINS)
    shown = [np.flatnonzero(row).tolist() for row in learner.predict(test.with_tags(None))]
    pairs, right = (row.astype(np.int64).tolist() for row in (bins.pairs, bins.right))
    levels = levels_of(getattr(learner, "calibration_", None), p, test.captions)
    return Probabilities(pairs, bins.said.tolist(), right, shown, levels)


def levels_of(calibration: Calibration | None, p: Floats, tags: Counts) -> list[Level]:
    """Return what is shown of test pictures at each precision of ``LEVELS`` that the model reaches."""
    if calibration is None:
        return []
    levels, truth = [], tags.toarray()
    for asked in LEVELS:
        try:
            shown = calibration.shown(p, asked)
        except ParameterError:  # out of reach
            break
        none = int((~shown.any(axis=1)).sum())
        levels.append(Level(asked, int(shown.sum()), float(p[shown].sum()), int(truth[shown].sum()), none))
    return levels


def region_ranks(learner: Any, part: DataPart) -> RegionRanks | None:
    """Return the rank of each labelled region's tag, without and with the caption; None if there is none."""
    shares = region_shares(learner, part)
    return None if shares is None else ranks_of_regions(part, *shares)


def region_shares(learner: Any, part: DataPart) -> tuple[Floats, Floats] | None:
    """Return the shares of each region's tags without and with the caption; None if there is no truth."""
    if not part.knows_regions or not hasattr(learner, "predict_regions"):
        return None
    free = learner.predict_regions(part.test.with_tags(None))
    return free, learner.predict_regions(part.test, captioned=True)


def _own_choices(learner: Any) -> dict[str, Any]:
    """Return the settings that the learner chose inside ``fit``."""
    names = ("ridge_", "k_", "view_weights_", "loo_accuracy_", "n_iter_")
    own = {name: getattr(learner, name) for name in names if hasattr(learner, name)}
    if hasattr(learner, "regions_"):
        own |= {"evidence": learner.evidence_, "background": learner.regions_.background}
    return {name: _plain(value) for name, value in own.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return np.asarray(value).tolist()
