"""The M-step: the parameters that maximise the bound given the statistics, and their initial values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tagmix.arrays import Entries, Floats, Ints, entries_of, is_sparse
from tagmix.bags import Bags
from tagmix.model.background import with_background
from tagmix.model.estep import Statistics
from tagmix.model.gaussian import Gaussian
from tagmix.model.instance import InstanceModel, Multinomial
from tagmix.model.params import Params, Settings, log_prior_of_rates


def update(
    params: Params,
    statistics: Statistics,
    settings: Settings,
    learn_eta: bool = True,
    learn_rates: bool = True,
) -> Params:
    """Return μ = η + Σ φ x (Eq. 9), the best η, and λ; the margin problem sets ``weights``."""
    instances = {
        view: model.updated(statistics.instances[view], learn_eta) for view, model in params.instances.items()
    }
    rates = best_rates(statistics.theta, statistics.n_pictures, settings.chi) if learn_rates else params.rates
    return Params(rates, instances, params.weights)


def best_rates(theta_sums: Floats, n_pictures: int, chi: tuple[float, float]) -> Floats:
    """Return λ_c = (χ1 + N − 1)/(χ2 + Σ_n γ_nc ρ_nc), the mode given the Gamma prior.

    >>> best_rates(np.array([1.0, 3.0]), 2, (2.0, 1.0)).tolist()
    [1.5, 0.75]
    """
    return (chi[0] + n_pictures - 1) / (chi[1] + theta_sums)


def total_bound(
    params: Params, statistics: Statistics, settings: Settings, learnt_rates: bool = True
) -> float:
    """Return the bound of all data: that of the pictures − the instance models' divergence + log p(λ)."""
    prior = log_prior_of_rates(params.rates, settings.chi) if learnt_rates else 0.0
    return statistics.bound - tempered_divergence(params.instances, settings) + prior


def start(bags: Bags, settings: Settings, eta: float) -> Params:
    """Return initial parameters: regions shared equally among their caption's tags, λ = 1 and w = 1.

    For words, μ_c = η + Σ_n (y_nc/|Y_n|) Σ_m x_nm, so that topics are tags. A background starts with half of
    each region.
    """
    n = bags.n_tags + settings.background
    return Params(np.ones(n), start_instances(bags, settings, eta), np.ones(n))


def start_instances(bags: Bags, settings: Settings, eta: float) -> dict[str, InstanceModel]:
    """Return the initial instance models."""
    tags = with_background(bags.captions) if settings.background else bags.captions
    entries = entries_of(tags, bags.offsets)
    shares = start_shares(entries, bags.offsets, tags.shape[1] - 1 if settings.background else None)
    instances: dict[str, InstanceModel] = {}
    for name in settings.evidence:
        view = bags.views[name]
        prior = instance_prior(
            view, tags.shape[1], eta, {"kernels": settings.kernels, "n_threads": settings.n_threads}
        )
        statistics = prior.empty_statistics()
        prior.add_statistics(view, shares, bags.offsets, entries, statistics)
        instances[name] = prior.updated(statistics, learn_prior=False)
    return instances


def start_shares(entries: Entries, region_starts: Ints, background: int | None) -> Floats:
    """Return initial shares in the layout of a block: equal, or half for this column and equal for the rest.

    >>> from scipy.sparse import csr_array
    >>> entries = entries_of(csr_array([[1, 1, 1], [0, 0, 1]]), np.array([0, 2, 3]))
    >>> start_shares(entries, np.array([0, 2, 3]), 2).tolist()
    [0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 1.0]
    """
    widths = np.diff(entries.starts)
    if background is None:
        return np.repeat(1 / np.maximum(widths, 1), widths * np.diff(region_starts))
    tags = widths[entries.picture_of] - 1
    own = np.where(entries.tags == background, np.where(tags > 0, 0.5, 1.0), 0.5 / np.maximum(tags, 1))
    per_region = np.repeat(widths, np.diff(region_starts))
    first = np.repeat(np.repeat(entries.starts[:-1], np.diff(region_starts)), per_region)
    place = np.arange(len(first)) - np.repeat(np.cumsum(per_region) - per_region, per_region)
    shares: Floats = own[first + place]
    return shares


def instance_prior(view: Any, n_tags: int, eta: float, how: dict[str, Any]) -> InstanceModel:
    """Return the prior of an instance model: multinomial for counts, Gaussian for embeddings."""
    if is_sparse(view):
        return Multinomial.empty(n_tags, view.shape[1], eta, **how)
    return Gaussian.empty(n_tags, view, **how)


def tempered_divergence(instances: Mapping[str, InstanceModel], settings: Settings) -> float:
    """Return Σ_v κ_v KL(q ‖ p) of the instance models' own parameters.

    κ multiplies the divergence of a view as well as its likelihood, so that μ = η + Σ φ x maximises the
    bound for every κ.
    """
    return float(sum(settings.evidence[name] * model.divergence() for name, model in instances.items()))
