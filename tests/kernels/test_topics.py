"""Inference under a Dirichlet prior: compiled against its definition, on uneven bags."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix.arrays import entries_of, rows_of
from tagmix.kernels.compiled import topics as compiled
from tagmix.kernels.reference import topics as reference

N_IMAGES, N_TAGS, N_TOPICS = 25, 12, 7


def uneven(seed, fewest=0):
    rng = np.random.default_rng(seed)
    region_starts = np.concatenate([[0], np.cumsum(rng.integers(fewest, 6, N_IMAGES))])
    tags = csr_array((rng.random((N_IMAGES, N_TAGS)) < 0.2).astype(np.uint8))
    return rng, region_starts, tags


def shares(kernels, seed, alpha_scale=1.0, spread=3.0, **how):
    rng, region_starts, tags = uneven(seed)
    entries = entries_of(tags, region_starts)
    alpha = alpha_scale * rng.gamma(1.0, 1.0, N_TAGS) + 1e-4
    block = rng.normal(-20, spread, entries.block_starts[-1])
    S = rng.random(len(entries.tags))
    bound, n_iter = np.zeros(N_IMAGES), np.zeros(N_IMAGES, dtype=np.int64)
    settings = {"tolerance": 1e-6, "max_iter": 200, **how}
    kernels.infer_shares(
        block, entries.block_starts, entries.starts, alpha[entries.tags], alpha.sum(), settings["tolerance"],
        settings["max_iter"], S, bound, n_iter, settings.get("n_threads", 1),
    )  # fmt: skip
    return block, S, bound, n_iter


def links(kernels, seed, n_threads=1):
    rng, region_starts, tags = uneven(seed, fewest=1)
    entries = entries_of(tags, region_starts)
    block = rng.normal(-20, 3, region_starts[-1] * N_TOPICS)
    S = rng.random((N_IMAGES, N_TOPICS))
    link = np.repeat(1 / np.diff(region_starts), np.diff(entries.block_starts))
    held = np.zeros((len(entries.tags), N_TOPICS))
    log_tags = np.ascontiguousarray(np.log(rng.dirichlet(np.ones(N_TAGS), N_TOPICS)).T)
    bound, n_iter = np.zeros(N_IMAGES), np.zeros(N_IMAGES, dtype=np.int64)
    alpha = rng.gamma(1.0, 1.0, N_TOPICS) + 0.01
    kernels.infer_links(
        block, region_starts, entries.starts, entries.tags, log_tags, alpha, 1e-6, 200, S, link,
        entries.block_starts, held, bound, n_iter, n_threads,
    )  # fmt: skip
    return block, S, link, held, bound, n_iter


@pytest.mark.parametrize("how", [{}, {"max_iter": 1}, {"alpha_scale": 1e-3}, {"spread": 300.0}])
@pytest.mark.parametrize("seed", range(3))
def test_compiled_shares_equal_their_definition(seed, how):
    fast, definition = shares(compiled, seed, **how), shares(reference, seed, **how)
    for one, other in zip(fast, definition, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_links_equal_their_definition(seed):
    for one, other in zip(links(compiled, seed), links(reference, seed), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_the_number_of_threads_changes_no_bit():
    for one, other in zip(shares(compiled, 0), shares(compiled, 0, n_threads=3), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(links(compiled, 0), links(compiled, 0, n_threads=3), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_one_region_of_two_tags_settles_where_hand_says(kernels):
    # Equal evidence and equal α stay at halves: Ψ(α + ½) is the same for both.
    block, S, bound = np.zeros(2), np.array([0.5, 0.5]), np.zeros(1)
    kernels.infer_shares(
        block,
        np.array([0, 2]),
        np.array([0, 2]),
        np.ones(2),
        2.0,
        1e-12,
        100,
        S,
        bound,
        np.zeros(1, np.int64),
    )
    np.testing.assert_allclose(block, [0.5, 0.5], rtol=1e-12)
    # log B(3/2, 3/2) − log B(1, 1) + log 2 with B(3/2, 3/2) = π/8: log(π/4).
    np.testing.assert_allclose(bound, np.log(np.pi / 4), rtol=1e-12)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_a_word_of_one_region_is_linked_to_it_and_held_by_its_topics(kernels):
    block, S, link, held = np.log([0.9, 0.1]), np.array([[0.5, 0.5]]), np.ones(1), np.zeros((1, 2))
    log_tags = np.log([[0.2, 0.6], [0.8, 0.4]])
    kernels.infer_links(
        block, np.array([0, 1]), np.array([0, 1]), np.array([0]), log_tags, np.ones(2), 1e-12, 1, S, link,
        np.array([0, 1]), held, np.zeros(1), np.zeros(1, np.int64),
    )  # fmt: skip
    np.testing.assert_allclose(held, [[0.75, 0.25]], rtol=1e-12)  # .9 × .2 to .1 × .6
    np.testing.assert_allclose(link, [1.0], rtol=1e-12)


def documents(kernels, max_iter=30, n_threads=1):
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.4, (20, 15)).astype(np.float64)
    counts[3] = 0  # a document without words
    counts = csr_array(counts)
    words = np.exp(rng.normal(-3, 1, (15, 4)))
    gamma, weights, ratios = rng.gamma(1.0, 1.0, (20, 4)), np.zeros((20, 4)), np.zeros(counts.nnz)
    kernels.infer_documents(
        rows_of(counts), words, 0.01, 1e-3, max_iter, gamma, weights, ratios, n_threads=n_threads
    )
    return gamma, weights, ratios


@pytest.mark.parametrize("max_iter", [1, 30])
def test_compiled_documents_equal_their_definition(max_iter):
    for one, other in zip(documents(compiled, max_iter), documents(reference, max_iter), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_documents_do_not_depend_on_threads():
    for one, other in zip(documents(compiled), documents(compiled, n_threads=3), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernels", [reference, compiled])
def test_every_word_of_a_document_is_held_by_topics_once(kernels):
    gamma, _, _ = documents(kernels)
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.4, (20, 15)).astype(np.float64)
    counts[3] = 0
    np.testing.assert_allclose(gamma.sum(axis=1), counts.sum(axis=1) + 4 * 0.01, rtol=1e-9)
