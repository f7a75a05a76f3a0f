"""CorrLDA: the bound and its maximisers, the evidence by enumeration, and what it learns."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma, gammaln, logsumexp, softmax, xlogy
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from tagmix import Bags, planted_topics, sample_bags
from tagmix.errors import ParameterError
from tagmix.kernels.compiled import topics
from tagmix.learners.regions.corrlda import CorrLDA

pytestmark = pytest.mark.filterwarnings("ignore:stopped after")

COUNTS = np.array([[2, 0, 1], [0, 1, 0], [1, 0, 2]])
OFFSETS = np.array([0, 2, 3])
CAPTIONS = [[0, 1], [1]]
TAGS = np.array([[1, 1, 0], [0, 1, 0]])
N_TOPICS, ETA = 2, 0.5


def sample(seed=0, n_images=160):
    rng = np.random.default_rng(seed)
    return sample_bags(planted_topics(8, 60, 0.2, rng), n_images, n_regions=4, words_per_region=30, rng=rng)


def log_beta(a):
    return gammaln(a).sum() - gammaln(a.sum())


def log_groups(rows, owners, width):
    """log ∫ Π_k Dir(η) Π p(row | owner): the Dirichlet-multinomial of each topic's words or tags."""
    total = 0.0
    for k in range(N_TOPICS):
        held = sum((row for row, owner in zip(rows, owners, strict=True) if owner == k), np.zeros(width))
        total += log_beta(ETA + held) - log_beta(np.full(width, ETA))
    return total


def log_evidence(alpha, kappa):
    """The exact evidence of both pictures: every topic of every region, every region of every word."""
    picks = [range(OFFSETS[n], OFFSETS[n + 1]) for n, words in enumerate(CAPTIONS) for _ in words]
    spoken = [np.eye(3)[word] for words in CAPTIONS for word in words]
    terms = []
    for z in itertools.product(range(N_TOPICS), repeat=3):
        value = kappa * log_groups(COUNTS, z, 3)
        for n in range(2):
            counts = np.bincount(z[OFFSETS[n] : OFFSETS[n + 1]], minlength=N_TOPICS)
            value += log_beta(alpha + counts) - log_beta(alpha)
        for y in itertools.product(*picks):
            uniform = sum(np.log(len(pick)) for pick in picks)
            terms.append(value + log_groups(spoken, [z[m] for m in y], 3) - uniform)
    return logsumexp(terms)


