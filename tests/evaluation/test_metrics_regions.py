"""Metrics of regions with none of the tags, of pointing, and recall at a precision."""

import numpy as np
import pytest

from tagmix import ParameterError
from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.pointing import (
    NO_REGION,
    best_regions,
    covered_parts,
    pointing,
    pointing_parts,
    reachable_parts,
)
from tagmix.evaluation.recall import recall_at_precision, recall_parts
from tagmix.evaluation.regions import (
    NONE,
    UNKNOWN,
    object_f1,
    region_accuracy,
    region_names,
    with_none,
)


def test_rounding_of_shares_that_sum_to_one_is_not_a_share_of_none():
    shares = np.array([[1.0 - 2e-16] + [0.0] * 10, [0.0] * 11])
    assert shares[0].sum() < 1.0
    assert with_none(shares)[:, -1].tolist() == [0.0, 1.0]


def test_a_region_is_none_only_if_the_rest_exceeds_the_best_share():
    assert region_names(np.array([[0.5, 0.0], [0.49, 0.0], [0.25, 0.25]])).tolist() == [0, NONE, NONE]


def test_shares_that_are_not_numbers_are_refused():
    with pytest.raises(ParameterError, match="see predict_regions"):
        with_none(np.array([[np.nan, 0.5]]))
    with pytest.raises(ParameterError, match="one per region"):
        region_accuracy([0, 1], np.array([[0.5, 0.5]]))


def test_naming_no_region_is_right_where_the_truth_is_none_and_finds_no_object():
    truth, nothing = [NONE, 0, NONE, UNKNOWN], np.zeros((4, 2))
    assert region_accuracy(truth, nothing) == pytest.approx(2 / 3)
    assert object_f1(truth, nothing) == 0.0


def test_a_wrongly_named_background_lowers_f1_as_a_missed_object_does():
    right = np.array([[0.9, 0.0], [0.0, 0.0]])
    assert object_f1([0, NONE], right) == 1.0
    assert object_f1([0, NONE], np.array([[0.9, 0.0], [0.9, 0.0]])) == pytest.approx(2 / 3)
    assert object_f1([0, 1], right) == pytest.approx(2 / 3)


def test_regions_of_unknown_truth_change_nothing():
    shares = np.array([[0.9, 0.0], [0.9, 0.0]])
    assert object_f1([0, UNKNOWN], shares) == object_f1([0], shares[:1]) == 1.0
    assert region_accuracy([0, UNKNOWN], shares) == 1.0


def test_only_pairs_with_a_place_are_counted_and_each_picture_has_its_own_terms():
    pairs = np.array([[1, 0], [1, 1], [0, 0]])
    places = np.array([[1, 0], [0, 0], [0, 1], [1, 1]])
    shares = np.array([[0.1, 0.9], [0.2, 0.1], [0.5, 0.5], [0.6, 0.1]])
    parts = pointing_parts(pairs, places, best_regions(shares, [0, 2, 4, 4]))
    assert (parts.gain.tolist(), parts.weight.tolist()) == ([0.0, 2.0, 0.0], [1.0, 2.0, 0.0])


def test_a_tag_of_which_no_region_has_a_share_points_nowhere():
    places = np.array([[1, 0], [1, 0]])
    assert best_regions(np.zeros((2, 2)), [0, 2]).tolist() == [[NO_REGION, NO_REGION]]
    assert pointing(np.array([[1, 0]]), places, np.zeros((2, 2)), [0, 2]) == 0.0


def test_pointing_never_exceeds_what_is_reachable():
    rng = np.random.default_rng(0)
    offsets = np.array([0, 3, 3, 7, 10])
    pairs, places = rng.random((4, 5)) < 0.6, rng.random((10, 5)) < 0.3
    reach = reachable_parts(pairs, places, offsets)
    hits = pointing_parts(pairs, places, best_regions(rng.random((10, 5)), offsets))
    assert (hits.gain <= reach.gain).all()
    assert (hits.weight == reach.weight).all()
    assert pointing(pairs, places, places * 1.0, offsets) == quotient(reach) > 0
    with pytest.raises(ParameterError, match="same pictures and tags"):
        pointing_parts(pairs, places[:, :3], best_regions(rng.random((10, 5)), offsets))


def test_a_tag_is_covered_where_a_region_of_its_own_picture_is_named_with_it():
    parts = covered_parts(np.array([[1, 0], [1, 0]]), [1, NONE, 0], [0, 2, 3])
    assert (parts.gain.tolist(), parts.weight.tolist()) == ([0.0, 1.0], [1.0, 1.0])


def test_equal_scores_are_shown_together():
    tags = np.array([[1, 0], [0, 0]])
    assert recall_at_precision(tags, np.array([[0.9, 0.1], [0.2, 0.3]])) == 1.0
    assert recall_at_precision(tags, np.array([[0.9, 0.9], [0.2, 0.3]])) == 0.0


def test_a_threshold_below_imprecise_places_may_be_precise_again():
    tags, scores = np.array([[0, 1, 1, 1]]), np.array([[0.9, 0.8, 0.7, 0.6]])
    assert recall_at_precision(tags, scores, 0.7) == 1.0
    assert recall_at_precision(tags, scores, 0.8) == 0.0


def test_recall_of_scores_that_are_no_numbers_is_refused():
    with pytest.raises(ParameterError, match="scores must be numbers, got nan"):
        recall_at_precision(np.array([[1, 0]]), np.array([[np.nan, 0.1]]))


def test_recall_is_of_the_tags_given_in_all_pictures():
    parts = recall_parts(np.array([[1, 1], [0, 1], [0, 0]]), np.array([[0.9, 0.1], [0.3, 0.8], [0.2, 0.3]]))
    assert (parts.gain.tolist(), parts.weight.tolist()) == ([1.0, 1.0, 0.0], [2.0, 1.0, 0.0])
