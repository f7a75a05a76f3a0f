"""What learners accept: Bags, or the matrices that scikit-learn users have."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import validate_data

from tagmix.arrays import Floats
from tagmix.bags import Bags
from tagmix.errors import BagsError


def as_bags(estimator: Any, X: Any, y: Any = None, reset: bool = False) -> Bags:
    """Return Bags: as they are, or one region an image from a counts matrix (images × words).

    ``y`` gives or replaces the captions: images × tags of 0 and 1, or one label an image.
    """
    if isinstance(X, Bags):
        return X if y is None else X.with_tags(_indicator(y)[0])
    matrix = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_non_negative=True
    )
    if y is None:
        return Bags(csr_array(matrix), np.arange(matrix.shape[0] + 1))
    tags, names = _indicator(y)
    if tags.shape[0] != matrix.shape[0]:
        raise BagsError(
            f"X and y must have one row an image, got {matrix.shape[0]} and {tags.shape[0]} rows: "
            "inconsistent numbers of samples."
        )
    return Bags(csr_array(matrix), np.arange(matrix.shape[0] + 1), tags=tags, tag_names=names)


def _indicator(y: Any) -> tuple[Any, list[str] | None]:
    if issparse(y) or np.ndim(y) == 2:
        return y, None
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise BagsError("y must hold labels or 0 and 1, got NaN or infinity: Unknown label type.")
    encoder = LabelBinarizer().fit(labels)
    names = [str(name) for name in encoder.classes_]
    indicator = encoder.transform(labels)
    if indicator.shape[1] == 1 and len(names) == 2:  # LabelBinarizer gives two classes one column
        indicator = np.hstack([1 - indicator, indicator])
    return indicator, names


def check_vocabulary(bags: Bags, widths: dict[str, int], n_tags: int | None = None) -> None:
    """Refuse bags that were described by other words, or captioned by other tags, than the model's."""
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
    if n_tags is not None and bags.n_tags != n_tags:
        raise BagsError(
            f"the model knows {n_tags} tags, these bags carry {bags.n_tags}: use the columns of the training."
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
