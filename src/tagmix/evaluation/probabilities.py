"""Metrics of probabilities: calibration, sharpness, and the tags that are selected by them."""

from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.errors import ParameterError
from tagmix.evaluation.blocks import Parts, checked, dense, indicator, known, quotient, row_blocks

DIGITS = 10  # binary digits by which probabilities are sorted into bins of equal mass
SMALLEST = 64  # probabilities below 2^-64 are one


def calibration_error(
    tags: Any, probabilities: Any, bins: int = 15, equal: Literal["mass", "width"] = "mass"
) -> float:
    """Return the expected calibration error of the probability that a picture has a tag.

    All pairs (picture, tag) are put into bins by their probability; the error is the distance between a bin's
    mean probability and its share of true pairs, averaged with the pairs as weights. Bins have equal ``mass``
    (as many pairs in each; pairs that agree in their first 10 binary digits stay together, so there may be
    fewer) or equal ``width`` (of 1 / ``bins``; with many tags nearly all pairs are in the first).

    These are probabilities of each tag, not shares that sum to 1 over tags. One bin, 0.5 against 1/4:

    >>> calibration_error(np.array([[1, 0], [0, 0]]), np.array([[0.6, 0.4], [0.6, 0.4]]), bins=1)
    0.25
    """
    _check_bins(bins)
    if equal not in ("mass", "width"):
        raise ParameterError(f"equal must be 'mass' or 'width', got {equal!r}: choose one of them.")
    sums = _sums(tags, probabilities, int(bins) if equal == "width" else None)
    if equal == "mass":
        sums = _merged(sums, int(bins))
    return Bins(*sums).error


class Bins(NamedTuple):
    """Per bin: the number of pairs (picture, tag), the sum of their probabilities, and how many are true."""

    pairs: Floats
    said: Floats
    right: Floats

    @property
    def error(self) -> float:
        """The expected calibration error, Σ |said − right| / Σ pairs; nan without pairs."""
        total = self.pairs.sum()
        return float(np.abs(self.said - self.right).sum() / total) if total else float("nan")


def reliability(tags: Any, probabilities: Any, bins: int = 10) -> Bins:
    """Return predicted and observed frequencies of all pairs (picture, tag), in bins of equal width.

    Bin i has the probabilities from i / ``bins`` up to but not with (i + 1) / ``bins``; 1 is in the last one.
    Sums, not means: bins of several folds are added. Their ``error`` is that of ``calibration_error`` with
    bins of equal width.

    >>> [row.tolist() for row in reliability(np.array([[1, 0, 0]]), np.array([[0.75, 0.5, 0.25]]), bins=2)]
    [[1.0, 2.0], [0.25, 1.25], [0.0, 1.0]]
    """
    _check_bins(bins)
    return Bins(*_sums(tags, probabilities, int(bins)))


class Selection(NamedTuple):
    """The terms of each picture in metrics of the selected tags, any number of them.

    ``precision``: the share of them that are right; ``recall``: the share of the right tags that are
    selected; ``shown``: their number per picture; ``none``: the share of pictures without any.
    """

    precision: Parts
    recall: Parts
    shown: Parts
    none: Parts


def selection_parts(tags: Any, shown: Any) -> Selection:
    """Return the terms of each picture, from tags and selected tags, pictures × tags of 0 and 1.

    >>> selection = selection_parts(np.array([[1, 1, 0], [1, 0, 0]]), np.array([[0, 1, 1], [0, 0, 0]]))
    >>> [round(quotient(parts), 2) for parts in selection]
    [0.5, 0.33, 1.0, 0.5]
    """
    truth, seen = checked(tags, indicator(shown))
    hits, given, n = (_of_pictures(matrix) for matrix in (truth.multiply(seen), truth, seen))
    each = np.ones(len(n))
    return Selection(
        Parts(hits, n), Parts(hits, given), Parts(n, each), Parts((n == 0).astype(np.float64), each)
    )


