"""Calibration error and sharpness: by hand, by brute force, and for probabilities that are true."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix import ParameterError
from tagmix.evaluation import blocks
from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.metrics import calibration_error, effective_tags, share_of_zeros
from tagmix.evaluation.probabilities import reliability, selection_parts

SAID = np.array([[0.1, 0.2], [0.8, 0.9]])
TRUE = np.array([[0, 1], [1, 1]])


def brute_force(true, said, bins):
    """Return the error with bins of as many pairs each, from a sorted copy; no ties."""
    order = np.argsort(said, axis=None)
    parts = zip(
        np.array_split(said.ravel()[order], bins), np.array_split(true.ravel()[order], bins), strict=True
    )
    return sum(abs(s.sum() - t.sum()) for s, t in parts) / said.size


def test_two_bins_by_hand():
    expected = (2 * abs(0.15 - 0.5) + 2 * abs(0.85 - 1.0)) / 4
    assert calibration_error(TRUE, SAID, 2, "mass") == pytest.approx(expected, rel=1e-12)
    assert calibration_error(TRUE, SAID, 2, "width") == pytest.approx(expected, rel=1e-12)


def test_bins_of_equal_width_may_be_empty_and_bins_of_equal_mass_are_not():
    said, true = np.array([[0.01, 0.02, 0.03, 0.04]]), np.array([[0, 0, 1, 1]])
    assert calibration_error(true, said, 2, "width") == pytest.approx(abs(0.1 - 2) / 4, rel=1e-12)
    assert calibration_error(true, said, 2, "mass") == pytest.approx((0.03 + 1.93) / 4, rel=1e-12)


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_equal_mass_agrees_with_a_sorted_copy(bins):
    rng = np.random.default_rng(0)
    said = rng.permutation(np.linspace(0.1, 0.99, 400)).reshape(20, 20)  # further apart than 10 binary digits
    true = rng.random(said.shape) < said**2
    assert calibration_error(true, said, bins) == pytest.approx(brute_force(true, said, bins), rel=1e-9)


@pytest.mark.parametrize("equal", ["mass", "width"])
def test_true_probabilities_have_nearly_no_error_and_exaggerated_ones_have_some(equal):
    rng = np.random.default_rng(1)
    chance = rng.random((300, 200)) ** 4
    true = rng.random(chance.shape) < chance
    assert calibration_error(true, chance, equal=equal) < 0.005
    assert calibration_error(true, np.sqrt(chance), equal=equal) > 0.1


def test_certainty_that_is_right_has_no_error_and_that_is_wrong_has_all():
    for equal in ("mass", "width"):
        assert calibration_error(TRUE, TRUE.astype(float), equal=equal) == 0.0
        assert calibration_error(TRUE, 1.0 - TRUE, equal=equal) == 1.0


def test_pairs_of_equal_probability_stay_in_one_bin_whatever_their_order():
    said, true = np.full((4, 5), 0.25), np.zeros((4, 5))
    true[0] = 1
    assert calibration_error(true, said, 7) == 0.0
    assert calibration_error(true[::-1], said, 7) == 0.0


def test_minus_zero_and_the_smallest_numbers_are_probabilities_too():
    said = np.array([[-0.0, 0.0, 5e-324, 1e-200, 1.0]])
    assert calibration_error(np.array([[0, 0, 0, 0, 1]]), said) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("said", [[[1.1, 0]], [[-0.1, 0]], [[np.inf, 0]]])
def test_scores_are_not_taken_for_probabilities(said):
    with pytest.raises(ParameterError, match=r"between 0 and 1, got .*: use calibrated probabilities"):
        calibration_error(np.array([[1, 0]]), np.array(said))


def test_bins_that_are_none_are_refused():
    with pytest.raises(ParameterError, match="bins must be a whole number >= 1, got 0: 15 is customary"):
        calibration_error(TRUE, SAID, 0)
    with pytest.raises(ParameterError, match="equal must be 'mass' or 'width', got 'size': choose one"):
        calibration_error(TRUE, SAID, 5, "size")


def test_zeros_are_counted_in_dense_and_in_sparse_scores():
    scores = np.array([[0.5, 0, 0, 0], [0, 0, 0.1, -0.0]])
    assert share_of_zeros(scores) == 6 / 8
    assert share_of_zeros(csr_array(scores)) == 6 / 8
    assert np.isnan(share_of_zeros(np.zeros((0, 3))))


def test_four_equal_tags_are_four_and_scale_does_not_matter():
    assert effective_tags(np.full((1, 4), 0.25)) == pytest.approx(4.0, rel=1e-12)
    assert effective_tags(np.full((1, 4), 7.0)) == pytest.approx(4.0, rel=1e-12)
    assert effective_tags(np.array([[0.75, 0.25]])) == pytest.approx(
        np.exp(-0.75 * np.log(0.75) - 0.25 * np.log(0.25)), rel=1e-12
    )


def test_rows_of_zeros_are_left_out_and_negative_ones_refused():
    assert effective_tags(np.array([[0.0, 0.0], [0.5, 0.5]])) == pytest.approx(2.0, rel=1e-12)
    assert effective_tags(csr_array(np.array([[0.0, 0.0], [0.5, 0.5]]))) == pytest.approx(2.0, rel=1e-12)
    with pytest.raises(ParameterError, match="finite and not negative, got -1: use predict_proba"):
        effective_tags(np.array([[-1.0, 2.0]]))


def looped_bins(true, said, bins):
    """Return pairs, said and right of each bin, pair by pair, by comparing with the edges of bins."""
    sums = np.zeros((3, bins))
    for i in range(said.shape[0]):
        for j in range(said.shape[1]):
            place = next(b for b in range(bins) if said[i, j] < (b + 1) / bins or b == bins - 1)
            sums[:, place] += 1, said[i, j], true[i, j]
    return sums


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_reliability_agrees_with_a_loop_over_pairs_and_with_the_error_of_equal_width(bins):
    rng = np.random.default_rng(2)
    said = np.concatenate([rng.random((20, 7)), np.array([[0, 0.25, 0.5, 0.75, 1, 0, 1]])])
    true = rng.random(said.shape) < said**2
    pairs, total, right = looped_bins(true, said, bins)
    found = reliability(csr_array(true), said, bins)
    assert found.pairs.tolist() == pairs.tolist()
    assert found.right.tolist() == right.tolist()
    np.testing.assert_allclose(found.said, total, rtol=1e-12)
    assert found.error == calibration_error(true, said, bins, "width")
    assert found.error == pytest.approx(np.abs(total - right).sum() / said.size, rel=1e-12)


def test_bins_of_two_halves_add_up_to_those_of_the_whole():
    rng = np.random.default_rng(3)
    said = rng.random((10, 6))
    true = rng.random(said.shape) < said
    halves = [np.array(reliability(true[half], said[half])) for half in (slice(0, 4), slice(4, 10))]
    np.testing.assert_allclose(sum(halves), np.array(reliability(true, said)), rtol=1e-12)


def test_bins_of_reliability_must_be_a_number():
    with pytest.raises(ParameterError, match=r"bins must be a whole number >= 1, got 2\.5"):
        reliability(TRUE, SAID, 2.5)


def test_what_is_worth_showing_is_counted_as_a_loop_over_pairs_counts_it():
    rng = np.random.default_rng(4)
    true, shown = rng.random((15, 6)) < 0.3, rng.random((15, 6)) < 0.2
    true[3] = shown[4] = False
    hits = n_true = n_shown = none = 0
    for own, seen in zip(true.tolist(), shown.tolist(), strict=True):
        none += not any(seen)
        for is_true, is_shown in zip(own, seen, strict=True):
            hits, n_true, n_shown = hits + (is_true and is_shown), n_true + is_true, n_shown + is_shown
    for kind in (np.asarray, csr_array):
        found = [quotient(parts) for parts in selection_parts(kind(true), kind(shown.astype(int)))]
        assert found == [hits / n_shown, hits / n_true, n_shown / 15, none / 15]


def test_precision_of_nothing_shown_has_no_value():
    selection = selection_parts(TRUE, np.zeros_like(TRUE))
    assert np.isnan(quotient(selection.precision))
    assert [quotient(parts) for parts in selection[1:]] == [0.0, 0.0, 1.0]


def test_what_is_shown_must_be_of_the_same_pictures():
    with pytest.raises(ParameterError, match=r"one shape, got \(2, 2\) and \(1, 2\)"):
        selection_parts(TRUE, np.ones((1, 2)))


@pytest.mark.parametrize(("low", "high"), [(1e-12, 1e-3), (0.5, 0.501), (0.0, 1e-15)])
def test_bins_of_equal_mass_part_probabilities_that_differ_little_or_are_small(low, high):
    said, true = np.array([[high, low, high, low]]), np.array([[0, 1, 0, 1]])
    expected = (abs(2 * low - 2) + 2 * high) / 4
    assert calibration_error(true, said, 2) == pytest.approx(expected, rel=1e-12)


def test_a_cell_of_many_pairs_is_put_where_its_middle_is():
    said, true = np.repeat([[0.1, 0.5, 0.9]], [1, 6, 3], axis=1), np.zeros((1, 10))
    true[0, :9] = 1  # the middle of the six is at 4 of 10, in the first half
    expected = (abs(0.1 + 3.0 - 7) + abs(2.7 - 2)) / 10
    assert calibration_error(true, said, 2) == pytest.approx(expected, rel=1e-12)


def test_sums_of_bins_do_not_depend_on_how_many_pictures_are_read_at_once(monkeypatch):
    rng = np.random.default_rng(5)
    said = rng.random((13, 4))
    true = rng.random(said.shape) < said
    whole, error = reliability(true, said), calibration_error(true, said)
    monkeypatch.setattr(blocks, "BLOCK", 12)
    for one, other in zip(reliability(true, said), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert calibration_error(true, said) == pytest.approx(error, rel=1e-12)
