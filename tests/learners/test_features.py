"""Features of linear learners: how precise their products are."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix.learners.linear import Features
from tagmix.learners.linear_solver import minimise


def blocks(kind):
    rng = np.random.default_rng(0)
    return [csr_array(rng.poisson(0.3, (30, 4)).astype(kind)), rng.normal(size=(30, 3)).astype(kind)]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_are_as_precise_as_the_features(kind):
    features = Features(blocks(np.float64)).astype(kind)
    weights = np.random.default_rng(1).normal(size=(8, 2))
    scores = features.scores(weights)
    rows = np.hstack([blocks(np.float64)[0].toarray(), blocks(np.float64)[1]])
    assert scores.dtype == kind
    np.testing.assert_allclose(scores, rows @ weights[:-1] + weights[-1], atol=5 * np.finfo(kind).eps)


def test_the_gradient_of_a_bias_adds_many_rows_in_double_precision():
    features, residual = (
        Features([np.zeros((300_000, 1), np.float32)]),
        np.full((300_000, 1), 0.1, np.float32),
    )
    assert features.pull(residual)[-1, 0] == pytest.approx(300_000 * float(np.float32(0.1)), rel=1e-9)


def test_a_minimum_in_single_precision_asks_for_losses_of_single_precision():
    features, asked = Features(blocks(np.float32)), set()

    def loss(scores, columns):
        asked.add(scores.dtype)
        return np.square(scores - 1, dtype=np.float64).sum(axis=0), 2 * (scores - 1)

    weights, _ = minimise(features, loss, np.zeros((8, 2)), 1.0, np.full(2, 1e-4), 50)
    assert asked == {np.dtype(np.float32)}
    assert weights.dtype == np.float64
