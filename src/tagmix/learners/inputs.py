"""What learners accept: Bags, or the matrices that scikit-learn users have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from tagmix.arrays import Floats, is_sparse
from tagmix.bags import Bags
from tagmix.errors import BagsError


def as_bags(estimator: Any, X: Any, y: Any = None, reset: bool = False) -> Bags:
    """Return Bags: as they are, or one region an image from a counts matrix (images × words).

    ``y`` gives or replaces the captions: images × tags of 0 and 1, or one label an image. With
    ``reset`` the tags are those in y, without it those that the estimator knows.
    """
    tags, names = (None, None) if y is None else _indicator(y, None if reset else estimator.tag_names_)
    if isinstance(X, Bags):
        if reset:  # what a fit to a matrix has left
            vars(estimator).pop("n_features_in_", None)
            vars(estimator).pop("feature_names_in_", None)
        return X if y is None else X.with_tags(tags, names)
    matrix = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_non_negative=True
    )
    if tags is not None and tags.shape[0] != matrix.shape[0]:
        raise BagsError(
            f"X and y must have one row an image, got {matrix.shape[0]} and {tags.shape[0]} rows: "
            "inconsistent numbers of samples."
        )
    return Bags(csr_array(matrix), np.arange(matrix.shape[0] + 1), tags, names)


def _indicator(y: Any, known: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """Return images × tags, and the names of the tags: ``known``, else those of the labels."""
    try:
        tags: Any = y if is_sparse(y) else np.asarray(y)
    except ValueError as error:
        raise BagsError(
            "y must be images × tags or labels, got rows of unequal length: binarise it."
        ) from error
    if tags.ndim == 2:
        return tags, known if known and len(known) == tags.shape[1] else None
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


def check_vocabulary(bags: Bags, widths: dict[str, int]) -> None:
    """Refuse bags that were described by other words than the model's."""
    for view, width in widths.items():
        if view not in bags.views:
            raise BagsError(
                f"the model reads the view {view!r}, these bags have {sorted(bags.views)}: describe them as "
                "the training images were."
            )
        got = bags.views[view].shape[1]
        if got != width:
            raise BagsError(
                f"the model knows {width} words in view {view!r}, these bags have {got}: describe them with "
                "the vocabulary of the training images."
            )


def check_tags(bags: Bags, names: Sequence[str]) -> None:
    """Refuse bags that were captioned by other tags than the model's, or in another order."""
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
    array = np.ascontiguousarray(rates, dtype=np.float64)
    if array.shape != (n_images, n_tags) or not np.all(array > 0) or not np.all(np.isfinite(array)):
        raise BagsError(
            f"rates must be positive and finite, a row an image and a column a tag ({n_images} × {n_tags}), "
            f"got shape {array.shape}: check the rows and the tag columns."
        )
    return array
