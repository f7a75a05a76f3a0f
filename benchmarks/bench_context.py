"""The cost of EMM with context beside kernel ridge with its own search, in CPU seconds of one core.

On sampled words, and on photos described with the network if the data sets of `tagmix reproduce openworld`
are in the folder of TAGMIX_REPRODUCED (or reproduce-out).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.albums import corel_like
from tagmix import Bags
from tagmix.comparison.parts import load_part
from tagmix.learners import ContextEMM, KernelRidge

DATA = Path(os.environ.get("TAGMIX_REPRODUCED", "reproduce-out")) / "data"
NAMES = {"coco_part_open": "COCO photos", "corel5k_open": "Corel5k"}

N_TRAIN, N_TEST = 4500, 500
TIMES, MILLISECONDS = 3.0, 5.0


def run() -> list[dict[str, Any]]:
    """Return the cost of training, as a multiple of kernel ridge, and of annotation per picture."""
    bags = corel_like(N_TRAIN + N_TEST)
    train, test = bags[:N_TRAIN], bags[N_TRAIN:].with_tags(None)
    with threadpool_limits(limits=1):
        ContextEMM(evidence=0.1).fit(train[:100])  # compile before timing
        row, model = _fitted("sampled words, choice of κ included", train)
        began = process_time()
        model.predict_both(test)
        each = (process_time() - began) / N_TEST * 1e3
        rows = [row, *_described()]
    annotated = {
        "what": "annotating a described picture and its regions",
        "ours": f"{each:.2f} ms",
        "ratio": each,
        "limit": MILLISECONDS,
        "unit": "ms",
    }
    return [*rows, annotated]


def _described() -> Iterator[dict[str, Any]]:
    """Yield a row per described album that is there."""
    for name, title in NAMES.items():
        if (DATA / name / "about.json").is_file():
            train = load_part(DATA, name, 0).train
            ContextEMM().fit(train[:100])
            yield _fitted(f"{title}, words and network", train)[0]


def _fitted(what: str, train: Bags) -> tuple[dict[str, Any], ContextEMM]:
    """Return the row of training on these bags, and the model."""
    began = process_time()
    KernelRidge().fit(train)
    alone = process_time() - began
    began = process_time()
    model = ContextEMM(n_jobs=1).fit(train)
    whole = process_time() - began
    row = {
        "what": f"learning from {len(train):,} pictures, {train.n_tags} tags: {what}",
        "ours": f"{whole:.1f} s",
        "peer": f"KernelRidge {alone:.1f} s",
        "ratio": whole / alone,
        "limit": TIMES,
    }
    return row, model
