"""What ``EMM`` and ``ContextEMM`` share: one pass explains all regions, every prediction is a view of it."""

import difflib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tagmix.arrays import Floats, Ints
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation import metrics
from tagmix.learners import serialise
from tagmix.learners.base import BagsEstimator, best_region_tags
from tagmix.learners.calibrate import Calibration
from tagmix.learners.checks import check_number
from tagmix.learners.em import shard_size
from tagmix.learners.explain import Explainer, Explanation
from tagmix.learners.inputs import as_bags, check_tags, check_vocabulary
from tagmix.learners.parameters import check_n_jobs, n_threads_of, rewired
from tagmix.model.estep import Posterior
from tagmix.model.params import Instances, Settings, dense_views


class Explained(NamedTuple):
    """One shard after the pass: which pictures and regions, φ, and what pictures are ranked by.

    ``features``, pictures × tags each, are what scores and probabilities are computed from. ``log_shares``
    are the log prior shares of the pictures' tags; None where all pictures have one prior.
    """

    pictures: slice
    regions: slice
    phi: Floats
    features: list[Floats]
    log_shares: Floats | None = None


class MixtureEstimator(BagsEstimator, ABC):
    """An estimator that explains every region by one tag; subclasses learn, and explain one shard."""

    SCHEMA: ClassVar[dict[str, Any]] = {}
    reads_dense: ClassVar[bool] = True
    memory_mb: float
    n_jobs: int | None
    calibration_: Calibration | None
    settings_: Settings
    tag_names_: tuple[str, ...]
    widths_: dict[str, int]

    @abstractmethod
    def _instances(self) -> Instances:
        """Return the fitted instance models."""

    @abstractmethod
    def _explain(self, bags: Bags) -> Iterator[Explained]:
        """Yield shard after shard of uncaptioned pictures, explained."""

    @abstractmethod
    def _explain_captioned(self, shard: Bags) -> Posterior:
        """Return q of a shard whose captions are used."""

    @abstractmethod
    def _scores(self, features: list[Floats]) -> Floats:
        """Return what pictures are ranked by, from the features of one shard: positive, pictures × tags."""

    def _ranked(self, bags: Bags) -> Iterator[tuple[slice, list[Floats]]]:
        """Yield pictures and what they are ranked by; a subclass may know without explaining the regions."""
        return ((part.pictures, part.features) for part in self._explain(bags))

    def _probabilities(self, features: list[Floats]) -> Floats:
        """Return calibrated probabilities from the features of one shard."""
        return self._calibrated().probabilities(features)

    def predict_proba(self, X: Any) -> Floats:
        """Return the ranking scores of tags, pictures × tags, rows summing to 1.

        For the probability that a tag is right, see ``predict_marginals``.
        """
        bags = self._checked(X)
        scores = np.empty((len(bags), len(self.tag_names_)))
        for pictures, features in self._ranked(bags):
            scores[pictures] = self._scores(features)
        return scores / scores.sum(axis=1, keepdims=True)

    def predict_marginals(self, X: Any) -> Floats:
        """Return the calibrated probability of each tag, pictures × tags: .8 is right 8 times in 10."""
        bags = self._checked_for_probabilities(X)
        out = np.empty((len(bags), len(self.tag_names_)))
        for pictures, features in self._ranked(bags):
            out[pictures] = self._probabilities(features)
        return out

    def predict_both(self, X: Any) -> tuple[Floats, Floats]:
        """Return ``predict_marginals`` and ``predict_regions`` from one pass over the regions."""
        bags = self._checked_for_probabilities(X)
        marginals = np.empty((len(bags), len(self.tag_names_)))
        regions = np.empty((bags.n_regions, len(self.tag_names_)))
        for part in self._explain(bags):
            marginals[part.pictures] = self._probabilities(part.features)
            regions[part.regions] = part.phi
        return marginals, regions

    def predict(self, X: Any, precision: float | None = None) -> Ints:
        """Return the tags to show, pictures × tags of 0 and 1, by the rule of ``learners.shown``.

        ``precision`` shows as many tags as possible of which this share is expected to be right instead.
        """
        p = self.predict_marginals(X)
        return self._calibrated().shown(p, precision).astype(np.int64)

    def top_tags(self, X: Any, k: int = 5, *, balanced: bool = False) -> Ints:
        """Return the indices of the k best tags per picture, best first, by ``balanced_scores`` if asked."""
        return metrics.top_tags((self.balanced_scores if balanced else self.predict_proba)(X), k)

    def balanced_scores(self, X: Any) -> Floats:
        """Return scores, pictures × tags, by which rare tags count as much as frequent ones."""
        return self.predict_marginals(X) * self._calibrated().rare_tag_weights

    def predict_regions(self, X: Any, captioned: bool = False) -> Floats:
        """Return p(z), regions × tags; ``captioned`` uses the pictures' own tags.

        Rows sum to at most 1: the rest is the share of none of the tags. The answer takes 8 bytes × regions
        × tags; ``top_region_tags`` does not.
        """
        bags = self._checked(X)
        out = np.empty((bags.n_regions, len(self.tag_names_)))
        for regions, phi in self._phi(bags, captioned):
            out[regions] = phi
        return out

    def top_region_tags(self, X: Any, k: int = 1, captioned: bool = False) -> Ints:
        """Return the indices of the k best tags per region, best first.

        The row of a region of which none of the tags holds more than the best tag is −1 throughout.
        """
        bags = self._checked(X)
        metrics.check_k(k)
        out = np.empty((bags.n_regions, min(k, len(self.tag_names_))), dtype=np.int64)
        for regions, phi in self._phi(bags, captioned):
            out[regions] = best_region_tags(phi, k)
        return out

    def _phi(self, bags: Bags, captioned: bool) -> Iterator[tuple[slice, Floats]]:
        if captioned:
            check_tags(bags, self.tag_names_)
        for part in self._explain(bags):
            if captioned:
                shard = bags[part.pictures]
                overwrite_captioned(part.phi, shard, self._explain_captioned(shard))
            yield part.regions, part.phi

    def explain(self, X: Any, tag: str | int, n_words: int = 10) -> list[Explanation]:
        """Return, per picture, how much its regions, their words and its context contribute to ``tag``."""
        bags = self._checked(X)
        column = tag_column(self.tag_names_, tag)
        check_number("n_words", n_words, 0, 10**9, whole=True, way_out="the default is 10.")
        explainer = Explainer(self._instances(), self.settings_, column, self.tag_names_[column])
        answers = []
        for part in self._explain(bags):
            answers += explainer.explain_shard(bags[part.pictures], part.phi, part.log_shares, n_words)
        return answers

    def score(self, X: Any, y: Any = None) -> float:
        """Return the top-k accuracy (``tagmix.top_k_accuracy``) against the bags' own tags, or ``y``.

        k is ``default_k``: 5, or half of the model's tags where they are fewer than 10.
        """
        check_is_fitted(self)
        bags = as_bags(self, X, y)
        check_tags(bags, self.tag_names_)
        scores = self.predict_proba(bags)
        k = metrics.default_k(len(self.tag_names_))
        return metrics.top_k_accuracy(bags.tags, scores, k, bags.unknown)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``n_jobs`` of a fitted model takes effect at once, and changes no result."""
        super().set_params(**params)
        if "n_jobs" in params and hasattr(self, "settings_"):
            check_n_jobs(self.n_jobs)
            state = rewired_state(dict(vars(self)), self.settings_.kernels, n_threads_of(self.n_jobs))
            for name, value in state.items():
                setattr(self, name, value)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the kernels by name: a pickle holds no modules."""
        state: dict[str, Any] = super().__getstate__()
        if "settings_" not in state:
            return state
        settings = state["settings_"]
        return {**state, **rewired_state(state, settings.kernels.__name__, settings.n_threads)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "settings_" in state:
            settings = state["settings_"]
            state = {**state, **rewired_state(state, import_module(settings.kernels), settings.n_threads)}
        super().__setstate__(state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model into one file, safe to open from a stranger; ``tagmix.load`` reads it."""
        check_is_fitted(self)
        serialise.save(self, Path(path))

    def _dense_views(self) -> tuple[str, ...]:
        """Return the views of embeddings that the model reads."""
        return dense_views(self._instances())

    def _checked(self, X: Any) -> Bags:
        check_is_fitted(self)
        bags = as_bags(self, X)
        check_vocabulary(bags, self.widths_, self._dense_views())
        return bags

    def _checked_for_probabilities(self, X: Any) -> Bags:
        check_is_fitted(self)
        self._calibrated()
        return self._checked(X)

    def _calibrated(self) -> Calibration:
        if self.calibration_ is None:
            raise ParameterError(
                "probabilities and thresholds were not learnt: fit with calibration_folds >= 2 on at least "
                "twice as many tagged pictures, or rank with top_tags."
            )
        return self.calibration_

    def _shards(self, bags: Bags) -> Iterator[tuple[slice, slice]]:
        """Yield slices of pictures, and of their regions, whose φ fits into memory."""
        size = shard_size(bags, False, self.memory_mb * 2**20, n_tags=len(self.tag_names_))
        for where in bags.shards(size):
            yield where, slice(int(bags.offsets[where.start]), int(bags.offsets[where.stop]))


def rewired_state(state: dict[str, Any], kernels: Any, n_threads: int) -> dict[str, Any]:
    """Return what changes in a fitted estimator's state where it computes by these kernels and threads."""
    model = "regions_" if "regions_" in state else "params_"
    settings = replace(state["settings_"], kernels=kernels, n_threads=n_threads)
    return {model: rewired(state[model], kernels, n_threads), "settings_": settings}


def overwrite_captioned(phi: Floats, shard: Bags, posterior: Posterior) -> None:
    """Replace the uncaptioned φ by the captioned one, for pictures that have a caption.

    ``phi`` has a column per tag, the posterior perhaps one more, of the background.
    """
    n_tags = phi.shape[1]
    if posterior.entries is None:
        tagged = np.repeat(np.diff(shard.captions.indptr) > 0, np.diff(shard.offsets))
        width = max(n_tags, len(posterior.S) // max(len(shard), 1))
        phi[tagged] = posterior.phi.reshape(-1, width)[tagged, :n_tags]
        return
    entries = posterior.entries
    for n in np.flatnonzero(np.diff(shard.captions.indptr)):
        own = entries.tags[entries.starts[n] : entries.starts[n + 1]]
        part = phi[shard.offsets[n] : shard.offsets[n + 1]]
        part[:] = 0.0
        block = posterior.phi[entries.block_starts[n] : entries.block_starts[n + 1]]
        block = block.reshape(len(part), len(own))
        part[:, own[own < n_tags]] = block[:, own < n_tags]


def tag_column(names: tuple[str, ...], tag: str | int) -> int:
    """Return the column of a tag given by name or index."""
    if isinstance(tag, str):
        if tag not in names:
            near = difflib.get_close_matches(tag, names)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "choose one of tag_names_."
            raise ParameterError(f"the tag must be one of the model's {len(names)}, got {tag!r}: {hint}")
        return names.index(tag)
    if not isinstance(tag, Integral) or isinstance(tag, bool) or not 0 <= tag < len(names):
        raise ParameterError(
            f"a tag must be a name or an index from 0 to {len(names) - 1}, got {tag!r}: see tag_names_."
        )
    return int(tag)
