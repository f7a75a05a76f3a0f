"""DBA: the bound and its maximisers, the evidence by enumeration, and what it learns."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from tagmix import Bags, planted_topics, sample_bags
from tagmix.errors import ParameterError
from tagmix.learners import lda
from tagmix.learners.regions.dba import DBA

pytestmark = pytest.mark.filterwarnings("ignore:stopped after")

COUNTS = np.array([[2, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 2]])
OFFSETS = np.array([0, 2, 4])
TAGS = np.array([[1, 1, 0], [0, 1, 1]])
CHI = (2.0, 1.0)


def sample(seed=0, n_images=160):
    rng = np.random.default_rng(seed)
    topics = planted_topics(10, 60, 0.3, rng)
    return sample_bags(topics, n_images, n_regions=4, words_per_region=30, rng=rng)


def log_beta(a):
    return gammaln(a).sum() - gammaln(a.sum())


def log_words(z, eta):
    """log ∫ p(β) Π p(x|z, β) dβ of all regions."""
    total = 0.0
    for c in range(3):
        held = COUNTS[np.asarray(z) == c].sum(axis=0)
        total += log_beta(eta + held) - log_beta(np.full(3, eta))
    return total


def log_evidence(alpha, eta, kappa):
    """The exact evidence of the two pictures, with every region held by one of its picture's own tags."""
    own = [np.flatnonzero(TAGS[n]) for n in (0, 0, 1, 1)]
    terms = []
    for z in itertools.product(*own):
        value = kappa * log_words(z, eta)
        for n in range(2):
            counts = np.bincount(z[OFFSETS[n] : OFFSETS[n + 1]], minlength=3)
            value += log_beta(alpha + counts) - log_beta(alpha)
        terms.append(value)
    return logsumexp(terms)


@pytest.mark.parametrize("kappa", [1.0, 0.4])
def test_the_bound_stays_below_the_evidence_that_enumeration_gives(kappa):
    bags = Bags(COUNTS, OFFSETS, tags=TAGS)
    # One iteration more for the first bound of the last parameters; α as it was when the bound was taken.
    before = DBA(evidence=kappa, max_iter=7, tol=0, eta=0.5, learn_eta=False, estep_tol=1e-10).fit(bags)
    after = DBA(evidence=kappa, max_iter=8, tol=0, eta=0.5, learn_eta=False, estep_tol=1e-10).fit(bags)
    prior = (np.log(before.alpha_) - before.alpha_).sum()  # log Gamma(α | 2, 1)
    exact = log_evidence(before.alpha_, 0.5, kappa) + prior
    assert exact - 4.0 < after.bound_history_[-1] <= exact


@pytest.mark.parametrize("kappa", [1.0, 0.1])
@pytest.mark.parametrize("total", [None, 5.0])
def test_the_bound_never_falls(kappa, total):
    history = DBA(evidence=kappa, max_iter=25, tol=0, total_alpha=total).fit(sample().bags).bound_history_
    assert np.diff(history).min() >= -1e-9 * abs(history[0])


def bound_of(phi, gamma, alpha, evidence):
    """The bound of one picture, line by line, for any φ and γ."""
    E = digamma(gamma) - digamma(gamma.sum())
    prior = -log_beta(alpha) + ((alpha - 1) * E).sum()
    entropy = log_beta(gamma) - ((gamma - 1) * E).sum() - (phi * np.log(phi)).sum()
    return prior + phi.sum(axis=0) @ E + (phi * evidence).sum() + entropy


def settled(seed):
    rng = np.random.default_rng(seed)
    evidence, alpha = rng.normal(-4, 2, (3, 4)), rng.gamma(1.0, 1.0, 4) + 0.1
    how = lda.How({}, 1e-12, 5000, 1)
    found = lda.infer(evidence.ravel().copy(), np.array([0, 3]), alpha, how, None, None)
    return found.phi.reshape(3, 4), found.S, found.bound[0], alpha, evidence


