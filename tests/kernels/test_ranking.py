"""The ranking kernels against brute force over all pairs, and the compiled ones against the reference."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix.kernels.compiled import ranking as compiled
from tagmix.kernels.reference import ranking as reference
from tagmix.model.margin import MarginData, prepare

KERNELS = pytest.mark.parametrize("kernels", [compiled, reference], ids=["compiled", "reference"])


def lopsided(seed: int, n_pictures: int = 23, n_tags: int = 17, filled: float = 0.4) -> MarginData:
    """Pictures with no tags, all tags, many tags and few; empty rows of z̄; equal values of z̄."""
    rng = np.random.default_rng(seed)
    zbar = rng.integers(1, 5, (n_pictures, n_tags)) * (rng.random((n_pictures, n_tags)) < filled) / 16
    zbar[rng.random(n_pictures) < 0.2] = 0.0
    own = rng.random((n_pictures, n_tags)) < rng.choice([0.0, 0.1, 0.3, 0.8, 1.0], (n_pictures, 1))
    own[0], own[1] = False, True
    return prepare(csr_array(zbar), csr_array(own.astype(float)), nu2=1.7, n_total=n_pictures)


def some_weights(seed: int, n_tags: int = 17) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    # Multiples of 4 meet values of sixteenths: scores tie with each other and with thresholds exactly.
    ties = 4.0 * rng.integers(0, 5, n_tags)
    return [np.zeros(n_tags), ties, rng.gamma(1.0, 6.0, n_tags), np.full(n_tags, 1e3)]


def dense(data: MarginData) -> tuple[np.ndarray, np.ndarray]:
    shape = (data.n_pictures, data.n_tags)
    zbar = csr_array((data.values, data.columns, data.starts), shape).toarray()
    own = csr_array((np.ones(data.own_columns.size), data.own_columns, data.own_starts), shape).toarray()
    return zbar, own > 0


def pairs(data: MarginData, weights: np.ndarray) -> list[tuple[int, int, int, float]]:
    """List every violated pair as (picture, own tag, other tag, hinge)."""
    zbar, own = dense(data)
    listed = []
    for n in range(data.n_pictures):
        for i, j in product(np.flatnonzero(own[n]), np.flatnonzero(~own[n])):
            hinge = weights[j] * zbar[n, j] - (weights[i] * zbar[n, i] - 1.0)
            if hinge > 0:
                listed.append((n, int(i), int(j), hinge))
    return listed


def whole_cut(kernels, data: MarginData, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    chunks = np.array([0, 5, 6, data.n_pictures])
    slopes, levels = np.full((3, data.n_tags), np.nan), np.full(3, np.nan)
    kernels.cut(*data[:-1], weights, chunks, 0, 3, slopes, levels)
    return slopes, levels


def whole_counts(kernels, data: MarginData, points: np.ndarray, factors: np.ndarray):
    own, others = np.zeros(data.own_columns.size), np.zeros((data.n_pictures, data.n_tags))
    kernels.add_counts(*data[:-2], points, factors, 0, data.n_pictures, own, others)
    return own, others


@pytest.mark.parametrize("seed", range(6))
def test_compiled_kernels_equal_the_reference(seed):
    data = lopsided(seed, filled=[0.1, 0.4, 1.0][seed % 3])
    points = np.array(some_weights(seed))
    for weights in points:
        for left, right in zip(
            whole_cut(compiled, data, weights), whole_cut(reference, data, weights), strict=True
        ):
            np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14)
    factors = np.array([0.5, 0.0, 0.2, 0.3])
    for left, right in zip(
        whole_counts(compiled, data, points, factors),
        whole_counts(reference, data, points, factors),
        strict=True,
    ):
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@KERNELS
@pytest.mark.parametrize("seed", range(3))
def test_a_plane_is_the_sum_over_listed_pairs(kernels, seed):
    data = lopsided(seed)
    zbar, _ = dense(data)
    for weights in some_weights(seed):
        slope, level, risk = np.zeros(data.n_tags), 0.0, 0.0
        for n, i, j, hinge in pairs(data, weights):
            slope[i] -= data.pair_weights[n] * zbar[n, i]
            slope[j] += data.pair_weights[n] * zbar[n, j]
            level += data.pair_weights[n]
            risk += data.pair_weights[n] * hinge
        slopes, levels = whole_cut(kernels, data, weights)
        np.testing.assert_allclose(slopes.sum(axis=0), slope, rtol=1e-11, atol=1e-12)
        assert levels.sum() == pytest.approx(level, rel=1e-12)
        assert slopes.sum(axis=0) @ weights + levels.sum() == pytest.approx(risk, rel=1e-10)


@KERNELS
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_listed_pairs(kernels, seed):
    data = lopsided(seed)
    picture_of_own = np.repeat(np.arange(data.n_pictures), np.diff(data.own_starts))
    for weights in some_weights(seed):
        expected_own, expected_others = np.zeros((2, data.n_pictures, data.n_tags))
        for n, i, j, _ in pairs(data, weights):
            expected_own[n, i] += 1
            expected_others[n, j] += 1
        own, others = whole_counts(kernels, data, weights[None], np.ones(1))
        np.testing.assert_array_equal(own, expected_own[picture_of_own, data.own_columns])
        np.testing.assert_array_equal(others, expected_others)


@KERNELS
def test_counts_touch_only_the_pictures_asked_for(kernels):
    data, points = lopsided(1), np.array(some_weights(1)[2:3])
    own, others = np.zeros(data.own_columns.size), np.zeros((data.n_pictures, data.n_tags))
    kernels.add_counts(*data[:-2], points, np.ones(1), 4, 9, own, others)
    whole_own, whole_others = whole_counts(kernels, data, points, np.ones(1))
    asked = slice(data.own_starts[4], data.own_starts[9])
    np.testing.assert_array_equal(own[asked], whole_own[asked])
    np.testing.assert_array_equal(others[4:9], whole_others[4:9])
    assert own.sum() == whole_own[asked].sum() > 0
    assert others.sum() == whole_others[4:9].sum() > 0


@KERNELS
def test_the_slope_is_the_derivative_of_the_risk_away_from_kinks(kernels):
    rng = np.random.default_rng(5)
    zbar = rng.dirichlet(np.full(9, 0.5), 12)
    own = rng.random((12, 9)) < 0.3
    data = prepare(csr_array(zbar), csr_array(own.astype(float)), nu2=1.0, n_total=12)
    weights, step = rng.gamma(2.0, 4.0, 9), 1e-6
    assert min(abs(hinge) for *_, hinge in pairs(data, weights)) > 50 * step

    def risk(at: np.ndarray) -> float:
        slopes, levels = whole_cut(kernels, data, at)
        return slopes.sum(axis=0) @ at + levels.sum()

    numeric = [(risk(weights + step * e) - risk(weights - step * e)) / (2 * step) for e in np.eye(9)]
    np.testing.assert_allclose(whole_cut(kernels, data, weights)[0].sum(axis=0), numeric, rtol=0, atol=1e-8)


@KERNELS
def test_own_tags_are_found_where_zbar_stores_them(kernels):
    data = lopsided(2)
    own_at = kernels.find_own(data.columns, data.starts, data.own_columns, data.own_starts)
    picture_of_own = np.repeat(np.arange(data.n_pictures), np.diff(data.own_starts))
    zbar, _ = dense(data)
    stored = own_at >= 0
    np.testing.assert_array_equal(stored, zbar[picture_of_own, data.own_columns] > 0)
    np.testing.assert_array_equal(data.columns[own_at[stored]], data.own_columns[stored])
    np.testing.assert_array_equal(
        np.searchsorted(data.starts, own_at[stored], side="right") - 1, picture_of_own[stored]
    )


@pytest.mark.parametrize("n_live", [compiled.FEW, compiled.FEW + 1, 40])
def test_many_live_thresholds_are_searched_to_the_same_counts(n_live):
    rng = np.random.default_rng(n_live)
    zbar = rng.integers(1, 9, (1, 100)) / 8  # ties between thresholds and scores
    own = np.zeros((1, 100))
    own[0, rng.choice(100, n_live, replace=False)] = 1.0
    data = prepare(csr_array(zbar), csr_array(own), nu2=1.0, n_total=1)
    weights = np.full(100, 8.0)  # every own tag scores at least 1, so every threshold is live
    left = whole_counts(compiled, data, weights[None], np.ones(1))
    right = whole_counts(reference, data, weights[None], np.ones(1))
    np.testing.assert_array_equal(left[0], right[0])
    np.testing.assert_array_equal(left[1], right[1])
    assert 0 < left[0].sum() < n_live * (100 - n_live)
