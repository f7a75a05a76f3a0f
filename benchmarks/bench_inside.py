"""The paper's exponential prior on shares, and its margins, inside `ContextEMM`.

Needs the data sets of `tagmix reproduce development`, in the folder of TAGMIX_REPRODUCED (or reproduce-out).
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.inside import Fitted, fitted, joined_scores, pooled, regions
from tagmix.arrays import Floats
from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.ranking import picture_precision_parts
from tagmix.evaluation.regions import accuracy_parts, region_names
from tagmix.evaluation.significance import paired_bootstrap
from tagmix.evaluation.top_k import default_k, top_k_parts

DATA = Path(os.environ.get("TAGMIX_REPRODUCED", "reproduce-out")) / "data"
NAMES = {
    "msrc_v2_odd_open_objects": "objects of MSRC v2",
    "msrc_v2_odd_open": "all of MSRC v2",
    "coco_dev_open": "COCO",
}
FOLDS = 3
POINTS = 1.0  # a variant gains at most so much over given shares, in hundredths
FACTORS = tuple(float(f) for f in np.exp(np.arange(-3, 4)))  # of the odds, of which labels choose
GIVEN, CONTEXT = "given shares", "π"
CAPTIONS = {False: "no caption", True: "caption given"}
ERR = Console(stderr=True)
# The parts of a metric: one per fold, joined.
Table = dict[tuple[Any, ...], Parts]


class Arm(NamedTuple):
    """A variant of the region model: rule, shares in its further training, if any, and weights of tags."""

    rule: str
    trained: str = ""
    weights: str = ""


ARMS = {
    GIVEN: Arm("given"),
    "exponential prior": Arm("exponential"),
    "… in training, too": Arm("exponential", trained="exponential"),
    "… in training only": Arm("given", trained="exponential"),
    "as many more iterations": Arm("given", trained="given"),
    "κ × 2 in training only": Arm("given", trained="sharp"),
    "exponential prior, MAP": Arm("sparse"),
    "gamma prior of shape 10": Arm("shape 10"),
    "Dirichlet prior, A = 10": Arm("Dirichlet, 10"),
    "margins (paper)": Arm("given", weights="paper"),
    "margins, pulled to 1": Arm("given", weights="pulled"),
    "exponential prior, margins (paper)": Arm("exponential", weights="paper"),
}


def missing() -> str:
    """Return the missing data."""
    return "" if _there() else f"{DATA} has no data: run tagmix reproduce development with MSRC v2"


def _there() -> list[str]:
    return [name for name in NAMES if (DATA / name / "about.json").is_file()]


def run() -> list[dict[str, Any]]:
    """Return a row per data set, variant and question."""
    with threadpool_limits(limits=1, user_api="blas"):
        return [row for name in _there() for row in _rows(name)]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one data set, all folds together."""
    named: Table = {}
    ranked: Table = {}
    for number in track(range(FOLDS), name, console=ERR):
        fit = fitted(DATA, name, number)
        _join(named, _region_parts(fit))
        _join(ranked, _picture_parts(fit))
    for captioned, caption in CAPTIONS.items():
        yield from _region_rows(f"{NAMES[name]}, regions, {caption}", named, captioned)
    for score, metric in ranked:
        if score != CONTEXT:
            what = f"{NAMES[name]}, pictures, {metric}: {score}"
            yield _row(what, ranked[CONTEXT, metric], ranked[score, metric])


def _region_rows(what: str, table: Table, captioned: bool) -> Iterator[dict[str, Any]]:
    """Yield each variant beside given shares: as it is, then both at their best odds by labels."""
    best = {arm: _best_factor(table, arm, captioned) for arm in ARMS}
    variants = list(ARMS)[1:]
    for arm in variants:
        yield _row(f"{what}: {arm}", table[GIVEN, captioned, 1.0], table[arm, captioned, 1.0])
    for arm in variants:
        if {best[GIVEN], best[arm]} != {1.0}:
            pair = (table[name, captioned, best[name]] for name in (GIVEN, arm))
            yield _row(f"{what}, odds × {best[arm]:.2g} by labels: {arm}", *pair)


def _best_factor(table: Table, arm: str, captioned: bool) -> float:
    """Return the factor of the odds with most right regions; 1 where they do not matter."""
    return max(FACTORS, key=lambda f: (quotient(table[arm, captioned, f]), -abs(np.log(f))))


def _join(table: Table, more: Table) -> None:
    """Add the pictures of another fold."""
    for key, parts in more.items():
        old = table.get(key)
        joined = parts if old is None else Parts(*(np.concatenate(p) for p in zip(old, parts, strict=True)))
        table[key] = joined


def _row(what: str, ours: Parts, theirs: Parts) -> dict[str, Any]:
    """Return a row: the variant minus ours, in points, with its interval over pictures."""
    apart = paired_bootstrap(theirs, ours)
    low, high = (f"{end:+.3f}" for end in (apart.low, apart.high))
    return {
        "what": what,
        "ours": f"{quotient(ours):.3f}",
        "peer": f"{quotient(theirs):.3f} ({apart.mean:+.3f}, {low} … {high})",
        "ratio": 100 * apart.mean,
        "limit": POINTS,
        "unit": "points",
    }


def _region_parts(fit: Fitted) -> Table:
    """Return right and known regions per picture of every variant, with and without captions."""
    table: Table = {}
    models = {name: regions(fit, model) for name, model in fit.models.items()}
    for captioned in CAPTIONS:
        _check(models[""].phi("given", captioned), fit, captioned)
        for name, arm in ARMS.items():
            weights = getattr(fit.weights, arm.weights) if arm.weights else None
            for factor in FACTORS:
                phi = models[arm.trained].phi(arm.rule, captioned, factor, weights)
                table[name, captioned, factor] = _right(fit, phi)
    return table


def _check(phi: Floats, fit: Fitted, captioned: bool) -> None:
    """Refuse to compare with shares that are not those of the model."""
    test = fit.part.test if captioned else fit.part.test.with_tags(None)
    if not np.allclose(phi, fit.emm.predict_regions(test, captioned=captioned), atol=1e-6):
        raise RuntimeError("the shares of the benchmark are not those of ContextEMM: compare their code")


def _right(fit: Fitted, phi: Floats) -> Parts:
    parts = accuracy_parts(fit.part.truth, region_names(phi))
    starts = fit.part.test.offsets[:-1]
    return Parts(*(np.add.reduceat(values, starts) for values in parts))


def _picture_parts(fit: Fitted) -> Table:
    """Return two metrics of pictures by every score."""
    test = fit.part.test
    own = regions(fit, fit.emm.regions_)
    z = {rule: pooled(own.phi(rule, False), test) for rule in ("given", "exponential")}
    p = fit.emm.predict_proba(test)
    scores = {
        CONTEXT: p,
        "shares, given": z["given"],
        "shares, exponential prior": z["exponential"],
        "shares, given, × margins (paper)": z["given"] * fit.weights.paper,
        "shares, given, × margins, pulled to 1": z["given"] * fit.weights.pulled,
        "π × margins, pulled to 1": p * fit.weights.of_context,
        "π and shares, given": joined_scores(fit, "given", z["given"]),
        "π and shares, exponential prior": joined_scores(fit, "exponential", z["exponential"]),
    }
    k = default_k(test.n_tags)
    metrics: dict[str, Callable[[Floats], Parts]] = {
        "precision": lambda s: picture_precision_parts(test.tags, s, test.unknown),
        "top k": lambda s: top_k_parts(test.tags, s, k, test.unknown),
    }
    return {(name, metric): of(s) for name, s in scores.items() for metric, of in metrics.items()}