@pytest.mark.parametrize("seed", range(4))
def test_the_kernels_bound_equals_its_lines_and_scipy_finds_no_better_gamma(seed):
    phi, S, bound, alpha, evidence = settled(seed)
    np.testing.assert_allclose(bound, bound_of(phi, alpha + S, alpha, evidence), rtol=1e-10)
    found = minimize(lambda x: -bound_of(phi, np.exp(x), alpha, evidence), np.zeros(4), tol=1e-9)
    np.testing.assert_allclose(np.exp(found.x), alpha + S, rtol=1e-3)  # finite differences
    assert -found.fun <= bound + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_no_move_of_phi_towards_a_tag_raises_the_bound(seed):
    phi, S, bound, alpha, evidence = settled(seed)
    for m, c in itertools.product(range(3), range(4)):
        other = phi.copy()
        other[m] = 0.99 * phi[m] + 0.01 * np.eye(4)[c]
        assert bound_of(other, alpha + S, alpha, evidence) < bound


def test_region_scores_are_the_fixed_point_of_phi():
    dba = DBA(evidence=0.02, estep_tol=1e-12, estep_max_iter=5000, max_iter=5).fit(sample(n_images=40).bags)
    dba.alpha_ = np.linspace(0.05, 8.0, 10)  # far from 1: Ψ(1 + S) in place of Ψ(α + S) would show
    bags = sample(seed=1, n_images=6).bags
    how = lda.how_to_infer(dba, bags)
    evidence = lda.evidence_of(bags, lda.words_of(dba.mu_, dba.eta_, 1), how).reshape(-1, 10)
    phi = dba.predict_regions(bags)
    S = np.add.reduceat(phi, bags.offsets[:-1], axis=0)
    logits = evidence + np.repeat(digamma(dba.alpha_ + S), np.diff(bags.offsets), axis=0)
    np.testing.assert_allclose(phi, np.exp(logits - logsumexp(logits, axis=1, keepdims=True)), atol=1e-6)


def loss_of_alpha(x, S, total=None):
    alpha = np.exp(x) if total is None else total * np.exp(x) / np.exp(x).sum()
    value = sum(log_beta(alpha + row) - log_beta(alpha) for row in S)
    return -(value + (np.log(alpha) - alpha).sum())


