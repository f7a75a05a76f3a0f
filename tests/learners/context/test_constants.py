"""Numbers that measurements chose and that docs/maths/context.md states: none changes unnoticed.

What each of them does is tested where it is used; how well it was chosen no small test can tell.
"""

from pathlib import Path

import numpy as np
import pytest

from tagmix.learners import evening
from tagmix.learners.pictures import kernel_ridge
from tagmix.learners.context import fitting, pool, scorer, tuning

PAGE = (Path(__file__).parents[3] / "docs" / "maths" / "context.md").read_text()


@pytest.mark.parametrize(
    ("constant", "value", "said"),
    [
        (pool.BIAS_PRECISION, 100.0, "prior of precision 100"),
        (pool.SLOPE_PRECISION, 0.01, "one of precision .01"),
        (pool.FLOOR, 1e-3, "below $10^{-3}$ count as $10^{-3}$ the spread in $r$ and the score in $\\log g$"),
        (pool.SUREST, 30.0, "ends at $\\pm30$"),
        (fitting.LEAST_SHARE, 1e-3, "\\omega\\log(S_{nc}/M_n+10^{-3})"),
        (tuning.LEAST_GAIN, 0.005, "rises by .005 or more"),
        (tuning.AS_WELL, 0.5, "at least half of the best one's"),
        (evening.AT_A_TIME, 500, "at most 500 held-out pictures at a time"),
        (evening.LEAST_SPREAD, 1e-3, "a spread counts as .001 at least"),
    ],
)
def test_the_page_states_the_number(constant, value, said):
    assert constant == value
    assert said in " ".join(PAGE.split())


def test_what_is_tried_or_held_is_what_was_measured():
    assert evening.SPREAD_POWERS == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
    assert evening.FREQUENCY_POWERS == (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6)
    assert fitting.SHOWN_PRECISION == 0.6
    assert (scorer.RIDGE, scorer.TOLERANCE, scorer.STEPS) == (1.0, 1e-2, 8)
    assert scorer.Scorer.sharpnesses == (1.0, np.inf)
    assert kernel_ridge.SMALLEST_LEFT == 1e-12
