"""Metrics with equal weight for every tag, with intervals: no quotients of sums over pictures.

Intervals are over tags. In a sample of pictures rare tags never occur: N+ of samples would be lower than
that of all pictures, and per-tag F1 higher.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Floats
from tagmix.comparison.records import Record
from tagmix.report.comparison.intervals import FEWER, picture_counts
from tagmix.report.comparison.samples import MethodSample, hit_matrix
from tagmix.report.comparison.tables import NONE, number, span
from tagmix.report.page import Cell


class Balanced(NamedTuple):
    """Per-tag F1 and N+, first of all pictures and tags, then of each draw."""

    f1: Floats
    n_plus: Floats


def balanced_cells(samples: Mapping[str, MethodSample], ours: str) -> dict[str, list[Cell]]:
    """Return per-tag F1 and N+ of each method, with intervals; those of ours minus the method too.

    All methods must have tested the same pictures once; otherwise the cells are empty.
    """
    tested = {tuple(tuple(record.ids) for record in sample.records) for sample in samples.values()}
    if len(tested) != 1 or len(next(iter(tested))) != 1:
        return {name: [Cell(NONE), Cell(NONE)] for name in samples}
    drawn = {name: balanced_draws(sample.records[0], sample.k) for name, sample in samples.items()}
    mine = drawn.get(ours)
    return {
        name: [
            _cell(own.f1, None if name == ours or mine is None else mine.f1, 3),
            _cell(own.n_plus, None if name == ours or mine is None else mine.n_plus, 0),
        ]
        for name, own in drawn.items()
    }


def balanced_draws(record: Record, k: int, draws: int = FEWER) -> Balanced:
    """Return per-tag F1 and N+ of a record, with bootstrap draws of the tags that occur."""
    best = np.asarray(record.top, dtype=np.int64)[:, :k]
    hit = hit_matrix(record)[:, :k]
    rows = np.repeat(np.arange(len(best)), best.shape[1])
    shape = (len(best), len(record.tag_names))
    hits = csr_array((hit.ravel().astype(np.float64), (rows, best.ravel())), shape=shape)
    shown = csr_array((np.ones(best.size), (rows, best.ravel())), shape=shape)
    found, said, there = (_sums(matrix) for matrix in (hits, shown, record.truth))
    occurs = there > 0
    times, n_tags = _drawn(int(occurs.sum()), draws), max(1, int(occurs.sum()))
    precision = times @ _share(found, said)[occurs] / n_tags
    recall = times @ _share(found, there)[occurs] / n_tags
    return Balanced(_share(2 * precision * recall, precision + recall), times @ (found > 0)[occurs])


def _drawn(n: int, draws: int) -> Floats:
    """Return one row of ones, then how often each of n is drawn."""
    return np.vstack([np.ones((1, n)), *(picture_counts(n, draws) if n else ())])


def _sums(matrix: Counts) -> Floats:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def _cell(own: Floats, ours: Floats | None, digits: int) -> Cell:
    """Return a value with its interval, and ours minus it with the interval of the paired draws."""
    value = float(own[0])
    low, high = np.quantile(own[1:], [0.025, 0.975])
    small = span(low, high, digits)
    if ours is not None:
        low, high = np.quantile(ours[1:] - own[1:], [0.025, 0.975])
        mark = "≈ " if low <= 0 <= high else ""
        small += f"; {mark}{number(ours[0] - value, digits, sign=True)}, {span(low, high, digits, sign=True)}"
    return Cell(number(value, digits), small, value if digits else None)
