"""Variational inference with a Dirichlet prior on the shares: DBA and LDA (φ, S), CorrLDA (φ, S, links).

With γ = α + S in closed form, E[log θ_c] = Ψ(α_c + S_c) up to a common constant, and inference is a loop
of two or three steps per picture, each maximising the bound given the others. The bound is
Σ_c log Γ(α_c + S_c)/Γ(α_c) − log Γ(A + M)/Γ(A) + Σ φ·evidence + H[φ], A the sum over all α, also those
outside the picture's entries; captions add their own lines.
"""

from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from tagmix.arrays import Floats, Ints, Rows

# Ψ(α) of a very rare tag is about −1/α. It is limited to this distance below the best tag, so that its
# exponential is a normal number; φ is 0 in all digits either way.
DEEPEST = -690.0
# Avoids a division by 0 for words that no topic contains.
TINY = 1e-300


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
    """Turn evidence into φ in place, picture by picture; fill S, the bound and the steps taken.

    ``S`` contains the initial value. The loop ends when no S moves by more than ``tolerance`` regions.
    """
    for n in range(len(block_starts) - 1):
        own = slice(entry_starts[n], entry_starts[n + 1])
        part = block[block_starts[n] : block_starts[n + 1]]
        if part.size == 0:  # no region or no tag: the prior
            S[own], bound[n], n_iter[n] = 0.0, 0.0, 0
            continue
        evidence, alpha = part.reshape(-1, own.stop - own.start), entry_alpha[own]
        for step in range(1, max_iter + 1):
            phi = _softmax(evidence + _log_shares(alpha + S[own]))
            moved = np.abs(phi.sum(axis=0) - S[own]).max()
            S[own], n_iter[n] = phi.sum(axis=0), step
            if moved <= tolerance:
                break
        bound[n] = _shares_bound(phi, evidence, alpha, total_alpha)
        part[:] = phi.ravel()


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
    """Do the same as ``infer_shares`` with all topics, for captions whose words are each linked to a region.

    ``log_tags`` (tags × topics) is E[log π]. ``links``, flat, has one row of regions per caption word of a
    picture: q(word is linked to region m); it contains the initial value. ``held`` (caption words × topics)
    is filled with Σ_m links_m φ_mk. Every picture must have a region.
    """
    n_topics = len(alpha)
    for n in range(len(region_starts) - 1):
        words = slice(caption_starts[n], caption_starts[n + 1])
        part = block[region_starts[n] * n_topics : region_starts[n + 1] * n_topics]
        evidence, spoken = part.reshape(-1, n_topics), log_tags[caption_tags[words]]
        link = links[link_starts[n] : link_starts[n + 1]].reshape(len(spoken), len(evidence))
        for step in range(1, max_iter + 1):
            phi = _softmax(evidence + link.T @ spoken + _log_shares(alpha + S[n]))
            moved = np.abs(phi.sum(axis=0) - S[n]).max()
            S[n], n_iter[n] = phi.sum(axis=0), step
            link[:] = _softmax(spoken @ phi.T)
            if moved <= tolerance:
                break
        held[words] = link @ phi
        captions = (link * (spoken @ phi.T)).sum() - xlogy(link, link).sum() - len(spoken) * np.log(len(phi))
        bound[n] = _shares_bound(phi, evidence, alpha, alpha.sum()) + captions
        part[:] = phi.ravel()


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
    """Infer the topics of each document: LDA's E-step, one topic per word.

    ``words`` (words × topics) is exp E[log β]. ``gamma`` contains the initial value and becomes the
    Dirichlet posterior of the shares. ``weights`` (documents × topics) is filled with exp E[log θ] and
    ``ratios``, one per stored count, with x_d / Σ_k weights_k words_dk: the statistics are
    words ∘ (ratiosᵀ weights). The loop ends when the mean of |Δγ| over the topics is at most ``tolerance``.
    """
    for n in range(len(gamma)):
        part = slice(rows.starts[n], rows.starts[n + 1])
        own, counts = words[rows.columns[part]], rows.data[part]
        for _ in range(max_iter):
            weight = _document_weights(gamma[n])
            fresh = alpha + weight * ((counts / (own @ weight + TINY)) @ own)
            moved = np.abs(fresh - gamma[n]).mean()
            gamma[n] = fresh
            if moved <= tolerance:
                break
        weights[n] = _document_weights(gamma[n])
        ratios[part] = counts / (own @ weights[n] + TINY)


def _document_weights(gamma: Floats) -> Floats:
    """Return exp E[log θ] up to a common factor: the largest is 1, which avoids underflow."""
    logs = digamma(gamma)
    weights: Floats = np.exp(np.maximum(logs - logs.max(), DEEPEST))
    return weights


def _softmax(logits: Floats) -> Floats:
    shares: Floats = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    return shares


def _log_shares(gamma: Floats) -> Floats:
    """Return E[log θ] up to a constant."""
    logs = digamma(gamma)
    return np.maximum(logs - logs.max(), DEEPEST)


def _shares_bound(phi: Floats, evidence: Floats, alpha: Floats, total_alpha: float) -> float:
    S, n_regions = phi.sum(axis=0), len(phi)
    prior = gammaln(alpha + S).sum() - gammaln(alpha).sum()
    prior += gammaln(total_alpha) - gammaln(total_alpha + n_regions)
    return float(prior + (phi * evidence).sum() - xlogy(phi, phi).sum())
