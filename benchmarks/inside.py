"""A fitted `ContextEMM` with the paper's prior on shares, or with weights by margins, inside it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import log_expit
from sklearn.utils import check_random_state

from benchmarks.drawn_shares import base_weights, captioned_shares, equal_shapes, infer, softmax, train
from tagmix import ContextEMM
from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.comparison.parts import DataPart, load_part
from tagmix.evaluation.metrics import mean_average_precision_of_pictures
from tagmix.learners.context.prior import PriorOfTraining, fit_experts, fit_prior
from tagmix.learners.context.regions import ODDS_FACTOR, RegionTrainer
from tagmix.learners.inputs import useful_pictures
from tagmix.learners.logistic import fit_tag_logistic
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.model.given import Odds, RegionModel, captioned_shard, em_step, evidence_of_regions, log_shares_of
from tagmix.model.map_inference import infer_map, region_posterior
from tagmix.model.margin import solve_margin

# φ from evidence, offsets and shares s, pictures × components, 0 for what is no candidate.
Rule = Callable[[Floats, Ints, Floats], Floats]
FLOOR = 1e-3  # regions of a tag below which logarithms of shares are cut off
SMALLEST_WEIGHT = 1e-6
MORE = 30  # iterations of EM from the fitted model
PAPER = 1e-4  # ν₁/ν₂, pulled to 0
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)  # ν₁/ν₂, pulled to 1, of which captions choose


def given(evidence: Floats, offsets: Ints, shares: Floats) -> Floats:
    """Return φ ∝ s e^E."""
    with np.errstate(divide="ignore"):
        return softmax(evidence + np.repeat(np.log(shares), np.diff(offsets), axis=0))


def drawn(evidence: Floats, offsets: Ints, shares: Floats, shape: float = 1.0) -> Floats:
    """Return φ where shares have the given means and this shape; 1 is the exponential prior."""
    return infer(evidence, offsets, equal_shapes(shares, shape)).phi


def weighted(evidence: Floats, offsets: Ints, shares: Floats, total: float) -> Floats:
    """Return φ where shares are Dirichlet(A s), A the ``total``."""
    return infer(evidence, offsets, base_weights(shares, total)).phi


def sparse(evidence: Floats, offsets: Ints, shares: Floats) -> Floats:
    """Return φ of the MAP shares, with exact zeros, under exponential priors of means s."""
    allowed = shares > 0
    rates = 1 / np.where(allowed, np.maximum(shares, 1e-12), 1.0)
    likely = np.where(np.repeat(allowed, np.diff(offsets), axis=0), evidence, -np.inf)
    return region_posterior(likely, infer_map(likely, offsets, rates).theta, offsets)


RULES: dict[str, Rule] = {
    "given": given,
    "exponential": drawn,
    "sparse": sparse,
    "shape 10": partial(drawn, shape=10.0),
    "Dirichlet, 10": partial(weighted, total=10.0),
}


class Weights(NamedTuple):
    """Weights of tags by margins: of shares of regions, as the paper has it and pulled to 1, and of π."""

    paper: Floats
    pulled: Floats
    of_context: Floats


class Fitted(NamedTuple):
    """A part of a data set, the model of its training part, and what the variants learnt there.

    ``models`` are those of regions: as fitted, after more EM with given or exponential shares, and of twice
    κ. ``held`` are shares of regions of training pictures by models without them, given or exponential.
    """

    part: DataPart
    emm: ContextEMM
    models: dict[str, RegionModel]
    prior: PriorOfTraining
    held: dict[str, Floats]
    weights: Weights


def fitted(folder: Path, name: str, number: int) -> Fitted:
    """Return one part with all that is learnt from its captions."""
    part = load_part(folder, name, number)
    useful = useful_pictures(part.train)
    bags = part.train if useful.all() else part.train[useful]
    emm = ContextEMM().fit(bags)
    seed = int(check_random_state(0).randint(2**31 - 1))  # as ContextEMM draws it
    prior = fit_prior(fit_experts("kernel", bags, seed), RegionScorer(), bags, seed)[1]
    held = held_shares(emm, bags, prior)
    p = emm.calibration_.probabilities([log_odds(prior.log_pi)])
    z = held["given"]
    weights = Weights(margin(z, bags, PAPER, 0.0), best_margin(z, bags, prior), best_margin(p, bags, prior))
    return Fitted(part, emm, models_of(emm, bags, prior), prior, held, weights)


def models_of(emm: ContextEMM, bags: Bags, prior: PriorOfTraining) -> dict[str, RegionModel]:
    """Return the model of regions as fitted, after more EM with either sort of shares, and of twice κ."""
    start = scaled(emm.regions_, 1 / ODDS_FACTOR)
    same, shards = start, [captioned_shard(bags, start, prior.log_pi)]
    for _ in range(MORE):
        same, _ = em_step(same, shards, emm.settings_)
    other = train(start, bags, prior.log_pi, emm.settings_, n_iter=MORE).model
    twice = {view: 2 * kappa for view, kappa in emm.evidence_.items()}
    sharp = trainer_of(emm).with_evidence(twice).fit(bags, prior.log_pi, emm.prior_.scorer)
    more = {"given": scaled(same, ODDS_FACTOR), "exponential": scaled(other, ODDS_FACTOR)}
    return {"": emm.regions_, "sharp": sharp, **more}


def trainer_of(emm: ContextEMM) -> RegionTrainer:
    """Return how the model trains its regions."""
    memory = emm.memory_mb * 2**20
    return RegionTrainer(emm.settings_, emm.max_iter, emm.tol, memory, emm.background)


def scaled(model: RegionModel, factor: float) -> RegionModel:
    """Return the model with other odds of tags; without a background only their ratio matters."""
    if not model.background:
        return model
    return replace(model, odds=Odds(model.odds.inside * factor, model.odds.outside * factor))


def log_odds(log_p: Floats) -> Floats:
    """Return logit p from log p."""
    odds: Floats = log_p - np.log1p(-np.minimum(np.exp(log_p), 1 - 1e-15))
    return odds


def held_shares(emm: ContextEMM, bags: Bags, prior: PriorOfTraining) -> dict[str, Floats]:
    """Return each rule's free shares of training pictures by scorers and mixtures of the other folds."""
    trainer = trainer_of(emm)
    out = {rule: np.zeros((len(bags), bags.n_tags)) for rule in ("given", "exponential")}
    for (own, test), scorer in zip(prior.folds, prior.scorers, strict=True):
        model = trainer.fit(bags[own], prior.log_pi[own], scorer)
        shard = bags[test]
        evidence = evidence_of_regions(shard, model, emm.settings_)
        shares = np.exp(log_shares_of(prior.log_pi[test], emm.context_power, model))
        for rule, values in out.items():
            values[test] = pooled(RULES[rule](evidence, shard.offsets, shares), shard)
    return out


