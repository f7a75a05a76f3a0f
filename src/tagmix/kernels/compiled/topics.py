"""Inference under a Dirichlet prior of shares, compiled; the definition is ``reference.topics``."""

import math
from typing import Any

import numpy as np
from numba import njit

from tagmix.arrays import Floats, Ints, Rows
from tagmix.kernels.compiled.exponential import exponentiate
from tagmix.kernels.compiled.special import FAST, digamma
from tagmix.kernels.reference.topics import DEEPEST, TINY
from tagmix.kernels.threads import over_ranges


def infer_shares(
    block: Floats,
    block_starts: Ints,
    entry_starts: Ints,
    entry_alpha: Floats,
    total_alpha: float,
    tolerance: float,
    max_iter: int,
    S: Floats,
    bound: Floats,
    n_iter: Ints,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.topics.infer_shares``."""

    def work(first: int, last: int) -> None:
        _infer_shares(
            block, block_starts, entry_starts, entry_alpha, total_alpha, tolerance, max_iter, S, bound,
            n_iter, first, last,
        )  # fmt: skip

    over_ranges(work, len(block_starts) - 1, n_threads)


def infer_links(
    block: Floats,
    region_starts: Ints,
    caption_starts: Ints,
    caption_tags: Any,
    log_tags: Floats,
    alpha: Floats,
    tolerance: float,
    max_iter: int,
    S: Floats,
    links: Floats,
    link_starts: Ints,
    held: Floats,
    bound: Floats,
    n_iter: Ints,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.topics.infer_links``."""

    def work(first: int, last: int) -> None:
        _infer_links(
            block, region_starts, caption_starts, caption_tags, log_tags, alpha, tolerance, max_iter, S,
            links, link_starts, held, bound, n_iter, first, last,
        )  # fmt: skip

    over_ranges(work, len(region_starts) - 1, n_threads)


def infer_documents(
    rows: Rows,
    words: Floats,
    alpha: float,
    tolerance: float,
    max_iter: int,
    gamma: Floats,
    weights: Floats,
    ratios: Floats,
    n_threads: int = 1,
) -> None:
    """Equal to ``reference.topics.infer_documents``."""

    def work(first: int, last: int) -> None:
        _infer_documents(*rows, words, alpha, tolerance, max_iter, gamma, weights, ratios, first, last)

    over_ranges(work, len(gamma), n_threads)


@njit(cache=True, nogil=True, fastmath=FAST)
def _log_shares(logs, alpha, S):  # type: ignore[no-untyped-def]
    """Equal to ``logs[:] = reference.topics._log_shares(alpha + S)``."""
    top = -np.inf
    for c in range(len(S)):
        logs[c] = digamma(alpha[c] + S[c])
        top = max(top, logs[c])
    for c in range(len(S)):
        logs[c] = max(logs[c] - top, DEEPEST)


@njit(cache=True, nogil=True, fastmath=FAST)
def _soften(row, scratch):  # type: ignore[no-untyped-def]
    """Turn logits into shares in place; return the log of their sum of exponentials."""
    top = -np.inf
    for c in range(len(row)):
        top = max(top, row[c])
    for c in range(len(row)):
        row[c] -= top
    exponentiate(row, scratch)
    total = 0.0
    for c in range(len(row)):
        total += row[c]
    scale = 1.0 / total
    for c in range(len(row)):
        row[c] *= scale
    return top + math.log(total)


@njit(cache=True, nogil=True, fastmath=FAST)
def _share(P, phi, logs, fresh, scratch):  # type: ignore[no-untyped-def]
    """Fill phi from logits P + logs, fresh with its column sums; return Σ_m log of the norms."""
    fresh[:] = 0.0
    log_norm = 0.0
    for m in range(P.shape[0]):
        row = phi[m]
        for c in range(P.shape[1]):
            row[c] = P[m, c] + logs[c]
        log_norm += _soften(row, scratch)
        for c in range(P.shape[1]):
            fresh[c] += row[c]
    return log_norm


@njit(cache=True, nogil=True)
def _prior(S, alpha, total_alpha, n_regions):  # type: ignore[no-untyped-def]
    value = math.lgamma(total_alpha) - math.lgamma(total_alpha + n_regions)
    for c in range(len(S)):
        value += math.lgamma(alpha[c] + S[c]) - math.lgamma(alpha[c])
    return value


@njit(cache=True, nogil=True)
def _infer_shares(  # type: ignore[no-untyped-def]
    block, block_starts, entry_starts, entry_alpha, total_alpha, tolerance, max_iter, S, bound, n_iter, first,
    last,
):  # fmt: skip
    for n in range(first, last):
        a, b = entry_starts[n], entry_starts[n + 1]
        if block_starts[n + 1] == block_starts[n]:
            S[a:b], bound[n], n_iter[n] = 0.0, 0.0, 0
            continue
        n_regions = (block_starts[n + 1] - block_starts[n]) // (b - a)
        P = block[block_starts[n] : block_starts[n + 1]].reshape(n_regions, b - a)
        alpha, old = entry_alpha[a:b], S[a:b]
        logs, fresh, scratch, phi = np.empty(b - a), np.empty(b - a), np.empty(b - a), np.empty_like(P)
        step, log_norm, moved = 0, 0.0, np.inf
        while step < max_iter and moved > tolerance:
            step += 1
            _log_shares(logs, alpha, old)
            log_norm = _share(P, phi, logs, fresh, scratch)
            moved = np.abs(fresh - old).max()
            old[:] = fresh
        n_iter[n] = step
        bound[n] = log_norm - (old * logs).sum() + _prior(old, alpha, total_alpha, n_regions)
        P[:] = phi


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_captions(logits, P, link, tags, log_tags):  # type: ignore[no-untyped-def]
    """Fill logits with P_mk + Σ_t link_tm log_tags_tk."""
    logits[:] = P
    for t in range(len(tags)):
        spoken = log_tags[tags[t]]
        for m in range(P.shape[0]):
            row, weight = logits[m], link[t, m]
            for k in range(P.shape[1]):
                row[k] += weight * spoken[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def _link(phi, link, tags, log_tags, scratch):  # type: ignore[no-untyped-def]
    """Fill link_tm ∝ exp(Σ_k φ_mk log_tags_tk).

    Return Σ_tm link_tm φ_m·log_tags_t with the old links, and Σ_t log Σ_m exp(φ_m·log_tags_t).
    """
    before = after = 0.0
    for t in range(len(tags)):
        spoken, row = log_tags[tags[t]], link[t]
        for m in range(phi.shape[0]):
            value = 0.0
            for k in range(phi.shape[1]):
                value += phi[m, k] * spoken[k]
            before += row[m] * value
            row[m] = value
        after += _soften(row, scratch)
    return before, after


@njit(cache=True, nogil=True)
def _infer_links(  # type: ignore[no-untyped-def]
    block, region_starts, caption_starts, caption_tags, log_tags, alpha, tolerance, max_iter, S, links,
    link_starts, held, bound, n_iter, first, last,
):  # fmt: skip
    n_topics = len(alpha)
    total_alpha = alpha.sum()
    logs, fresh, scratch = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for n in range(first, last):
        a, b = caption_starts[n], caption_starts[n + 1]
        n_regions = region_starts[n + 1] - region_starts[n]
        P = block[region_starts[n] * n_topics : region_starts[n + 1] * n_topics].reshape(n_regions, n_topics)
        link = links[link_starts[n] : link_starts[n + 1]].reshape(b - a, n_regions)
        tags, old, few = caption_tags[a:b], S[n], np.empty(n_regions)
        logits, phi = np.empty_like(P), np.empty_like(P)
        step, log_norm, before, after, moved = 0, 0.0, 0.0, 0.0, np.inf
        while step < max_iter and moved > tolerance:
            step += 1
            _log_shares(logs, alpha, old)
            _add_captions(logits, P, link, tags, log_tags)
            log_norm = _share(logits, phi, logs, fresh, scratch)
            moved = np.abs(fresh - old).max()
            old[:] = fresh
            before, after = _link(phi, link, tags, log_tags, few)
        held[a:b] = link @ phi
        n_iter[n] = step
        bound[n] = log_norm - (old * logs).sum() - before + after - (b - a) * math.log(n_regions)
        bound[n] += _prior(old, alpha, total_alpha, n_regions)
        P[:] = phi


@njit(cache=True, nogil=True, fastmath=FAST)
def _document_weights(weight, gamma):  # type: ignore[no-untyped-def]
    """Equal to ``weight[:] = reference.topics._document_weights(gamma)``."""
    top = -np.inf
    for k in range(len(gamma)):
        weight[k] = digamma(gamma[k])
        top = max(top, weight[k])
    for k in range(len(gamma)):
        weight[k] = math.exp(max(weight[k] - top, DEEPEST))


@njit(cache=True, nogil=True, fastmath=FAST)
def _said_of_word(own, weight):  # type: ignore[no-untyped-def]
    total = TINY
    for k in range(len(weight)):
        total += own[k] * weight[k]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def _explain(data, columns, words, weight, fresh):  # type: ignore[no-untyped-def]
    """Fill fresh with Σ_d x_d words_dk / Σ_j weight_j words_dj, one word at a time."""
    fresh[:] = 0.0
    for i in range(len(data)):
        own = words[columns[i]]
        ratio = data[i] / _said_of_word(own, weight)
        for k in range(len(weight)):
            fresh[k] += ratio * own[k]


@njit(cache=True, nogil=True, fastmath=FAST)
def _infer_documents(  # type: ignore[no-untyped-def]
    data, columns, starts, words, alpha, tolerance, max_iter, gamma, weights, ratios, first, last
):
    fresh = np.empty(gamma.shape[1])
    for n in range(first, last):
        a, b = starts[n], starts[n + 1]
        own, weight = gamma[n], weights[n]
        step, moved = 0, np.inf
        while step < max_iter and moved > tolerance:
            step += 1
            _document_weights(weight, own)
            _explain(data[a:b], columns[a:b], words, weight, fresh)
            moved = 0.0
            for k in range(len(own)):
                value = alpha + weight[k] * fresh[k]
                moved += abs(value - own[k]) / len(own)
                own[k] = value
        _document_weights(weight, own)
        for i in range(a, b):
            ratios[i] = data[i] / _said_of_word(words[columns[i]], weight)
