"""The memory of a fit, and its model as a refit with the same settings gives it."""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from tagmix.arrays import Floats, Ints
from tagmix.errors import ParameterError
from tagmix.evaluation.folds import Fold, grouped_folds, prints_of
from tagmix.learners.calibrate import FOLDS as CALIBRATION_FOLDS
from tagmix.learners.context.prior import Learnt
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.assemble import assembled
from tagmix.learners.continued.biases import Shared, all_shared, fitted
from tagmix.learners.continued.columns import Columns, Losses, gradients, scores
from tagmix.learners.continued.instances import Kept
from tagmix.learners.continued.memory import Chosen, Memory, checked_ridge, expected_of
from tagmix.learners.continued.mixture import Regions, statistics
from tagmix.learners.continued.ridge import solved_again
from tagmix.learners.continued.verdicts import codes_of, given, targets
from tagmix.learners.rare_tags import rare_tag_powers
from tagmix.learners.regions.instances import principal_axes
from tagmix.learners.regions.region_scorer import RegionScorer


def remember(model: ContextEMM, learnt: Learnt) -> tuple[ContextEMM, Memory]:
    """Return the model of a fit with its memory; ParameterError if it cannot learn on.

    The model differs from that of ``fit`` by rounding: it is what ``refit`` gives for the same pictures.
    """
    bags, training, seed = learnt
    chosen_ridge = checked_ridge(model, len(bags))
    if len(training.rows) < len(bags) or not training.groups.any():
        raise ParameterError(
            f"a model can learn on from different pictures and up to 10 million pairs of picture and tag, "
            f"got {len(bags):,} pictures × {bags.n_tags:,} tags: train again instead."
        )
    codes, scorer = codes_of(bags), model.prior_.scorer
    folds = fold_numbers(training.folds, len(bags))
    own = bags.select_views(scorer.widths_)
    axes = principal_axes(own, scorer.scaling_) if scorer.scaling_ else None
    kept, regions = Kept.of(bags, scorer, axes), Regions.of(bags, model.regions_)
    losses = Losses(kept, folds, codes, scorer)
    columns = _columns(losses, [scorer, *training.scorers], axes)
    held, pooled = scores(losses, columns.weights)
    halves = fold_numbers(grouped_folds(training.groups, CALIBRATION_FOLDS, seed), len(bags))
    sums = statistics(regions, kept, codes, model.regions_, columns.weights[0], model.settings_)
    first = _first(learnt, folds) if expected_of(model) else []
    chosen = Chosen(axes, columns, *_shared(learnt, folds, halves), model.regions_, sums, first)
    ridge = solved_again(chosen_ridge, chosen_ridge.reference_, codes)
    memory = Memory(
        chosen, bags.ids, tuple(prints_of(bags)), codes, folds, halves, ridge.factor, kept, regions,
        columns.weights, held, pooled, sums,
    )  # fmt: skip
    return assembled(model, memory, ridge), memory


def _shared(
    learnt: Learnt, folds: Ints, halves: Ints
) -> tuple[list[Shared], list[Shared], tuple[float, float]]:
    """Return what all tags share in the pool, in the calibration, and in the rare-tag weights."""
    training, own = learnt.of_training, targets(codes_of(learnt.bags))
    pool = all_shared(training.features, own, folds)
    calibration = all_shared([training.logits], own, halves)
    p = expit(fitted(calibration, [training.logits], own, halves).logits)
    return pool, calibration, rare_tag_powers(p, own.y, learnt.seed, own.known)


def _first(learnt: Learnt, folds: Ints) -> list[Shared]:
    """Return what all tags share in the pool of kernel ridge and scorer, which ``ExpectedTags`` reads."""
    *experts, scorer = learnt.of_training.features
    return all_shared([*experts[:-2], scorer], targets(codes_of(learnt.bags)), folds)


def fold_numbers(folds: Sequence[Fold], n_pictures: int) -> Ints:
    """Return the fold in which each picture is tested."""
    number = np.empty(n_pictures, dtype=np.int64)
    for i, fold in enumerate(folds):
        number[fold.test] = i
    return number


def _columns(losses: Losses, scorers: Sequence[RegionScorer], axes: Floats | None) -> Columns:
    """Return the columns of these scorers, with the gradients of their losses."""
    weights = np.array([_along(scorer.weights_, axes) for scorer in scorers])
    every = Columns(weights, np.empty(0), np.ones(len(scorers)))
    own = given(losses.codes)
    counts = [own[rows].sum(axis=0) + 1 for rows in losses.pictures_of(len(scorers))]
    columns = every._replace(medians=np.array([float(np.median(count)) for count in counts]))
    return columns._replace(tilts=gradients(losses, columns, np.arange(weights.shape[2])))


def _along(weights: Floats, axes: Floats | None) -> Floats:
    return weights if axes is None else np.vstack([axes.T @ weights[:-1], weights[-1:]])
