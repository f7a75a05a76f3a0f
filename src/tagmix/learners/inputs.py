"""What learners accept: Bags, or the matrices that scikit-learn users have."""

import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from tagmix.arrays import is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError
from tagmix.labels import tags_by_name

# The model itself: μ, its statistics and E[log β], tags × words each.
MOST_BYTES = 64.0 * 2**30


def as_bags(estimator: Any, X: Any, y: Any = None, reset: bool = False) -> Bags:
    """Return Bags: as they are, or one region per picture from a counts matrix (pictures × words).

    ``y`` gives or replaces the captions: pictures × tags of 0 and 1, a list of names per picture, or
    one label per picture. With ``reset`` the tags are those in y, without it those that the estimator
    knows.
    """
    tags, names = (None, None) if y is None else _indicator(y, None if reset else estimator.tag_names_)
    if isinstance(X, Bags):
        if reset:  # what a fit to a matrix has left
            vars(estimator).pop("n_features_in_", None)
            vars(estimator).pop("feature_names_in_", None)
        _check_as_many(len(X), tags)
        return X if y is None else X.with_tags(tags, names)
    matrix = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_non_negative=True
    )
    if reset and y is None:  # in scikit-learn's words
        raise BagsError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: pass pictures "
            "× tags, or one label per picture."
        )
    _check_as_many(matrix.shape[0], tags)
    return Bags(csr_array(matrix), np.arange(matrix.shape[0] + 1), tags, names)


def _check_as_many(n_pictures: int, tags: Any) -> None:
    if tags is not None and tags.shape[0] != n_pictures:
        raise BagsError(
            f"X and y must have one row per picture, got {n_pictures} and {tags.shape[0]} rows: inconsistent "
            "numbers of samples."
        )


def _indicator(y: Any, known: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Return pictures × tags, and the names of the tags: ``known``, else those of the labels."""
    y, own = tags_by_name(y, known)
    try:
        tags: Any = y if is_sparse(y) else np.asarray(y)
    except ValueError as error:
        raise BagsError(
            "y must be pictures × tags, lists of names or labels, got rows of unequal length: see "
            "sklearn.preprocessing.MultiLabelBinarizer."
        ) from error
    if tags.ndim == 2:
        return tags, own if own and len(own) == tags.shape[1] else None
    if tags.dtype.kind == "f" and not np.all(np.isfinite(tags)):
        raise BagsError(
            "y must hold labels, got NaN or infinity (Unknown label type): leave these pictures out."
        )
    check_classification_targets(tags)
    names = [str(label) for label in np.unique(tags)] if known is None else list(known)
    column_of = {name: column for column, name in enumerate(names)}
    labels = [str(label) for label in tags]
    unknown = [label for label in labels if label not in column_of]
    if unknown:
        raise BagsError(
            f"y must hold labels that the model was fitted with, got {unknown[0]!r}: leave these pictures "
            "out, or fit with them."
        )
    indicator = np.zeros((len(labels), len(names)), dtype=bool)
    indicator[np.arange(len(labels)), [column_of[label] for label in labels]] = True
    return indicator, names


def check_vocabulary(bags: Bags, widths: dict[str, int], dense: Collection[str] = ()) -> None:
    """Refuse bags that were described otherwise than the model's; the views in ``dense`` are embeddings."""
    for view, width in widths.items():
        if view not in bags.views:
            raise BagsError(
                f"the model reads the view {view!r}, these bags have {sorted(bags.views)}: describe them as "
                "the training pictures were."
            )
        got = bags.views[view].shape[1]
        if view in dense and is_sparse(bags.views[view]):
            raise BagsError(
                f"the model reads embeddings in view {view!r}, these bags have word counts: describe them as "
                "the training pictures were."
            )
        if view not in dense and not is_sparse(bags.views[view]):
            raise BagsError(
                f"the model reads word counts in view {view!r}, these bags have dense floats: pass whole "
                "numbers (counts.astype(int)) or a sparse matrix."
            )
        if got != width:
            what = "dimensions" if view in dense else "words"
            raise BagsError(
                f"the model has {width} {what} in view {view!r}, these bags have {got}: describe them with "
                "the vocabulary of the training pictures."
            )


def check_tags(bags: Bags, names: Sequence[str]) -> None:
    """Refuse bags that were captioned by other tags than the model's, or in another order."""
    if bags.tags is None:
        raise BagsError(
            "these bags have no tags, and this call reads them: pass `tags` when making them, or `with_tags`."
        )
    if bags.n_tags != len(names):
        raise BagsError(
            f"the model has {len(names)} tags, these bags have {bags.n_tags}: use those of the training."
        )
    own = bags.tag_names or ()
    for column, (expected, got) in enumerate(zip(names, own, strict=True)):
        if expected != got:
            raise BagsError(
                f"the model's tag {column} is {expected!r}, that of these bags {got!r}: use the tags of the "
                "training in their order."
            )


def useful_pictures(bags: Bags) -> Any:
    """Return which pictures have both tags and regions; the others teach nothing and are left out."""
    return (np.diff(bags.captions.indptr) > 0) & (np.diff(bags.offsets) > 0)


def check_trainable(bags: Bags) -> None:
    """Refuse bags that teach nothing, and warn of tags that every picture has."""
    if not len(bags):
        raise BagsError("at least one picture is needed to learn from, got bags of 0 pictures: pass some.")
    if bags.tags is None or not bags.tags.nnz:
        raise BagsError(
            "no picture has a tag, so there is nothing to learn from: pass bags with `tags`, or y."
        )
    if bags.n_tags < 2:
        raise BagsError(f"at least 2 tags are needed to tell apart, got {bags.n_tags} (1 class): add tags.")
    for view, counts in bags.views.items():
        if counts.shape[1] < 1 or 24.0 * bags.n_tags * counts.shape[1] > MOST_BYTES:
            raise BagsError(
                f"view {view!r} must have at least one word, and {bags.n_tags:,} tags × "
                f"{counts.shape[1]:,} words must fit into {MOST_BYTES / 2**30:.0f} GiB three times: use a "
                "smaller vocabulary or fewer tags."
            )
    useful = useful_pictures(bags)
    if not useful.any():
        raise BagsError(
            "no tagged picture has a region, so there is nothing to learn from: describe them first."
        )
    _warn_of_constant_tags(bags if useful.all() else bags[useful])


def _warn_of_constant_tags(bags: Bags) -> None:
    per_tag = np.bincount(bags.captions.indices, minlength=bags.n_tags)
    everywhere = np.flatnonzero(per_tag == len(bags))
    if len(everywhere) and len(bags) > 1 and bags.tag_names is not None:
        names = ", ".join(repr(bags.tag_names[i]) for i in everywhere[:3])
        warnings.warn(
            f"{len(everywhere)} tag(s) are on every picture ({names}) and cannot be distinguished: "
            "leave them out with bags.select_tags, or add pictures without them.",
            UserWarning,
            stacklevel=4,
        )
