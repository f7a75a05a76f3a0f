"""Every compiled kernel against its definition, on uneven bags; special functions against SciPy."""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, logsumexp, softmax

from tagmix.arrays import entries_of, rows_of
from tagmix.kernels import compiled, reference
from tagmix.kernels.compiled import special
from tagmix.kernels.reference import special as slow

N_IMAGES, N_TAGS, N_WORDS = 30, 70, 40  # more than one tile of tags, the last one partly filled


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    region_starts = np.concatenate([[0], np.cumsum(rng.integers(0, 6, N_IMAGES))])
    counts = csr_array(rng.poisson(0.3, (region_starts[-1], N_WORDS)).astype(np.uint16))
    tags = csr_array((rng.random((N_IMAGES, N_TAGS)) < 0.05).astype(np.uint8))
    entries = entries_of(tags, region_starts)
    log_words = np.log(rng.dirichlet(np.ones(N_WORDS), N_TAGS))
    rates = rng.gamma(1.0, 1.0, (1, N_TAGS)) + 0.1
    return rows_of(counts), region_starts, entries, log_words, rates, counts.toarray(), tags.toarray()


def test_both_kinds_of_kernels_have_the_same_names_and_parameters():
    assert compiled.__all__ == reference.__all__
    for name in compiled.__all__:
        fast, definition = (inspect.signature(getattr(kind, name)) for kind in (compiled, reference))
        assert len(fast.parameters) == len(definition.parameters), name


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_evidence_of_all_tags_is_a_matrix_product(problem, kernels):
    rows, starts, _, log_words, _, counts, _ = problem
    out = np.ones((starts[-1], N_TAGS))
    kernels.add_evidence_of_all(rows, kernels.for_all_tags(log_words), 0.5, out, 2)
    np.testing.assert_allclose(out, 1 + 0.5 * counts @ log_words.T, rtol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_evidence_of_own_tags_is_a_part_of_that_of_all(problem, kernels):
    rows, starts, entries, log_words, _, counts, tags = problem
    block = np.ones(entries.block_starts[-1])
    kernels.add_evidence_of_own(rows, log_words, 0.5, starts, entries, block, 2)
    everything = 1 + 0.5 * counts @ log_words.T
    for n in range(N_IMAGES):
        expected = everything[starts[n] : starts[n + 1]][:, np.flatnonzero(tags[n])]
        part = block[entries.block_starts[n] : entries.block_starts[n + 1]]
        np.testing.assert_allclose(part, expected.ravel(), rtol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_statistics_are_matrix_products_too(problem, kernels):
    rows, starts, entries, _, _, counts, tags = problem
    phi = np.random.default_rng(1).random((starts[-1], N_TAGS))
    owner = np.repeat(np.arange(N_IMAGES), np.diff(starts))
    everything, own = np.ones((N_TAGS, N_WORDS)), np.ones((N_TAGS, N_WORDS))
    phi[:, ::7] *= 1e-9  # small shares count too, also those at the head of a tile
    phi[::5] *= 1e-9
    kernels.add_statistics_of_all(rows, phi, everything, 2)
    block = np.concatenate([phi[starts[n] : starts[n + 1]][:, tags[n] > 0].ravel() for n in range(N_IMAGES)])
    kernels.add_statistics_of_own(rows, block, starts, entries, own, 2)
    np.testing.assert_allclose(everything, 1 + phi.T @ counts, rtol=1e-12)
    np.testing.assert_allclose(own, 1 + (phi * (tags[owner] > 0)).T @ counts, rtol=1e-12)


def infer(kernels, problem, own, bounded, many_rates, n_threads=1):
    rows, starts, entries, log_words, rates, counts, _ = problem
    rng = np.random.default_rng(2)
    rates = rates * rng.gamma(5.0, 1.0, (N_IMAGES, 1)) if many_rates else rates
    row = entries.picture_of if many_rates else 0
    if own:
        block = np.zeros(entries.block_starts[-1])
        reference.add_evidence_of_own(rows, log_words, 0.5, starts, entries, block)
        args = block, entries.block_starts, entries.starts, np.ascontiguousarray(rates[row, entries.tags])
        S = np.ones(len(entries.tags))
    else:
        block = (0.5 * counts @ log_words.T).ravel()
        every = np.ascontiguousarray(np.broadcast_to(rates, (N_IMAGES, N_TAGS))).ravel()
        args = block, starts * N_TAGS, np.arange(N_IMAGES + 1) * N_TAGS, every
        S = np.repeat(np.diff(starts) / N_TAGS, N_TAGS)
    r, bound, n_iter = np.zeros(N_IMAGES), np.zeros(N_IMAGES), np.zeros(N_IMAGES, dtype=np.int64)
    guide = rng.normal(0, 1, len(S))
    kernels.infer_pictures(*args, guide, rates, bounded, 1e-8, 500, S, r, bound, n_iter, n_threads)
    return block, S, r, bound, n_iter


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("many_rates", [True, False])
def test_compiled_inference_equals_its_definition(problem, own, bounded, many_rates):
    slow_answer = infer(reference, problem, own, bounded, many_rates)
    fast_answer = infer(compiled, problem, own, bounded, many_rates)
    for a, b in zip(slow_answer, fast_answer, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("own", [True, False])
def test_two_threads_give_the_same_bits_as_one(problem, own):
    one, two = (infer(compiled, problem, own, True, False, n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_tags", [2, 50])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("rates_of", ["all", "each"])
def test_pictures_of_one_and_of_500_regions_under_rates_far_apart_are_inferred_exactly(n_tags, own, rates_of):
    # The rates r of such pictures lie e^35 apart: one table must hold them all.
    rng = np.random.default_rng(n_tags)
    sizes = np.array([500, 0, 1, 7, 500, 1])
    rates = np.exp(rng.choice([-15.0, 0.0, 15.0], (len(sizes) if rates_of == "each" else 1, n_tags)))
    rates[0, :2] = np.exp([-15.0, 15.0])
    chosen = [np.array([1]) if own and n in (2, 4) else np.arange(n_tags) for n in range(len(sizes))]
    widths = np.array([len(tags) for tags in chosen])
    starts, block_starts = (np.concatenate([[0], np.cumsum(x)]) for x in (widths, widths * sizes))
    entry_rates = np.concatenate(
        [np.broadcast_to(rates, (6, n_tags))[n, tags] for n, tags in enumerate(chosen)]
    )
    evidence = np.where(rng.random(block_starts[-1]) < 0.1, -1e5, rng.normal(0, 20, block_starts[-1]))
    answers = []
    for kernels in (reference, compiled):
        block, S = evidence.copy(), np.repeat(sizes / widths, widths)
        r, bound, n_iter = np.zeros(6), np.zeros(6), np.zeros(6, dtype=np.int64)
        args = block, block_starts, starts, entry_rates, np.zeros(len(S)), rates
        kernels.infer_pictures(*args, True, 1e-9, 2000, S, r, bound, n_iter)
        answers.append((block, S, r, bound))
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernels", [reference, compiled])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_given_shares_make_every_region_a_softmax_of_its_own(problem, kernels, n_threads):
    rows, starts, entries, log_words, _, counts, tags = problem
    block = np.zeros(entries.block_starts[-1])
    reference.add_evidence_of_own(rows, log_words, 0.5, starts, entries, block)
    log_shares = np.log(np.random.default_rng(4).gamma(1.0, 1.0, len(entries.tags)) + 1e-3)
    S, bound = np.full(len(entries.tags), 7.0), np.full(N_IMAGES, 7.0)
    kernels.explain_given(block, entries.block_starts, entries.starts, log_shares, S, bound, n_threads)
    for n in range(N_IMAGES):
        own = slice(entries.starts[n], entries.starts[n + 1])
        logits = 0.5 * counts[starts[n] : starts[n + 1]] @ log_words[tags[n] > 0].T + log_shares[own]
        part = block[entries.block_starts[n] : entries.block_starts[n + 1]].reshape(logits.shape)
        np.testing.assert_allclose(part, softmax(logits, axis=1) if logits.size else logits, rtol=1e-10)
        np.testing.assert_allclose(S[own], part.sum(axis=0), rtol=1e-10)
        expected = logsumexp(logits, axis=1).sum() if logits.size else 0.0
        assert bound[n] == pytest.approx(expected, rel=1e-10)


def test_the_rate_solves_its_equation(problem):
    _, starts, _, _, rates, _, _ = problem
    _, S, r, _, _ = infer(compiled, problem, False, True, False)
    sizes = np.diff(starts)
    left = ((1 + S.reshape(N_IMAGES, N_TAGS)) * r[:, None] / (rates + r[:, None])).sum(axis=1)
    np.testing.assert_allclose(left, sizes, rtol=1e-11)


def test_sums_of_theta_equal_their_definition(problem):
    _, _, entries, _, rates, _, _ = problem
    rng = np.random.default_rng(3)
    S, r = rng.random(len(entries.tags)), rng.gamma(1.0, 0.5, N_IMAGES)
    r[3] = 0.0
    slow_sums, fast_sums = (
        kernels.theta_sums(S, entries.tags, entries.picture_of, rates[0], r)
        for kernels in (reference, compiled)
    )
    np.testing.assert_allclose(fast_sums, slow_sums, rtol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_dirichlet_terms_equal_their_definition(n_threads):
    mu = np.random.default_rng(4).gamma(0.3, 5.0, (7, 9)) + 0.1
    mu[0], mu[1, ::2] = 0.1, 0.1
    for fast, definition in zip(
        compiled.dirichlet_terms(mu, 0.1, n_threads), reference.dirichlet_terms(mu, 0.1), strict=True
    ):
        np.testing.assert_allclose(fast, definition, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_the_flat_dirichlet_of_two_words_expects_minus_one(kernels):
    np.testing.assert_allclose(kernels.dirichlet_terms(np.ones((1, 2)), 1.0)[0], [[-1, -1]], rtol=1e-12)


@pytest.mark.parametrize("x", [1e-6, 0.01, 0.3, 1.0, 2.5, 9.9, 10.0, 50.0, 1e5])
def test_special_functions_are_those_of_scipy(x):
    log_gamma, psi = special.log_gamma_and_digamma(x)
    np.testing.assert_allclose(log_gamma, gammaln(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose([psi, special.digamma(x)], digamma(x), rtol=1e-12)


@pytest.mark.parametrize("s", [0.0, 1e-8, 9.99e-4, 1.01e-3, 0.5, 7.0])
def test_the_exponential_of_digamma_is_exact_on_both_sides_of_its_switch(s):
    np.testing.assert_allclose(special.exp_digamma_1p(s), np.exp(digamma(1 + s)), rtol=1e-14)


def test_the_table_of_softplus_sums_is_exact_between_its_nodes():
    rng = np.random.default_rng(5)
    points = rng.normal(0, 2, 50)
    table = special.softplus_table(points, -8.0, 5.0)
    for u in [-8.0, 5.0, *rng.uniform(-8, 5, 50)]:
        np.testing.assert_allclose(special.look_up(table, -8.0, u), slow.softplus_sum(points, u), rtol=1e-13)


def test_sums_of_sigmoids_through_moments_are_exact():
    rng = np.random.default_rng(6)
    points, at = rng.normal(0, 3, 500), np.linspace(-9, 9, 37)
    np.testing.assert_allclose(special.sigmoid_sums(points, at), slow.sigmoid_sums(points, at), rtol=1e-13)
