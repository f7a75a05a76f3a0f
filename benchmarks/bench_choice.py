"""Settings chosen by captions beside those by region labels: instance models, their κ and the power τ.

Needs MSRC v2 as `tagmix reproduce flagship` describes it, in the folder of TAGMIX_REPRODUCED (or
reproduce-out). EMM with context chooses by captions of training pictures. Then every setting that its search
tried is fitted, at every τ, and scored by the labels of the test pictures' regions.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from tagmix.learners.context.agreement import POWERS
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix import ContextEMM
from tagmix.arrays import Floats
from tagmix.comparison.measure import region_ranks
from tagmix.comparison.parts import DataPart, load_part
from tagmix.comparison.variations import with_views
from tagmix.images.views import PICTURE_VIEWS, REGION_VIEWS

DATA, NAME = Path(os.environ.get("TAGMIX_REPRODUCED", "reproduce-out")) / "data", "msrc_v2_rich"
OWN = (*REGION_VIEWS, *PICTURE_VIEWS)
FOLDS = 2
POINTS = 3.0  # at most so far behind the best, in hundredths


def missing() -> str:
    """Return the missing data."""
    there = (DATA / NAME / "about.json").is_file()
    return "" if there else f"{DATA / NAME} is not there: run tagmix reproduce flagship with MSRC v2"


def run() -> list[dict[str, Any]]:
    """Return a row for words, and one with network features if there are any."""
    first = load_part(DATA, NAME, 0)
    every = (*first.train.views, *first.train.pictures)
    own = tuple(view for view in every if view in OWN)
    with threadpool_limits(limits=1, user_api="blas"):
        return [row for views in dict.fromkeys([own, every]) for row in _rows(views)]


def _rows(views: tuple[str, ...]) -> list[dict[str, Any]]:
    chosen, best, settings = np.zeros(2), np.zeros(2), 0
    for fold in range(FOLDS):
        ours, found = _fold(with_views(load_part(DATA, NAME, fold), views), f"{len(views)} views, {fold}")
        chosen += ours / FOLDS
        best += found.max(axis=0) / FOLDS
        settings += len(found)
    told = "words and layout" if set(views) <= {*OWN} else "words, layout and a network"
    return [
        {
            "what": f"regions of MSRC v2 by {told}, {caption}",
            "ours": f"{chosen[i]:.3f} chosen by captions",
            "peer": f"{best[i]:.3f} best of {settings // FOLDS} by labels",
            "ratio": 100 * (best[i] - chosen[i]),
            "limit": POINTS,
            "unit": "points",
        }
        for i, caption in enumerate(("no caption", "caption given"))
    ]


def _fold(part: DataPart, told: str) -> tuple[Floats, Floats]:
    """Return the shares of right regions without and with captions: as chosen, and of all tried."""
    model = ContextEMM().fit(part.train)
    ours, choice = _shares(model, part), model.choice_
    found = [ours]
    for setting, _ in track(choice.tried if choice else (), told, console=Console(stderr=True)):
        model.set_params(evidence={name: kappa for name, kappa in setting.items() if kappa}).fit(part.train)
        for power in POWERS:
            model.power_ = power
            found.append(_shares(model, part))
    return ours, np.array(found)


def _shares(emm: ContextEMM, part: DataPart) -> Floats:
    regions = region_ranks(emm, part)
    if regions is None:
        raise ValueError("regions of the test pictures must have labels")
    return np.array([np.mean(np.array(places) == 1) for places in (regions.free, regions.captioned)])
