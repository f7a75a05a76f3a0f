"""Learn what joins a picture's context with its regions, on training pictures that neither has seen.

Two numbers and a calibration: the power τ of the context in a region's tag, φ ∝ π^τ e^{evidence}; the power
of the regions in a picture's tags, logit π + ω·log(S/M); and what a score is worth as a probability. No
region needs a label. τ is right when a caption changes least: the share of regions that get the same tag
without the caption (by context and evidence) as with it (by evidence among the caption's tags) is largest.
Too little context lets evidence name tags that the picture does not have; too much lets one tag take all
regions, which the caption's own tags share.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_expit, softmax
from sklearn.utils import check_random_state

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.evaluation.folds import grouped_folds
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.learners.calibrate import FOLDS as CALIBRATION_FOLDS
from tagmix.learners.calibrate import (
    Calibration,
    fit_calibration,
    left_out_probabilities,
    worth_showing,
)
from tagmix.learners.context.prior import FOLDS_OF_MANY, MANY, ContextPrior, HeldOut
from tagmix.learners.rare_tags import rare_tag_weights_of
from tagmix.learners.em import SHARE_FLOOR, shard_size
from tagmix.model.estep import evidence_of
from tagmix.model.margin import MarginSolution, solve_margin
from tagmix.model.params import Params, Settings

if TYPE_CHECKING:
    from tagmix.learners.emm import EMM

POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
USUAL_POWER = 2.0
REGION_POWERS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
# Of the tags that are shown so many are to be right, at least.
SHOWN_PRECISION = 0.6
# Folds of the regions, each of which learns once more.
MOST_FOLDS = 3
# The share of a picture that a tag without any region is taken to have.
LEAST_SHARE = 1e-3
# Nats that a tag can be less probable than the best: beyond, it has no share and no logarithm.
LONGEST_WAY = 600.0


class Context(NamedTuple):
    """A prior and how it is used: its power τ for regions, and the regions' power ω for the picture.

    ``agreement`` is the share of held-out regions whose tag a caption would not change, by power tried.
    """

    prior: ContextPrior
    power: float
    region_power: float
    agreement: dict[float, float]

    def rates(self, logits: Floats) -> Floats:
        """Return λ = π^−τ, up to a factor a picture, which makes its smallest 1."""
        log_prior = log_expit(logits)
        away = self.power * (log_prior.max(axis=1, keepdims=True) - log_prior)
        rates: Floats = np.exp(np.minimum(away, LONGEST_WAY))
        return rates

    def joined(self, logits: Floats, shares: Floats) -> Floats:
        """Return logit π + ω·log(share of regions), pictures × tags.

        A picture without regions has the shares that its context expects.
        """
        without = ~(shares.sum(axis=1) > 0)
        expected = softmax(self.power * log_expit(logits[without]), axis=1)
        known = shares.copy()
        known[without] = expected
        return joined(logits, known, self.region_power)


def joined(logits: Floats, shares: Floats, region_power: float) -> Floats:
    """Return the score that pictures are ranked by."""
    return logits + region_power * np.log(np.maximum(shares, 0.0) + LEAST_SHARE)


class Regions(NamedTuple):
    """How a model of regions is learnt, from pictures and the number of their fold, and used."""

    learn: Callable[[Bags, int], Params]
    settings: Settings
    memory: float


class Trial(NamedTuple):
    """What held-out pictures say of a model of regions and of the context's powers.

    ``agreement``: the share of regions whose tag a caption would not change, by power. ``alone``: the same
    without any context. ``coverage``: the share of the captions' tags that some region gets when the caption
    is known. ``shares``: pictures × tags, by power.
    """

    agreement: dict[float, float]
    alone: float
    coverage: float
    shares: dict[float, Any]


class Joint(NamedTuple):
    """A context with its powers, the margin problem of tag weights, and the calibration of weighted odds.

    Without folds there is no calibration, and without margins no problem.
    """

    context: Context
    margin: MarginSolution | None = None
    calibration: Calibration | None = None


def powers_of(emm: "EMM") -> tuple[float, ...]:
    """Return the powers τ to try: the user's own, if there is one."""
    return POWERS if emm.context_power is None else (float(emm.context_power),)