def _of_pictures(matrix: Any) -> Floats:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _check_bins(bins: Any) -> None:
    if not isinstance(bins, Integral) or bins < 1:
        raise ParameterError(f"bins must be a whole number >= 1, got {bins!r}: 15 is customary.")


def share_of_zeros(scores: Any) -> float:
    """Return the share of scores that are exactly zero.

    >>> share_of_zeros(np.array([[0.5, 0.5, 0.0, 0.0]]))
    0.5
    """
    values: Any = scores if is_sparse(scores) else np.asarray(scores)
    size = int(np.prod(values.shape))
    if not size:
        return float("nan")
    full = values.count_nonzero() if is_sparse(values) else np.count_nonzero(values)
    return 1.0 - int(full) / size


def effective_tags(probabilities: Any) -> float:
    """Return the effective number of tags of a prediction: exp(entropy), mean over pictures.

    Rows are scaled to sum to 1; rows of zeros are left out. Two equal tags are 2, one certain tag is 1.

    >>> effective_tags(np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]))
    1.5
    """
    return quotient(effective_parts(probabilities))


def effective_parts(probabilities: Any) -> Parts:
    """Return the terms of each picture in ``effective_tags``."""
    values = probabilities.tocsr() if is_sparse(probabilities) else np.asarray(probabilities)
    gain, weight = np.zeros(values.shape[0]), np.zeros(values.shape[0])
    for rows, part in row_blocks(values):
        if part.size and (known(part).min() < 0 or not np.isfinite(part).all()):
            raise ParameterError(
                f"probabilities must be finite and not negative, got {part.min():g}: use predict_proba."
            )
        total = part.sum(axis=1, keepdims=True)
        shares = np.divide(part, total, out=np.zeros_like(part), where=total > 0)
        logs = np.log(shares, out=np.zeros_like(part), where=shares > 0)
        gain[rows] = np.where(total[:, 0] > 0, np.exp(-(shares * logs).sum(axis=1)), 0.0)
        weight[rows] = total[:, 0] > 0
    return Parts(gain, weight)


def _sums(tags: Any, probabilities: Any, bins: int | None) -> Floats:
    """Return pairs, predicted sums and true pairs of each bin (or cell of bins), 3 × bins."""
    truth, values = checked(tags, probabilities)
    size = bins or (SMALLEST << DIGITS) + 2
    sums = np.zeros((3, size))
    for rows, part in row_blocks(values):
        if part.size and not (known(part).min() >= 0 and part.max() <= 1):
            raise ParameterError(
                f"probabilities must lie between 0 and 1, got {part.min():g} to {part.max():g}: use "
                "calibrated probabilities, not scores."
            )
        flat = part.ravel()
        place = _cells(flat) if bins is None else np.minimum((flat * bins).astype(np.int64), bins - 1)
        sums[0] += np.bincount(place, minlength=size)
        sums[1] += np.bincount(place, flat, minlength=size)
        sums[2] += np.bincount(place, dense(truth, rows).ravel(), minlength=size)
    return sums


def _cells(probabilities: Floats) -> Ints:
    """Return the number of each probability's cell: its exponent and first binary digits, 0 for none.

    The bits of positive floats have the order of the floats, so that a few cells replace a sorted copy.
    """
    bits = probabilities.view(np.int64) >> (52 - DIGITS)  # negative for −0, which is a 0 too
    return np.maximum(bits - ((1023 - SMALLEST) << DIGITS) + 1, 0)


def _merged(cells: Floats, bins: int) -> Floats:
    """Return bins of neighbouring cells with about as many pairs each."""
    cells = cells[:, cells[0] > 0]
    middle = np.cumsum(cells[0]) - cells[0] / 2
    place = np.minimum((bins * middle / max(1.0, cells[0].sum())).astype(np.int64), bins - 1)
    return np.stack([np.bincount(place, row, minlength=bins) for row in cells])
