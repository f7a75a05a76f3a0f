"""What captions can add to the regions of drawn scenes: `ContextEMM`, and models that learn from true tags.

Needs the drawn scenes of `tagmix reproduce openworld`, in the folder of TAGMIX_REPRODUCED (or reproduce-out).
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix import Bags, ContextEMM
from tagmix.arrays import Floats, Ints, is_sparse
from tagmix.comparison.parts import load_part
from tagmix.comparison.region_truth import picture_truth, see
from tagmix.datasets import open_album
from tagmix.evaluation.regions import NONE, UNKNOWN, region_accuracy, region_names
from tagmix.images.describe import Describer
from tagmix.learners.linear import picture_of

OUT = Path(os.environ.get("TAGMIX_REPRODUCED", "reproduce-out"))
NAME = "scenes_open"
# Of a tag outside the caption, relative to one in it, of which the true tags of test regions choose.
WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0)
ASKED = 0.06  # what captions were to add


class Named(NamedTuple):
    """Shares of regions without a caption, with the caption, and with the tags that the regions have."""

    free: Floats
    captioned: Floats
    exact: Floats


def missing() -> str:
    """Return the missing data."""
    there = (OUT / "data" / NAME / "about.json").is_file() and (OUT / "scenes").is_dir()
    return "" if there else f"{OUT} has no drawn scenes: run tagmix reproduce openworld"


def run() -> list[dict[str, Any]]:
    """Return a row per model, and what captioned errors are."""
    part = load_part(OUT / "data", NAME, 0)
    exact = _with_exact(part.test, part.truth)
    with threadpool_limits(limits=1, user_api="blas"):
        model = ContextEMM(n_jobs=1).fit(part.train)
        own = Named(
            model.predict_regions(part.test.with_tags(None)),
            model.predict_regions(part.test, captioned=True),
            model.predict_regions(exact, captioned=True),
        )
        told = _taught(part.train, _truth_of(part.train), part.test, part.truth, exact)
    return [
        _row("EMM with context", own, part.truth),
        _row("logistic regression on true tags", told, part.truth, limit=ASKED),
        *_errors(own.captioned, part.test, part.truth),
    ]


def _row(what: str, named: Named, truth: Ints, **more: Any) -> dict[str, Any]:
    right = [region_accuracy(truth, shares) for shares in named]
    said = f"free {right[0]:.3f}, captioned {right[1]:.3f}, exact captions {right[2]:.3f}"
    return {"what": what, "ours": said, "ratio": right[1] - right[0], "unit": "added", **more}


def _errors(shares: Floats, test: Bags, truth: Ints) -> list[dict[str, Any]]:
    """Return which of the captioned regions that are wrong have which reason, as shares of all regions."""
    named, known = region_names(shares), truth != UNKNOWN
    wrong = known & (named != truth)
    given = test.captions.toarray()[picture_of(test), np.maximum(truth, 0)] > 0
    kinds = {
        "true tag is not in the caption": wrong & ~given,
        "true tag is in the caption, called none": wrong & given & (named == NONE),
        "true tag is in the caption, another is chosen": wrong & given & (named != NONE),
    }
    return [
        {"what": f"wrong: {kind}", "ours": f"{own.sum() / known.sum():.3f}", "ratio": None}
        for kind, own in kinds.items()
    ]


def _with_exact(bags: Bags, truth: Ints) -> Bags:
    """Return the pictures with the tags that their regions have, and no others."""
    kept = np.flatnonzero(truth >= 0)
    pairs = (np.ones(len(kept)), (picture_of(bags)[kept], truth[kept]))
    tags = csr_array(pairs, shape=(len(bags), bags.n_tags)).toarray() > 0
    return bags.with_tags(tags.astype(int), bags.tag_names)


def _truth_of(bags: Bags) -> Ints:
    """Return the column of each region's tag, ``UNKNOWN`` where a picture is cut differently."""
    album, sampling = open_album(OUT / "scenes"), Describer(network=None).config
    items = {str(item.image): item for item in album}
    column = {tag: number for number, tag in enumerate(bags.tag_names or ())}
    parts = []
    for place, size in zip(bags.ids, np.diff(bags.offsets), strict=True):
        item = items[place]
        tags = picture_truth(album, item, see(item.image, sampling)).tags
        own = [column.get(tag or "", UNKNOWN) for tag in tags]
        parts.append(np.array(own if len(own) == size else [UNKNOWN] * size, dtype=np.int64))
    return np.concatenate(parts)


def _taught(train: Bags, labels: Ints, test: Bags, truth: Ints, exact: Bags) -> Named:
    """Return shares by a logistic regression that has seen the true tags of training regions."""
    known = labels >= 0
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200, tol=1e-3))
    model.fit(_features(train)[known], labels[known])
    shares = np.zeros((test.n_regions, test.n_tags))
    shares[:, model.classes_] = model.predict_proba(_features(test))
    captioned = max(
        (_within(shares, test, weight) for weight in WEIGHTS), key=lambda own: region_accuracy(truth, own)
    )
    return Named(shares, captioned, _within(shares, exact, 0.0))


def _features(bags: Bags) -> Floats:
    return np.hstack([view for view in bags.views.values() if not is_sparse(view)]).astype(np.float32)


def _within(shares: Floats, bags: Bags, weight: float) -> Floats:
    """Return shares, those of tags outside the caption times the weight; without any, as they are."""
    inside = bags.captions.toarray()[picture_of(bags)] > 0
    own = np.where(inside, shares, weight * shares)
    total = own.sum(axis=1, keepdims=True)
    scaled: Floats = np.where(total > 0, own / np.where(total > 0, total, 1.0), shares)
    return scaled
