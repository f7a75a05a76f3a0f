"""Parameters of the mixture estimators: checked before any work is done, and what the model makes of them."""

import os
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from types import ModuleType
from typing import Any, TypeVar

from sklearn.utils import check_random_state

from tagmix.errors import ParameterError
from tagmix.kernels import active
from tagmix.learners.checks import check_choice, check_numbers, is_number
from tagmix.model.given import RegionModel
from tagmix.model.params import Params, Settings

CHOICES = {
    "learning": ("likelihood", "margin"),
    "inference": ("variational", "map"),
    "normaliser": ("bounded", "dropped"),
    "ranking": ("shares", "theta"),
    "margin_posterior": ("free", "guided"),
}
# name → (smallest, largest, whether it must be whole). The ends are far outside what makes sense and well
# inside what doubles and an afternoon can take: settings may come from a stranger's file.
BOUNDS = {
    "max_iter": (1, 10**6, True),
    "tol": (0, 1, False),
    "eta": (1e-6, 1e6, False),
    "nu1": (1e-12, 1e12, False),
    "nu2": (0, 1e12, False),
    "margin_centre": (0, 1e6, False),
    "margin_rounds": (0, 1000, True),
    "calibration_folds": (0, 1000, True),
    "memory_mb": (1e-3, 1e6, False),
    "verbose": (0, 2, True),
}
STRONGEST = 1e6  # guidance beyond this is hard supervision by another name
MAX_POWER = 100.0
Model = TypeVar("Model", Params, RegionModel)


def check_parameters(emm: Any) -> None:
    """Refuse settings outside what the paper's model allows."""
    for name, allowed in CHOICES.items():
        check_choice(name, getattr(emm, name), allowed)
    check_numbers(emm, BOUNDS)
    supervision: Any = emm.supervision
    hard = isinstance(supervision, str) and supervision == "hard"
    if not hard and not is_number(supervision, 0, STRONGEST):
        raise ParameterError(
            f'supervision must be "hard" or a number from 0 to {STRONGEST:g}, got {supervision!r}: 1 is the '
            "paper."
        )
    check_background(emm.background)
    if emm.calibration_folds == 1:
        raise ParameterError("calibration_folds must be 0 (none) or >= 2, got 1: one fold holds nothing out.")
    check_n_jobs(emm.n_jobs)
    _check_chi(emm.chi)


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of threads that means nothing."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ParameterError(
            f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}: None is one thread, -1 is "
            "all cores."
        )


def check_background(background: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(background, bool):
        raise ParameterError(
            f"background must be True or False, got {background!r:.60}: True lets regions show none of the "
            "tags."
        )


def seed_of(random_state: Any) -> int:
    """Return a whole number to choose κ by: the random state itself if it is one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_chi(chi: Any) -> None:
    if not (isinstance(chi, tuple | list) and len(chi) == 2 and all(is_number(x, 1e-6, 1e6) for x in chi)):
        raise ParameterError(f"chi must be two numbers from 1e-6 to 1e6, got {chi!r}: pass (shape, rate).")
    if chi[0] <= 1:
        raise ParameterError(f"chi's shape must be above 1, got {chi[0]!r}: below, λ has no mode.")


def settings_of_paper(emm: Any, evidence: Mapping[str, float]) -> Settings:
    """Return the settings of the paper's model with these κ."""
    soft = 1.0 if isinstance(emm.supervision, str) else emm.supervision
    return replace(
        settings_of_run(evidence, emm.n_jobs),
        bounded=emm.normaliser == "bounded",
        hard=emm.supervision == "hard",
        strength=float(soft),
        background=emm.background,
        chi=(float(emm.chi[0]), float(emm.chi[1])),
    )


def settings_of_run(evidence: Mapping[str, float], n_jobs: int | None) -> Settings:
    """Return settings with these κ, the active kernels and so many threads."""
    return Settings(evidence=evidence, kernels=active(), n_threads=n_threads_of(n_jobs))


def n_threads_of(n_jobs: int | None) -> int:
    """Return the number of threads: None is one, -1 all cores."""
    n = n_jobs or 1
    return n if n > 0 else (os.cpu_count() or 1)


def checked_evidence(evidence: Any, views: Mapping[str, Any]) -> dict[str, float]:
    """Return κ of each view."""
    kappa = dict(evidence) if isinstance(evidence, Mapping) else dict.fromkeys(views, evidence)
    for name, value in kappa.items():
        if name not in views:
            raise ParameterError(
                f"evidence names the view {name!r}, the bags have {list(views)}: use their names."
            )
        if not is_number(value, 0, 1) or value == 0:
            raise ParameterError(f"evidence must be above 0 and at most 1, got {value!r}: 1 is the paper's.")
    if not kappa:
        raise ParameterError(f"evidence must name at least one view of {list(views)}, got none: add one.")
    return {name: float(value) for name, value in kappa.items()}


def rewired(model: Model, kernels: ModuleType | str, n_threads: int) -> Model:
    """Return the same model, computed with by these kernels on so many threads."""
    models: Mapping[str, Any] = model.instances
    how = {"kernels": kernels, "n_threads": n_threads}
    return replace(model, instances={name: replace(own, **how) for name, own in models.items()})
