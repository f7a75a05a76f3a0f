"""Choose κ, the weight of each view's words, on pictures held out in turn.

Words of a region overlap and repeat each other, so the paper's κ = 1 counts them many times over; how often
depends on the view. κ is searched in steps of three, first one for all views, then one view at a time, as
long as held-out pictures are ranked better.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.folds import Fold, duplicate_groups, grouped_folds
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.evaluation.search import PASSES, coordinate_search
from tagmix.learners.calibration import fit_calibration, probabilities
from tagmix.learners.context.tuning import COARSE, choose_by_agreement
from tagmix.learners.emm import EMM

START = 0.1
# Steps of three around it, four down and two up.
VALUES = tuple(round(START * 3.0**step, 6) for step in range(-4, 3))
# More pictures than this would not change the choice, only its price.
ENOUGH, ENOUGH_WITH_CONTEXT = 2000, 600
Evidence = dict[str, float]


class Choice(NamedTuple):
    """κ of each view or scorer; the top-k accuracy on held-out pictures, and by tag frequency; all tried."""

    evidence: Evidence
    accuracy: float
    frequency: float
    tried: dict[tuple[float, ...], float]


def choose_evidence(
    emm: EMM,
    bags: Bags,
    *,
    k: int | None = None,
    folds: int = 3,
    seed: int = 0,
    instances: Sequence[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Choice:
    """Return the κ of each view that ranks held-out pictures best, by top-k accuracy.

    Tags are ranked by calibrated probability, as they are shown; k is 5, or half of the tags where they are
    fewer than 10. With a context ``instances`` names the instance models to choose among, as they are called
    in ``evidence``; None is all there may be. ``progress`` is called with the number of settings tried so
    far, at most ``most_tried``.
    """
    part = _some(bags, seed, ENOUGH if emm.context is None else ENOUGH_WITH_CONTEXT)
    views = list(part.views)
    if len(part) < 2 * folds:
        raise BagsError(
            f"choosing κ by {folds} folds needs at least {2 * folds} pictures with tags and regions, got "
            f"{len(part)}: add some, or give evidence (0.1 is a fair guess)."
        )
    shown = k or max(1, min(5, part.n_tags // 2))
    parts = grouped_folds(duplicate_groups(part), folds, seed)
    frequency = _frequency_accuracy(part, shown, parts)
    if emm.context is not None:
        # Thousands of small products: handing them round among threads takes longer than making them.
        with threadpool_limits(1, user_api="blas"):
            found, held_out = choose_by_agreement(emm, part, VALUES, seed, progress, instances)
        tried = {tuple(setting.values()): value for setting, value in found.tried}
        reached = top_k_accuracy(part[held_out.rows].captions, held_out.logits, shown)
        return Choice(found.setting, reached, frequency, tried)

    def accuracy(evidence: Evidence) -> float:
        return _held_out_accuracy(clone(emm).set_params(evidence=evidence), part, shown, parts)

    axes = dict.fromkeys(views, VALUES)
    found = coordinate_search(axes, dict.fromkeys(views, START), accuracy, progress, together=views)
    tried = {tuple(setting.values()): value for setting, value in found.tried}
    return Choice(found.setting, found.value, frequency, tried)


def most_tried(emm: EMM, bags: Bags) -> int:
    """Return the most settings that are tried.

    With a context: a few κ for each view alone, for those that may join after each that did, then along each
    one. Without: every second value for all at once, then along each one.

    >>> bags = Bags({"sift": np.ones((1, 2), int), "network": np.ones((1, 2))}, [0, 1])
    >>> most_tried(EMM(), bags), most_tried(EMM(context="kernel"), bags)
    (28, 33)
    """
    along = PASSES * (len(VALUES) - 1)
    n = len(bags.views)
    if emm.context is not None:
        return len(VALUES[COARSE]) * n * (n + 1) // 2 + along * n
    return len(VALUES) if n == 1 else len(VALUES[::2]) + along * n


def _some(bags: Bags, seed: int, enough: int = ENOUGH) -> Bags:
    """Return the captioned pictures, at most so many as are enough."""
    useful = np.flatnonzero((np.diff(bags.captions.indptr) > 0) & (np.diff(bags.offsets) > 0))
    chosen = np.random.default_rng(seed).permutation(useful)[:enough]
    return bags[np.sort(chosen)]


def _frequency_accuracy(bags: Bags, k: int, folds: Sequence[Fold]) -> float:
    """Return the top-k accuracy of the tags that are most frequent on the other pictures."""
    scores: Floats = np.empty((len(bags), bags.n_tags))
    for train, test in folds:
        scores[test] = np.asarray(bags.captions[train].sum(axis=0)).ravel()
    return top_k_accuracy(bags.tags, scores, k)


def _held_out_accuracy(emm: EMM, bags: Bags, k: int, folds: Sequence[Fold]) -> float:
    """Return the top-k accuracy of pictures by models that did not see them."""
    scores: Floats = np.empty((len(bags), bags.n_tags))
    for train, test in folds:
        fitted = clone(emm).set_params(learning="likelihood", calibration_folds=0, verbose=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit with the chosen κ says it again
            scores[test] = fitted.fit(bags[train]).predict_proba(bags[test])
    truth = bags.captions.toarray().astype(np.float64)
    return float(top_k_accuracy(truth, probabilities(scores, fit_calibration(scores, truth)), k))
