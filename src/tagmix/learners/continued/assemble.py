"""The model that verdicts, columns and statistics determine, and the pictures that show other tags by it."""

from copy import copy
from dataclasses import replace
from typing import cast

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats
from tagmix.evaluation.folds import groups_of
from tagmix.evaluation.metrics import default_k, top_k_accuracy
from tagmix.learners.calibrate import Calibration
from tagmix.learners.context.expected import ExpectedTags, described
from tagmix.learners.context.prior import ContextPrior, frequency_accuracy, pool_features
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.biases import Fitted, fitted
from tagmix.learners.continued.memory import Memory, checked_ridge, expected_of
from tagmix.learners.continued.mixture import moved
from tagmix.learners.continued.ridge import Ridge, solved_again
from tagmix.learners.continued.verdicts import Codes, labelled, targets
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.quality import quality_of
from tagmix.learners.rare_tags import tag_scales, weights_for
from tagmix.learners.shown import level_thresholds, outcome_of


def assembled(model: ContextEMM, memory: Memory, ridge: Ridge) -> ContextEMM:
    """Return the model that the memory's verdicts, columns and statistics determine."""
    chosen, names = memory.chosen, model.tag_names_
    bags, y = labelled(memory.codes, names), targets(memory.codes)
    rows, groups = np.arange(len(memory.ids)), groups_of(memory.ids, memory.prints)
    left_out = ridge.learner.left_out_scores(bags, rows, groups)
    experts: list[KernelRidge] = [ridge.learner]
    scores = [left_out]
    for expert in expected_of(model):
        first = fitted(chosen.first, pool_features(scores, memory.held), y, memory.folds)
        experts.append(_expecting(expert, first, memory.codes))
        scores.append(experts[-1].left_out_scores(bags, rows, groups))
    pool = fitted(chosen.pool, pool_features(scores, memory.held), y, memory.folds)
    calibration = fitted(chosen.calibration, [pool.logits], y, memory.halves)
    p, thresholds = expit(calibration.logits), model.calibration_.thresholds
    made = copy(model)
    scorer = copy(model.prior_.scorer)
    scorer.weights_ = _in_full(memory.weights[0], chosen.axes)
    made.prior_ = ContextPrior(tuple(experts), scorer, pool.logistic)
    made.regions_ = replace(moved(chosen.regions, chosen.sums, memory.sums), scorer=scorer)
    made.calibration_ = Calibration(
        calibration.logistic,
        thresholds,
        weights_for(chosen.powers, tag_scales(p, *y)),
        level_thresholds(p, *y),
        outcome_of(p, y.y, thresholds, y.known),
        quality_of(p, y.y, thresholds, y.known),
    )
    made.accuracy_ = top_k_accuracy(y.y, p, default_k(len(names)), bags.unknown)
    made.frequency_accuracy_ = frequency_accuracy(y.y, bags.unknown)
    return made


def _expecting(expert: ExpectedTags, first: Fitted, codes: Codes) -> ExpectedTags:
    """Return the expert that knows pictures by what this first pool expects of them; its scale was chosen."""
    made = copy(expert)
    made.first_pool_ = first.logistic
    return cast(ExpectedTags, solved_again(made, described(first.logits).views, codes).learner)


def _in_full(weights: Floats, axes: Floats | None) -> Floats:
    return weights if axes is None else np.vstack([axes @ weights[:-1], weights[-1:]])


def shown_of_training(model: ContextEMM, memory: Memory) -> Floats:
    """Return the tags that the model shows of its training pictures, pictures × tags."""
    ridge = checked_ridge(model, len(memory.ids))
    scores = [ridge_fitted(ridge, memory.codes)]
    for expert in expected_of(model):
        own = expert.bags_of(pool_features(scores, memory.pooled))
        scores.append(expert.decision_scores(own))
    logits = model.prior_.pool.logits(pool_features(scores, memory.pooled))
    return model.calibration_.shown(model.calibration_.probabilities([logits])).astype(np.float64)


def ridge_fitted(ridge: KernelRidge, codes: Codes) -> Floats:
    """Return the scores of training pictures from (K + ridge·I)α = y − ȳ."""
    y, known = targets(codes)
    told = y if known is None else np.where(known, y, ridge.means_)
    scores: Floats = told - ridge.ridge_ * ridge.coefficients_
    return scores


def changed_pictures(model: ContextEMM, memory: Memory, made: ContextEMM, after: Memory) -> tuple[str, ...]:
    """Return the ids of pictures of ``memory`` whose shown tags are others by the new model."""
    old, new = shown_of_training(model, memory), shown_of_training(made, after)[: len(memory.ids)]
    return tuple(memory.ids[n] for n in np.flatnonzero((old != new).any(axis=1)))
