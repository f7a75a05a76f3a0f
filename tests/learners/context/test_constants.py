"""Numbers that measurements chose: none changes unnoticed, and those that docs/maths/context.md states agree.

What each of them does is tested where it is used; how well it was chosen no small test can show.
"""

from pathlib import Path

import numpy as np
import pytest

from tagmix.learners import calibrate, logistic, rare_tags
from tagmix.learners.context import kappa, prior, regions
from tagmix.learners.pictures import kernel_ridge
from tagmix.learners.regions import instances, region_scorer
from tagmix.model import gaussian, given

PAGE = " ".join((Path(__file__).parents[3] / "docs" / "maths" / "context.md").read_text().split())


@pytest.mark.parametrize(
    ("constant", "value", "stated"),
    [
        (logistic.BIAS_PRECISION, 100.0, "Gaussian prior of precision 100"),
        (logistic.SLOPE_PRECISION, 0.01, "one of precision .01"),
        (logistic.MAX_LOGIT, 30.0, "logits end at $\\pm30$"),
        (prior.SMALLEST_SCORE, 1e-3, "below $10^{-3}$ the logarithm is cut off"),
        (rare_tags.AT_A_TIME, 500, "at most 500 pictures at a time"),
        (rare_tags.LEAST_SPREAD, 1e-3, "(.001 at least)"),
        (calibrate.SHOWN_PRECISION, 0.6, "at which 60 % of the shown tags are right"),
        (gaussian.DIRECTIONS, 64, "64 principal directions"),
    ],
)
def test_the_page_states_the_number(constant, value, stated):
    assert constant == value
    assert stated in PAGE


def test_values_that_are_tried_or_held_are_those_that_were_measured():
    assert rare_tags.SPREAD_POWERS == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
    assert rare_tags.FREQUENCY_POWERS == (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6)
    assert kernel_ridge.SMALLEST_LEFT == 1e-12
    assert [prior.n_folds(n) for n in (2, 6, 2000, 2001)] == [2, 3, 3, 2]


def test_the_open_world_has_the_constants_of_decisions_15_and_21():
    assert (float(np.e), 0.25) == (regions.ODDS_FACTOR, regions.SMALLEST_BACKGROUND)
    assert (given.N_OUTSIDE, regions.OUTSIDE) == (5, 0.1)
    assert (kappa.EMBEDDINGS, kappa.READ_TWICE) == (0.2, 0.1)
    assert (kappa.VALUES, kappa.MIN_GAIN) == ((0.003, 0.01, 0.03, 0.1, 0.3), 0.01)
    assert (region_scorer.TILT, region_scorer.SHARPER, region_scorer.REGIONS_OF_FOLDS) == (0.5, 2.0, 20)
    assert (instances.WIDE, instances.AXES) == (0.5, 256)
    scorer = region_scorer.RegionScorer()
    assert (scorer.ridge, scorer.sharpness, scorer.absent, scorer.max_iter) == (0.12, 1.5, 0.015, 8)
