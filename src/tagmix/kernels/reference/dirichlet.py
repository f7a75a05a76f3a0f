"""The Dirichlet posteriors of the tags' words."""

from scipy.special import digamma, gammaln

from tagmix.arrays import Floats


def dirichlet_terms(mu: Floats, eta: float, n_threads: int = 1) -> tuple[Floats, Floats]:
    """Return E[log β] = Ψ(μ) − Ψ(Σμ) and KL(Dir(μ_c) ‖ Dir(η, …, η)) per tag."""
    total = mu.sum(axis=1)
    n_words = mu.shape[1]
    E_log_beta = digamma(mu) - digamma(total)[:, None]
    divergence = gammaln(total) - gammaln(mu).sum(axis=1) - gammaln(n_words * eta) + n_words * gammaln(eta)
    return E_log_beta, divergence + ((mu - eta) * E_log_beta).sum(axis=1)