def join(emm: "EMM", bags: Bags, prior: ContextPrior, held_out: HeldOut, regions: Regions) -> Joint:
    """Return how context and regions are joined, learnt on held-out pictures."""
    powers = powers_of(emm)
    few = max(2, min(emm.calibration_folds, MOST_FOLDS, len(bags) // 2))
    folds = FOLDS_OF_MANY if len(bags) > MANY else few
    seed = int(check_random_state(emm.random_state).randint(2**31 - 1))
    trial = try_powers(bags, held_out, regions, powers, folds, seed, with_shares=True)
    power = max(powers, key=lambda p: trial.agreement[p])
    truth = bags[held_out.rows].captions.toarray().astype(np.float64)
    shares, k = trial.shares[power].astype(np.float64), max(1, min(5, bags.n_tags // 2))
    reached = [top_k_accuracy(truth, joined(held_out.logits, shares, c), k) for c in REGION_POWERS]
    context = Context(prior, power, REGION_POWERS[int(np.argmax(reached))], trial.agreement)
    odds = np.exp(context.joined(held_out.logits, shares))
    margin = _margin(emm, odds, bags[held_out.rows]) if emm.learning == "margin" else None
    weighted = odds if margin is None else odds * margin.weights
    return Joint(context, margin, _calibrated(weighted, truth, seed, held_out.duplicates[held_out.rows]))


def _calibrated(odds: Floats, truth: Floats, seed: int, duplicates: Ints) -> Calibration:
    """Return the calibration of odds, with the threshold of what is worth showing and the evening of tags."""
    p = left_out_probabilities(odds, truth, grouped_folds(duplicates, CALIBRATION_FOLDS, seed))
    threshold = worth_showing(SHOWN_PRECISION, p, truth)
    return fit_calibration(odds, truth)._replace(
        thresholds=np.full(truth.shape[1], threshold), evening=rare_tag_weights_of(p, truth, seed)
    )


def _margin(emm: "EMM", odds: Floats, bags: Bags) -> MarginSolution:
    """Return tag weights by maximum margins over held-out probabilities."""
    p = odds / (1 + odds)
    return solve_margin(
        csr_array(np.where(p >= SHARE_FLOOR, p, 0.0)),
        bags.captions,
        nu1=emm.nu1,
        nu2=emm.nu2,
        tolerance=emm.margin_tol,
    )


def try_powers(
    bags: Bags,
    held_out: HeldOut,
    regions: Regions,
    powers: Sequence[float],
    folds: int,
    seed: int,
    with_shares: bool,
) -> Trial:
    """Hold pictures out in turn, learn regions from the others, and try each power on the held-out ones."""
    agreeing = dict.fromkeys(powers, 0)
    n_regions = n_alone = n_tags = n_covered = 0
    shape = (len(held_out.rows) if with_shares else 0, bags.n_tags)
    shares = {power: np.zeros(shape, dtype=np.float32) for power in powers}
    for at, shard, evidence in _held_out_evidence(bags, held_out, regions, folds, seed):
        sizes = np.diff(shard.offsets)
        log_prior = np.repeat(log_expit(held_out.logits[at]), sizes, axis=0)
        own = np.repeat(shard.captions.toarray() > 0, sizes, axis=0)
        captioned = np.where(own, evidence, -np.inf).argmax(axis=1)
        pairs = np.repeat(np.arange(len(shard)), sizes) * bags.n_tags + captioned
        n_regions += len(evidence)
        n_alone += int((evidence.argmax(axis=1) == captioned).sum())
        n_tags += shard.captions.nnz
        n_covered += len(np.unique(pairs))
        for power in powers:
            logits = evidence + power * log_prior
            agreeing[power] += int((logits.argmax(axis=1) == captioned).sum())
            if with_shares:
                sums = np.add.reduceat(softmax(logits, axis=1), shard.offsets[:-1], axis=0)
                shares[power][at] = sums / sizes[:, None]
    agreement = {power: n / max(1, n_regions) for power, n in agreeing.items()}
    return Trial(agreement, n_alone / max(1, n_regions), n_covered / max(1, n_tags), shares)


def _held_out_evidence(
    bags: Bags, held_out: HeldOut, regions: Regions, folds: int, seed: int
) -> Iterator[tuple[Ints, Bags, Floats]]:
    """Yield places among the rows, their pictures, and the evidence of regions by a model without them."""
    rows = held_out.rows
    place = np.full(len(bags), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    for number, (train, test) in enumerate(grouped_folds(held_out.duplicates, folds, seed)):
        asked = np.sort(test[place[test] >= 0])
        if not len(asked):
            continue
        params, part = regions.learn(bags[train], number), bags[asked]
        for where in part.shards(shard_size(part, False, regions.memory)):
            yield place[asked[where]], part[where], evidence_of(part[where], params, regions.settings)