@pytest.mark.parametrize("kappa", [1.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_stays_below_the_evidence_that_enumeration_gives(kappa, seed):
    how = {"eta": ETA, "learn_eta": False, "tol": 0, "estep_tol": 1e-10, "evidence": kappa}
    learner = CorrLDA(n_topics=N_TOPICS, random_state=seed, **how)
    bags = Bags(COUNTS, OFFSETS, tags=TAGS)
    alpha = clone(learner).set_params(max_iter=7).fit(bags).alpha_
    bound = clone(learner).set_params(max_iter=8).fit(bags).bound_history_[-1]
    exact = log_evidence(alpha, kappa) + (np.log(alpha) - alpha).sum()
    assert exact - 5.0 < bound <= exact


@pytest.mark.parametrize("kappa", [1.0, 0.1])
@pytest.mark.parametrize("total", [None, 5.0])
def test_the_bound_never_falls(kappa, total):
    learner = CorrLDA(n_topics=15, evidence=kappa, max_iter=25, tol=0, total_alpha=total)
    history = learner.fit(sample().bags).bound_history_
    assert np.diff(history).min() >= -1e-9 * abs(history[0])


def bound_of(phi, gamma, link, alpha, evidence, spoken):
    """The bound of one picture, line by line, for any φ, γ and links."""
    E = digamma(gamma) - digamma(gamma.sum())
    theta = -log_beta(alpha) + ((alpha - 1) * E).sum() + log_beta(gamma) - ((gamma - 1) * E).sum()
    regions = phi.sum(axis=0) @ E + (phi * evidence).sum() - xlogy(phi, phi).sum()
    captions = (link * (spoken @ phi.T)).sum() - xlogy(link, link).sum() - len(link) * np.log(len(phi))
    return theta + regions + captions


def settled(seed):
    rng = np.random.default_rng(seed)
    evidence, alpha = rng.normal(-4, 2, (3, 4)), rng.gamma(1.0, 1.0, 4) + 0.1
    log_tags = np.log(rng.dirichlet(np.ones(5), 4)).T.copy()
    block, S, link = evidence.ravel().copy(), np.full((1, 4), 0.75), np.full(6, 1 / 3)
    held, bound, tags = np.zeros((2, 4)), np.zeros(1), np.array([1, 3])
    topics.infer_links(
        block, np.array([0, 3]), np.array([0, 2]), tags, log_tags, alpha, 1e-13, 9000, S, link,
        np.array([0, 6]), held, bound, np.zeros(1, np.int64),
    )  # fmt: skip
    return block.reshape(3, 4), S[0], link.reshape(2, 3), bound[0], alpha, evidence, log_tags[tags]


@pytest.mark.parametrize("seed", range(4))
def test_where_inference_settles_no_coordinate_can_be_bettered(seed):
    phi, S, link, bound, alpha, evidence, spoken = settled(seed)
    rest = (alpha, evidence, spoken)
    np.testing.assert_allclose(bound, bound_of(phi, alpha + S, link, *rest), rtol=1e-10)
    for m, k in itertools.product(range(3), range(4)):
        other = phi.copy()
        other[m] = 0.99 * phi[m] + 0.01 * np.eye(4)[k]
        assert bound_of(other, alpha + S, link, *rest) < bound
    for t, m in itertools.product(range(2), range(3)):
        other = link.copy()
        other[t] = 0.99 * link[t] + 0.01 * np.eye(3)[m]
        assert bound_of(phi, alpha + S, other, *rest) < bound
    for k in range(4):
        assert bound_of(phi, (alpha + S) * (1 + 0.01 * np.eye(4)[k]), link, *rest) < bound


def test_one_topic_gives_every_picture_the_frequency_of_tags():
    # With one topic φ = 1, so ν = η + how often each tag was said, by hand.
    bags = Bags(COUNTS, OFFSETS, tags=TAGS)
    learner = CorrLDA(n_topics=1, eta=ETA, learn_eta=False, max_iter=3).fit(bags)
    np.testing.assert_allclose(learner.nu_, [[1.5, 2.5, 0.5]])
    np.testing.assert_allclose(learner.decision_scores(bags), np.tile([1.5, 2.5, 0.5], (2, 1)) / 4.5)
    np.testing.assert_allclose(learner.mu_["words"], [ETA + COUNTS.sum(axis=0)])


def test_a_pictures_scores_are_the_mean_of_its_regions():
    bags = sample().bags
    learner = CorrLDA(n_topics=15, max_iter=10, estep_tol=1e-9).fit(bags[:120])
    regions = learner.predict_regions(bags[120:]).reshape(40, 4, -1).mean(axis=1)
    np.testing.assert_allclose(learner.decision_scores(bags[120:]), regions, rtol=1e-6)


def test_planted_tags_are_found_and_shuffled_captions_teach_nothing():
    bags = sample(n_images=300).bags
    train, test = bags[:240], bags[240:]
    shuffled = train.with_tags(train.tags[np.random.default_rng(3).permutation(240)], train.tag_names)
    learner = CorrLDA(n_topics=24, max_iter=40)
    honest, control = clone(learner).fit(train).score(test), clone(learner).fit(shuffled).score(test)
    assert honest > 0.7
    assert control < honest - 0.15


def test_regions_are_named_better_than_by_chance():
    drawn = sample(n_images=300)
    learner = CorrLDA(n_topics=24, max_iter=40).fit(drawn.bags[:240])
    test, truth = drawn.bags[240:], drawn.region_tags[960:]
    free = (learner.top_region_tags(test)[:, 0] == truth).mean()
    captioned = (learner.top_region_tags(test, captioned=True)[:, 0] == truth).mean()
    assert free > 0.5
    assert captioned >= free


def test_shards_and_threads_change_no_score_and_a_seed_fixes_the_rest():
    bags = sample().bags
    learner = CorrLDA(n_topics=10, max_iter=5)
    scores = clone(learner).fit(bags).decision_scores(bags)
    np.testing.assert_array_equal(clone(learner).fit(bags).decision_scores(bags), scores)
    np.testing.assert_array_equal(clone(learner).set_params(n_jobs=2).fit(bags).decision_scores(bags), scores)
    in_shards = clone(learner).set_params(memory_mb=0.002).fit(bags).decision_scores(bags)
    np.testing.assert_allclose(in_shards, scores, rtol=1e-6)
    other = clone(learner).set_params(random_state=1).fit(bags).decision_scores(bags)
    assert np.abs(other - scores).max() > 1e-3


def test_a_picture_without_regions_gets_what_the_prior_says():
    learner = CorrLDA(n_topics=5, max_iter=3).fit(sample().bags)
    pi = learner.nu_ / learner.nu_.sum(axis=1, keepdims=True)
    empty = Bags(np.zeros((0, 60), int), [0, 0])
    np.testing.assert_allclose(learner.decision_scores(empty)[0], learner.alpha_ @ pi / learner.alpha_.sum())


def test_it_is_cloned_and_cross_validated_on_bags():
    assert cross_val_score(clone(CorrLDA(n_topics=16, max_iter=10)), sample().bags, cv=3).min() > 0.4


@pytest.mark.parametrize("wrong", [{"n_topics": 0}, {"eta": -1.0}, {"evidence": 0.0}, {"chi": 3}])
def test_a_wrong_parameter_is_refused_by_name(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        CorrLDA(**wrong).fit(sample(n_images=20).bags)


def test_regions_of_captioned_pictures_are_explained_by_topics_that_know_the_caption():
    rng = np.random.default_rng(3)
    drawn = sample_bags(planted_topics(5, 40, 0.6, rng), 60, n_regions=4, words_per_region=10, rng=rng)
    corr = CorrLDA(n_topics=5, estep_tol=1e-10, estep_max_iter=2000).fit(drawn.bags[:50])
    bags = drawn.bags[50:]
    found = corr.predict_regions(bags, captioned=True)
    view, log_pi = bags.views["words"], digamma(corr.nu_) - digamma(corr.nu_.sum(axis=1, keepdims=True))
    mu, pi = corr.mu_["words"], corr.nu_ / corr.nu_.sum(axis=1, keepdims=True)
    evidence = view @ (digamma(mu) - digamma(mu.sum(axis=1, keepdims=True))).T
    for n in range(len(bags)):
        rows = slice(bags.offsets[n], bags.offsets[n + 1])
        own = bags.captions[[n]].indices
        said = log_pi[:, own]  # topics × caption words
        size = rows.stop - rows.start
        S, links = size * corr.alpha_ / corr.alpha_.sum(), np.full((size, len(own)), 1 / size)
        for _ in range(2000):
            phi = softmax(evidence[rows] + digamma(corr.alpha_ + S) + links @ said.T, axis=1)
            links, S = softmax(phi @ said, axis=0), phi.sum(axis=0)
        expected = (phi @ pi)[:, own]
        np.testing.assert_allclose(
            found[rows][:, own], expected / expected.sum(axis=1, keepdims=True), atol=1e-5
        )
    free = corr.predict_regions(bags.with_tags(None))
    masked = np.where(np.repeat(bags.captions.toarray() > 0, np.diff(bags.offsets), axis=0), free, 0)
    masked /= masked.sum(axis=1, keepdims=True)
    assert np.abs(found - masked).max() > 0.05  # the caption tells more than which tags are out