@pytest.mark.parametrize("total", [None, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_the_maximiser_that_scipy_finds(seed, total):
    rng = np.random.default_rng(seed)
    S = rng.dirichlet([0.5, 1.0, 3.0], 20) * 8
    columns, sizes = np.tile(np.arange(3), 20), np.full(20, 8)
    start = lda.start_alpha(total, 3)
    best = lda.best_alpha(start, S.ravel(), columns, sizes, CHI, total, steps=20_000, tolerance=1e-12)
    found = minimize(loss_of_alpha, np.zeros(3), args=(S, total), tol=1e-10)
    alpha = np.exp(found.x) if total is None else total * np.exp(found.x) / np.exp(found.x).sum()
    np.testing.assert_allclose(best, alpha, rtol=1e-3)  # finite differences
    assert loss_of_alpha(np.log(best), S, total) <= found.fun + 1e-8


def test_no_step_of_alpha_lowers_the_bound():
    S = np.random.default_rng(0).dirichlet([0.2, 1.0, 3.0], 30) * 8
    columns, sizes, alpha, losses = np.tile(np.arange(3), 30), np.full(30, 8), np.array([9.0, 1.0, 0.01]), []
    for _ in range(40):
        losses.append(loss_of_alpha(np.log(alpha), S))
        alpha = lda.best_alpha(alpha, S.ravel(), columns, sizes, CHI, steps=1)
    assert np.diff(losses).max() <= 1e-9


def test_one_picture_a_tag_gives_words_and_shares_that_hand_gives():
    bags = Bags(np.array([[3, 0], [0, 5]]), [0, 1, 2], tags=[[1, 0], [0, 1]])
    dba = DBA(eta=1.0, learn_eta=False, max_iter=1).fit(bags)
    np.testing.assert_allclose(dba.mu_["words"], [[4, 1], [1, 6]])
    # By symmetry α are equal: φ ∝ exp(Ψ(μ_c0) − Ψ(Σμ_c) + Ψ(α + S)) of a region with one word 0, iterated.
    S = np.array([0.5, 0.5])
    for _ in range(500):
        logits = digamma([4, 1]) - digamma([5, 7]) + digamma(dba.alpha_ + S)
        S = np.exp(logits - logsumexp(logits))
    seen = Bags(np.array([[1, 0]]), [0, 1])
    np.testing.assert_allclose(dba.set_params(estep_tol=1e-10).decision_scores(seen), [S], rtol=1e-6)


def test_planted_tags_are_found_and_shuffled_captions_teach_nothing():
    bags = sample().bags
    train, test = bags[:120], bags[120:]
    shuffled = train.with_tags(train.tags[np.random.default_rng(3).permutation(120)], train.tag_names)
    honest, control = DBA().fit(train).score(test), DBA().fit(shuffled).score(test)
    assert honest > 0.75
    assert control < honest - 0.2


def test_regions_are_named_and_captions_help():
    drawn = sample()
    dba = DBA().fit(drawn.bags[:120])
    test, truth = drawn.bags[120:], drawn.region_tags[480:]
    free = (dba.top_region_tags(test)[:, 0] == truth).mean()
    captioned = dba.predict_regions(test, captioned=True)
    assert free > 0.8
    assert (captioned.argmax(axis=1) == truth).mean() >= free
    np.testing.assert_allclose(captioned.sum(axis=1), 1.0, rtol=1e-9)
    outside = np.repeat(test.captions.toarray() == 0, 4, axis=0)
    assert captioned[outside].max() == 0.0


def test_order_of_pictures_and_regions_shards_and_threads_change_no_score():
    bags = sample().bags
    train, test = bags[:60], bags[60:80]
    scores = DBA(max_iter=5).fit(train).decision_scores(test)
    order = np.random.default_rng(0).permutation(60)
    for other in (
        DBA(max_iter=5).fit(train[order]),
        DBA(max_iter=5, memory_mb=0.001).fit(train),
        DBA(max_iter=5, n_jobs=2).fit(train),
    ):
        np.testing.assert_allclose(other.decision_scores(test), scores, rtol=1e-6, atol=1e-9)


def test_a_picture_without_regions_gets_the_prior():
    dba = DBA(max_iter=3).fit(sample().bags)
    empty = Bags(np.zeros((0, 60), int), [0, 0])
    np.testing.assert_allclose(dba.decision_scores(empty)[0], dba.alpha_ / dba.alpha_.sum())


def test_two_views_of_half_weight_are_one_view_of_full_weight():
    bags = sample().bags
    words = bags.views["words"]
    twice = Bags({"a": words, "b": words}, bags.offsets, tags=bags.tags)
    one = DBA(max_iter=4).fit(bags).decision_scores(bags)
    two = DBA(max_iter=4, evidence={"a": 0.5, "b": 0.5}).fit(twice).decision_scores(twice)
    np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-12)


def test_it_is_cloned_searched_and_cross_validated_on_bags():
    bags = sample().bags
    dba = clone(DBA(evidence=0.3, max_iter=3))
    assert dba.get_params()["evidence"] == 0.3
    assert cross_val_score(dba, bags, cv=3).min() > 0.5
    search = GridSearchCV(dba, {"evidence": [0.1, 1.0]}, cv=2).fit(bags)
    assert search.best_params_["evidence"] in (0.1, 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_iter": 0},
        {"evidence": 2.0},
        {"evidence": {"sift": 0.5}},
        {"chi": (1.0, 1.0)},
        {"total_alpha": -1.0},
        {"ranking": "best"},
        {"n_jobs": 0},
    ],
)
def test_a_wrong_parameter_is_refused_by_name(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DBA(**wrong).fit(sample(n_images=20).bags)
