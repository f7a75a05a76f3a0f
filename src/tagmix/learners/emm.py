"""EMM: the exponential-multinomial mixture as a scikit-learn estimator over Bags."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.evaluation import metrics
from tagmix.learners import files, fitting
from tagmix.learners.base import BagsEstimator
from tagmix.learners.calibrate import probabilities
from tagmix.learners.explain import Explainer, Explanation
from tagmix.learners.inputs import as_bags, check_no_rates, check_rates, check_tags, check_vocabulary
from tagmix.learners.parameters import check_calibrated, packed_state, rewire, unpacked_state
from tagmix.learners.em import shard_size
from tagmix.model.estep import posterior_captioned
from tagmix.model.params import dense_views
from tagmix.model.predict import infer_pictures, infer_regions, tag_scores


class EMM(BagsEstimator):
    """Explain every region by one tag and every picture by a few out of very many.

    Choose it when pictures carry tags as a whole and you want tags for new pictures *and* for their
    regions. Training costs regions × words × tags *of the image* an iteration under hard
    supervision, and does not grow with the number of all tags.

    Parameters
    ----------
    learning : "margin" learns a weight for each tag by maximum margins (EMM_d); "likelihood" does
        not (EMM_m).
    inference : how an uncaptioned picture is explained: "variational" (a posterior) or "map" (a
        convex problem whose answer has exact zeros: few tags, the others at probability 0).
    normaliser : "bounded" keeps the normaliser of θ in the bound; "dropped" is the paper as printed,
        with λ held at 1 because nothing else holds it then.
    ranking : "shares" ranks tags by the share of regions they hold, "theta" by the paper's θ̂, which
        counts the prior twice.
    evidence : κ, the power that a region's words are raised to; one number or one a view. 1 is the
        paper; smaller values mend its overconfidence. Choose it by cross-validation. Views of embeddings
        are Gaussian; "view:linear" adds a linear scorer of one.
    context : what the whole picture says of its tags, the prior of its regions: "kernel", "neighbours",
        "linear", a learner over Bags, a regressor of scikit-learn, or several, pooled. None is the paper.
    context_power : τ, the power of the context in a region's tag; None chooses it, by calibration's folds.
    supervision : "hard" explains a captioned picture by its own tags only; a number multiplies the
        paper's guidance w(y+δ)/M (1 is the paper) and lets every tag in, at a cost of all tags.
    max_iter, tol : stop when an iteration gains less than ``tol`` of the bound.
    eta, learn_eta : the Dirichlet prior of words, to start from; learnt by default.
    chi : shape and rate of the Gamma prior of λ.
    nu1, nu2 : the margin problem's weights on ‖w‖² and on the slack (Eq. 4).
    margin_posterior : constrain the posterior of prediction ("free") or of the caption ("guided", paper).
    margin_rounds : how often the margins' multipliers δ are fed back into the E-step.
    margin_tol : the relative duality gap at which the margin problem is solved.
    calibration_folds : folds for probabilities and thresholds, each trains once more; 0 leaves them out.
    estep_tol, estep_max_iter : when the explanation of one image has settled, in regions.
    memory_mb : how much a shard's arrays may take.
    warm_start : start from the last fit, which must have had the same tags and words.
    random_state : how images are dealt to folds; with a context, also which it is tuned on.
    n_jobs : threads; -1 takes all cores. It never changes a bit of the result.
    kernels : "compiled", or "reference", the slow definition in NumPy.
    verbose : 1 shows a bar on a terminal, 2 prints a line an iteration.
    callback : called with (iteration, bound).

    Attributes
    ----------
    params_ : λ, the words of each tag, w.
    bound_history_ : the bound after each E-step. ``n_iter_``, ``converged_``.
    margin_ : the margin problem's solution, with its gap; None for "likelihood". ``tag_names_``: the tags.
    calibration_ : slopes, biases, thresholds and evening of the tags; None if it was left out.
    context_ : the fitted context with its powers; None for the paper.
    calibrated_for_ : the inference and the ranking that it was learnt with.

    Examples
    --------
    >>> from tagmix import EMM, planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> emm = EMM(learning="likelihood", calibration_folds=0).fit(sample.bags[:100])
    >>> bool(emm.score(sample.bags[100:]) > 0.6)
    True
    """

    reads_dense: ClassVar[bool] = True

    def __init__(
        self,
        *,
        learning: str = "margin",
        inference: str = "variational",
        normaliser: str = "bounded",
        ranking: str = "shares",
        evidence: float | Mapping[str, float] = 1.0,
        context: Any = None,
        context_power: float | None = None,
        supervision: float | str = "hard",
        max_iter: int = 100,
        tol: float = 1e-5,
        eta: float = 0.1,
        learn_eta: bool = True,
        chi: tuple[float, float] = (2.0, 1.0),
        nu1: float = 1e-4,
        nu2: float = 1.0,
        margin_posterior: str = "free",
        margin_rounds: int = 1,
        margin_tol: float = 1e-3,
        calibration_folds: int = 5,
        estep_tol: float = 1e-4,
        estep_max_iter: int = 200,
        memory_mb: float = 256.0,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        kernels: str = "compiled",
        verbose: int = 0,
        callback: Callable[[int, float], None] | None = None,
    ) -> None:
        self.learning = learning
        self.inference = inference
        self.normaliser = normaliser
        self.ranking = ranking
        self.evidence = evidence
        self.context = context
        self.context_power = context_power
        self.supervision = supervision
        self.max_iter = max_iter
        self.tol = tol
        self.eta = eta
        self.learn_eta = learn_eta
        self.chi = chi
        self.nu1 = nu1
        self.nu2 = nu2
        self.margin_posterior = margin_posterior
        self.margin_rounds = margin_rounds
        self.margin_tol = margin_tol
        self.calibration_folds = calibration_folds
        self.estep_tol = estep_tol
        self.estep_max_iter = estep_max_iter
        self.memory_mb = memory_mb
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.kernels = kernels
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any = None, *, rates: Any = None) -> Self:
        """Learn from Bags with tags, or from counts (images × words) and ``y``.

        ``y`` is images × tags of 0 and 1, a list of tag names for each image, or one label an image.
        ``rates`` (images × tags, positive) gives every image its own prior rates in place of λ, which
        then stays at 1: a tag of rate 2 is expected half as often as one of rate 1.
        """
        bags = as_bags(self, X, y, reset=True)
        fitting.fit(self, bags, rates)
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters; kernels and threads of a fitted model change at once, and no result does."""
        super().set_params(**params)
        if hasattr(self, "params_") and {"n_jobs", "kernels"} & params.keys():
            rewire(self)
        return self

    def _shards(self, bags: Bags) -> Iterator[slice]:
        memory = self.memory_mb * 2**20
        return bags.shards(shard_size(bags, False, memory, n_tags=self.params_.n_tags))

    def _checked(self, X: Any, rates: Any) -> tuple[Bags, Floats | None]:
        """Return bags and what their images bring along: logit π by context, own rates, or None."""
        check_is_fitted(self)
        bags = as_bags(self, X)
        check_vocabulary(bags, self.widths_, dense_views(self.params_))
        if self.context_ is not None:
            check_no_rates(rates)
            return bags, self.context_.prior.logits(bags)
        return bags, check_rates(rates, len(bags), self.params_.n_tags)

    def _rates(self, brought: Floats | None, where: slice) -> Floats | None:
        """Return the prior rates of these images; None means the model's own."""
        if brought is None:
            return None
        return brought[where] if self.context_ is None else self.context_.rates(brought[where])

    def _free_regions(self, bags: Bags, brought: Floats | None) -> Iterator[tuple[slice, Floats]]:
        for where in self._shards(bags):
            rates = self._rates(brought, where)
            yield where, infer_regions(bags[where], self.params_, self.settings_, self.inference, rates)

    def predict_proba(self, X: Any, *, rates: Any = None) -> Floats:
        """Return p(Y|X), images × tags, rows summing to 1: how the picture is shared among tags.

        For the probability that a tag is right, see ``predict_marginals``.
        """
        scores = self._scores(*self._checked(X, rates))
        if self.context_ is not None:  # odds; calibration has a slope a tag, which ranks better
            known = self.calibration_
            scores = scores / (1 + scores) if known is None else probabilities(scores, known)
        return scores / scores.sum(axis=1, keepdims=True)

    def _scores(self, bags: Bags, brought: Floats | None) -> Floats:
        """Return what pictures are ranked by: the paper's p(Y|X), or odds by context and regions."""
        scores = np.empty((len(bags), self.params_.n_tags))
        for where in self._shards(bags):
            own = self._rates(brought, where)
            how = (self.settings_, self.inference, self.ranking)
            held = infer_pictures(bags[where], self.params_, *how, own)
            if self.context_ is None or brought is None:
                prior = self.params_.rates[None, :] if own is None else own
                scores[where] = tag_scores(held, self.params_.weights, prior)
            else:
                odds = np.exp(self.context_.joined(brought[where], held))
                scores[where] = odds * self.params_.weights
        return scores

    def top_tags(self, X: Any, k: int = 5, *, even: bool = False, rates: Any = None) -> Ints:
        """Return the numbers of the k best tags of each image, best first; ``even`` as in ``balanced_scores``."""
        return metrics.top_tags((self.balanced_scores if even else self.predict_proba)(X, rates=rates), k)

    def balanced_scores(self, X: Any, *, rates: Any = None) -> Floats:
        """Return how far p(tag) stands out for its tag, images × tags: so ranked, rare tags count fully."""
        marginals = self.predict_marginals(X, rates=rates)  # first: it asks for a fit and a calibration
        return marginals * self.calibration_.evening

    def predict_marginals(self, X: Any, *, rates: Any = None) -> Floats:
        """Return the calibrated probability of each tag, images × tags: .8 is right 8 times in 10."""
        check_is_fitted(self)
        check_calibrated(self)
        return probabilities(self._scores(*self._checked(X, rates)), self.calibration_)

    def predict(self, X: Any, *, rates: Any = None) -> Ints:
        """Return the tags worth showing, images × tags of 0 and 1, by each tag's own threshold."""
        p = self.predict_marginals(X, rates=rates)
        return (p >= self.calibration_.thresholds).astype(np.int64)

    def predict_regions(self, X: Any, captioned: bool = False, *, rates: Any = None) -> Floats:
        """Return p(z), regions × tags, rows summing to 1; ``captioned`` uses the images' own tags.

        The answer itself takes 8 bytes × regions × tags; ``top_region_tags`` does not.
        """
        return self._all_regions(*self._checked(X, rates), captioned)

    def _all_regions(self, bags: Bags, brought: Floats | None, captioned: bool) -> Floats:
        out = np.empty((bags.n_regions, self.params_.n_tags))
        for regions, phi in self._region_posteriors(bags, captioned, brought):
            out[regions] = phi
        return out

    def predict_both(self, X: Any, *, rates: Any = None) -> tuple[Floats, Floats]:
        """Return ``predict_marginals`` and ``predict_regions``; a context is asked once instead of twice."""
        check_is_fitted(self)
        check_calibrated(self)
        bags, own = self._checked(X, rates)
        return probabilities(self._scores(bags, own), self.calibration_), self._all_regions(bags, own, False)

    def top_region_tags(self, X: Any, k: int = 1, captioned: bool = False, *, rates: Any = None) -> Ints:
        """Return the numbers of the k best tags of each region, best first."""
        bags, own = self._checked(X, rates)
        metrics.check_k(k)
        out = np.empty((bags.n_regions, min(k, self.params_.n_tags)), dtype=np.int64)
        for regions, phi in self._region_posteriors(bags, captioned, own):
            out[regions] = metrics.top_tags(phi, k)
        return out

    def _region_posteriors(
        self, bags: Bags, captioned: bool, brought: Floats | None
    ) -> Iterator[tuple[slice, Floats]]:
        if captioned:
            check_tags(bags, self.tag_names_)
        for where, phi in self._free_regions(bags, brought):
            shard = bags[where]
            if captioned:
                own = self._rates(brought, where)
                posterior = posterior_captioned(shard, self.params_, self.settings_, rates=own)
                fitting.overwrite_captioned(phi, shard, posterior)
            yield slice(int(bags.offsets[where.start]), int(bags.offsets[where.stop])), phi

    def explain(self, X: Any, tag: str | int, n_words: int = 10, *, rates: Any = None) -> list[Explanation]:
        """Return, for each image, which regions, which words and how much context spoke for ``tag``."""
        bags, own = self._checked(X, rates)
        column = fitting.tag_column(self.tag_names_, tag)
        explainer = Explainer(self.params_, self.settings_, column, self.tag_names_[column])
        regions = ((where, phi, self._rates(own, where)) for where, phi in self._free_regions(bags, own))
        return explainer.explain_all(bags, regions, n_words)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the top-k accuracy (``tagmix.top_k_accuracy``) against the bags' own tags, or ``y``.

        k is 5, or half of the model's tags where they are fewer than 10: showing all would tell nothing.
        """
        check_is_fitted(self)
        bags = as_bags(self, X, y)
        check_tags(bags, self.tag_names_)
        scores = self.predict_proba(bags)
        return metrics.top_k_accuracy(bags.tags, scores, min(5, self.params_.n_tags // 2))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into one file, safe to open from a stranger; ``tagmix.load`` reads it."""
        check_is_fitted(self)
        files.save_emm(self, Path(path))

    def __getstate__(self) -> dict[str, Any]:
        return packed_state(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(unpacked_state(state))
