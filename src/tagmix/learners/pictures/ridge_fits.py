"""Kernel ridge regression of many tags with closed-form leave-one-out, exact or by landmarks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, get_lapack_funcs, solve_triangular
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats, Ints
from tagmix.learners.pictures.base import accuracy, grade, hits
from tagmix.learners.pictures.distances import ReferenceSet, taken
from tagmix.learners.targets import shares_of_tags

# Added to the diagonal of the landmarks' kernel, which duplicates would make singular.
JITTER = 1e-9
# Least value of 1 − leverage.
SMALLEST_LEFT = 1e-12


class Tagging(NamedTuple):
    """The tags of training pictures, and those of which nothing is known, or None."""

    tags: Counts
    unknown: Counts | None = None

    def at(self, rows: Any) -> "Tagging":
        """Return those of these pictures."""
        return Tagging(
            csr_array(self.tags[rows]), None if self.unknown is None else csr_array(self.unknown[rows])
        )

    def means(self) -> Floats:
        """Return the share of pictures with each tag."""
        return shares_of_tags(*self)

    def targets(self, means: Floats) -> Floats:
        """Return the targets, pictures × tags: 1 for tags that are given, the tag's mean for unknown ones."""
        y: Floats = self.tags.toarray()
        return y if self.unknown is None else np.where(self.unknown.toarray() > 0, means, y)

    def moved(self) -> Floats:
        """Return the change of the targets if the means sink by 1: the last columns of what is solved for.

        One column of ones, or where something is unknown, one per tag.
        """
        if self.unknown is None:
            return np.ones((self.tags.shape[0], 1))
        return 1.0 - self.unknown.toarray()


class Fit(NamedTuple):
    """A regression: coefficients, ridge, leave-one-out accuracy; h and 1̂ per picture (1̂ per tag, too)."""

    coefficients: Floats
    ridge: float
    accuracy: float
    leverages: Floats
    constants: Floats


def left_out(kernel: Floats, targets: Floats, ridge: float) -> tuple[Floats, Floats, Floats]:
    """Return coefficients α, the leave-one-out predictions of the targets, and leverages.

    >>> left_out(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[1.0], [3.0]]), 1.0)[1].round(9).tolist()
    [[0.75], [0.25]]
    """
    factor = kernel.copy()
    factor[np.diag_indices_from(factor)] += ridge
    factor = cholesky(factor, lower=True, overwrite_a=True)
    alpha = cho_solve((factor, True), targets)
    potri: Any = get_lapack_funcs("potri", (factor,))
    inverse, _ = potri(factor, lower=1)
    diagonal = np.diagonal(inverse)
    return alpha, targets - alpha / diagonal[:, None], 1 - ridge * diagonal


def kernel_between(reference: ReferenceSet, landmarks: ReferenceSet, weights: Floats) -> Floats:
    """Return the kernel of all pictures with the landmarks."""
    out = np.empty((len(reference), len(landmarks)))
    for rows, apart in landmarks.weighted_blocks(reference.views, weights):
        out[rows] = np.exp(-apart)
    return out


def exact(
    reference: ReferenceSet, tags: Tagging, landmarks: Ints, weights: Floats, ridges: Sequence[float]
) -> Fit:
    """Return the regression with the best of ``ridges``; all pictures are landmarks."""
    kernel, means = kernel_between(reference, reference, weights), tags.means()
    n_tags, moved = len(means), tags.moved()
    targets = np.column_stack([tags.targets(means) - means, moved])
    best: Fit | None = None
    for ridge in ridges:
        try:
            alpha, scores, leverages = left_out(kernel, targets, ridge)
        except LinAlgError:
            continue
        reached = accuracy(scores[:, :n_tags] + means, *tags)
        if best is None or reached > best.accuracy:
            constants = _flat(moved - ridge * alpha[:, n_tags:])
            best = Fit(alpha[:, :n_tags], ridge, reached, leverages, constants)
    return _found(best)


def _found(best: Fit | None) -> Fit:
    """Return a fit; LinAlgError if no ridge had one."""
    if best is None:
        raise LinAlgError("no ridge is large enough")
    return best


def _flat(constants: Floats) -> Floats:
    """Return one number per picture where there is one column."""
    return constants[:, 0] if constants.shape[1] == 1 else constants


def by_landmarks(
    reference: ReferenceSet, tags: Tagging, landmarks: Ints, weights: Floats, ridges: Sequence[float]
) -> Fit:
    """Return the regression with K ≈ K_nm K_mm⁻¹ K_mn: features φ = L⁻¹k of the landmarks' kernel LLᵀ.

    Two passes over the pictures, in blocks: sums of φφᵀ and φy, then leverages h = φᵀ(Σφφᵀ + ridge)⁻¹φ and
    leave-one-out scores y − (y − ŷ)/(1 − h).
    """
    marks = ReferenceSet(
        taken(reference.views, landmarks), reference.scales, reference.distance, reference.memory
    )
    own = kernel_between(marks, marks, weights)
    own[np.diag_indices_from(own)] += JITTER
    root = cholesky(own, lower=True, overwrite_a=True)
    means = tags.means()
    n_tags, n_moved = len(means), 1 if tags.unknown is None else len(means)
    gram, sums = np.zeros((len(marks), len(marks))), np.zeros((len(marks), n_tags + n_moved))
    for _, phi, some in _features(reference, marks, tags, weights, root):
        gram += phi @ phi.T
        sums += phi @ np.column_stack([some.targets(means) - means, some.moved()])
    best: Fit | None = None
    for ridge in ridges:
        factor = cholesky(gram + ridge * np.eye(len(gram)), lower=True, overwrite_a=True)
        slopes = cho_solve((factor, True), sums)
        n_hits, leverages, constants = 0, np.empty(len(reference)), np.empty((len(reference), n_moved))
        for rows, phi, some in _features(reference, marks, tags, weights, root):
            leverages[rows] = (solve_triangular(factor, phi, lower=True) ** 2).sum(axis=0)
            fitted, constants[rows] = phi.T @ slopes[:, :n_tags] + means, phi.T @ slopes[:, n_tags:]
            y = some.targets(means)
            scores = y - (y - fitted) / np.maximum(1 - leverages[rows], SMALLEST_LEFT)[:, None]
            n_hits += hits(scores, *some)
        if best is None or grade(n_hits, *tags) > best.accuracy:
            alpha = solve_triangular(root, slopes[:, :n_tags], lower=True, trans="T")
            best = Fit(alpha, ridge, grade(n_hits, *tags), leverages, _flat(constants))
    return _found(best)


def _features(
    reference: ReferenceSet, marks: ReferenceSet, tags: Tagging, weights: Floats, root: Floats
) -> Any:
    for rows, apart in marks.weighted_blocks(reference.views, weights):
        kernel = np.exp(-apart)
        yield rows, solve_triangular(root, kernel.T, lower=True), tags.at(rows)
