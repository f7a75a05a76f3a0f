"""Given shares: the likelihood and the posterior against a list of all assignments, their limits, and EM."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from tagmix import Bags
from tagmix.kernels import compiled, reference
from tagmix.model import estep, given, mstep
from tagmix.model.given import Held, Odds, RegionModel
from tagmix.model.params import Settings

N_TAGS = 3


class Scorer:
    """Log odds that follow from the embedding."""

    weights = np.array([[1.5, -1.0, 0.3], [0.2, 0.8, -2.0]])

    def score_regions(self, views):
        return views["net"] @ self.weights


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(0)
    views = {"words": rng.poisson(2.0, (7, 4)), "net": rng.normal(size=(7, 2))}
    return Bags(views, [0, 3, 3, 7], tags=[[1, 1, 0], [0, 1, 1], [1, 1, 1]])


def model(bags, kappa, kernels=compiled, background=False, odds=(1.0, 0.0), scorer=None):
    settings = Settings({"words": kappa, "net": kappa}, kernels=kernels, background=background)
    instances = mstep.start_instances(bags, settings, 0.5)
    return RegionModel(instances, bags.n_tags + background, background, Odds(*odds), scorer), settings


def log_prior(n_pictures, n_tags=N_TAGS, seed=1):
    return np.log(np.random.default_rng(seed).uniform(0.05, 0.95, (n_pictures, n_tags)))


def evidence_of(bags, regions, settings):
    """Return the evidence of every component, with the scores of tags."""
    evidence = estep.evidence_of(bags, regions, settings)
    if regions.scorer is not None:
        evidence[:, : bags.n_tags] += regions.scorer.score_regions(bags.views)
    return evidence


def enumerated(evidence, shares):
    """Return log Σ_z Π_m share(z_m) e^{evidence(m, z_m)} and p(z_m = c), by listing every z."""
    n_regions, n_tags = evidence.shape
    total, marginals = 0.0, np.zeros(evidence.shape)
    for z in product(range(n_tags), repeat=n_regions):
        weight = np.prod([shares[c] * np.exp(evidence[m, c]) for m, c in enumerate(z)])
        total += weight
        for m, c in enumerate(z):
            marginals[m, c] += weight
    return np.log(total), marginals / total


def test_shares_are_the_power_of_the_prior_times_the_odds_beside_a_background_of_1():
    prior = np.array([[0.5, 0.2, 0.1]])
    closed, opened = (
        np.exp(given.log_shares_of(np.log(prior), 1.5, RegionModel({}, 3 + b, b, Odds(2.5, 0.3))))
        for b in (False, True)
    )
    np.testing.assert_allclose(closed, prior**1.5 / (prior**1.5).sum(), rtol=1e-12)
    weights = np.append(2.5 * prior**1.5, 1.0)[None]
    np.testing.assert_allclose(opened, weights / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
@pytest.mark.parametrize(("kappa", "background"), [(1.0, False), (0.2, False), (0.2, True)])
@pytest.mark.parametrize("scorer", [None, Scorer()], ids=["", "scorer"])
def test_given_shares_lead_to_the_exact_likelihood_and_posterior(bags, kappa, background, kernels, scorer):
    regions, settings = model(bags, kappa, kernels, background, Odds(1.7, 0.1), scorer)
    shares, n = given.log_shares_of(log_prior(3), 1.5, regions), regions.n_tags
    found = given.posterior_given(bags, regions, settings, shares)
    evidence = evidence_of(bags, regions, settings)
    for i in range(3):
        part = slice(bags.offsets[i], bags.offsets[i + 1])
        value, phi = enumerated(evidence[part], np.exp(shares[i]))
        assert found.bound[i] == pytest.approx(value, abs=1e-10)
        np.testing.assert_allclose(found.phi.reshape(-1, n)[part], phi, atol=1e-12)
        np.testing.assert_allclose(found.S.reshape(3, n)[i], phi.sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_a_caption_shares_equally_among_its_own_tags(bags, kernels):
    regions, settings = model(bags, 0.5, kernels)
    found = given.posterior_of_captions(given.captioned_shard(bags, regions), regions, settings)
    evidence = estep.evidence_of(bags, regions, settings)
    tags, entries = bags.captions.toarray() > 0, found.entries
    for n in range(3):
        part = evidence[bags.offsets[n] : bags.offsets[n + 1]][:, tags[n]]
        value, phi = enumerated(part, np.full(tags[n].sum(), 1 / tags[n].sum()))
        assert found.bound[n] == pytest.approx(value, abs=1e-10)
        block = found.phi[entries.block_starts[n] : entries.block_starts[n + 1]]
        np.testing.assert_allclose(block, phi.ravel(), atol=1e-12)
        np.testing.assert_allclose(
            found.S[entries.starts[n] : entries.starts[n + 1]], phi.sum(axis=0), atol=1e-12
        )


@pytest.fixture(scope="module")
def open_captions():
    """Captions of nine tags with tags rejected and unknown, words and embeddings, and log π."""
    rng = np.random.default_rng(5)
    n, n_tags = 4, 9
    kinds = rng.choice(4, size=(n, n_tags), p=[0.4, 0.3, 0.15, 0.15])
    kinds[:, 0], kinds[:, 1], kinds[:, 2] = 1, 2, 3  # one of each in every picture
    offsets = np.array([0, 2, 5, 5, 6])
    views = {"words": rng.poisson(2.0, (6, 4)), "net": rng.normal(size=(6, 2))}
    given_tags, rejected, unknown = ((kinds == kind).astype(int) for kind in (1, 2, 3))
    bags = Bags(views, offsets, given_tags, rejected=rejected, unknown=unknown)
    return bags, kinds, log_prior(n, n_tags, seed=6)


class NineTags:
    """Log odds of nine tags."""

    def score_regions(self, views):
        return views["net"] @ np.random.default_rng(7).normal(size=(2, 9))


def weights_of_caption(kinds, prior, odds, background):
    """Return the unnormalised share of each component of one picture, as the page of the model states it.

    A caption's tag has a, an unknown one a·π, a rejected one nothing. Of the others, the five that the
    context expects most have b times their odds, which are at most 1.
    """
    weights = np.zeros(len(prior))
    for c, kind in enumerate(kinds):
        if kind == 1:
            weights[c] = odds.inside
        elif kind == 3:
            weights[c] = odds.inside * prior[c]
    others = sorted((c for c, kind in enumerate(kinds) if kind == 0), key=lambda c: -prior[c])
    for c in others[:5]:
        weights[c] = odds.outside * (prior[c] / (1 - prior[c]) if prior[c] < 0.5 else 1.0)
    return np.append(weights, 1.0) if background else weights


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("scorer", [None, NineTags()], ids=["", "scorer"])
def test_regions_of_an_open_caption_are_shared_by_its_tags_by_unknown_ones_and_by_those_expected(
    open_captions, background, scorer
):
    bags, kinds, log_pi = open_captions
    odds = Odds(1.9 if background else 1.0, 0.6)
    regions, settings = model(bags, 0.3, background=background, odds=odds, scorer=scorer)
    shard = given.captioned_shard(bags, regions, log_pi)
    found = given.posterior_of_captions(shard, regions, settings)
    evidence, entries = evidence_of(bags, regions, settings), found.entries
    for n in range(len(bags)):
        weights = weights_of_caption(kinds[n], np.exp(log_pi[n]), odds, background)
        own = np.flatnonzero(weights)
        assert entries.tags[entries.starts[n] : entries.starts[n + 1]].tolist() == own.tolist()
        part = evidence[bags.offsets[n] : bags.offsets[n + 1]]
        joint = weights / weights.sum() * np.exp(part)
        block = found.phi[entries.block_starts[n] : entries.block_starts[n + 1]].reshape(-1, len(own))
        np.testing.assert_allclose(block, (joint / joint.sum(axis=1, keepdims=True))[:, own], atol=1e-12)
        assert found.bound[n] == pytest.approx(np.log(joint.sum(axis=1)).sum(), abs=1e-10)
    assert len(own) < bags.n_tags + background  # something was no candidate


@pytest.mark.parametrize("background", [False, True])
def test_odds_follow_from_the_weights_of_tags_in_and_outside_captions_and_from_what_they_hold(
    open_captions, background
):
    bags, kinds, log_pi = open_captions
    regions, settings = model(bags, 0.3, background=background, odds=Odds(1.0, 0.6))
    shard = given.captioned_shard(bags, regions, log_pi)
    S, entries = given.posterior_of_captions(shard, regions, settings).S, shard.entries
    found = given._held(shard, regions, S)
    assert found.regions.tolist() == np.diff(bags.offsets).tolist()
    for n, kind in enumerate(kinds):
        own = slice(entries.starts[n], entries.starts[n + 1])
        for odds, total, held in (
            (Odds(1.0, 0.0), found.inside[n], found.held_inside[n]),
            (Odds(0.0, 1.0), found.outside[n], found.held_outside[n]),
        ):
            weights = weights_of_caption(kind, np.exp(log_pi[n]), odds, False)
            assert total == pytest.approx(weights.sum())
            assert held == pytest.approx(S[own][np.isin(entries.tags[own], np.flatnonzero(weights))].sum())


def test_no_more_tags_outside_a_caption_are_candidates_than_the_five_most_expected():
    log_pi = np.log(np.linspace(0.1, 0.8, 9))[None]
    bags = Bags(np.ones((1, 2), int), [0, 1], tags=np.eye(9, dtype=int)[:1])
    shard = given.captioned_shard(bags, model_of_words(bags), log_pi)
    assert shard.entries.tags.tolist() == [0, 4, 5, 6, 7, 8]
    assert shard.outside.tolist() == [False, *[True] * 5]


def model_of_words(bags):
    return RegionModel(
        mstep.start_instances(bags, Settings({"words": 1.0}), 0.5), bags.n_tags, False, Odds(1, 1)
    )


def test_without_evidence_regions_are_the_context_and_without_context_they_are_the_evidence(bags):
    regions, nearly_none = model(bags, 1e-12)
    shares = given.log_shares_of(log_prior(3, seed=2), 1.5, regions)
    phi = given.posterior_given(bags, regions, nearly_none, shares).phi.reshape(-1, N_TAGS)
    np.testing.assert_allclose(phi, np.repeat(np.exp(shares), np.diff(bags.offsets), axis=0), atol=1e-9)
    regions, settings = model(bags, 0.5)
    evidence = np.exp(estep.evidence_of(bags, regions, settings))
    equal = np.full((3, N_TAGS), -np.log(N_TAGS))
    phi = given.posterior_given(bags, regions, settings, equal).phi.reshape(-1, N_TAGS)
    np.testing.assert_allclose(phi, evidence / evidence.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.fixture(scope="module")
def album():
    """Enough captioned pictures for EM to move, of words and embeddings, and log π of their tags."""
    rng = np.random.default_rng(3)
    tags = np.vstack([np.eye(N_TAGS, dtype=int), rng.integers(0, 2, (21, N_TAGS))])
    tags[tags.sum(axis=1) == 0, 0] = 1
    own = np.concatenate([rng.choice(np.flatnonzero(row), 3) for row in tags])
    views = {"words": rng.poisson(1.0, (72, 6)), "net": rng.normal(size=(72, 2)) + 3 * np.eye(3)[own, :2]}
    return Bags(views, np.arange(0, 73, 3), tags=tags)


def iterations(album, kappa, parts, n=12, background=False, outside=True, scorer=None):
    settings = Settings(kappa, background=background)
    odds = Odds(0.7 if background else 1.0, 0.2)
    instances = mstep.start_instances(album, settings, 0.3)
    regions = RegionModel(instances, N_TAGS + background, background, odds, scorer)
    expected = log_prior(len(album)) if outside else None
    shards = [
        given.captioned_shard(album[part], regions, None if expected is None else expected[part])
        for part in parts
    ]
    bounds = []
    for _ in range(n):
        regions, bound = given.em_step(regions, shards, settings)
        bounds.append(bound)
    return regions, bounds


@pytest.mark.parametrize("kappa", [{"words": 1.0}, {"words": 0.3, "net": 0.6}], ids="+".join)
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("scorer", [None, Scorer()], ids=["", "scorer"])
def test_every_step_of_em_raises_the_bound(album, kappa, background, outside, scorer):
    how = {"background": background, "outside": outside, "scorer": scorer}
    regions, bounds = iterations(album, kappa, [slice(None)], **how)
    assert min(np.diff(bounds)) > -1e-9 * abs(bounds[0])
    assert bounds[-1] > bounds[0] + 0.1
    assert (regions.odds.inside != 1.0) == background
    assert (regions.odds.outside != 0.2) == outside


@pytest.mark.parametrize("background", [False, True])
def test_the_bound_is_the_enumerated_likelihood_of_captions_minus_the_divergence(bags, background):
    odds = Odds(1.3 if background else 1.0, 0.0)
    regions, settings = model(bags, 0.5, background=background, odds=odds, scorer=Scorer())
    _, bound = given.em_step(regions, [given.captioned_shard(bags, regions)], settings)
    evidence, tags = evidence_of(bags, regions, settings), bags.captions.toarray() * odds.inside
    tags = np.column_stack([tags, np.ones(3)]) if background else tags
    total = -sum(0.5 * own.divergence() for own in regions.instances.values())
    for n in range(3):
        part = evidence[bags.offsets[n] : bags.offsets[n + 1]]
        total += enumerated(part, tags[n] / tags[n].sum())[0]
    assert bound == pytest.approx(total, rel=1e-12)


def test_shards_add_up_to_the_whole(album):
    kappa, how = {"words": 0.3, "net": 0.6}, {"background": True, "scorer": Scorer(), "n": 3}
    whole, bounds = iterations(album, kappa, [slice(None)], **how)
    parts, of_parts = iterations(album, kappa, [slice(0, 5), slice(5, 24)], **how)
    np.testing.assert_allclose(of_parts, bounds, rtol=1e-12)
    np.testing.assert_allclose(parts.instances["words"].mu, whole.instances["words"].mu, rtol=1e-9)
    np.testing.assert_allclose(parts.instances["net"].means, whole.instances["net"].means, atol=1e-9)
    np.testing.assert_allclose(parts.odds, whole.odds, rtol=1e-9)


def held(seed, background):
    """Return regions held by tags in and outside captions, as shares could give them."""
    rng = np.random.default_rng(seed)
    inside, outside = rng.integers(1, 5, 30).astype(float), rng.uniform(0, 1.5, 30)
    regions = rng.integers(3, 12, 30).astype(float)
    parts = rng.dirichlet([3, 1, 2 * background + 1e-9], 30) * regions[:, None]
    return Held(parts[:, 0], parts[:, 1], inside, outside, regions)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("background", [False, True])
def test_odds_end_at_the_maximum_that_a_general_maximiser_finds(seed, background):
    own = held(seed, background)

    def loss(logs):
        a, b = np.exp(logs) if background else (1.0, np.exp(logs[0]))
        size = float(background) + a * own.inside + b * own.outside
        gained = own.held_inside.sum() * np.log(a) + own.held_outside.sum() * np.log(b)
        return own.regions @ np.log(size) - gained

    regions = RegionModel({}, N_TAGS + background, background, Odds(0.7 if background else 1.0, 0.05))
    start = np.log([regions.odds.inside, regions.odds.outside][not background :])
    losses = []
    for _ in range(40):
        logs = np.log([regions.odds.inside, regions.odds.outside][not background :])
        losses.append(loss(logs))
        regions = RegionModel({}, regions.n_tags, background, given.best_odds(own, regions))
    best = minimize(
        loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000}
    )
    found = np.log([regions.odds.inside, regions.odds.outside][not background :])
    np.testing.assert_allclose(found, best.x, atol=1e-5)
    assert np.diff(losses).max() < 1e-9
    assert background or regions.odds.inside == 1.0


def test_odds_of_tags_that_hold_nothing_are_left_as_they_are():
    none = Held(*(np.zeros(4) for _ in range(2)), np.ones(4), np.zeros(4), np.full(4, 3.0))
    assert given.best_odds(none, RegionModel({}, 3, True, Odds(0.4, 0.2))) == Odds(0.4, 0.2)
