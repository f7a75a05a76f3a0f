"""TopicRidge: topics learnt without tags, and a linear map from topics to tags."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tagmix.arrays import Counts, Floats, rows_of
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.kernels.compiled import topics
from tagmix.learners import lda
from tagmix.learners.base import TagLearner
from tagmix.learners.checks import check_numbers, is_number
from tagmix.learners.schema import Array, Number
from tagmix.learners.targets import imputed_tags
from tagmix.model.instance import Multinomial

BOUNDS = {
    "n_topics": (2, 10**6, True),
    "alpha": (1e-6, 1e6, False),
    "eta": (1e-6, 1e6, False),
    "passes": (1, 10**6, True),
    "batch_size": (1, 10**9, True),
    "estep_tol": (1e-12, 1e3, False),
    "estep_max_iter": (1, 10**6, True),
}
# ρ_t = (DELAY + t)^−DECAY, the step of batch t, as in Hoffman et al. and scikit-learn.
DELAY, DECAY = 10.0, 0.7


class TopicRidge(TagLearner):
    """Ridge regression of tags on the topic shares of a picture; the topics are learnt without tags.

    The topics are latent Dirichlet allocation over the words of whole pictures, learnt by online variational
    Bayes; tags are predicted from the square roots of the shares (whose distances are Hellinger's) by ridge
    regression. The ridge is chosen by closed-form leave-one-out, which excludes the tags of a picture, but
    not its words: the topics are learnt from all pictures.

    Blei, Ng, Jordan: *Latent Dirichlet Allocation*, JMLR 2003; Hoffman, Blei, Bach: *Online Learning for
    Latent Dirichlet Allocation*, NIPS 2010; Hoerl, Kennard: *Ridge Regression*, Technometrics 1970.

    Parameters
    ----------
    n_topics : the number of topics.
    alpha, eta : the Dirichlet priors of a picture's shares and of a topic's words.
    passes, batch_size : passes over all pictures, and pictures per update.
    ridges : candidates for the ridge, chosen by the leave-one-out squared error.
    estep_tol, estep_max_iter : convergence of a picture's inference, in words per topic.
    random_state : the initial topics and the order of pictures.
    n_jobs : threads; -1 uses all cores. The result does not depend on it.

    Memory: pictures × topics four times, topics × words four times, pictures × tags twice.

    Attributes
    ----------
    topics_ : the Dirichlet posterior of the topics' words, topics × words of all views.
    coef_, intercept_ : from square roots of shares to tags. ``ridge_`` : the one chosen.
    errors_ : the leave-one-out mean squared error, one per ridge.

    Examples
    --------
    >>> from tagmix import planted_topics, sample_bags
    >>> rng = np.random.default_rng(0)
    >>> sample = sample_bags(planted_topics(6, 60, 0.2, rng), 120, n_regions=4, rng=rng)
    >>> learner = TopicRidge(n_topics=12, batch_size=20, passes=5).fit(sample.bags[:100])
    >>> bool(learner.score(sample.bags[100:]) > 0.5)
    True
    """

    SCHEMA: ClassVar[dict[str, Any]] = {
        "topics_": Array(("topics", "all words"), 1e-300),
        "coef_": Array(("topics", "tags")),
        "intercept_": Array(("tags",)),
        "ridge_": Number(0, 1e60),
        "errors_": Array(("ridges",)),
    }
    storable_as_expert = True

    def __init__(
        self,
        *,
        n_topics: int = 374,
        alpha: float = 0.1,
        eta: float = 0.1,
        passes: int = 1,
        batch_size: int = 128,
        ridges: tuple[float, ...] = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3),
        estep_tol: float = 1e-2,
        estep_max_iter: int = 50,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.eta = eta
        self.passes = passes
        self.batch_size = batch_size
        self.ridges = ridges
        self.estep_tol = estep_tol
        self.estep_max_iter = estep_max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, bags: Bags) -> None:
        check_numbers(self, BOUNDS)
        ridges = _checked_ridges(self.ridges)
        n_threads = lda.threads(self.n_jobs)
        counts = lda.picture_counts(bags)
        self.topics_ = self._learn_topics(counts, n_threads)
        shares = self._shares(counts, n_threads)
        targets = imputed_tags(bags.captions, bags.unknown).toarray().astype(np.float64)
        regression = best_ridge(np.sqrt(shares), targets, ridges)
        self.coef_, self.intercept_, self.ridge_, self.errors_ = regression

    def _learn_topics(self, counts: Counts, n_threads: int) -> Floats:
        """Return the topics after all passes; each batch moves them by ρ_t towards its own estimate."""
        rng = check_random_state(self.random_state)
        mu = rng.gamma(100.0, 0.01, (self.n_topics, counts.shape[1]))
        n_pictures, batch = counts.shape[0], 0
        for _ in range(self.passes):
            order = rng.permutation(n_pictures)
            for start in range(0, n_pictures, self.batch_size):
                part = counts[order[start : start + self.batch_size]]
                step = (DELAY + batch) ** -DECAY
                sums = self._explain(part, mu, n_threads)[1]
                mu = (1 - step) * mu + step * (self.eta + n_pictures / part.shape[0] * sums)
                batch += 1
        return np.asarray(mu)

    def _explain(self, counts: Counts, mu: Floats, n_threads: int) -> tuple[Floats, Floats]:
        """Return the posterior γ of these pictures' shares, and Σ x φ, topics × words."""
        words = np.exp(np.ascontiguousarray(Multinomial(mu, self.eta, n_threads=n_threads).E_log_beta.T))
        gamma: Floats = np.ones((counts.shape[0], len(mu)))
        weights, ratios = np.empty_like(gamma), np.empty(counts.nnz)
        settings = (self.alpha, self.estep_tol, int(self.estep_max_iter))
        topics.infer_documents(rows_of(counts), words, *settings, gamma, weights, ratios, n_threads)
        scaled = type(counts)((ratios, counts.indices, counts.indptr), shape=counts.shape)
        return gamma, np.ascontiguousarray((words * (scaled.T @ weights)).T)

    def _shares(self, counts: Counts, n_threads: int) -> Floats:
        gamma = self._explain(counts, self.topics_, n_threads)[0]
        return gamma / gamma.sum(axis=1, keepdims=True)

    def _scores(self, bags: Bags) -> Floats:
        shares = self._shares(lda.picture_counts(bags), lda.threads(self.n_jobs))
        return np.sqrt(shares) @ self.coef_ + self.intercept_

    def _check_state(self) -> None:
        check_numbers(self, BOUNDS)


class Ridge(NamedTuple):
    """A linear map, its ridge, and the leave-one-out error of every candidate ridge."""

    coef: Floats
    intercept: Floats
    ridge: float
    errors: Floats


def best_ridge(features: Floats, targets: Floats, ridges: tuple[float, ...]) -> Ridge:
    """Return the ridge regression with the least squared leave-one-out error, intercept not shrunk.

    The leave-one-out residual of a row is its residual divided by 1 − h, h its leverage.

    >>> best_ridge(np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [2.0]]), (1e-9, 1.0)).ridge
    1e-09
    """
    centre, mean = features.mean(axis=0), targets.mean(axis=0)
    U, s, V = np.linalg.svd(features - centre, full_matrices=False)
    inside = U.T @ (targets - mean)
    errors = np.empty(len(ridges))
    for i, ridge in enumerate(ridges):
        kept = s**2 / (s**2 + ridge)
        left = np.maximum(1 - (U**2) @ kept - 1 / len(features), 1e-12)  # 0 for a row alone in its direction
        residuals = targets - mean - U @ (kept[:, None] * inside)
        errors[i] = np.mean((residuals / left[:, None]) ** 2)
    ridge = ridges[int(np.argmin(errors))]
    coef = V.T @ ((s / (s**2 + ridge))[:, None] * inside)
    return Ridge(coef, mean - centre @ coef, float(ridge), errors)


def _checked_ridges(ridges: Any) -> tuple[float, ...]:
    good = isinstance(ridges, tuple | list) and len(ridges) > 0
    if not good or not all(is_number(r, 1e-12, 1e12) for r in ridges):
        raise ParameterError(
            f"ridges must be at least one number above 0, got {ridges!r:.60}: pass e.g. (1.0, 10.0)."
        )
    return tuple(float(r) for r in ridges)
