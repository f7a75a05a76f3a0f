"""What a learner may be told, checked before any work is done, and what the model makes of it."""

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from tagmix.errors import ParameterError
from tagmix.kernels import compiled, reference
from tagmix.model.params import Params, Settings

if TYPE_CHECKING:
    from tagmix.learners.emm import EMM

KERNELS = {"compiled": compiled, "reference": reference}
CHOICES = {
    "learning": ("likelihood", "margin"),
    "inference": ("variational", "map"),
    "normaliser": ("bounded", "dropped"),
    "ranking": ("shares", "theta"),
    "margin_posterior": ("free", "guided"),
    "kernels": tuple(KERNELS),
}
# name → (smallest, whether it may be that, whether it must be whole)
BOUNDS = {
    "max_iter": (1, True, True),
    "tol": (0, True, False),
    "eta": (0, False, False),
    "nu1": (0, False, False),
    "nu2": (0, False, False),
    "margin_rounds": (0, True, True),
    "margin_tol": (0, False, False),
    "calibration_folds": (0, True, True),
    "estep_tol": (0, False, False),
    "estep_max_iter": (1, True, True),
    "memory_mb": (0, False, False),
}


def check_parameters(emm: "EMM") -> None:
    """Refuse settings outside what the model allows, before any work is done."""
    for name, allowed in CHOICES.items():
        value = getattr(emm, name)
        if not isinstance(value, str) or value not in allowed:
            raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r}: choose one.")
    for name, bounds in BOUNDS.items():
        _check_bound(name, getattr(emm, name), *bounds)
    supervision: Any = emm.supervision
    if supervision != "hard" and not (_is_number(supervision) and supervision >= 0):
        raise ParameterError(
            f'supervision must be "hard" or a number >= 0, got {supervision!r}: 1 is the paper.'
        )
    if emm.calibration_folds == 1:
        raise ParameterError("calibration_folds must be 0 (none) or >= 2, got 1: one fold holds nothing out.")
    if emm.n_jobs is not None and not isinstance(emm.n_jobs, Integral):
        raise ParameterError(f"n_jobs must be a whole number or None, got {emm.n_jobs!r}: -1 is all cores.")
    _check_chi(emm.chi)


def _check_chi(chi: Any) -> None:
    if not (isinstance(chi, tuple | list) and len(chi) == 2 and all(_is_number(x) and x > 0 for x in chi)):
        raise ParameterError(f"chi must be two numbers > 0, got {chi!r}: pass (shape, rate).")
    if chi[0] <= 1:
        raise ParameterError(
            f"chi's shape must be above 1, got {chi[0]!r}: below, λ has no mode to settle at."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _check_bound(name: str, value: Any, smallest: int, inclusive: bool, whole: bool) -> None:
    number = _is_number(value) and (isinstance(value, Integral) or not whole)
    if not number or not (value >= smallest if inclusive else value > smallest):
        kind, sign = "whole and" if whole else "finite and", ">=" if inclusive else ">"
        raise ParameterError(f"{name} must be {kind} {sign} {smallest}, got {value!r}: see help(EMM).")


def settings_of_views(emm: "EMM", counted: Mapping[str, bool]) -> Settings:
    """Return the model's settings for these views (name → whether it holds counts)."""
    n_threads = emm.n_jobs or 1
    soft = 1.0 if isinstance(emm.supervision, str) else emm.supervision
    return Settings(
        evidence=_evidence(emm.evidence, counted),
        bounded=emm.normaliser == "bounded",
        hard=emm.supervision == "hard",
        strength=float(soft),
        chi=(float(emm.chi[0]), float(emm.chi[1])),
        tolerance=emm.estep_tol,
        max_iter=int(emm.estep_max_iter),
        kernels=KERNELS[emm.kernels],
        n_threads=n_threads if n_threads > 0 else (os.cpu_count() or 1),
    )


def _evidence(evidence: float | Mapping[str, float], counted: Mapping[str, bool]) -> dict[str, float]:
    views = list(counted)
    kappa = dict(evidence) if isinstance(evidence, Mapping) else dict.fromkeys(views, evidence)
    for view, value in kappa.items():
        if view not in views:
            raise ParameterError(f"evidence names the view {view!r}, the bags have {views}: use their names.")
        if not counted[view]:
            raise ParameterError(
                f"view {view!r} is dense, and EMM reads word counts: leave it out with evidence={{view: κ}} "
                "or pass whole numbers."
            )
        if not _is_number(value) or not 0 < value <= 1:
            raise ParameterError(
                f"evidence must be above 0 and at most 1, got {value!r}: 1 is the paper, less doubts more."
            )
    if not kappa:
        raise ParameterError(f"evidence must name at least one view of {views}, got none: add one.")
    return {view: float(value) for view, value in kappa.items()}


def rewire(emm: "EMM") -> None:
    """Let a fitted model compute with the kernels and threads that its parameters now ask for."""
    check_parameters(emm)
    emm.settings_ = settings_of_views(emm, dict.fromkeys(emm.settings_.evidence, True))
    emm.params_ = rewired(emm.params_, emm.settings_.kernels, emm.settings_.n_threads)


def rewired(params: Params, kernels: Any, n_threads: int) -> Params:
    """Return the same parameters, computed with by these kernels on so many threads."""
    models: Mapping[str, Any] = params.instances
    how = {"kernels": kernels, "n_threads": n_threads}
    return replace(params, instances={view: replace(model, **how) for view, model in models.items()})


def packed_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return an estimator's state with the kernels by name: a pickle holds no modules."""
    if "params_" not in state:
        return state
    settings = state["settings_"]
    name: Any = next(name for name, module in KERNELS.items() if module is settings.kernels)
    params = rewired(state["params_"], name, settings.n_threads)
    return {**state, "params_": params, "settings_": replace(settings, kernels=name)}


def unpacked_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state that ``packed_state`` was given."""
    if "params_" not in state:
        return state
    settings = state["settings_"]
    kernels = KERNELS[settings.kernels]
    params = rewired(state["params_"], kernels, settings.n_threads)
    return {**state, "params_": params, "settings_": replace(settings, kernels=kernels)}
