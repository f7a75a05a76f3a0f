"""κ of embeddings as `ContextEMM` fixes it, beside the best κ by the labels of regions.

Needs the data sets of `tagmix reproduce openworld`, in the folder of TAGMIX_REPRODUCED (or reproduce-out).
"""

import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix import ContextEMM
from tagmix.comparison.parts import DataPart, load_part
from tagmix.evaluation.regions import region_accuracy
from tagmix.learners.context.regions import instance_names

DATA = Path(os.environ.get("TAGMIX_REPRODUCED", "reproduce-out")) / "data"
NAMES = {"msrc_v2_open_objects": "objects of MSRC v2", "coco_part_open": "coco_part"}
KAPPAS = (0.01, 0.03, 0.1, 0.3)
POINTS = 3.0  # at most so far behind the best, in hundredths


def missing() -> str:
    """Return the missing data."""
    there = [name for name in NAMES if (DATA / name / "about.json").is_file()]
    return "" if there else f"{DATA} has no data: run tagmix reproduce openworld with MSRC v2 or coco_part"


def run() -> list[dict[str, Any]]:
    """Return a row per data set, without and with captions."""
    there = [name for name in NAMES if (DATA / name / "about.json").is_file()]
    with threadpool_limits(limits=1, user_api="blas"):
        return [row for name in there for row in _rows(name)]


def _rows(name: str) -> list[dict[str, Any]]:
    part = load_part(DATA, name, 0)
    ours = _right(ContextEMM(), part)
    found = [_right(ContextEMM(evidence=_kappas(part, k)), part) for k in track(KAPPAS, name, console=ERR)]
    return [
        {
            "what": f"regions of {NAMES[name]}, none among the answers, {caption}",
            "ours": f"{ours[i]:.3f} by the fixed κ",
            "peer": f"{max(row[i] for row in found):.3f} best of {len(KAPPAS)} by labels",
            "ratio": 100 * (max(row[i] for row in found) - ours[i]),
            "limit": POINTS,
            "unit": "points",
        }
        for i, caption in enumerate(("no caption", "caption given"))
    ]


ERR = Console(stderr=True)


def _kappas(part: DataPart, kappa: float) -> dict[str, float]:
    return dict.fromkeys(instance_names(part.train), kappa)


def _right(emm: ContextEMM, part: DataPart) -> tuple[float, float]:
    """Return the share of right regions without and with captions."""
    fitted = emm.fit(part.train)
    free = fitted.predict_regions(part.test.with_tags(None))
    captioned = fitted.predict_regions(part.test, captioned=True)
    return region_accuracy(part.truth, free), region_accuracy(part.truth, captioned)
