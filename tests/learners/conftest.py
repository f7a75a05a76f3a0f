"""Small samples with a planted truth, and models fitted to them once a worker."""

import numpy as np
import pytest

from tagmix import EMM, planted_topics, sample_bags


def sample(n_images, *, n_tags=10, overlap=0.3, seed=0, n_words=60, **how):
    rng = np.random.default_rng(seed)
    topics = planted_topics(n_tags, n_words, overlap, rng)
    return sample_bags(topics, n_images, **{"n_regions": 4, "words_per_region": 30, **how}, rng=rng)


@pytest.fixture(scope="session")
def train():
    return sample(160).bags[:120]


@pytest.fixture(scope="session")
def test():
    return sample(160).bags[120:]


@pytest.fixture(scope="session")
def plain(train):
    """Fitted by likelihood, without calibration."""
    return EMM(learning="likelihood", calibration_folds=0).fit(train)


@pytest.fixture(scope="session")
def fitted(train):
    """Fitted with margins and calibration, as by default."""
    return EMM().fit(train)


@pytest.fixture(scope="session")
def sampled():
    """The maker of samples itself, for tests that want their own."""
    return sample
