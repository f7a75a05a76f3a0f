"""The terms of each test picture in the metrics of a record: of its ranking, and of its regions.

A metric is a quotient of sums over pictures. Its terms are stored, not its value, so that a page can compare
two methods over the same bootstrap samples of pictures.
"""

import numpy as np
from numpy.typing import NDArray

from tagmix.arrays import Counts, Floats, Ints
from tagmix.bags import Bags
from tagmix.comparison.parts import DataPart
from tagmix.comparison.records import RegionRanks, Terms
from tagmix.errors import BagsError
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.pointing import best_regions, covered_parts, pointing_parts, reachable_parts
from tagmix.evaluation.ranking import picture_precision_parts
from tagmix.evaluation.recall import recall_parts
from tagmix.evaluation.regions import UNKNOWN, accuracy_parts, f1_parts, region_names, with_none
from tagmix.evaluation.top_k import precision_parts

FREE, CAPTIONED = "free", "captioned"
# The rank of a region that is not counted: with the caption, one of a picture without a caption.
NOT_COUNTED = 0


def picture_terms(truth: Counts, scores: Floats, p: Floats | None = None) -> Terms:
    """Return the terms of P@1 (of pictures with tags), mean average precision and recall at a precision.

    Recall is at one threshold for all pictures: of the probabilities ``p`` if the method has any, because
    scores may be comparable within a picture only.
    """
    first = precision_parts(truth, scores, 1)
    tagged = (np.diff(truth.indptr) > 0).astype(np.float64)
    return {
        "first": _plain(Parts(first.gain, tagged)),
        "map": _plain(picture_precision_parts(truth, scores)),
        "recall": _plain(recall_parts(truth, scores if p is None else p)),
    }


def ranks_of_regions(part: DataPart, free: Floats, captioned: Floats) -> RegionRanks:
    """Return the rank of each labelled region's tag, none among them, without and with the caption."""
    known = part.truth != UNKNOWN
    owner, told = owners(part.test), with_caption(part.test)
    given = np.where(told[owner], _ranks_of_all(captioned, part.truth), NOT_COUNTED)
    return RegionRanks(
        owner[known].tolist(), _ranks_of_all(free, part.truth)[known].tolist(), given[known].tolist()
    )


def ranks_of(shares: Floats, truth: Ints) -> Ints:
    """Return the rank of the truth of each labelled region; of equal shares the lower column is first.

    None of the tags is the last column, with the rest of the shares (``with_none``).

    >>> ranks_of(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [1, 0, 0]]), np.array([2, 1, -1])).tolist()
    [2, 2]
    >>> ranks_of(np.array([[0.2, 0.3], [0.2, 0.3]]), np.array([1, -2])).tolist()
    [2, 1]
    """
    return _ranks_of_all(shares, truth)[truth != UNKNOWN]


def _ranks_of_all(shares: Floats, truth: Ints) -> Ints:
    if np.isnan(shares).any():
        raise BagsError("scores of regions must be numbers, got nan: report this as a bug")
    rows = with_none(shares)
    own = np.where(truth >= 0, truth, rows.shape[1] - 1)[:, None]
    score = np.take_along_axis(rows, own, axis=1)
    before = (rows > score) | ((rows == score) & (np.arange(rows.shape[1]) < own))
    ranks: Ints = 1 + before.sum(axis=1)
    return ranks


def region_terms(part: DataPart, free: Floats, captioned: Floats) -> Terms:
    """Return the terms of accuracy, F1 of objects and coverage, and of pointing where places are known."""
    told = with_caption(part.test)
    terms: Terms = {"missed": _plain(_missed_by_captions(part))}
    for kind, shares in ((FREE, free), (CAPTIONED, captioned)):
        counted = told if kind == CAPTIONED else np.ones(len(told), dtype=bool)
        names = region_names(shares)
        found = {"regions": accuracy_parts(part.truth, names), "f1": f1_parts(part.truth, names)}
        terms |= {
            f"{name} {kind}": _plain(_by_picture(part.test, own, counted)) for name, own in found.items()
        }
        if part.places is not None:
            pairs, inside, near = part.places
            best = best_regions(shares, part.test.offsets)
            terms[f"inside {kind}"] = _plain(pointing_parts(pairs, inside, best))
            terms[f"near {kind}"] = _plain(pointing_parts(pairs, near, best))
            terms[f"covered {kind}"] = _plain(covered_parts(pairs, names, part.test.offsets))
    if part.places is not None:
        pairs, inside, near = part.places
        terms["inside any"] = _plain(reachable_parts(pairs, inside, part.test.offsets))
        terms["near any"] = _plain(reachable_parts(pairs, near, part.test.offsets))
    return terms


def owners(bags: Bags) -> Ints:
    """Return the picture of each region."""
    return np.repeat(np.arange(len(bags)), np.diff(bags.offsets))


def with_caption(bags: Bags) -> NDArray[np.bool_]:
    """Return which pictures have a caption."""
    told: NDArray[np.bool_] = np.diff(bags.captions.indptr) > 0
    return told


def _missed_by_captions(part: DataPart) -> Parts:
    """Return the regions whose true tag their picture's caption lacks, of those with a tag and a caption."""
    own = part.test.captions.toarray() > 0
    tag, owner = np.maximum(part.truth, 0), owners(part.test)
    counted = part.truth >= 0
    missed = counted & ~own[owner, tag]
    parts = Parts(missed.astype(np.float64), counted.astype(np.float64))
    return _by_picture(part.test, parts, with_caption(part.test))


def _by_picture(bags: Bags, parts: Parts, counted: NDArray[np.bool_]) -> Parts:
    """Return the terms of regions summed over each picture; 0 for pictures that are not counted."""
    owner = owners(bags)
    sums = (np.bincount(owner, column * counted[owner], minlength=len(bags)) for column in parts)
    return Parts(*(column.astype(np.float64) for column in sums))


def _plain(parts: Parts) -> list[list[float]]:
    return [np.asarray(column, dtype=np.float64).tolist() for column in parts]