def pooled(phi: Floats, bags: Bags) -> Floats:
    """Return the mean of φ over each picture's regions, pictures × tags."""
    sums: Floats = np.add.reduceat(phi[:, : bags.n_tags], bags.offsets[:-1], axis=0)
    return sums / np.diff(bags.offsets)[:, None]


def margin(z: Floats, bags: Bags, nu1: float, centre: float) -> Floats:
    """Return the weights of Eq. 4 for these scores of training pictures, their mean over captions 1."""
    kept = csr_array(np.where(z >= 1e-6, z, 0.0))
    weights = solve_margin(kept, bags.captions, nu1=nu1, centre=centre, max_iter=3000).weights
    frequency = np.asarray(bags.captions.sum(axis=0)).ravel()
    scale = float(weights @ frequency / frequency.sum())
    return np.maximum(weights / max(scale, 1e-12), SMALLEST_WEIGHT)


def best_margin(z: Floats, bags: Bags, prior: PriorOfTraining) -> Floats:
    """Return weights pulled to 1, as strongly as ranks unseen captions best; of equals the strongest."""
    truth = bags.captions
    found = []
    for nu1 in STRENGTHS:
        scores = np.empty_like(z)
        for own, test in prior.folds:
            scores[test] = margin(z[own], bags[own], nu1, 1.0) * z[test]
        found.append((mean_average_precision_of_pictures(truth, scores, bags.unknown), nu1))
    return margin(z, bags, max(found)[1], 1.0)


class Regions(NamedTuple):
    """Test regions ready for any rule: evidence and logits of the context."""

    fit: Fitted
    model: RegionModel
    evidence: Floats
    log_pi: Floats

    def shares(self, captioned: bool, factor: float, weights: Floats | None) -> Floats:
        """Return s, pictures × components, with the odds times ``factor`` and the tags' weights."""
        model, test = scaled(self.model, factor), self.fit.part.test
        out = np.exp(log_shares_of(self.log_pi, self.fit.emm.context_power, model))
        if captioned:
            told = np.diff(test.captions.indptr) > 0
            out[told] = captioned_shares(test, model, self.log_pi)[told]
        if weights is not None:
            out[:, : test.n_tags] *= weights
        return out

    def phi(self, rule: str, captioned: bool, factor: float = 1.0, weights: Floats | None = None) -> Floats:
        """Return φ of test regions × tags by one of the ``RULES``."""
        test = self.fit.part.test
        phi = RULES[rule](self.evidence, test.offsets, self.shares(captioned, factor, weights))
        return phi[:, : test.n_tags]


def regions(fit: Fitted, model: RegionModel) -> Regions:
    """Return the test regions of a part under one region model."""
    test = fit.part.test
    logits = fit.emm.prior_.logits(test)
    return Regions(fit, model, evidence_of_regions(test, model, fit.emm.settings_), log_expit(logits))


def joined_scores(fit: Fitted, rule: str, z: Floats) -> Floats:
    """Return probabilities by one logistic model of logit π and log shares, fitted to held-out pictures."""
    rows, (truth, known) = fit.prior.rows, fit.prior.targets
    told = [fit.prior.logits, np.log(fit.held[rule][rows] + FLOOR)]
    pool = fit_tag_logistic(told, truth, known)
    return pool.probabilities([fit.emm.prior_.logits(fit.part.test), np.log(z + FLOOR)])
