"""Exact answers for cases small enough to list every assignment of regions to tags."""

import itertools

import numpy as np
from scipy.integrate import dblquad, quad
from scipy.special import gammaln, logsumexp


def simplex_density(share, rates):
    """p(θ/‖θ‖₁) for θ ~ Exp(λ): (C−1)! Πλ / (Σ λ share)^C, with respect to the first C−1 shares."""
    n_tags = len(rates)
    return np.exp(gammaln(n_tags)) * np.prod(rates) / np.dot(rates, share) ** n_tags


def log_moment(counts, rates):
    """log E[Π_c share_c^{n_c}] by numerical integration over the simplex (two or three tags)."""
    if len(rates) == 2:

        def inside(a):
            share = np.array([a, 1 - a])
            return simplex_density(share, rates) * np.prod(share**counts)

        value, error = quad(inside, 0, 1, epsabs=1e-13, epsrel=1e-11, limit=200)
    else:

        def inside(b, a):
            share = np.array([a, b, 1 - a - b])
            return simplex_density(share, rates) * np.prod(share**counts)

        value, error = dblquad(inside, 0, 1, 0, lambda a: 1 - a, epsabs=1e-12, epsrel=1e-9)
    assert error < 1e-7 * value
    return np.log(value)


def log_moment_unnormalised(counts, rates):
    """log E[Π_c θ_c^{n_c}] = Σ_c log n_c! − n_c log λ_c: what the printed bound has in mind."""
    return float((gammaln(np.asarray(counts) + 1) - counts * np.log(rates)).sum())


def counts_of(z, n_tags):
    return np.bincount(np.asarray(z, dtype=int), minlength=n_tags)


def log_evidence(evidence, rates, guide=None, moment=log_moment):
    """log Σ_z E[Π_m share_{z_m}] exp(Σ_m evidence_{m,z_m} + guide_{z_m}), by listing every z."""
    n_regions, n_tags = evidence.shape
    guided = evidence if guide is None else evidence + guide
    terms = [
        moment(counts_of(z, n_tags), rates) + sum(guided[m, c] for m, c in enumerate(z))
        for z in itertools.product(range(n_tags), repeat=n_regions)
    ]
    return float(logsumexp(terms))


def log_words_given_assignment(counts, z, n_tags, eta):
    """log ∫ p(β) Π p(x|z, β) dβ: the Dirichlet-multinomial of ordered words."""
    n_words = counts.shape[1]
    total = 0.0
    for c in range(n_tags):
        held = counts[np.asarray(z) == c].sum(axis=0)
        total += gammaln(n_words * eta) - gammaln(n_words * eta + held.sum())
        total += (gammaln(eta + held) - gammaln(eta)).sum()
    return total


def log_evidence_of_bags(counts, offsets, tags, rates, eta, kappa, allowed, moment=log_moment):
    """log Σ_z Π_n E[Π share] p(x|z)^κ e^{Σ y/M} over all images at once; ``allowed[n]`` lists tags."""
    n_tags = len(rates)
    images = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    terms = []
    for listed in itertools.product(*[allowed[n] for n in images]):
        z = np.asarray(listed, dtype=int)
        value = kappa * log_words_given_assignment(counts, z, n_tags, eta)
        for n in range(len(offsets) - 1):
            own = z[offsets[n] : offsets[n + 1]]
            value += moment(counts_of(own, n_tags), rates) + tags[n, own].sum() / max(len(own), 1)
        terms.append(value)
    return float(logsumexp(terms))
