"""The schema of everything that learners share in files: instance models, logistics, calibrations."""

from typing import Any

import numpy as np

from tagmix.kernels import active
from tagmix.learners.calibrate import Calibration
from tagmix.learners.logistic import TagLogistic
from tagmix.learners.schema import Array, ByName, Kind, Number, Part
from tagmix.learners.shown import NEVER, PERCENTS, Outcome
from tagmix.model.gaussian import Gaussian, Projection
from tagmix.model.given import RegionModel
from tagmix.model.instance import ETA_RANGE, Multinomial
from tagmix.model.linear import Linear
from tagmix.model.params import LINEAR, Params, view_of

MU = (ETA_RANGE[0], 1e18)  # a prior and at most so many words of a tag
RATES = (1e-12, 1e12)  # only ratios of rates matter
LARGEST = 1e16  # embeddings are at most 1e15


def _kernels() -> dict[str, Any]:
    return {"kernels": active()}


def _check_gaussian(values: dict[str, Any]) -> None:
    precision = values["precision"]
    if not np.array_equal(precision, precision.T):
        raise ValueError("the precision of a Gaussian must be symmetric")
    np.linalg.cholesky(precision)  # or it is no precision: LinAlgError is a ValueError


def _check_linear(values: dict[str, Any]) -> None:
    if values["weights"].shape[1] != len(values["centre"]) + 1:  # compiled loops do not check indices
        raise ValueError("a linear scorer must have one weight per dimension, and a bias")


def _check_instances(values: dict[str, Any]) -> None:
    """Refuse a scorer under the name of another model, and counts where a scorer reads embeddings."""
    instances = values["instances"]
    words = {name for name, own in instances.items() if isinstance(own, Multinomial)}
    scorers = {name for name, own in instances.items() if isinstance(own, Linear)}
    if scorers != {name for name in instances if name.endswith(LINEAR)} or words & set(map(view_of, scorers)):
        raise ValueError(f"linear scorers, and no others, must be named view{LINEAR}, of views of embeddings")


def _check_curve(values: dict[str, Any]) -> None:
    knots, levels = values["knots"], values["levels"]
    if not len(knots) or (np.diff(knots) < 0).any() or (np.diff(levels) < 0).any():
        raise ValueError("an isotonic curve needs rising knots and levels")


def _check_outcome(values: dict[str, Any]) -> None:
    parts_of = (("right", "shown"), ("right", "given"), ("expected", "shown"), ("tagged", "pictures"),
                ("tagged", "shown"), ("guesses", "tagged"), ("right_guesses", "guesses"))  # fmt: skip
    if any(values[part] > values[whole] + 1e-6 * values["shown"] for part, whole in parts_of):
        raise ValueError("no part of an outcome may be larger than the whole")


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
# The directions of one view are not those of another.
INSTANCES = ByName(
    Part(
        {
            "words": Kind(
                Multinomial, {"mu": Array(("tags", "view"), *MU), "eta": Number(*ETA_RANGE)}, extra=_kernels
            ),
            "gaussian": Kind(
                Gaussian,
                {
                    "projection": PROJECTION,
                    "means": Array(("tags", "directions"), -LARGEST, LARGEST),
                    "precision": Array(("directions", "directions"), -LARGEST, LARGEST),
                    "spread": Number(1e-300, 1e300),
                    "weight": Number(1e-300, 1e300),
                },
                _check_gaussian,
                _kernels,
                own_dimensions=True,
            ),
            "linear": Kind(
                Linear,
                {
                    "centre": Array(("view",), -LARGEST, LARGEST),
                    "scale": Array(("view",), 1e-300, LARGEST),
                    "weights": Array(("tags", "view + bias"), -LARGEST, LARGEST),
                },
                _check_linear,
                _kernels,
                own_dimensions=True,
            ),
        }
    ),
    view=view_of,
)
PARAMS = Part(
    {
        "params": Kind(
            Params,
            {
                "rates": Array(("tags",), *RATES),
                "instances": INSTANCES,
                "weights": Array(("tags",), 0.0, 1e15),
            },
            _check_instances,
        )
    }
)
REGION_MODEL = Part(
    {
        "regions": Kind(
            RegionModel,
            {"instances": INSTANCES, "n_tags": Number(2, 10**9, whole=True)},
            _check_instances,
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
            },
            _check_levels,
        )
    }
)
