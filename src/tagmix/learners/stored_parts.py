"""The schema of everything that learners share in files: instance models, logistics, calibrations."""

from typing import Any

import numpy as np

from tagmix.kernels import active
from tagmix.learners.calibrate import Calibration
from tagmix.learners.logistic import TagLogistic
from tagmix.learners.quality import TagQuality
from tagmix.learners.schema import Array, ByName, Dimension, Flag, Kind, Maybe, Number, Part
from tagmix.learners.shown import NEVER, PERCENTS, Outcome
from tagmix.model.gaussian import Gaussian, Projection
from tagmix.model.given import Odds, RegionModel
from tagmix.model.instance import ETA_RANGE, Multinomial
from tagmix.model.params import Params

MU = (ETA_RANGE[0], 1e18)  # a prior and at most so many words of a tag
RATES = (1e-12, 1e12)  # only ratios of rates matter
LARGEST = 1e16  # embeddings are at most 1e15
ODDS = Number(1e-300, 1e12)


def _kernels() -> dict[str, Any]:
    return {"kernels": active()}


def _check_gaussian(values: dict[str, Any]) -> None:
    precision = values["precision"]
    if not np.array_equal(precision, precision.T):
        raise ValueError("the precision of a Gaussian must be symmetric")
    np.linalg.cholesky(precision)  # or it is no precision: LinAlgError is a ValueError


def _check_curve(values: dict[str, Any]) -> None:
    knots, levels = values["knots"], values["levels"]
    if not len(knots) or (np.diff(knots) < 0).any() or (np.diff(levels) < 0).any():
        raise ValueError("an isotonic curve needs rising knots and levels")


def _check_outcome(values: dict[str, Any]) -> None:
    parts_of = (("right", "shown"), ("right", "given"), ("expected", "shown"), ("tagged", "pictures"),
                ("tagged", "shown"), ("guesses", "tagged"), ("right_guesses", "guesses"))  # fmt: skip
    if any(values[part] > values[whole] + 1e-6 * values["shown"] for part, whole in parts_of):
        raise ValueError("no part of an outcome may be larger than the whole")


def _check_quality(values: dict[str, Any]) -> None:
    right = values["right"]
    if (right > values["shown"]).any() or (right > values["given"]).any():
        raise ValueError("no tag may be right more often than it is shown or given")


def _check_levels(values: dict[str, Any]) -> None:
    if (np.diff(values["level_thresholds"]) < 0).any():
        raise ValueError("thresholds must rise with the precision that they are for")


PROJECTION = Part(
    {
        "projection": Kind(
            Projection,
            {
                "centre": Array(("view",), -LARGEST, LARGEST),
                "axes": Array(("view", "directions"), -LARGEST, LARGEST),
            },
        )
    }
)
# The directions of one view are not those of another. Components are the tags, and the background if any.
INSTANCES = ByName(
    Part(
        {
            "words": Kind(
                Multinomial,
                {"mu": Array(("components", "view"), *MU), "eta": Number(*ETA_RANGE)},
                extra=_kernels,
            ),
            "gaussian": Kind(
                Gaussian,
                {
                    "projection": PROJECTION,
                    "means": Array(("components", "directions"), -LARGEST, LARGEST),
                    "precision": Array(("directions", "directions"), -LARGEST, LARGEST),
                    "spread": Number(1e-300, 1e300),
                    "weight": Number(1e-300, 1e300),
                },
                _check_gaussian,
                _kernels,
                own_dimensions=True,
            ),
        }
    ),
)
PARAMS = Part(
    {
        "params": Kind(
            Params,
            {
                "rates": Array(("components",), *RATES),
                "instances": INSTANCES,
                "weights": Array(("components",), 0.0, 1e15),
            },
        )
    }
)
REGION_MODEL = Part(
    {
        "regions": Kind(
            RegionModel,
            {
                "n_tags": Dimension("components"),
                "instances": INSTANCES,
                "background": Flag(),
                "odds": Part({"odds": Kind(Odds, {"inside": ODDS, "outside": ODDS})}),
            },
        )
    }
)
LOGISTIC = Part(
    {
        "logistic": Kind(
            TagLogistic,
            {
                "slopes": Array(("features", "tags"), -1e9, 1e9),
                "biases": Array(("tags",), -1e9, 1e9),
                "knots": Array(("knots",), -1e9, 1e9),
                "levels": Array(("knots",), 0.0, 1.0),
            },
            _check_curve,
            own_dimensions=True,
        )
    }
)
_COUNT = Number(0, 10**15, whole=True)
OUTCOME = Part(
    {
        "outcome": Kind(
            Outcome,
            {name: Number(0, 1e15) if name == "expected" else _COUNT for name in Outcome._fields},
            _check_outcome,
        )
    }
)
_COUNTS = Array(("tags",), 0, 10**15, whole=True)
QUALITY = Part(
    {
        "quality": Kind(
            TagQuality,
            {
                "given": _COUNTS,
                "shown": _COUNTS,
                "right": _COUNTS,
                "average_precision": Array(("tags",), 0.0, 1.0),
            },
            _check_quality,
        )
    }
)
CALIBRATION = Part(
    {
        "calibration": Kind(
            Calibration,
            {
                "logistic": LOGISTIC,
                "thresholds": Array(("tags",), 0.0, 1.0),
                "rare_tag_weights": Array(("tags",), 1e-300, 1e9),
                "level_thresholds": Array((len(PERCENTS),), 0.0, NEVER),
                "outcome": OUTCOME,
                "quality": Maybe(QUALITY),
            },
            _check_levels,
            newer=frozenset({"quality"}),
        )
    }
)
