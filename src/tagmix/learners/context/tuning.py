"""Choose κ of each instance model where there is a context, without a label of any region.

As for τ, captions of held-out pictures are asked. Good evidence gives a region the same tag with the caption
and without (agreement, at the τ that is given or else at the best), and when the caption is known it finds a
region for each of its tags (coverage). Evidence that knows nothing fails the first; evidence of the scene
instead of the region gives all regions of a picture one tag and fails the second. κ is chosen by the product
of the two. On MSRC regions, over 25 mixtures of network views and 20 of words, it goes with the share of
regions named rightly (correlation .97 and .84) and its choice is within .016 and .006 of the best; agreement
alone is fooled by scenes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tagmix.arrays import is_sparse
from tagmix.bags import Bags
from tagmix.evaluation.search import Found, Setting, line_search
from tagmix.learners.context.fitting import Regions, powers_of, try_powers
from tagmix.learners.context.prior import HeldOut, fit_prior
from tagmix.learners.context.scorer import scorers_of
from tagmix.learners.emm import EMM
from tagmix.learners.fitting import learn_regions
from tagmix.learners.parameters import check_parameters, settings_of_views
from tagmix.model.params import LINEAR, Params

FOLDS = 3


class Chosen(NamedTuple):
    """What the search found, and the context of the pictures it was made on."""

    found: Found
    held_out: HeldOut


def instances_of(bags: Bags) -> list[str]:
    """Return the instance models there may be: one for each view, and a linear scorer for embeddings."""
    names = []
    for view, matrix in bags.views.items():
        names += [view] if is_sparse(matrix) else [view, view + LINEAR]
    return names


def choose_by_agreement(
    emm: EMM,
    bags: Bags,
    values: Sequence[float],
    start: float,
    seed: int,
    progress: Callable[[int], None] | None,
    instances: Sequence[str] | None = None,
) -> Chosen:
    """Return the κ that the captions of held-out pictures speak for, of all instance models or of these."""
    check_parameters(emm)
    _, held_out = fit_prior(emm.context, bags, seed)
    names = instances_of(bags) if instances is None else list(instances)
    counted = {view: is_sparse(matrix) for view, matrix in bags.views.items()}
    scorers: dict[int, Mapping[str, Any]] = {}

    def agreement(evidence: Setting) -> float:
        settings = settings_of_views(EMM(**{**emm.get_params(deep=False), "evidence": evidence}), counted)

        def learn(part: Bags, fold: int) -> Params:
            if fold not in scorers:  # κ does not change them
                scorers[fold] = scorers_of(part, settings)
            return learn_regions(emm, settings, part, fold, scorers[fold])

        regions = Regions(learn, settings, emm.memory_mb * 2**20)
        trial = try_powers(bags, held_out, regions, powers_of(emm), FOLDS, seed, with_shares=False)
        return max(trial.agreement.values()) * trial.coverage

    axes = dict.fromkeys(names, tuple(values))
    found = line_search(axes, dict.fromkeys(names, start), agreement, progress, together=names)
    return Chosen(found, held_out)
