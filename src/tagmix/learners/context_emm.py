"""ContextEMM: the flagship. Whole pictures say which tags to expect, regions say where they are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import log_expit
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.evaluation.folds import grouped_folds
from tagmix.evaluation.metrics import default_k, top_k_accuracy
from tagmix.learners.calibrate import Calibration, fit_calibration
from tagmix.learners.checks import check_numbers
from tagmix.learners.context.agreement import POWERS, cross_validated_shares, try_powers
from tagmix.learners.context.experts import EXPERT_KINDS, experts_of
from tagmix.learners.context.kappa import KappaSearch, most_tried
from tagmix.learners.context.prior import (
    ContextPrior,
    PriorOfTraining,
    fit_experts,
    fit_prior,
    n_folds,
)
from tagmix.learners.context.regions import RegionTrainer, instance_names, train_folds
from tagmix.learners.inputs import as_bags, check_trainable, useful_pictures
from tagmix.learners.mixture import Explained, MixtureEstimator
from tagmix.learners.monitor import Monitor
from tagmix.learners.parameters import (
    MAX_POWER,
    check_n_jobs,
    check_power,
    checked_evidence,
    settings_of_run,
)
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
from tagmix.model.params import view_of, views_read

Progress = Callable[[str, int, int], None]
# Pictures that κ is chosen on, at least (three folds of two) and at most: more cost time in proportion.
FEWEST, ENOUGH = 6, 600
# The share of a picture that a tag without any region is taken to have.
SMALLEST_SHARE = 1e-3
BOUNDS = {
    "max_iter": (1, 10**6, True),
    "tol": (0, 1, False),
    "memory_mb": (1e-3, 1e6, False),
    "verbose": (0, 2, True),
}


class KappaChoice(NamedTuple):
    """κ of each instance model that was chosen, and every setting that was tried with its score."""

    evidence: dict[str, float]
    tried: tuple[tuple[dict[str, float], float], ...]


class ContextEMM(MixtureEstimator):
    """Tags for pictures and regions: a prior from the whole picture, evidence from its regions.

    Experts on whole pictures give a calibrated prior π of the tags. A region's tag is φ ∝ π^τ e^{κ·evidence},
    and the shares of the regions are combined with π into the probability of each tag. ``fit`` chooses κ, τ
    and the weights of the experts by cross-validation on captions alone.

    Parameters
    ----------
    context : the experts: "kernel", "neighbours", "linear", a learner over Bags, a regressor of scikit-learn,
        or a list of these.
    context_power : τ, the power of the context in a region's tag; None chooses it.
    evidence : κ, the power of each view's evidence, one number or one per instance model; None chooses the
        views and their κ. Embeddings are read by a Gaussian and by "view:linear", a linear scorer.
    max_iter, tol : EM stops when an iteration gains less than ``tol`` of the bound.
    memory_mb : the memory for the arrays of one shard.
    random_state : the assignment of pictures to folds, and the sample of pictures on which κ is chosen.
    n_jobs : threads; -1 uses all cores. The result does not depend on it.
    verbose : 1 shows a bar on a terminal, 2 prints one line per iteration.

    Attributes
    ----------
    prior_ : the fitted experts and the pool of their scores.
    regions_ : the instance models. ``evidence_``: their κ. ``power_``: τ.
    calibration_ : probabilities, thresholds and rare-tag weights.
    choice_ : the search for κ; None if it was given.
    agreement_ : the fraction of cross-validated regions with the same tag with and without caption, per τ.
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
            {"prior": Kind(ContextPrior, {"experts": Several(Learner(EXPERT_KINDS)), "pool": LOGISTIC})}
        ),
        "regions_": REGION_MODEL,
        "evidence_": ByName(Number(1e-300, 1)),
        "power_": Number(0, MAX_POWER),
        "agreement_": ByName(Number(0, 1), key=float),
        "calibration_": CALIBRATION,
        "accuracy_": Number(0, 1),
        "frequency_accuracy_": Number(0, 1),
        "bound_history_": Array(("iterations",)),
        "converged_": Flag(),
    }

    prior_: ContextPrior
    regions_: RegionModel
    evidence_: dict[str, float]
    power_: float
    calibration_: Calibration

    def __init__(
        self,
        *,
        context: Any = "kernel",
        context_power: float | None = None,
        evidence: float | Mapping[str, float] | None = None,
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
        report: Progress = progress or (lambda stage, done, of: None)
        bags = self._trainable(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        report("context", 0, 1)
        experts = fit_experts(self.context, bags, seed)
        prior, of_training = fit_prior(experts, bags, seed)
        report("context", 1, 1)
        trainer, choice = self._choose_evidence(bags, of_training, report)
        report("model", 0, 1)
        with Monitor(self.tol, self.max_iter, self.verbose) as monitor:
            regions = trainer.fit(bags, monitor=monitor)
            monitor.warn_if_early()
        agreement, power, features = self._combine(bags, of_training, trainer, seed)
        truth = bags[of_training.rows].captions.toarray().astype(np.float64)
        calibration, p = fit_calibration(features, truth, of_training.groups[of_training.rows], seed)
        report("model", 1, 1)
        # All at once and last: whoever interrupts a fit keeps the model that was there before.
        self.prior_, self.regions_, self.settings_ = prior, regions, trainer.settings
        self.power_, self.agreement_, self.calibration_, self.choice_ = power, agreement, calibration, choice
        self.evidence_ = dict(trainer.settings.evidence)
        self.accuracy_ = top_k_accuracy(truth, p, default_k(bags.n_tags))
        self.frequency_accuracy_ = frequency_accuracy(truth)
        self.bound_history_, self.n_iter_ = monitor.history, len(monitor.history)
        self.converged_ = monitor.converged
        self.tag_names_ = tuple(bags.tag_names or ())
        self.widths_ = {view: bags.views[view].shape[1] for view in views_read(trainer.settings)}
        self.fitted_with_ = self.get_params(deep=False)
        return self

    def _trainable(self, X: Any, y: Any) -> Bags:
        """Return the pictures to learn from, after everything that can be refused was checked."""
        check_numbers(self, BOUNDS)
        check_n_jobs(self.n_jobs)
        check_power(self.context_power)
        bags = as_bags(self, X, y, reset=True)
        if self.evidence is not None:
            checked_evidence(self.evidence, bags.views)
        check_trainable(bags)
        useful = useful_pictures(bags)
        return bags if useful.all() else bags[useful]

    def _choose_evidence(
        self, bags: Bags, prior: PriorOfTraining, report: Progress
    ) -> tuple[RegionTrainer, KappaChoice | None]:
        """Return how the region model is trained, with κ as given or chosen on cross-validated captions."""
        names = instance_names(bags)
        evidence = self.evidence if self.evidence is not None else dict.fromkeys(names, 1.0)
        settings = settings_of_run(checked_evidence(evidence, bags.views), self.n_jobs)
        trainer = RegionTrainer(settings, self.max_iter, self.tol, self.memory_mb * 2**20)
        if self.evidence is not None:
            return trainer, None
        if len(bags) < FEWEST:
            raise BagsError(
                f"choosing κ needs at least {FEWEST} pictures with tags and regions, got {len(bags)}: add "
                "some, or give evidence (0.1 is a fair guess)."
            )
        seed = seed_of(self.random_state)
        at = np.sort(np.random.default_rng(seed).permutation(len(prior.rows))[:ENOUGH])
        rows = prior.rows[at]
        part = PriorOfTraining(np.arange(len(at)), prior.logits[at], prior.groups[rows])
        most = most_tried(len(bags.views))
        search = KappaSearch(
            bags[rows],
            part,
            trainer,
            self._powers(),
            names,
            grouped_folds(part.groups, n_folds(len(bags)), seed),
            lambda n: report("evidence", n, most),
        )
        # Thousands of small products: sharing them among BLAS threads takes longer than computing them.
        with threadpool_limits(1, user_api="blas"):
            found = search.choose()
        chosen = trainer._replace(settings=settings_of_run(found.setting, self.n_jobs))
        return chosen, KappaChoice(found.setting, found.tried)

    def _combine(
        self, bags: Bags, prior: PriorOfTraining, trainer: RegionTrainer, seed: int
    ) -> tuple[dict[float, float], float, list[Floats]]:
        """Return the agreement by τ, the best τ, and the features of context and regions, cross-validated."""
        folds = grouped_folds(prior.groups, n_folds(len(bags)), seed)
        trained = train_folds(bags, trainer, folds)
        trial = try_powers(bags, prior, trained, trainer, self._powers())
        shares = cross_validated_shares(bags, prior, trained, trainer, trial.best_power)
        return trial.agreement, trial.best_power, combined_features(prior.logits, shares)

    def _powers(self) -> Sequence[float]:
        return POWERS if self.context_power is None else (float(self.context_power),)

    def _check_state(self) -> None:
        """Check a model from a file, and set what follows from the rest of it."""
        check_numbers(self, BOUNDS)
        check_power(self.context_power)
        experts = experts_of(self.context, 0)
        kinds = [type(expert) for expert in self.prior_.experts]
        if [type(expert) for expert in experts] != kinds or any(
            expert.tag_names_ != self.tag_names_ for expert in self.prior_.experts
        ):
            raise ValueError("the context must hold the experts that its parameters name, for the same tags")
        if (
            self.prior_.pool.slopes.shape[0] != 2 * len(experts)
            or len(self.calibration_.logistic.slopes) != 2
        ):
            raise ValueError("the pool needs two slopes per expert, and the calibration two in all")
        views = {view_of(name) for name in self.regions_.instances}
        if self.regions_.instances.keys() != self.evidence_.keys() or views != set(self.widths_):
            raise ValueError("evidence must name the instance models, and these must read the views")
        if self.regions_.n_tags != len(self.tag_names_):
            raise ValueError("the region model must have the model's tags")
        self.settings_ = settings_of_run(self.evidence_, self.n_jobs)
        self.choice_, self.n_iter_ = None, len(self.bound_history_)
        self.bound_history_ = [float(bound) for bound in self.bound_history_]
        self.fitted_with_ = self.get_params(deep=False)
        if list(self.widths_) == ["words"]:
            self.n_features_in_ = self.widths_["words"]

    def _instances(self) -> RegionModel:
        return self.regions_

    def _explain(self, bags: Bags) -> Iterator[Explained]:
        logits = self.prior_.logits(bags)
        for pictures, regions in self._shards(bags):
            shard, own = bags[pictures], logits[pictures]
            log_shares = log_shares_of(log_expit(own), self.power_)
            posterior = posterior_given(shard, self.regions_, self.settings_, log_shares)
            shares = posterior.shares(shard.offsets).reshape(len(shard), -1)
            empty = np.diff(shard.offsets) == 0  # the context's own shares, where there is no region
            shares[empty] = np.exp(log_shares[empty])
            phi = posterior.phi.reshape(-1, self.regions_.n_tags)
            yield Explained(pictures, regions, phi, combined_features(own, shares), log_shares)

    def _explain_captioned(self, shard: Bags) -> Posterior:
        return posterior_of_captions(captioned_shard(shard, self.regions_), self.regions_, self.settings_)

    def _scores(self, features: list[Floats]) -> Floats:
        return self.calibration_.probabilities(features)


def seed_of(random_state: Any) -> int:
    """Return a whole number to choose κ by: the random state itself if it is one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def frequency_accuracy(truth: Floats) -> float:
    """Return the top-k accuracy of ranking by tag frequency, each picture's own caption left out.

    >>> round(frequency_accuracy(np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]])), 3)
    0.4
    """
    return top_k_accuracy(truth, truth.sum(axis=0) - truth, default_k(truth.shape[1]))


def combined_features(logits: Floats, shares: Floats) -> list[Floats]:
    """Return what the probability of a tag is computed from: logit π and the log share of regions."""
    return [logits, np.log(np.maximum(shares, 0.0) + SMALLEST_SHARE)]
