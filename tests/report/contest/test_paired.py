"""Paired draws, and sentences that say no more than the intervals."""

from dataclasses import replace

import numpy as np
import pytest

from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.significance import Interval
from tagmix.experiments.records import Task
from tagmix.report.contest.data import groups
from tagmix.report.contest.gains import Found, _slower, ahead_said, published, steps
from tagmix.report.contest.numbers import gain, lost
from tagmix.report.contest.page import _claim_tile, _region_tile
from tagmix.report.contest.tables import regions_table
from tests.report.contest.makers import contest, record
from tests.report.contest.test_numbers import cut, parts
from tests.report.contest.test_tables import by_name


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
    made = contest({"EMM_m": 0.5, "DBA": 0.2}, regions=True)
    group = groups(made)[0]
    rows = by_name(regions_table(group, group.whole))
    own = made[1].regions
    free, told = (np.mean(np.array(p) == 1) for p in (own.free, own.captioned))
    assert free != told
    assert rows["DBA"][0].startswith(f"{free:.3f}|")
    assert rows["DBA"][2].startswith(f"{told:.3f}|")


def test_a_gain_between_the_papers_two_is_within_reach():
    claim = published().gains[0]  # +18.84 % and +22.79 %
    assert Found(claim, Interval(0.15, 0.10, 0.20)).size == "within reach of the paper's"


def test_who_is_ahead_is_asked_at_every_k():
    first = replace(record(Task("album", "DBA", ("sift",)), n=1, n_tags=4), captions=[[0, 1]])
    made = [replace(first, top=[[0, 2, 3, 1]])]
    made += [replace(first, task=replace(first.task, method="EMM_d"), top=[[2, 0, 1, 3]])]
    assert "EMM_d at 1, DBA at 1, none alone at 2." in ahead_said(groups(made)[0].whole)


def test_a_claim_that_does_not_hold_is_marked():
    group = groups(contest({"DBA": 0.1, "EMM_m": 2.0}, n=100))[0]
    (step,) = steps(group.whole)
    assert _claim_tile(group, step)[2] == ""
    assert _claim_tile(group, step._replace(here=Interval(-0.1, -0.2, -0.05)))[2] == "wrong"


def test_the_tile_of_regions_is_about_pictures_without_a_caption():
    made = contest({"EMM_m": 0.2}, regions=True)
    share = np.mean(np.array(made[0].regions.free) == 1)
    assert _region_tile(groups(made)[0])[0] == f"{100 * share:.0f} %"


def test_a_fall_that_chance_explains_has_no_direction():
    assert _slower(Interval(0.01, -0.02, 0.04)).startswith("falls neither")
    assert _slower(Interval(-0.01, -0.04, 0.02)).startswith("falls neither")
    assert _slower(Interval(0.03, 0.02, 0.04)) == "falls faster"
