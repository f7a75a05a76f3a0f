"""The Dirichlet posteriors of the tags' words, compiled; the definition is ``reference.dirichlet``."""

import numpy as np
from numba import njit

from tagmix.arrays import Floats
from tagmix.kernels.compiled.special import FAST, log_gamma_and_digamma
from tagmix.kernels.threads import over_ranges


def dirichlet_terms(mu: Floats, eta: float, n_threads: int = 1) -> tuple[Floats, Floats]:
    """Equal to ``reference.dirichlet.dirichlet_terms``."""
    E_log_beta, divergence = np.empty_like(mu), np.empty(len(mu))
    over_ranges(lambda a, b: _terms(mu, eta, E_log_beta, divergence, a, b), len(mu), n_threads)
    return E_log_beta, divergence


@njit(cache=True, nogil=True, fastmath=FAST)
def _terms(mu, eta, E_log_beta, divergence, first, last):  # type: ignore[no-untyped-def]
    n_words = mu.shape[1]
    prior_log_gamma, prior_psi = log_gamma_and_digamma(eta)
    for c in range(first, last):
        total = mu[c].sum()
        total_log_gamma, total_psi = log_gamma_and_digamma(total)
        value = total_log_gamma - log_gamma_and_digamma(n_words * eta)[0]
        for d in range(n_words):
            x = mu[c, d]
            if x == eta:  # a word that never occurs with this tag, as most do if there are many tags
                E_log_beta[c, d] = prior_psi - total_psi
                continue
            log_gamma, psi = log_gamma_and_digamma(x)
            E_log_beta[c, d] = psi - total_psi
            value += prior_log_gamma - log_gamma + (x - eta) * E_log_beta[c, d]
        divergence[c] = value
