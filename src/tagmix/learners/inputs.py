"""What learners accept: Bags, or the matrices that scikit-learn users have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from tagmix.arrays import Floats, is_sparse
from tagmix.bag_checks import tags_by_name
from tagmix.bags import Bags
from tagmix.errors import BagsError

# Only ratios of rates matter; twelve orders of magnitude either way are more than any album has.
RATES = (1e-12, 1e12)


def as_bags(estimator: Any, X: Any, y: Any = None, reset: bool = False) -> Bags:
    """Return Bags: as they are, or one region an image from a counts matrix (images × words).

    ``y`` gives or replaces the captions: images × tags of 0 and 1, a list of names for each image, or
    one label an image. With ``reset`` the tags are those in y, without it those that the estimator
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
            f"{type(estimator).__name__} requires y to be passed, but the target y is None: pass images "
            "× tags, or a label an image."
        )
    _check_as_many(matrix.shape[0], tags)
    return Bags(csr_array(matrix), np.arange(matrix.shape[0] + 1), tags, names)


def _check_as_many(n_images: int, tags: Any) -> None:
    if tags is not None and tags.shape[0] != n_images:
        raise BagsError(
            f"X and y must have one row an image, got {n_images} and {tags.shape[0]} rows: inconsistent "
            "numbers of samples."
        )


def _indicator(y: Any, known: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Return images × tags, and the names of the tags: ``known``, else those of the labels."""
    y, own = tags_by_name(y, known)
    try:
        tags: Any = y if is_sparse(y) else np.asarray(y)
    except ValueError as error:
        raise BagsError(
            "y must be images × tags, lists of names or labels, got rows of unequal length: see "
            "sklearn.preprocessing.MultiLabelBinarizer."
        ) from error
    if tags.ndim == 2:
        return tags, own if own and len(own) == tags.shape[1] else None
    if tags.dtype.kind == "f" and not np.all(np.isfinite(tags)):
        raise BagsError(
            "y must hold labels, got NaN or infinity (Unknown label type): leave these images out."
        )
    check_classification_targets(tags)
    names = [str(label) for label in np.unique(tags)] if known is None else list(known)
    column_of = {name: column for column, name in enumerate(names)}
    labels = [str(label) for label in tags]
    unknown = [label for label in labels if label not in column_of]
    if unknown:
        raise BagsError(
            f"y must hold labels that the model was fitted with, got {unknown[0]!r}: leave these images out, "
            "or fit with them."
        )
    indicator = np.zeros((len(labels), len(names)), dtype=bool)
    indicator[np.arange(len(labels)), [column_of[label] for label in labels]] = True
    return indicator, names


def word_views(bags: Bags) -> list[str]:
    """Return the names of the views that hold word counts; the others are dense.

    >>> word_views(Bags({"sift": np.ones((1, 2), int), "network": np.ones((1, 2))}, [0, 1]))
    ['sift']
    """
    return [name for name, view in bags.views.items() if is_sparse(view)]


def check_vocabulary(bags: Bags, widths: dict[str, int]) -> None:
    """Refuse bags that were described by other words than the model's."""
    for view, width in widths.items():
        if view not in bags.views:
            raise BagsError(
                f"the model reads the view {view!r}, these bags have {sorted(bags.views)}: describe them as "
                "the training images were."
            )
        got = bags.views[view].shape[1]
        if not is_sparse(bags.views[view]):
            raise BagsError(
                f"the model reads word counts in view {view!r}, these bags have dense floats: pass whole "
                "numbers (counts.astype(int)) or a sparse matrix."
            )
        if got != width:
            raise BagsError(
                f"the model knows {width} words in view {view!r}, these bags have {got}: describe them with "
                "the vocabulary of the training images."
            )


def check_tags(bags: Bags, names: Sequence[str]) -> None:
    """Refuse bags that were captioned by other tags than the model's, or in another order."""
    if bags.tags is None:
        raise BagsError(
            "these bags have no tags, and this call reads them: pass `tags` when making them, or `with_tags`."
        )
    if bags.n_tags != len(names):
        raise BagsError(
            f"the model knows {len(names)} tags, these bags carry {bags.n_tags}: use those of the training."
        )
    own = bags.tag_names or ()
    for column, (expected, got) in enumerate(zip(names, own, strict=True)):
        if expected != got:
            raise BagsError(
                f"the model's tag {column} is {expected!r}, that of these bags {got!r}: use the tags of the "
                "training in their order."
            )


def check_rates(rates: Any, n_images: int, n_tags: int) -> Floats | None:
    """Return per-image prior rates as images × tags, all positive."""
    if rates is None:
        return None
    array = np.asarray(rates)
    fits = array.shape == (n_images, n_tags) and array.dtype.kind in "uif"
    if not fits or not np.all((array >= RATES[0]) & (array <= RATES[1])):
        raise BagsError(
            f"rates must be numbers from {RATES[0]:g} to {RATES[1]:g}, a row an image and a column a tag "
            f"({n_images} × {n_tags}), got {array.dtype} {array.shape}: check rows, columns and scale."
        )
    return np.ascontiguousarray(array, dtype=np.float64)
