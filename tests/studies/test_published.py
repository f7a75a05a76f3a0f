"""The published numbers agree with each other, and with the methods that follow them."""

from itertools import pairwise

import pytest

from tagmix.learners import LEARNERS
from tagmix.studies.published import published


@pytest.mark.parametrize("row", published().corel5k, ids=lambda row: row.name)
def test_an_f1_is_the_harmonic_mean_of_its_precision_and_recall(row):
    # Precision and recall were printed in whole per cents, half a one off at most
    assert row.f1 == pytest.approx(2 * row.precision * row.recall / (row.precision + row.recall), abs=0.5)


@pytest.mark.parametrize("row", published().corel5k, ids=lambda row: row.name)
def test_no_more_tags_are_found_than_corel5k_has_in_both_parts(row):
    assert 0 < row.n_plus <= 260


@pytest.mark.parametrize("row", published().corel5k, ids=lambda row: row.name)
def test_every_number_has_a_source_that_can_be_found(row):
    assert row.source.title
    assert row.source.authors
    assert row.source.venue
    assert 2000 < row.source.year < 2030


def test_methods_that_ours_follow_are_learners_of_ours():
    followed = {row.ours for row in published().corel5k if row.ours}
    assert followed == {"KNN", "TagProp", "TwoPassKNN"}
    assert followed <= set(LEARNERS)


def test_the_gains_are_those_printed_in_the_paper():
    gains = {(gain.method, gain.over): gain.percent for gain in published().gains}
    assert gains["EMM_m", "DBA"] == {"Alipr": 18.84, "LabelMe": 22.79}
    assert gains["EMM_d", "EMM_m"] == {"Alipr": 9.08, "LabelMe": 15.04}
    assert gains["DBA", "CorrLDA"] == {}


def test_the_gains_are_the_steps_of_the_papers_order():
    order = published().order
    assert {(gain.method, gain.over) for gain in published().gains} == set(pairwise(order))


def test_the_ceilings_follow_from_the_tags_of_a_picture():
    # Five shown and n given, n the mean: 2·min(5, n) / (5 + n)
    for data in published().datasets:
        n = data.tags_a_picture
        assert data.ceiling == pytest.approx(2 * min(5, n) / (5 + n), abs=0.001)
