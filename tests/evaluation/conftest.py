"""Pictures whose words tell their tags, and a small learner with a setting that matters."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from tagmix import Bags


class Means(BaseEstimator):
    """Scores a tag by how near a picture's words are to the mean words of the tag's pictures."""

    def __init__(self, *, trust=1.0):
        self.trust = trust

    def fit(self, bags, y=None):
        words, tags = summed(bags), bags.captions.toarray()
        self.means_ = tags.T @ words / np.maximum(1, tags.sum(axis=0))[:, None]
        return self

    def decision_scores(self, bags):
        return self.trust * summed(bags) @ self.means_.T


class Peeking(Means):
    """Reads the captions of what it is asked about."""

    def decision_scores(self, bags):
        return super().decision_scores(bags) + (0 if bags.tags is None else 100 * bags.tags.toarray())


def summed(bags):
    return np.add.reduceat(bags.views["words"].toarray(), bags.offsets[:-1], axis=0).astype(float)


def pictures(n=60, n_tags=6, seed=0):
    """Return pictures of two regions, whose words are those of their one to three tags, and some noise."""
    rng = np.random.default_rng(seed)
    tags = np.argsort(rng.random((n, n_tags)), axis=1) < rng.integers(1, 4, n)[:, None]
    rate = np.repeat(tags @ np.kron(np.eye(n_tags), np.ones(3)) * 2 + 0.7, 2, axis=0)
    return Bags(rng.poisson(rate), np.arange(0, 2 * n + 1, 2), tags=tags)


@pytest.fixture(scope="session")
def album():
    return pictures()


@pytest.fixture
def means():
    return Means()


@pytest.fixture
def peeking():
    return Peeking()
