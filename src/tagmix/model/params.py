"""The learnt parameters of the model, and its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Protocol, Self

import numpy as np
from scipy.special import gammaln

from tagmix.arrays import Floats
from tagmix.kernels import compiled
from tagmix.model.instance import InstanceModel, Multinomial


@dataclass(frozen=True)
class Settings:
    """The settings of the model.

    Parameters
    ----------
    evidence : κ of each instance model, the power of its likelihood (D6); 1 is the paper.
    bounded : keep the normaliser of θ, bounded by ζ (D3); False is the printed bound.
    hard : restrict a captioned picture to its own tags (D5).
    strength : multiplies the paper's guidance w(y+δ)/M; 1 is the paper.
    chi : shape and rate of the Gamma prior of λ.
    background : the last component is none of the tags, and every caption has it (D19).
    """

    evidence: Mapping[str, float]
    bounded: bool = True
    hard: bool = True
    strength: float = 1.0
    chi: tuple[float, float] = (2.0, 1.0)
    background: bool = False
    tolerance: float = 1e-4
    max_iter: int = 200
    kernels: ModuleType = compiled
    n_threads: int = 1


@dataclass(frozen=True)
class Params:
    """λ (one rate per tag), instance models by view, and w (one weight per tag).

    A background counts as a tag, the last one.
    """

    rates: Floats
    instances: Mapping[str, InstanceModel]
    weights: Floats

    @property
    def n_tags(self) -> int:
        """The number of tags."""
        return len(self.rates)

    def with_weights(self, weights: Floats) -> Self:
        """Return the same model with other tag weights."""
        return replace(self, weights=weights)


class Instances(Protocol):
    """The source of evidence: ``Params`` of the paper, or ``RegionModel`` with given shares."""

    @property
    def instances(self) -> Mapping[str, InstanceModel]:
        """Instance models by view."""

    @property
    def n_tags(self) -> int:
        """The number of tags."""


def dense_views(params: Instances) -> tuple[str, ...]:
    """Return the views of embeddings, in order."""
    return tuple(
        dict.fromkeys(name for name, model in params.instances.items() if not isinstance(model, Multinomial))
    )


def views_read(settings: Settings) -> tuple[str, ...]:
    """Return the views of all instance models, each once, in order."""
    return tuple(dict.fromkeys(name for name in settings.evidence))


def log_prior_of_rates(rates: Floats, chi: tuple[float, float]) -> float:
    """Return Σ_c log Gamma(λ_c | χ1, χ2), where χ2 is a rate."""
    shape, rate = chi
    return float(
        len(rates) * (shape * np.log(rate) - gammaln(shape))
        + (shape - 1) * np.log(rates).sum()
        - rate * rates.sum()
    )
