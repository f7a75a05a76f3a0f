"""Kernel ridge regression with settings that were chosen: solved again, or its saved factor extended.

With A = K + ridge·I = LLᵀ the coefficients are α = A⁻¹(y − ȳ), tag by tag. Other tags change y alone: the
same factor, and the same leverages. New pictures border A: L gets rows below, and diag(A⁻¹) follows from the
Schur complement S = C − BᵀA⁻¹B, so that nothing of order N³ is computed.
"""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, get_lapack_funcs, solve_triangular

from tagmix.arrays import Floats, Ints, stack
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.learners.continued.verdicts import Codes, labelled
from tagmix.learners.pictures.base import accuracy
from tagmix.learners.pictures.distances import ReferenceSet
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.ridge_fits import SMALLEST_LEFT, Tagging, kernel_between
from tagmix.learners.whole_pictures import Views, whole_pictures


class Ridge(NamedTuple):
    """A fitted kernel ridge, all its training pictures landmarks, and L, the lower factor of K + ridge·I."""

    learner: KernelRidge
    factor: Floats


def solved_again(chosen: KernelRidge, views: Views, codes: Codes) -> Ridge:
    """Return the regression of these pictures and verdicts with the chosen weights, scales and ridge."""
    reference = _reference_set(chosen, views)
    A = kernel_between(reference, reference, chosen._weights())
    A[np.diag_indices_from(A)] += chosen.ridge_
    factor = _factor(A)
    potri: Any = get_lapack_funcs("potri", (factor,))
    leverages = 1 - chosen.ridge_ * np.diagonal(potri(factor, lower=1)[0])
    return _with(chosen, views, leverages, factor, codes, np.arange(codes.shape[1]))


def updated(ridge: Ridge, codes: Codes, touched: Ints, new: Bags | None = None) -> Ridge:
    """Return the regression after corrections of the ``touched`` tags, or with ``new`` pictures below.

    ``codes`` are the verdicts of all pictures, old and new. New pictures concern all tags.
    """
    learner, factor = ridge
    if new is None:
        return _with(learner, learner.reference_, learner.leverages_, factor, codes, touched)
    views = _matching(learner, whole_pictures(new, learner.distance))
    old, own = _reference_set(learner, learner.reference_), _reference_set(learner, views)
    B, C = (kernel_between(own, other, learner._weights()) for other in (old, own))
    C[np.diag_indices_from(C)] += learner.ridge_
    W = cho_solve((factor, True), B.T)
    schur = np.linalg.inv(C - B @ W)
    inverse = (1 - learner.leverages_) / learner.ridge_ + np.einsum("nm,ml,nl->n", W, schur, W)
    leverages = 1 - learner.ridge_ * np.concatenate([inverse, np.diagonal(schur)])
    below = solve_triangular(factor, B.T, lower=True).T
    n = len(factor)
    longer = np.zeros((n + len(B), n + len(B)))
    longer[:n, :n], longer[n:, :n], longer[n:, n:] = factor, below, _factor(C - below @ below.T)
    all_views: Any = {name: stack([view, views[name]]) for name, view in learner.reference_.items()}
    return _with(learner, all_views, leverages, longer, codes, np.arange(codes.shape[1]))


def _matching(learner: KernelRidge, views: Views) -> Views:
    """Return the views in the learner's order; BagsError where they are others."""
    widths = {name: view.shape[1] for name, view in learner.reference_.items()}
    if {name: view.shape[1] for name, view in views.items()} != widths:
        raise BagsError(
            f"new pictures must have the views {widths} that the model learnt from: describe them with the "
            "model's own describer."
        )
    return {name: views[name] for name in widths}


def _reference_set(learner: KernelRidge, views: Views) -> ReferenceSet:
    scales = np.array([learner.scales_[name] for name in views])
    return ReferenceSet(views, scales, learner.distance, learner.memory_mb * 2**20)


def _factor(A: Floats) -> Floats:
    try:
        factor: Floats = cholesky(A, lower=True)
    except LinAlgError as error:
        raise BagsError(
            "distances between pictures must be precise enough for a kernel, and rounding errors exceed "
            "these: train again, which chooses another ridge."
        ) from error
    return factor


def _with(
    learner: KernelRidge, views: Views, leverages: Floats, factor: Floats, codes: Codes, columns: Ints
) -> Ridge:
    """Return a learner with these columns solved; the others keep their coefficients."""
    bags = labelled(codes, learner.tag_names_)
    tags = Tagging(bags.captions, bags.unknown)
    means, moved = tags.means(), tags.moved()
    centred = tags.targets(means) - means
    made = copy(learner)
    made.coefficients_ = _solved(learner.coefficients_, factor, centred, columns)
    made.constants_ = _constants(learner, moved, factor, columns)
    made.means_, made.leverages_ = means, leverages
    made.reference_ = dict(views)
    left = np.maximum(1 - leverages, SMALLEST_LEFT)[:, None]
    made.loo_accuracy_ = accuracy(centred + means - learner.ridge_ * made.coefficients_ / left, *tags)
    made._prepare()
    return Ridge(made, factor)


def _solved(before: Floats, factor: Floats, right: Floats, columns: Ints) -> Floats:
    """Return A⁻¹ of these columns beside the others as they were, in the memory order of a stored file."""
    after = np.empty(right.shape)
    if len(columns) < right.shape[1]:
        after[:] = before
    if len(columns):
        after[:, columns] = cho_solve((factor, True), right[:, columns])
    return after


def _constants(learner: KernelRidge, moved: Floats, factor: Floats, columns: Ints) -> Floats:
    """Return 1̂: one number per picture, or where some pair is unknown, one per tag."""
    if moved.shape[1] == 1:
        alone: Floats = moved[:, 0] - learner.ridge_ * cho_solve((factor, True), moved[:, 0])
        return alone
    before, all_columns = learner.constants_, len(columns) == moved.shape[1]
    alpha = np.empty(0) if all_columns else (moved - before.reshape(len(before), -1)) / learner.ridge_
    return moved - learner.ridge_ * _solved(alpha, factor, moved, columns)
