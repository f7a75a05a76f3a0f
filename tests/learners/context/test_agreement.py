"""Agreement, coverage and shares, counted by loops where the evidence is known."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, softmax
from tagmix.learners.context.agreement import Trial, cross_validated_shares, try_powers
from tagmix.model.linear import Linear

from tagmix import Bags
from tagmix.learners.context import agreement
from tagmix.learners.context.prior import PriorOfTraining
from tagmix.learners.context.regions import RegionTrainer, TrainedFold
from tagmix.model.given import RegionModel, log_shares_of
from tagmix.model.params import Settings

N, N_TAGS = 150, 6
POWERS = (0.5, 2.0)
TRAINER = RegionTrainer(Settings({"net:linear": 1.0}), 10, 1e-3, memory=1e5)


@pytest.fixture(scope="module")
def bags():
    """Pictures of one to four regions, whose embedding is their evidence: higher for tags of the caption."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 5, N)
    tags = (rng.random((N, N_TAGS)) < 0.3).astype(int)
    tags[np.arange(N), rng.integers(0, N_TAGS, N)] = 1
    evidence = rng.normal(size=(sizes.sum(), N_TAGS)) + 1.5 * np.repeat(tags, sizes, axis=0)
    return Bags({"net": evidence}, np.concatenate([[0], np.cumsum(sizes)]), tags=tags)


@pytest.fixture(scope="module")
def prior(bags):
    """Two thirds of the pictures, and a context that is little better than noise."""
    rng = np.random.default_rng(1)
    rows = np.sort(rng.permutation(N)[:100])
    logits = rng.normal(-1, 1, (100, N_TAGS)) + 0.3 * bags[rows].captions.toarray()
    return PriorOfTraining(rows, logits, np.arange(N))


@pytest.fixture(scope="module")
def trained():
    """Three folds whose models take the embedding for the evidence."""
    scorer = Linear(np.zeros(N_TAGS), np.ones(N_TAGS), np.eye(N_TAGS, N_TAGS + 1))
    model = RegionModel({"net:linear": scorer}, N_TAGS)
    return [TrainedFold(model, np.arange(first, N, 3)) for first in range(3)]


def regions_of(bags, n):
    return bags.views["net"][bags.offsets[n] : bags.offsets[n + 1]]


def test_agreement_and_coverage_are_those_that_loops_count(bags, prior, trained):
    trial = try_powers(bags, prior, trained, TRAINER, POWERS)
    same, alone, covered, n_regions, n_tags = dict.fromkeys(POWERS, 0), 0, 0, 0, 0
    for i, n in enumerate(prior.rows):
        own = np.flatnonzero(bags.captions.toarray()[n])
        found = set()
        for x in regions_of(bags, n):
            named = own[x[own].argmax()]
            found.add(named)
            n_regions, alone = n_regions + 1, alone + (x.argmax() in own)
            for power in POWERS:
                same[power] += (np.exp(x) * expit(prior.logits[i]) ** power).argmax() == named
        covered, n_tags = covered + len(found), n_tags + len(own)
    assert trial.agreement == pytest.approx({power: n / n_regions for power, n in same.items()})
    assert trial.coverage == pytest.approx(covered / n_tags)
    assert trial.agreement_without_context == pytest.approx(alone / n_regions)


def test_shares_are_means_of_softmaxes_picture_by_picture(bags, prior, trained):
    shares = cross_validated_shares(bags, prior, trained, TRAINER, 2.0)
    for share, log_prior, n in zip(shares, log_expit(prior.logits), prior.rows, strict=True):
        expected = softmax(regions_of(bags, n) + 2.0 * log_prior, axis=1).mean(axis=0)
        np.testing.assert_allclose(share, expected, rtol=1e-9)


def test_regions_are_scored_by_the_model_of_the_fold_that_holds_their_picture(bags, prior, trained):
    scored = []
    for fold, place, shard in agreement._unseen(bags, prior, trained, TRAINER):
        assert np.isin(prior.rows[place], fold.test).all()
        assert list(shard.ids) == list(bags[prior.rows[place]].ids)
        scored += list(place)
    assert sorted(scored) == list(range(len(prior.rows)))


def test_of_powers_that_agree_equally_the_smallest_is_best():
    assert Trial({2.0: 0.5, 0.5: 0.5, 1.0: 0.4}, 0.5, 0.5).best_power == 0.5


def test_shares_of_a_power_beyond_sense_stay_finite_and_in_the_order_of_the_context():
    logits = np.array([[-30.0, -29.99, -29.0], [0.0, 1.0, 30.0]])
    log_shares = log_shares_of(log_expit(logits), 100.0)
    assert np.isfinite(log_shares).all()
    assert (np.diff(log_shares, axis=1) > 0).all()
