"""ContextEMM: the flagship. Whole pictures say which tags to expect, regions say where they are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_expit
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix.arrays import Floats, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.metrics import default_k, top_k_accuracy
from tagmix.learners.calibrate import Calibration, fit_calibration
from tagmix.learners.checks import check_numbers
from tagmix.learners.context.experts import EXPERT_KINDS, experts_of
from tagmix.learners.context.kappa import HeldOut, KappaChoice, KappaSearch, most_tried, usual_evidence
from tagmix.learners.context.prior import (
    ContextPrior,
    Learnt,
    PriorOfTraining,
    fit_experts,
    fit_prior,
    frequency_accuracy,
)
from tagmix.learners.context.regions import RegionTrainer, instance_names
from tagmix.learners.inputs import as_bags, check_trainable, useful_pictures
from tagmix.learners.mixture import Explained, MixtureEstimator
from tagmix.learners.monitor import Monitor
from tagmix.learners.parameters import (
    MAX_POWER,
    check_background,
    check_n_jobs,
    checked_evidence,
    seed_of,
    settings_of_run,
)
from tagmix.learners.regions.region_scorer import RegionScorer
from tagmix.learners.schema import Array, ByName, Flag, Kind, Number, Part, Several
from tagmix.learners.serialise import Learner
from tagmix.learners.stored_parts import CALIBRATION, LOGISTIC, REGION_MODEL
from tagmix.model.estep import Posterior
from tagmix.model.given import (
    RegionModel,
    captioned_shard,
    log_shares_of,
    posterior_given,
    posterior_of_captions,
)
from tagmix.model.params import views_read

Progress = Callable[[str, int, int], None]
FEWEST, ENOUGH = 6, 600  # pictures that κ is chosen on, at least and at most: time is in proportion
BOUNDS = {
    "context_power": (0, MAX_POWER, False),
    "max_iter": (1, 10**6, True),
    "tol": (0, 1, False),
    "memory_mb": (1e-3, 1e6, False),
    "verbose": (0, 2, True),
}


class ContextEMM(MixtureEstimator):
    """Tags for pictures and regions: a prior from the whole picture, evidence from its regions.

    Experts on whole pictures and a scorer of regions, pooled, give the calibrated probability π of each tag
    of a picture. A region's tag is φ ∝ a π^τ e^{f + κ·evidence}, or none of the tags with φ ∝ e^{κ·evidence}
    of the background: f is the scorer's log odds, the evidence is a mixture model, one component per tag and
    one for the background, learnt by EM from captions alone. A caption may be incomplete, and name what no
    region shows.

    Parameters
    ----------
    context : the experts beside the scorer: "kernel", "neighbours", "linear", a learner over Bags, a
        regressor of scikit-learn, or a list of these; last in it, "expected" reads what the others expect.
    context_power : τ, the power of the context in a region's tag.
    evidence : κ, the power of each view's evidence, one number or one per view; None is .2 in all for
        embeddings that the scorer does not read, .1 for the same as it reads, and where there are only words
        chooses the views and their κ.
    background : whether regions may show none of the tags. If hardly any region does, ``fit`` finds out.
    max_iter, tol : EM stops when an iteration gains less than ``tol`` of the bound.
    memory_mb : the memory for the arrays of one shard.
    random_state : the assignment of pictures to folds, and the sample of pictures on which κ is chosen.
    n_jobs : threads; -1 uses all cores. The result does not depend on it.
    verbose : 1 shows a bar on a terminal, 2 prints one line per iteration.

    Attributes
    ----------
    prior_ : the fitted experts, the scorer, and the pool of their scores.
    regions_ : the mixture model of regions: instance models, odds, whether there is a background.
    evidence_ : κ of each view.
    calibration_ : probabilities, thresholds and rare-tag weights.
    choice_ : the search for κ; None if there was none.
    accuracy_, frequency_accuracy_ : cross-validated top-k accuracy, and that of the most frequent tags.
    bound_history_ : the bound at each iteration of EM. ``n_iter_``, ``converged_``.
    tag_names_, classes_ : the tags.

    Examples
    --------
    >>> from tagmix import ContextEMM, planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> model = ContextEMM().fit(sample.bags[:100])
    >>> bool(model.score(sample.bags[100:]) > 0.6)
    True
    """

    reads_pictures: ClassVar[bool] = True
    EXPERT_KINDS: ClassVar[dict[str, type]] = {**EXPERT_KINDS}
    SCHEMA: ClassVar[dict[str, Any]] = {
        "prior_": Part(
            {
                "prior": Kind(
                    ContextPrior,
                    {
                        "experts": Several(Learner(EXPERT_KINDS)),
                        "scorer": Learner({"RegionScorer": RegionScorer}),
                        "pool": LOGISTIC,
                    },
                )
            }
        ),
        "regions_": REGION_MODEL,
        "evidence_": ByName(Number(1e-300, 1)),
        "calibration_": CALIBRATION,
        "accuracy_": Number(0, 1),
        "frequency_accuracy_": Number(0, 1),
        "bound_history_": Array(("iterations",)),
        "converged_": Flag(),
    }

    prior_: ContextPrior
    regions_: RegionModel
    evidence_: dict[str, float]
    calibration_: Calibration

    def __init__(
        self,
        *,
        context: Any = "kernel",
        context_power: float = 1.0,
        evidence: float | Mapping[str, float] | None = None,
        background: bool = True,
        max_iter: int = 100,
        tol: float = 1e-5,
        memory_mb: float = 256.0,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.context = context
        self.context_power = context_power
        self.evidence = evidence
        self.background = background
        self.max_iter = max_iter
        self.tol = tol
        self.memory_mb = memory_mb
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> Self:
        """Learn from Bags with tags, or from counts (pictures × words) and ``y``.

        ``y`` is pictures × tags of 0 and 1, a list of tag names per picture, or one label per picture.
        ``progress`` is called with (stage, done, of).
        """
        self.learn(X, y, progress=progress)
        return self

    def learn(self, X: Any, y: Any = None, *, progress: Progress | None = None) -> Learnt:
        """Learn as ``fit`` does, and return what ``continued.remember`` keeps."""
        report: Progress = progress or (lambda stage, done, of: None)
        bags = self._trainable(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        report("context", 0, 1)
        experts = fit_experts(self.context, bags, seed)
        prior, of_training = fit_prior(
            experts, RegionScorer(), bags, seed, lambda done, of: report("context", done, of)
        )
        report("context", 1, 1)
        trainer, choice = self._choose_evidence(bags, of_training, report)
        report("model", 0, 1)
        read = dict.fromkeys((*views_read(trainer.settings), *prior.scorer.widths_))
        with Monitor(self.tol, self.max_iter, self.verbose) as monitor:
            regions = trainer.fit(bags.select_views(read), of_training.log_pi, prior.scorer, monitor)
            monitor.warn_if_early(above=1)
        rows, (truth, known) = of_training.rows, of_training.targets
        unknown = (bags if len(rows) == len(bags) else bags[rows]).unknown
        calibration, p = fit_calibration([of_training.logits], truth, of_training.groups[rows], seed, known)
        report("model", 1, 1)
        # All at once and last: whoever interrupts a fit keeps the model that was there before.
        self.prior_, self.regions_, self.settings_ = prior, regions, trainer.settings
        self.calibration_, self.choice_ = calibration, choice
        self.evidence_ = dict(trainer.settings.evidence)
        self.accuracy_ = top_k_accuracy(truth, p, default_k(bags.n_tags), unknown)
        self.frequency_accuracy_ = frequency_accuracy(truth, unknown)
        self.bound_history_, self.n_iter_ = monitor.history, len(monitor.history)
        self.converged_ = monitor.converged
        self.tag_names_ = tuple(bags.tag_names or ())
        self.widths_ = {view: bags.views[view].shape[1] for view in read}
        self.fitted_with_ = self.get_params(deep=False)
        return Learnt(bags, of_training, seed)

    def _trainable(self, X: Any, y: Any) -> Bags:
        """Return the pictures to learn from, after everything that can be refused was checked."""
        check_numbers(self, BOUNDS)
        check_n_jobs(self.n_jobs)
        check_background(self.background)
        bags = as_bags(self, X, y, reset=True)
        if self.evidence is not None:
            checked_evidence(self.evidence, bags.views)
        check_trainable(bags)
        return bags if (useful := useful_pictures(bags)).all() else bags[useful]

    def _choose_evidence(
        self, bags: Bags, prior: PriorOfTraining, report: Progress
    ) -> tuple[RegionTrainer, KappaChoice | None]:
        """Return how the region model is trained, with κ as given or chosen on cross-validated captions."""
        names = instance_names(bags)
        evidence = usual_evidence(bags) if self.evidence is None else self.evidence
        settings = settings_of_run(checked_evidence(evidence, bags.views), self.n_jobs)
        memory = self.memory_mb * 2**20
        trainer = RegionTrainer(settings, self.max_iter, self.tol, memory, self.background)
        if self.evidence is not None or not is_sparse(bags.views[names[0]]):
            return trainer, None
        if len(bags) < FEWEST:
            raise BagsError(
                f"choosing κ needs at least {FEWEST} pictures with tags and regions, got {len(bags)}: add "
                "some, or give evidence (0.1 is a fair guess)."
            )
        sample = np.random.default_rng(seed_of(self.random_state)).permutation(len(bags))[:ENOUGH]
        parts = [
            HeldOut(bags[own], prior.log_pi[own], bags[np.intersect1d(test, sample)], scorer)
            for (train, test), scorer in zip(prior.folds, prior.scorers, strict=True)
            if len(own := np.intersect1d(train, sample)) and len(np.intersect1d(test, sample))
        ]
        search = KappaSearch(parts, trainer, names, lambda n: report("evidence", n, most_tried(len(names))))
        # Thousands of small products: sharing them among BLAS threads takes longer than computing them.
        with threadpool_limits(1, user_api="blas"):
            found = search.choose()
        return trainer.with_evidence(found.setting), KappaChoice(found.setting, found.tried)

    def _check_state(self) -> None:
        """Check a model from a file, and set what follows from the rest of it."""
        check_numbers(self, BOUNDS)
        check_background(self.background)
        experts = experts_of(self.context, 0)
        kinds = [type(expert) for expert in self.prior_.experts]
        if [type(expert) for expert in experts] != kinds or any(
            expert.tag_names_ != self.tag_names_ for expert in (*self.prior_.experts, self.prior_.scorer)
        ):
            raise ValueError("the context must hold the experts that its parameters name, for the same tags")
        if not self.prior_.fits_together() or len(self.calibration_.logistic.slopes) != 1:
            raise ValueError("the pool needs two slopes per expert and one more, the calibration one")
        if self.regions_.instances.keys() != self.evidence_.keys():
            raise ValueError("evidence must name the instance models")
        if set(self.widths_) != {*self.evidence_, *self.prior_.scorer.widths_}:
            raise ValueError("the model must have the widths of the views that it reads")
        if self.regions_.background != (self.regions_.n_tags > len(self.tag_names_)):
            raise ValueError("the region model must have the model's tags, and a background if it says so")
        self.regions_ = replace(self.regions_, scorer=self.prior_.scorer)
        self.settings_ = settings_of_run(self.evidence_, self.n_jobs)
        self.choice_, self.n_iter_ = None, len(self.bound_history_)
        self.bound_history_ = [float(bound) for bound in self.bound_history_]
        self.fitted_with_ = self.get_params(deep=False)
        if list(self.widths_) == ["words"]:
            self.n_features_in_ = self.widths_["words"]

    def _instances(self) -> RegionModel:
        return self.regions_

    def _dense_views(self) -> tuple[str, ...]:
        return (*super()._dense_views(), *self.prior_.scorer.scaling_)

    def _explain(self, bags: Bags) -> Iterator[Explained]:
        logits = self.prior_.logits(bags)
        n_tags = len(self.tag_names_)
        for pictures, regions in self._shards(bags):
            shard, own = bags[pictures], logits[pictures]
            log_shares = log_shares_of(log_expit(own), self.context_power, self.regions_)
            posterior = posterior_given(shard, self.regions_, self.settings_, log_shares)
            phi = posterior.phi.reshape(-1, self.regions_.n_tags)[:, :n_tags]
            yield Explained(pictures, regions, phi, [own], log_shares[:, :n_tags])

    def _explain_captioned(self, shard: Bags) -> Posterior:
        log_pi = log_expit(self.prior_.logits(shard))
        own = captioned_shard(shard, self.regions_, log_pi)
        return posterior_of_captions(own, self.regions_, self.settings_)

    def _ranked(self, bags: Bags) -> Iterator[tuple[slice, list[Floats]]]:
        yield slice(0, len(bags)), [self.prior_.logits(bags)]

    def _scores(self, features: list[Floats]) -> Floats:
        return self.calibration_.probabilities(features)
