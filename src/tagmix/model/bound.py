"""The variational bound of one picture, one function per line, with all constants.

These functions are the definition; the kernels use the closed form at the optimum of γ, ρ and ζ. Words are
an ordered list, as in Eq. 3, so no multinomial coefficient appears. ``evidence`` is κ Σ_d x_d E[log β].
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from tagmix.arrays import Floats


class PictureBound(NamedTuple):
    """The bound of one picture, one field per line; their sum is the bound."""

    theta: float
    assignments: float
    normaliser: float
    words: float
    captions: float
    entropy_theta: float
    entropy_z: float

    @property
    def total(self) -> float:
        """The bound."""
        return sum(self)


def log_prior(gamma: Floats, rho: Floats, rates: Floats) -> float:
    """Return E[log p(θ|λ)] = Σ_c log λ_c − λ_c γ_c ρ_c."""
    return float((np.log(rates) - rates * gamma * rho).sum())


def assignments(phi: Floats, gamma: Floats, rho: Floats) -> float:
    """Return Σ_mc φ_mc E[log θ_c], with E[log θ_c] = Ψ(γ_c) + log ρ_c."""
    return float(phi.sum(axis=0) @ (digamma(gamma) + np.log(rho)))


def normaliser(n_regions: int, gamma: Floats, rho: Floats, zeta: float) -> float:
    """Return M(1 − log ζ − Σ_c γ_c ρ_c / ζ) ≤ −M E[log Σ_c θ_c], which the printed bound omits (D3)."""
    return float(n_regions * (1 - np.log(zeta) - (gamma @ rho) / zeta))


def words(phi: Floats, evidence: Floats) -> float:
    """Return κ E[log p(X|B, z)] = Σ_mc φ_mc evidence_mc."""
    return float((phi * evidence).sum())


def captions(phi: Floats, guide: Floats) -> float:
    """Return E[log p(y|z̄, w)] = Σ_mc φ_mc guide_c, the exponent of Eq. 1 (not normalised there, D5)."""
    return float(phi.sum(axis=0) @ guide)


def entropy_of_theta(gamma: Floats, rho: Floats) -> float:
    """Return H[θ] = Σ_c log ρ_c + γ_c + log Γ(γ_c) − (γ_c − 1)Ψ(γ_c)."""
    return float((np.log(rho) + gamma + gammaln(gamma) - (gamma - 1) * digamma(gamma)).sum())


def entropy_of_z(phi: Floats) -> float:
    """Return H[z] = −Σ_mc φ_mc log φ_mc."""
    return float(-xlogy(phi, phi).sum())


def picture_bound(
    phi: Floats,
    gamma: Floats,
    rho: Floats,
    zeta: float | None,
    rates: Floats,
    evidence: Floats,
    guide: Floats,
) -> PictureBound:
    """Return all lines; ``zeta=None`` omits the normaliser, as printed in the paper."""
    return PictureBound(
        log_prior(gamma, rho, rates),
        assignments(phi, gamma, rho),
        0.0 if zeta is None or len(phi) == 0 else normaliser(len(phi), gamma, rho, zeta),
        words(phi, evidence),
        captions(phi, guide),
        entropy_of_theta(gamma, rho),
        entropy_of_z(phi),
    )


def update_phi(evidence: Floats, gamma: Floats, rho: Floats, guide: Floats) -> Floats:
    """Return φ_mc ∝ exp(evidence_mc + Ψ(γ_c) + log ρ_c + guide_c), Eq. 8 with D8."""
    logits = evidence + digamma(gamma) + np.log(rho) + guide
    phi: Floats = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    return phi


def update_gamma(phi: Floats) -> Floats:
    """Return γ_c = 1 + Σ_m φ_mc, the closed form of Eq. 10 (D2)."""
    return 1 + phi.sum(axis=0)


def update_rho(gamma: Floats, phi: Floats, rates: Floats, zeta: float | None) -> Floats:
    """Return ρ_c = (1 + S_c)/(γ_c (λ_c + M/ζ)), the reciprocal of the printed Eq. 7 (D1)."""
    pull = 0.0 if zeta is None else len(phi) / zeta
    rho: Floats = (1 + phi.sum(axis=0)) / (gamma * (rates + pull))
    return rho


def update_zeta(gamma: Floats, rho: Floats) -> float:
    """Return ζ = E[Σ_c θ_c] = Σ_c γ_c ρ_c, at which the bound of the normaliser is tight."""
    return float(gamma @ rho)
