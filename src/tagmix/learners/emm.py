"""EMM: the paper's exponential-multinomial mixture as a scikit-learn estimator over Bags."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.folds import duplicate_groups, grouped_folds
from tagmix.learners import em
from tagmix.learners.calibrate import Calibration, fit_calibration, log_scores
from tagmix.learners.inputs import as_bags, check_trainable, useful_pictures
from tagmix.learners.mixture import Explained, MixtureEstimator
from tagmix.learners.monitor import Monitor
from tagmix.learners.parameters import CHOICES, check_parameters, checked_evidence, settings_of_paper
from tagmix.learners.schema import Array, ByName, Choices, Flag, Maybe, Number
from tagmix.learners.stored_parts import CALIBRATION, PARAMS
from tagmix.learners.targets import targets_of
from tagmix.model import mstep
from tagmix.model.estep import Posterior, posterior_captioned
from tagmix.model.params import Params, views_read
from tagmix.model.predict import infer, tag_scores

# Cross-validated scores that the calibration is fitted to, at most: 8 bytes each, four arrays at a time.
CALIBRATION_SCORES = 20_000_000


class EMM(MixtureEstimator):
    """Exponential-multinomial mixture: one tag per region, and few tags out of many per picture.

    The model of the paper. For your own photos use ``ContextEMM``, which has a prior from the whole
    picture. Training costs regions × words × tags *of the picture* per iteration under hard
    supervision, and does not grow with the number of all tags.

    Parameters
    ----------
    learning : "margin" learns a weight per tag by maximum margins (EMM_d); "likelihood" does not (EMM_m).
    inference : the posterior of a picture without caption: "variational", or "map", a convex problem whose
        solution has exact zeros: few tags, the others at probability 0.
    normaliser : "bounded" keeps the normaliser of θ in the bound; "dropped" is the paper as printed, with λ
        fixed at 1, because it is not identifiable then.
    ranking : "shares" ranks tags by their share of regions, "theta" by the paper's θ̂, which counts the
        prior twice.
    evidence : κ, the power of the likelihood of a region's words; one number or one per view. 1 is the paper;
        smaller values correct its overconfidence. Choose it by cross-validation.
    supervision : "hard" explains a captioned picture by its own tags only; a number multiplies the paper's
        guidance w(y+δ)/M (1 is the paper) and allows every tag, at a cost of all tags.
    background : add a component for regions that show none of the tags; False is the paper. Every caption
        allows it, it is never ranked, and a region's probability of it is missing in ``predict_regions``.
    max_iter, tol : stop when an iteration gains less than ``tol`` of the bound.
    eta, learn_eta : the initial Dirichlet prior of words; learnt by default.
    chi : shape and rate of the Gamma prior of λ.
    nu1 : the weight of ‖w‖² relative to that of the slack, ν₁/ν₂ in Eq. 4.
    nu2 : the weight of the margins relative to the likelihood of a picture, ν₂/N in Eq. 4, by which their
        multipliers δ are fed back into the E-step; with 0 they only weight the tags.
    margin_centre : the weight that ν₁ pulls every w to: 0 is the paper; with 1 a large ν₁ is "likelihood".
    margin_posterior : the posterior in the constraints: without the caption ("free") or with it ("guided",
        the paper).
    margin_rounds : how often the margins are solved and δ is fed back.
    calibration_folds : folds for probabilities and thresholds, one training each; 0 skips the calibration.
    memory_mb : the memory for the arrays of one shard.
    random_state : the assignment of pictures to folds.
    n_jobs : threads; -1 uses all cores. The result does not depend on it.
    verbose : 1 shows a bar on a terminal, 2 prints one line per iteration.

    Attributes
    ----------
    params_ : λ, the words of each tag, w.
    bound_history_ : the bound after each E-step. ``n_iter_``, ``converged_``.
    margin_ : the margin problem's solution, with its gap; None for "likelihood".
    calibration_ : probabilities, thresholds and rare-tag weights; None if it was skipped.
    calibrated_for_ : the inference and the ranking of the calibration.
    tag_names_, classes_ : the tags.

    Examples
    --------
    >>> from tagmix import EMM, planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> emm = EMM(learning="likelihood", calibration_folds=0).fit(sample.bags[:100])
    >>> bool(emm.score(sample.bags[100:]) > 0.6)
    True
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        "params_": PARAMS,
        "evidence_": ByName(Number(1e-300, 1)),
        "calibration_": Maybe(CALIBRATION),
        "calibrated_for_": Choices((CHOICES["inference"], CHOICES["ranking"])),
        "bound_history_": Array(("iterations",)),
        "converged_": Flag(),
    }

    params_: Params
    evidence_: dict[str, float]
    calibrated_for_: tuple[str, str]

    def __init__(
        self,
        *,
        learning: str = "margin",
        inference: str = "variational",
        normaliser: str = "bounded",
        ranking: str = "shares",
        evidence: float | Mapping[str, float] = 1.0,
        supervision: float | str = "hard",
        background: bool = False,
        max_iter: int = 100,
        tol: float = 1e-5,
        eta: float = 0.1,
        learn_eta: bool = True,
        chi: tuple[float, float] = (2.0, 1.0),
        nu1: float = 1e-4,
        nu2: float = 1.0,
        margin_centre: float = 0.0,
        margin_posterior: str = "free",
        margin_rounds: int = 1,
        calibration_folds: int = 5,
        memory_mb: float = 256.0,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.learning = learning
        self.inference = inference
        self.normaliser = normaliser
        self.ranking = ranking
        self.evidence = evidence
        self.supervision = supervision
        self.background = background
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.learn_eta = learn_eta
        self.chi = chi
        self.nu1 = nu1
        self.nu2 = nu2
        self.margin_centre = margin_centre
        self.margin_posterior = margin_posterior
        self.margin_rounds = margin_rounds
        self.calibration_folds = calibration_folds
        self.memory_mb = memory_mb
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, progress: Callable[[str, int, int], None] | None = None) -> Self:
        """Learn from Bags with tags, or from counts (pictures × words) and ``y``.

        ``y`` is pictures × tags of 0 and 1, a list of tag names per picture, or one label per picture.
        ``progress`` is called with ("model", iteration, ``max_iter``) after each iteration.
        """
        check_parameters(self)
        bags = as_bags(self, X, y, reset=True)
        settings = settings_of_paper(self, checked_evidence(self.evidence, bags.views))
        check_trainable(bags)
        useful = useful_pictures(bags)
        bags = bags if useful.all() else bags[useful]
        corpus, margin = em.Corpus(bags, settings, self.memory_mb * 2**20), None
        with Monitor(self.tol, self.max_iter, self.verbose, progress) as monitor:
            start = mstep.start(bags, settings, self.eta)
            params = em.expectation_maximisation(corpus, start, monitor, self.max_iter, self.learn_eta)
            monitor.warn_if_early()
            converged = monitor.converged
            if self.learning == "margin":
                params, margin = em.learn_weights(corpus, params, monitor, self._margins(), self.learn_eta)
        calibration = self._calibrate(bags) if self.calibration_folds else None
        # All at once and last: whoever interrupts a fit keeps the model that was there before.
        self.params_, self.settings_, self.margin_, self.calibration_ = params, settings, margin, calibration
        self.bound_history_, self.n_iter_ = monitor.history, len(monitor.history)
        self.converged_ = converged
        self.tag_names_ = tuple(bags.tag_names or ())
        self.widths_ = {view: bags.views[view].shape[1] for view in views_read(settings)}
        self.evidence_ = dict(settings.evidence)
        self.calibrated_for_ = (self.inference, self.ranking)
        self.fitted_with_ = self.get_params(deep=False)
        return self

    def _margins(self) -> em.MarginSettings:
        posterior, rounds = self.margin_posterior, self.margin_rounds
        return em.MarginSettings(self.nu1, self.nu2, self.margin_centre, posterior, rounds, self.inference)

    def _calibrate(self, bags: Bags) -> Calibration | None:
        """Return the calibration of scores by models of the other folds; None with a warning if too few."""
        folds = self.calibration_folds
        if len(bags) < 2 * folds:
            warnings.warn(
                f"{folds} calibration folds need at least {2 * folds} pictures with tags and regions, got "
                f"{len(bags)}, so predict and predict_marginals are not available: lower "
                "calibration_folds (0 if you only rank), or add pictures.",
                UserWarning,
                stacklevel=3,
            )
            return None
        rng = check_random_state(self.random_state)
        seed, groups = int(rng.randint(2**31 - 1)), duplicate_groups(bags)
        keep = max(1, int(CALIBRATION_SCORES / bags.n_tags) // folds, 2)
        scores, rows = [], []
        for train, test in grouped_folds(groups, folds, seed):
            rows.append(np.sort(rng.permutation(test)[:keep]))
            model = clone(self).set_params(calibration_folds=0, verbose=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the whole fit has said it already
                scores.append(model.fit(bags[train]).predict_proba(bags[rows[-1]]))
        order = np.concatenate(rows)
        truth, known = targets_of(bags[order])
        return fit_calibration(log_scores(np.vstack(scores)), truth, groups[order], seed, known)[0]

    def _check_state(self) -> None:
        """Check a model from a file, and set what follows from the rest of it."""
        check_parameters(self)
        views = set(self.params_.instances)
        if self.params_.instances.keys() != self.evidence_.keys() or views != set(self.widths_):
            raise ValueError("evidence must name the instance models, and these must read the views")
        if self.calibration_ is not None and len(self.calibration_.logistic.slopes) != 1:
            raise ValueError("the calibration must have one slope per tag")
        self.settings_ = settings_of_paper(self, self.evidence_)
        self.margin_, self.n_iter_ = None, len(self.bound_history_)
        self.bound_history_ = [float(bound) for bound in self.bound_history_]
        self.fitted_with_ = self.get_params(deep=False)
        if list(self.widths_) == ["words"]:
            self.n_features_in_ = self.widths_["words"]

    def _instances(self) -> Params:
        return self.params_

    def _explain(self, bags: Bags) -> Iterator[Explained]:
        n = len(self.tag_names_)  # the background, if any, is the column behind
        rates, weights = self.params_.rates[None, :n], self.params_.weights[:n]
        for pictures, regions in self._shards(bags):
            found = infer(bags[pictures], self.params_, self.settings_, self.inference, self.ranking)
            scores = tag_scores(found.held[:, :n], weights, rates)
            yield Explained(pictures, regions, found.phi[:, :n], [scores])

    def _explain_captioned(self, shard: Bags) -> Posterior:
        return posterior_captioned(shard, self.params_, self.settings_)

    def _scores(self, features: list[Floats]) -> Floats:
        return features[0]

    def _probabilities(self, features: list[Floats]) -> Floats:
        return self._calibrated().probabilities(log_scores(features[0]))

    def _calibrated(self) -> Calibration:
        now = (self.inference, self.ranking)
        if self.calibration_ is not None and now != self.calibrated_for_:
            raise ParameterError(
                f"probabilities and thresholds were learnt for inference and ranking {self.calibrated_for_}, "
                f"now they are {now}: set them back, fit again, or rank with top_tags."
            )
        return super()._calibrated()
