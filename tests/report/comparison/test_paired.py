"""Paired draws, and sentences that say no more than the intervals."""

import numpy as np
import pytest

from tagmix.evaluation.blocks import Parts
from tagmix.report.comparison.intervals import gain, lost
from tagmix.report.comparison.page import _region_tile
from tagmix.report.comparison.samples import groups
from tagmix.report.comparison.tables import regions_table
from tests.report.comparison.makers import compared
from tests.report.comparison.test_intervals import cut, parts
from tests.report.comparison.test_tables import by_name


def test_a_gain_draws_both_methods_over_the_same_pictures():
    second = parts(1)
    twice = Parts(2 * second.gain, second.weight)
    assert gain(cut(twice, 11), cut(second, 11)) == pytest.approx((1.0, 1.0, 1.0))


def test_what_is_lost_on_every_picture_is_lost_in_every_draw():
    few = parts(1)
    half = Parts(few.gain / 2, few.weight)
    assert lost(cut(few, 11), cut(half, 11)) == pytest.approx((0.5, 0.5, 0.5))


def test_a_method_loses_as_much_as_itself():
    few, many = cut(parts(1), 11), cut(parts(2, skill=0.3), 11)
    assert lost(few, many, few, many) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_regions_with_the_caption_have_columns_of_their_own():
    made = compared({"EMM_m": 0.5, "DBA": 0.2}, regions=True)
    group = groups(made)[0]
    rows = by_name(regions_table(group, group.whole))
    own = made[1].regions
    free, told = (np.mean(np.array(p) == 1) for p in (own.free, own.captioned))
    assert free != told
    assert rows["DBA"][0].startswith(f"{free:.3f}|")
    assert rows["DBA"][2].startswith(f"{told:.3f}|")


def test_the_tile_of_regions_is_about_pictures_without_a_caption():
    made = compared({"EMM_m": 0.2}, regions=True)
    share = np.mean(np.array(made[0].regions.free) == 1)
    assert _region_tile(groups(made)[0])[0] == f"{100 * share:.0f} %"
