"""How well context and evidence agree with captions: what chooses τ and κ without a region's label.

τ, the power of the context in a region's tag, φ ∝ π^τ e^{evidence}, is right when a caption changes least:
the share of regions that get the same tag without the caption (by context and evidence) as with it (by
evidence among the caption's tags) is largest. Too little context lets evidence name tags that the picture
does not have; too much gives one tag all regions, which the caption's own tags share.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.learners.context.prior import PriorOfTraining
from tagmix.learners.context.regions import RegionTrainer, TrainedFold
from tagmix.model.estep import evidence_of
from tagmix.model.given import log_shares_of, posterior_given

POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


class Trial(NamedTuple):
    """What cross-validated pictures say about region models and powers of the context.

    ``agreement``: the share of regions whose tag a caption would not change, by power.
    ``agreement_without_context``: the same by evidence alone. ``coverage``: the share of the captions' tags
    that some region gets when the caption is known.
    """

    agreement: dict[float, float]
    agreement_without_context: float
    coverage: float

    @property
    def best_power(self) -> float:
        """The power of most agreement; of equals the smallest."""
        return max(self.agreement, key=lambda power: (self.agreement[power], -power))


def try_powers(
    bags: Bags,
    prior: PriorOfTraining,
    trained: Sequence[TrainedFold],
    trainer: RegionTrainer,
    powers: Sequence[float],
) -> Trial:
    """Return agreement and coverage on the pictures that each fold's model has not seen."""
    agreeing = dict.fromkeys(powers, 0)
    n_regions = n_alone = n_tags = n_covered = 0
    for fold, place, shard in _unseen(bags, prior, trained, trainer):
        evidence = evidence_of(shard, fold.model, trainer.settings)
        sizes = np.diff(shard.offsets)
        log_prior = np.repeat(log_expit(prior.logits[place]), sizes, axis=0)
        own = np.repeat(shard.captions.toarray() > 0, sizes, axis=0)
        captioned = np.where(own, evidence, -np.inf).argmax(axis=1)
        pairs = np.repeat(np.arange(len(shard)), sizes) * bags.n_tags + captioned
        n_regions += len(evidence)
        n_alone += int((evidence.argmax(axis=1) == captioned).sum())
        n_tags += shard.captions.nnz
        n_covered += len(np.unique(pairs))
        for power in powers:
            agreeing[power] += int(((evidence + power * log_prior).argmax(axis=1) == captioned).sum())
    agreement = {power: n / max(1, n_regions) for power, n in agreeing.items()}
    return Trial(agreement, n_alone / max(1, n_regions), n_covered / max(1, n_tags))


def cross_validated_shares(
    bags: Bags,
    prior: PriorOfTraining,
    trained: Sequence[TrainedFold],
    trainer: RegionTrainer,
    power: float,
) -> Floats:
    """Return S/M of the pictures ``prior.rows``, by region models that have not seen them."""
    shares = np.zeros((len(prior.rows), bags.n_tags))
    for fold, place, shard in _unseen(bags, prior, trained, trainer):
        log_shares = log_shares_of(log_expit(prior.logits[place]), power)
        posterior = posterior_given(shard, fold.model, trainer.settings, log_shares)
        shares[place] = posterior.shares(shard.offsets).reshape(len(shard), -1)
    return shares


def _unseen(
    bags: Bags, prior: PriorOfTraining, trained: Sequence[TrainedFold], trainer: RegionTrainer
) -> Iterator[tuple[TrainedFold, Ints, Bags]]:
    """Yield each fold's model, places among the prior's rows, and shards of those pictures."""
    place = np.full(len(bags), -1, dtype=np.int64)
    place[prior.rows] = np.arange(len(prior.rows))
    for fold in trained:
        unseen = fold.test[place[fold.test] >= 0]
        part = bags[unseen]
        for where in trainer.shards(part) if len(unseen) else ():
            yield fold, place[unseen[where]], part[where]
