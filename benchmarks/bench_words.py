"""Captioned regions of MSRC v2 by one SIFT word per patch and by several, at fixed κ and at the chosen one.

Needs MSRC v2 in the folder of TAGMIX_DATA (or data). Only its pictures for design, those with an odd number,
are read.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tagmix import EMM
from tagmix.arrays import Ints
from tagmix.bags import Bags
from tagmix.comparison.methods import choose_setting, method_of
from tagmix.comparison.parts import DataPart, load_part
from tagmix.datasets import open_album
from tagmix.evaluation.folds import picture_folds
from tagmix.evaluation.metrics import top_k_accuracy
from tagmix.evaluation.regions import region_accuracy
from tagmix.studies.datasets import ONE_WORD, Sources
from tagmix.studies.openworld import FOLDS, MSRC, odd_pictures

DATA = Path(os.environ.get("TAGMIX_DATA", "data"))
OUT = Path("bench-out") / "words"
PLAIN, THREE, MIRRORED, RICH = "one word", "three words", "mirrored", "three words, mirrored"
# As many fine regions as Describer() cuts.
FINE = 40
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    PLAIN: ONE_WORD,
    THREE: {**ONE_WORD, "nearest": 3},
    MIRRORED: {**ONE_WORD, "mirrored": True},
    RICH: {**ONE_WORD, "nearest": 3, "mirrored": True},
    f"{PLAIN}, {FINE} regions": {**ONE_WORD, "n_regions": FINE},
    f"{RICH}, {FINE} regions": {**ONE_WORD, "nearest": 3, "mirrored": True, "n_regions": FINE},
}
SHARPER = 10.0
PER_PATCH = 6  # counts of a patch by three words, mirrored
KAPPAS = (0.01, 0.03, 0.1, 0.3)
# Which vocabulary describes the pictures, and which division into folds is used.
ALL = [(vocabulary, division) for vocabulary in range(FOLDS) for division in range(6)]
SEARCHED = [(0, 0), (1, 1)]  # the search takes a minute for each
SEED, ITERATIONS = 100, 20
# Rich words may cost so many points of captioned regions at κ = .1 at most.
LOSS = -2.0
ERR = Console(stderr=True)


class Found(NamedTuple):
    """The shares of right regions without and with captions, and the top-5 accuracy of pictures.

    ``captioned`` is by the same κ as the others, ``sharper`` by ``SHARPER`` times it.
    """

    free: float
    captioned: float
    sharper: float
    pictures: float

    def __str__(self) -> str:
        captioned = f"captioned {self.captioned:.3f}, by {SHARPER:g} κ {self.sharper:.3f}"
        return f"{captioned}, free {self.free:.3f}, top-5 {self.pictures:.3f}"


def missing() -> str:
    """Return the missing data."""
    return "" if (DATA / MSRC).is_dir() else f"MSRC v2 is not under {DATA}: set TAGMIX_DATA to its folder"


def run() -> list[dict[str, Any]]:
    """Return a row per description and κ, beside one word per patch at the same κ."""
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # iterations are few on purpose
        found = {name: _of_fixed(name) for name in DESCRIPTIONS}
        found[f"{PLAIN}, κ of SIFT × {PER_PATCH}"] = _of_fixed(PLAIN, PER_PATCH)
        found[f"{RICH}, κ of SIFT / {PER_PATCH}"] = _of_fixed(RICH, 1 / PER_PATCH)
        for name in (PLAIN, RICH):
            found[name]["chosen"] = _mean(name, SEARCHED, _chosen)
    return [_row(name, kappa, own, found) for name, row in found.items() for kappa, own in row.items()]


def _row(name: str, kappa: str, own: Found, found: dict[str, dict[str, Found]]) -> dict[str, Any]:
    fine = f"{PLAIN}, {FINE} regions"
    peer = found[fine if name.endswith(f"{FINE} regions") else PLAIN][kappa]
    promise = {"promise": LOSS} if kappa == "0.1" else {}
    gain = 100 * (own.captioned - peer.captioned)
    what = f"{name}, κ {kappa}"
    return {"what": what, "ours": str(own), "peer": str(peer), "ratio": gain, "unit": "points", **promise}


def _of_fixed(name: str, factor: float = 1.0) -> dict[str, Found]:
    """Return the results of each κ, that of SIFT multiplied by a factor and at most 1."""

    def fitted(kappa: float) -> Callable[[Bags], Any]:
        return lambda train: _emm(
            {v: min(1.0, kappa * factor) if v == "sift" else kappa for v in train.views}
        )

    kappas = track(KAPPAS, name, console=ERR)
    return {str(kappa): _mean(name, ALL, fitted(kappa)) for kappa in kappas}


def _emm(evidence: dict[str, float]) -> EMM:
    return EMM(learning="likelihood", calibration_folds=0, max_iter=ITERATIONS, evidence=evidence)


def _chosen(train: Bags) -> Any:
    """Return EMM as the search for the best calibrated ranking of pictures sets it."""
    method = method_of("EMM_calibrated", [*train.views])
    found = choose_setting(method, train)
    setting = {} if found is None else found.setting
    params = method.configured(setting, train.n_tags).get_params()
    return EMM(**{**params, "calibration_folds": 0})


def _mean(name: str, cases: list[tuple[int, int]], make: Callable[[Bags], Any]) -> Found:
    """Return the mean over vocabularies and divisions, and over the folds of each."""
    whole = {vocabulary: _whole(name, vocabulary) for vocabulary in {case[0] for case in cases}}
    parts = (part for vocabulary, division in cases for part in _divided(*whole[vocabulary], division))
    return Found(*np.mean([_measured(make(part.train), part) for part in parts], axis=0).tolist())


def _measured(emm: Any, part: DataPart) -> Found:
    fitted, bare = emm.fit(part.train), part.test.with_tags(None)
    shares = fitted.predict_regions(bare), fitted.predict_regions(part.test, captioned=True)
    free, captioned = (region_accuracy(part.truth, own) for own in shares)
    sharp = copy(fitted)
    evidence = {view: min(1.0, SHARPER * kappa) for view, kappa in fitted.settings_.evidence.items()}
    sharp.settings_ = replace(fitted.settings_, evidence=evidence)
    sharper = region_accuracy(part.truth, sharp.predict_regions(part.test, captioned=True))
    ranked = float(top_k_accuracy(part.test.captions, fitted.predict_proba(bare), 5))
    return Found(free, captioned, sharper, ranked)


def _divided(bags: Bags, truth: list[Ints], division: int) -> Iterator[DataPart]:
    """Yield the folds of a division."""
    for train, test in picture_folds(len(bags), FOLDS, seed=SEED + division):
        yield DataPart(bags[train], bags[test], np.concatenate([truth[i] for i in test]))


def _whole(name: str, vocabulary: int) -> tuple[Bags, list[Ints]]:
    """Return all pictures, described by the words of one fold, and the truth of the regions of each."""
    sources = Sources(DATA, {}, OUT, (), 1, lambda stage, done, of: None)
    folder = f"words{[*DESCRIPTIONS].index(name)}"
    sources.described(folder, odd_pictures(open_album(DATA / MSRC)), n_folds=FOLDS, **DESCRIPTIONS[name])
    parts = [load_part(OUT / "data", folder, i) for i in range(FOLDS)]
    known = {place: truth for part in parts for place, truth in _by_picture(part)}
    bags = Bags.concat([parts[vocabulary].train, parts[vocabulary].test])
    bags = bags[np.argsort([Path(place).name for place in bags.ids])]
    return bags, [known[place] for place in bags.ids]


def _by_picture(part: DataPart) -> Iterator[tuple[str, Ints]]:
    yield from zip(part.test.ids, np.split(part.truth, part.test.offsets[1:-1]), strict=True)
