"""Experts on whole pictures: they score new pictures, and training pictures by cross-validation."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import clone

from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.bags import Bags
from tagmix.errors import ParameterError
from tagmix.evaluation.folds import grouped_folds
from tagmix.learners.base import TagLearner
from tagmix.learners.context.expected import ExpectedTags
from tagmix.learners.pictures.kernel_ridge import KernelRidge
from tagmix.learners.pictures.knn import KNN
from tagmix.learners.pictures.linear_ranker import LinearRanker
from tagmix.learners.pictures.tagprop import TagProp
from tagmix.learners.pictures.topic_ridge import TopicRidge
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN
from tagmix.learners.targets import imputed_tags
from tagmix.learners.whole_pictures import whole_pictures

EXPERTS: dict[str, type[TagLearner]] = {
    "kernel": KernelRidge,
    "neighbours": KNN,
    "linear": LinearRanker,
    "expected": ExpectedTags,
}
# Learners that a model's file may hold as experts: every part of theirs can be checked.
_KINDS: tuple[type[TagLearner], ...] = (*EXPERTS.values(), TagProp, TopicRidge, TwoPassKNN)
EXPERT_KINDS = {kind.__name__: kind for kind in _KINDS}
# Shares of tags are about 1; beyond this squares of scores lose all digits.
LARGEST = 1e15
# Where leave-one-out has no closed form, a fifth of the pictures is left out at a time.
FOLDS = 5


class Regressor(TagLearner):
    """Any scikit-learn regressor of tags on whole pictures: roots of the words' shares, and embeddings."""

    reads_dense = True

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def _fit(self, bags: Bags) -> None:
        targets = imputed_tags(bags.captions, bags.unknown)
        self.fitted_ = clone(self.regressor).fit(_features(bags), targets.toarray().astype(np.float64))

    def _scores(self, bags: Bags) -> Floats:
        scores: Floats = np.asarray(self.fitted_.predict(_features(bags)), dtype=np.float64)
        if scores.shape != (len(bags), len(self.tag_names_)):
            raise ParameterError(
                f"a regressor of context must predict pictures × tags {(len(bags), len(self.tag_names_))}, "
                f"{type(self.regressor).__name__} gave {scores.shape}: wrap it in MultiOutputRegressor."
            )
        if not np.all(np.abs(scores) <= LARGEST):  # nan is not
            raise ParameterError(
                f"a regressor of context must predict numbers up to {LARGEST:g}, "
                f"{type(self.regressor).__name__} gave others: scale its inputs or choose another."
            )
        return scores


def _features(bags: Bags) -> Any:
    views: list[Any] = list(whole_pictures(bags, "hellinger").values())
    if all(is_sparse(view) for view in views):
        return csr_array(hstack(views, format="csr"))
    return np.hstack([view.toarray() if is_sparse(view) else view for view in views])


def experts_of(context: Any, random_state: Any) -> list[TagLearner]:
    """Return unfitted experts: of a name, a learner, a regressor, or of several of them."""
    several = context if isinstance(context, list | tuple) else (context,)
    if not several:
        raise ParameterError(
            'context must name at least one expert, got none: name one, for example "kernel".'
        )
    experts = [_expert(one, random_state) for one in several]
    if any(isinstance(expert, ExpectedTags) for expert in (experts[0], *experts[:-1])):
        raise ParameterError(
            'the expert "expected" reads what other experts say, and must be the last of two or more, got '
            f'{context!r:.60}: try ("kernel", "expected").'
        )
    return experts


def _expert(one: Any, random_state: Any) -> TagLearner:
    if isinstance(one, str) and one in EXPERTS:
        return EXPERTS[one](random_state=random_state)
    if isinstance(one, TagLearner):
        own: TagLearner = clone(one)
        return own
    if not isinstance(one, str | type) and hasattr(one, "fit") and hasattr(one, "predict"):
        return Regressor(clone(one))
    raise ParameterError(
        f"context must be one of {', '.join(EXPERTS)}, a learner over Bags, a scikit-learn regressor, or a "
        f"list of these, got {one!r:.60}: choose one, or use EMM, which has no context."
    )


def cross_validated_scores(
    expert: TagLearner, bags: Bags, rows: Ints, seed: int, groups: Ints, n_folds: int = FOLDS
) -> Floats:
    """Return scores of these training pictures by the expert without them: leave-one-out, or by folds.

    ``groups`` numbers the pictures, duplicates alike: a picture is left out together with its duplicates.
    """
    closed_form = getattr(expert, "left_out_scores", None)
    if closed_form is not None:
        scores: Floats = closed_form(bags, rows, groups)
        return scores
    out, place = np.empty((len(rows), bags.n_tags)), np.full(len(bags), -1)
    place[rows] = np.arange(len(rows))
    for train, test in grouped_folds(groups, n_folds, seed):
        unseen = test[place[test] >= 0]
        if len(unseen):
            out[place[unseen]] = clone(expert).fit(bags[train]).decision_scores(bags[unseen])
    return out
