"""Kernels of segmentation: compiled against reference, and what both must hold."""

from itertools import product

import numpy as np
import pytest

from tagmix.kernels.compiled import segmentation as compiled_segmentation
from tagmix.kernels.compiled import spectral as compiled_spectral
from tagmix.kernels.compiled import superpixels as compiled_superpixels
from tagmix.kernels.reference import segmentation as reference_segmentation
from tagmix.kernels.reference import spectral as reference_spectral
from tagmix.kernels.reference import superpixels as reference_superpixels

SEEDS = range(6)


def planes(seed, height=23, width=31):
    """A picture of blocks with noise, three planes with the scale of Lab."""
    rng = np.random.default_rng(seed)
    blocks = rng.uniform(0, 80, (3, height // 6 + 1, width // 6 + 1)).repeat(6, 1).repeat(6, 2)
    return (blocks[:, :height, :width] + rng.normal(0, 4, (3, height, width))).astype(np.float32)


def patches(seed, height=13, width=17, n_labels=5):
    """Labels in blocks of three by three pixels, some of them in several pieces; all labels occur."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_labels, size=(height // 3 + 1, width // 3 + 1)).repeat(3, 0).repeat(3, 1)
    labels = labels[:height, :width].astype(np.int32)
    labels[0, :n_labels] = np.arange(n_labels)
    return labels


def graph(seed, n=9):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 1, (n, n)) ** 4 + 1e-6
    weights = weights + weights.T
    np.fill_diagonal(weights, 0.0)
    return weights


def ncut(weights, side):
    cut = weights[~side][:, side].sum()
    return cut / weights[~side].sum() + cut / weights[side].sum()


def least_ncut(weights):
    """The least Ncut over all ways to cut in two, node 0 on a fixed side."""
    sides = (np.array((False, *rest)) for rest in product((False, True), repeat=len(weights) - 1))
    return min(ncut(weights, side) for side in sides if side.any())


@pytest.mark.parametrize("seed", SEEDS)
def test_both_assign_every_pixel_to_the_same_superpixel(seed):
    arguments = planes(seed), 4.3, 10.0, 4
    found = compiled_superpixels.assign_pixels(*arguments)
    np.testing.assert_array_equal(found, reference_superpixels.assign_pixels(*arguments))
    assert len(np.unique(found)) > 20


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3)])
def test_both_assign_pixels_of_tiny_pictures_alike(shape):
    arguments = planes(0, *shape), 1.0, 10.0, 3
    np.testing.assert_array_equal(
        compiled_superpixels.assign_pixels(*arguments), reference_superpixels.assign_pixels(*arguments)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_both_sum_the_same_over_regions(seed):
    arguments = patches(seed), planes(seed, 13, 17), 5
    found = compiled_superpixels.region_sums(*arguments)
    np.testing.assert_array_equal(found, reference_superpixels.region_sums(*arguments))
    assert found[:, 0].sum() == 13 * 17


@pytest.mark.parametrize("seed", SEEDS)
def test_both_draw_the_same_boxes(seed):
    labels = np.random.default_rng(seed).integers(4, size=(13, 17)).astype(np.int32)
    found = compiled_segmentation.region_boxes(labels, 4)
    np.testing.assert_array_equal(found, reference_segmentation.region_boxes(labels, 4))
    assert found[:, 4].sum() == labels.size


@pytest.mark.parametrize("seed", SEEDS)
def test_both_number_the_same_pieces(seed):
    labels = np.random.default_rng(seed).integers(3, size=(14, 11)).astype(np.int32)
    np.testing.assert_array_equal(
        compiled_superpixels.label_pieces(labels), reference_superpixels.label_pieces(labels)
    )


def test_a_spiral_is_one_piece():
    spiral = np.array([[1, 1, 1, 1], [0, 0, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 1, 1]], np.int32)
    assert compiled_superpixels.label_pieces(spiral).max() == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_both_join_small_regions_alike(seed):
    rng = np.random.default_rng(seed)
    pieces = reference_superpixels.label_pieces(rng.integers(4, size=(10, 12)).astype(np.int32))
    n = pieces.max() + 1
    first, second, *_ = reference_segmentation.find_borders(pieces, np.zeros((10, 12), np.float32), n)
    small = np.bincount(pieces.ravel()) < 3
    arguments = small, rng.normal(size=(n, 3)), first, second
    found = compiled_superpixels.join_small(*arguments)
    np.testing.assert_array_equal(found, reference_superpixels.join_small(*arguments))
    assert 0 < found.max() + 1 <= n - small.sum() / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_both_number_by_position_alike(seed):
    labels = patches(seed, n_labels=9)
    found = compiled_superpixels.number_by_position(labels)
    np.testing.assert_array_equal(found, reference_superpixels.number_by_position(labels))
    assert (np.diff(np.unique(found, return_index=True)[1]) > 0).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_both_find_the_same_borders(seed):
    labels, contour = patches(seed), planes(seed, 13, 17)[0]
    found = compiled_segmentation.find_borders(labels, contour, 5)
    for ours, theirs in zip(found, reference_segmentation.find_borders(labels, contour, 5), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_border_is_as_long_as_its_steps_and_as_high_as_their_higher_pixels():
    labels = np.array([[0, 1], [0, 1], [0, 0]], np.int32)
    contour = np.array([[1, 5], [2, 0], [0, 7]], np.float32)
    first, second, length, height = compiled_segmentation.find_borders(labels, contour, 2)
    assert (first.tolist(), second.tolist(), length.tolist()) == ([0], [1], [3.0])
    assert height[0] == pytest.approx((5 + 2 + 7) / 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n_target", "min_weight"), [(4, 0.0), (1, 0.0), (30, 6.0), (5, 4.0)])
def test_both_merge_the_same_regions(seed, n_target, min_weight):
    rng = np.random.default_rng(seed)
    pieces = reference_superpixels.label_pieces(rng.integers(3, size=(9, 9)).astype(np.int32))
    n = pieces.max() + 1
    first, second, *_ = reference_segmentation.find_borders(pieces, np.zeros((9, 9), np.float32), n)
    areas = np.bincount(pieces.ravel()).astype(float)
    arguments = first, second, rng.uniform(1, 2, len(first)), rng.normal(size=(n, 3)), areas
    found = compiled_segmentation.merge_regions(*arguments, n_target, min_weight)
    np.testing.assert_array_equal(
        found, reference_segmentation.merge_regions(*arguments, n_target, min_weight)
    )
    merged = np.bincount(found, areas)
    assert np.count_nonzero(merged) <= n_target
    assert merged[merged > 0].min() >= min_weight


def test_the_two_most_alike_neighbours_merge_first():
    chain = np.array([0, 1, 2]), np.array([1, 2, 3])
    features = np.array([[0.0], [5.0], [5.5], [0.0]])
    owner = compiled_segmentation.merge_regions(*chain, np.ones(3), features, np.ones(4), 3, 0.0)
    assert owner.tolist() == [0, 1, 1, 3]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [(13, 17), (26, 34), (41, 60), (14, 90)])
def test_both_enlarge_alike(seed, size):
    labels = reference_superpixels.label_pieces(patches(seed))
    found = compiled_segmentation.enlarge(labels, *size, 1)
    np.testing.assert_array_equal(found, reference_segmentation.enlarge(labels, *size, 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_enlarging_keeps_every_region_in_one_piece_and_above_the_least_area(seed):
    labels = reference_superpixels.label_pieces(np.random.default_rng(seed).integers(2, size=(12, 9)))
    plain = np.bincount(np.kron(labels, np.ones((5, 5), int)).ravel())
    found = compiled_segmentation.enlarge(labels.astype(np.int32), 60, 45, 24)
    assert reference_superpixels.label_pieces(found).max() == labels.max()
    assert np.bincount(found.ravel()).min() >= 24
    assert (np.bincount(found.ravel()) != plain).any()


def test_enlarging_rounds_the_corner_of_a_square():
    labels = np.zeros((4, 4), np.int32)
    labels[1:3, 1:3] = 1
    large = compiled_segmentation.enlarge(labels, 32, 32, 1)
    assert large[8, 8] == 0
    assert large[10, 10] == 1
    assert large[16, 8] == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_both_see_the_same_affinities(seed):
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, (22, 30), (25, 2))
    arguments = places, rng.normal(size=(25, 4)), np.abs(planes(seed)[0]), 12.0, 30.0, 1e-3
    found = compiled_spectral.affinities(*arguments)
    np.testing.assert_allclose(found, reference_spectral.affinities(*arguments), rtol=1e-10)
    np.testing.assert_array_equal(found, found.T)


def test_a_contour_between_two_superpixels_drives_them_apart():
    contour = np.zeros((9, 21), np.float32)
    contour[:, 15] = 60.0
    places = np.array([[4.0, 4.0], [4.0, 11.0], [4.0, 18.0]])
    weights = compiled_spectral.affinities(places, np.zeros((3, 2)), contour, 20.0, 30.0, 1e-3)
    assert weights[1, 2] < 0.05 * weights[0, 1]


@pytest.mark.parametrize("n", [2, 3, 7, 40, 150])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_find_the_same_second_eigenvector(seed, n):
    weights = graph(seed, n)
    ours, theirs = compiled_spectral.fiedler_vector(weights), reference_spectral.fiedler_vector(weights)
    degrees = weights.sum(axis=1)
    assert abs((ours * degrees * theirs).sum()) == pytest.approx(1.0, abs=1e-6)


def test_the_second_eigenvector_is_found_where_it_is_not_unique():
    ring = np.roll(np.eye(12), 1, axis=1)
    weights = ring + ring.T
    vector = compiled_spectral.fiedler_vector(weights)
    np.testing.assert_allclose(weights @ vector, 2 * np.cos(np.pi / 6) * vector, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_cut_at_the_same_threshold(seed):
    weights, vector = graph(seed, 20), np.random.default_rng(seed).normal(size=20)
    value, side = compiled_spectral.two_way_cut(weights, vector)
    reference_value, reference_side = reference_spectral.two_way_cut(weights, vector)
    assert value == pytest.approx(reference_value, rel=1e-10)
    np.testing.assert_array_equal(side, reference_side)
    assert value == pytest.approx(ncut(weights, side > 0), rel=1e-10)


def test_the_relaxed_cut_is_near_the_best_of_all_bipartitions():
    ratios = []
    for seed in range(40):
        weights = graph(seed, 6 + seed % 5)
        value, _ = compiled_spectral.two_way_cut(weights, compiled_spectral.fiedler_vector(weights))
        ratios.append(value / least_ncut(weights))
    assert min(ratios) > 1 - 1e-9
    assert np.mean(np.array(ratios) < 1 + 1e-9) >= 0.8
    assert max(ratios) < 1.1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_relaxed_cut_is_the_best_where_there_are_two_groups(seed):
    weights = graph(seed, 10) + 1.0
    weights[:4, 4:] *= 0.05
    weights[4:, :4] *= 0.05
    np.fill_diagonal(weights, 0.0)
    value, side = compiled_spectral.two_way_cut(weights, compiled_spectral.fiedler_vector(weights))
    assert value == pytest.approx(least_ncut(weights), rel=1e-10)
    assert set(side[:4]) != set(side[4:])
