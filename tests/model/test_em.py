"""The whole iteration: the bound never falls, shards merge, planted truth comes back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagmix import EMM, Bags, planted_topics, sample_bags
from tagmix.kernels import compiled, reference
from tagmix.model import estep, mstep
from tagmix.model.background import duals_with_background
from tagmix.model.params import Settings


def random_problem(seed):
    """Bags that fit no model well: uneven images, empty regions, a tag never seen."""
    rng = np.random.default_rng(seed)
    n_pictures, n_tags, n_words = 12, 6, 15
    sizes = rng.integers(1, 6, n_pictures)
    counts = rng.poisson(rng.gamma(0.4, 1.5, (sizes.sum(), n_words)))
    counts[rng.integers(len(counts))] = 0
    tags = rng.random((n_pictures, n_tags)) < 0.35
    tags[np.arange(n_pictures), rng.integers(0, n_tags - 1, n_pictures)] = True
    tags[:, -1] = False
    return Bags(counts, np.concatenate([[0], np.cumsum(sizes)]), tags=tags)


def bounds_of(bags, options, n_iter, delta=None):
    params, S, bounds = mstep.start(bags, options, 0.2), None, []
    for _ in range(n_iter):
        posterior = estep.posterior_captioned(bags, params, options, start=S, delta=delta)
        total = estep.accumulate(bags, posterior, params, options, estep.Statistics.of_nothing(params))
        bounds.append(mstep.total_bound(params, total, options))
        params, S = mstep.update(params, total, options), posterior.S
    return np.array(bounds), params


MODES = {
    "hard": {"hard": True},
    "literal": {"hard": False, "strength": 1.0},
    "strong": {"hard": False, "strength": 40.0},
    "background": {"background": True},
    "soft background": {"hard": False, "strength": 5.0, "background": True},
}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("mode", MODES)
def test_the_bound_never_falls_over_50_iterations(seed, mode):
    kappa = [1.0, 0.3, 0.05][seed % 3]
    bounds, _ = bounds_of(random_problem(seed), Settings({"words": kappa}, **MODES[mode]), 50)
    gains = np.diff(bounds)
    assert gains.min() >= -1e-9 * abs(bounds[0]), f"fell at step {gains.argmin() + 1}: {bounds}"
    assert gains.max() > 0


@pytest.mark.parametrize("mode", MODES)
def test_the_bound_never_falls_with_multipliers(mode):
    bags = random_problem(1)
    rng = np.random.default_rng(0)
    options = Settings({"words": 0.5}, **MODES[mode])
    width = bags.captions.nnz if options.hard else (len(bags), bags.n_tags)
    delta = rng.normal(0, 0.5, width)
    delta = duals_with_background(delta, bags.captions) if options.background else delta
    bounds, _ = bounds_of(bags, options, 30, delta)
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bounded", [True, False])
def test_compiled_equals_reference_over_ten_iterations(mode, bounded):
    bags = random_problem(3)
    answers = [
        bounds_of(bags, Settings({"words": 0.5}, bounded=bounded, kernels=kernels, **MODES[mode]), 10)
        for kernels in (reference, compiled)
    ]
    np.testing.assert_allclose(answers[0][0], answers[1][0], rtol=1e-9)
    np.testing.assert_allclose(answers[0][1].rates, answers[1][1].rates, rtol=1e-9)
    np.testing.assert_allclose(
        answers[0][1].instances["words"].mu, answers[1][1].instances["words"].mu, rtol=1e-9
    )


def statistics_in_shards(bags, params, options, cuts):
    parts = []
    for a, b in zip([0, *cuts], [*cuts, len(bags)], strict=True):
        shard = bags[a:b]
        posterior = estep.posterior_captioned(shard, params, options)
        parts.append(estep.accumulate(shard, posterior, params, options, estep.Statistics.of_nothing(params)))
    return sum(parts[1:], parts[0])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.lists(st.integers(0, 12), max_size=4), st.sampled_from(sorted(MODES)))
def test_statistics_of_shards_add_up_to_those_of_the_whole(seed, cuts, mode):
    bags = random_problem(seed)
    options = Settings({"words": 0.5}, **MODES[mode])
    params = mstep.start(bags, options, 0.2)
    whole = statistics_in_shards(bags, params, options, [])
    split = statistics_in_shards(bags, params, options, sorted(cuts))
    np.testing.assert_allclose(split.instances["words"], whole.instances["words"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(split.theta, whole.theta, rtol=1e-12)
    np.testing.assert_allclose(split.bound, whole.bound, rtol=1e-12)
    assert split.n_pictures == whole.n_pictures == len(bags)


def test_guidance_is_weight_times_caption_and_multiplier_over_the_number_of_regions():
    tags = Bags(np.ones((7, 1), int), [0, 2, 2, 7], tags=[[1, 0, 1], [0, 1, 0], [0, 1, 1]]).captions
    n_regions, weights = np.array([2, 0, 5]), np.array([0.5, 2.0, 3.0])
    delta = np.array([[0.4, -0.2, 0.1], [-0.3, 0.6, -0.3], [0.0, 0.8, -0.5]])
    y, M = tags.toarray(), np.array([[2], [1], [5]])
    soft = estep.guidance(tags, n_regions, weights, 7.0, delta)
    np.testing.assert_allclose(soft, 7.0 * weights * (y + delta) / M, rtol=1e-14)
    np.testing.assert_allclose(
        estep.guidance(tags, n_regions, weights, 7.0, None), 7.0 * weights * y / M, rtol=1e-14
    )
    own = estep.own_guidance(tags, n_regions, weights, delta[y > 0])
    np.testing.assert_allclose(own, (weights * (1 + delta) / M)[y > 0], rtol=1e-14)
    np.testing.assert_allclose(
        estep.own_guidance(tags, n_regions, weights, None), (weights / M + 0 * delta)[y > 0], rtol=1e-14
    )


def test_without_a_start_regions_are_shared_as_the_prior_would():
    bags = Bags(np.ones((8, 2), int), [0, 3, 3, 8], tags=[[1, 0, 1], [1, 1, 0], [0, 0, 0]])
    rates = np.array([[2.0, 1.0, 0.5], [1.0, 4.0, 1.0], [1.0, 1.0, 3.0]])
    every = estep._prior_shares(rates.ravel(), np.arange(4) * 3, bags.offsets).reshape(3, 3)
    expected = np.array([[3], [0], [5]]) / rates / (1 / rates).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(every, expected, rtol=1e-14)
    own = estep._prior_shares(np.array([2.0, 0.5, 1.0, 4.0]), np.array([0, 2, 4, 4]), bags.offsets)
    np.testing.assert_allclose(own, [3 / 5, 12 / 5, 0, 0], rtol=1e-14)


@pytest.mark.parametrize("mode", MODES)
def test_each_picture_gets_what_it_gets_alone(mode):
    bags = random_problem(7)
    options = Settings({"words": 0.5}, **MODES[mode])
    params = mstep.start(bags, options, 0.2)
    params = replace(params, rates=np.random.default_rng(7).gamma(1.0, 1.0, params.n_tags) + 0.05)
    together = estep.posterior_captioned(bags, params, options)
    alone = [estep.posterior_captioned(bags[n], params, options) for n in range(len(bags))]
    for name in ("phi", "S", "r", "bound"):
        parts = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_allclose(getattr(together, name), parts, rtol=1e-9, atol=1e-300)


def test_strong_guidance_ends_in_hard_guidance():
    bags = random_problem(4)
    hard, soft = Settings({"words": 0.5}), Settings({"words": 0.5}, hard=False, strength=1e5)
    params = mstep.start(bags, hard, 0.2)
    total = [statistics_in_shards(bags, params, options, []).instances["words"] for options in (hard, soft)]
    np.testing.assert_allclose(total[1], total[0], rtol=1e-6, atol=1e-6)


def test_learning_lambda_without_the_normaliser_runs_away():
    # D12: every pass shrinks the rate of a tag that holds regions, without end.
    bags = random_problem(5)
    _, early = bounds_of(bags, Settings({"words": 1.0}, bounded=False), 20)
    _, late = bounds_of(bags, Settings({"words": 1.0}, bounded=False), 200)
    _, kept = bounds_of(bags, Settings({"words": 1.0}), 200)
    assert late.rates.min() < 0.3 * early.rates.min()
    assert kept.rates.min() > 0.05


def region_accuracy(overlap, shuffled=False, seed=0):
    rng = np.random.default_rng(seed)
    sample = sample_bags(planted_topics(40, 400, overlap, rng), 600, rng=rng)
    train, test = sample.bags[:500], sample.bags[500:]
    if shuffled:
        train = train.with_tags(train.captions[rng.permutation(500)])
    model = EMM(learning="likelihood", calibration_folds=0, max_iter=30, tol=1e-4).fit(train)
    return float((model.top_region_tags(test)[:, 0] == sample.region_tags[500 * 8 :]).mean())


@pytest.mark.parametrize("seed", range(3))
def test_planted_tags_of_regions_are_recovered_and_shuffled_captions_are_not(seed):
    assert region_accuracy(0.0, seed=seed) >= 0.9
    assert region_accuracy(0.0, shuffled=True, seed=seed) < 0.2


def test_recovery_falls_as_topics_overlap():
    curve = [region_accuracy(overlap) for overlap in (0.0, 0.8, 0.95, 1.0)]
    assert curve[0] >= curve[1] - 0.02 >= curve[2] - 0.04
    assert curve[3] < 0.1  # nothing is left to tell tags apart by: chance is 1/40
