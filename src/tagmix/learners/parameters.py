"""What a learner may be told, checked before any work is done, and what the model makes of it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tagmix.errors import ParameterError
from tagmix.kernels import compiled, reference
from tagmix.learners.checks import check_choice, check_numbers, is_number
from tagmix.model.params import LINEAR, Params, Settings, view_of, views_read

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
# name → (smallest, largest, whether it must be whole). The ends are far outside what makes sense and well
# inside what doubles and an afternoon can take: settings may come from a stranger's file.
BOUNDS = {
    "max_iter": (1, 10**6, True),
    "tol": (0, 1, False),
    "eta": (1e-6, 1e6, False),
    "nu1": (1e-12, 1e12, False),
    "nu2": (1e-12, 1e12, False),
    "margin_rounds": (0, 1000, True),
    "margin_tol": (1e-9, 1, False),
    "calibration_folds": (0, 1000, True),
    "estep_tol": (1e-12, 1e3, False),
    "estep_max_iter": (1, 10**6, True),
    "memory_mb": (1e-3, 1e6, False),
    "verbose": (0, 2, True),
}
STRONGEST = 1e6  # guidance beyond this is hard supervision by another name


def check_parameters(emm: "EMM") -> None:
    """Refuse settings outside what the model allows, before any work is done."""
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
    if emm.calibration_folds == 1:
        raise ParameterError("calibration_folds must be 0 (none) or >= 2, got 1: one fold holds nothing out.")
    if emm.n_jobs is not None and (not isinstance(emm.n_jobs, Integral) or emm.n_jobs == 0):
        raise ParameterError(
            f"n_jobs must be a whole number other than 0, or None, got {emm.n_jobs!r}: None is one thread, "
            "-1 is all cores."
        )
    _check_chi(emm.chi)
    if emm.context is not None:
        _check_context(emm)


def _check_context(emm: "EMM") -> None:
    """Refuse what has no meaning where shares of tags are given by the context, not learnt."""
    needed = {"inference": "variational", "ranking": "shares", "supervision": "hard", "normaliser": "bounded"}
    for name, value in needed.items():
        if getattr(emm, name) != value:
            raise ParameterError(
                f"{name} must be {value!r} with a context, got {getattr(emm, name)!r}: leave it, or set "
                "context to None for the paper."
            )
    if emm.context_power is not None and not is_number(emm.context_power, 0, 100):
        raise ParameterError(
            f"context_power must be a number from 0 to 100, or None to choose it, got {emm.context_power!r}: "
            "about 2 is usual."
        )


def check_calibrated(emm: "EMM") -> None:
    """Refuse to give probabilities that were not learnt, or learnt for other scores."""
    if emm.calibration_ is None:
        folds = max(2, emm.calibration_folds)
        raise ParameterError(
            "probabilities and thresholds were not learnt: fit with calibration_folds >= 2 on at least twice "
            f"as many tagged images ({2 * folds} for {folds} folds), or rank with top_tags."
        )
    now = (emm.inference, emm.ranking)
    if now != emm.calibrated_for_:
        raise ParameterError(
            f"probabilities and thresholds were learnt for inference and ranking {emm.calibrated_for_}, now "
            f"they are {now}: set them back, fit again, or rank with top_tags."
        )


def _check_chi(chi: Any) -> None:
    if not (isinstance(chi, tuple | list) and len(chi) == 2 and all(is_number(x, 1e-6, 1e6) for x in chi)):
        raise ParameterError(f"chi must be two numbers from 1e-6 to 1e6, got {chi!r}: pass (shape, rate).")
    if chi[0] <= 1:
        raise ParameterError(
            f"chi's shape must be above 1, got {chi[0]!r}: below, λ has no mode to settle at."
        )


def settings_of_views(emm: "EMM", counted: Mapping[str, bool]) -> Settings:
    """Return the model's settings for these views (name → whether it holds counts)."""
    n_threads = emm.n_jobs or 1
    soft = 1.0 if isinstance(emm.supervision, str) else emm.supervision
    return Settings(
        evidence=_evidence(emm.evidence, counted),
        bounded=emm.normaliser == "bounded",
        given=emm.context is not None,
        hard=emm.supervision == "hard",
        strength=float(soft),
        chi=(float(emm.chi[0]), float(emm.chi[1])),
        tolerance=emm.estep_tol,
        max_iter=int(emm.estep_max_iter),
        kernels=KERNELS[emm.kernels],
        n_threads=n_threads if n_threads > 0 else (os.cpu_count() or 1),
    )


def _evidence(evidence: float | Mapping[str, float], counted: Mapping[str, bool]) -> dict[str, float]:
    """Return κ of each instance model by name; "view:linear" is the linear scorer of a view of embeddings."""
    views = list(counted)
    kappa = dict(evidence) if isinstance(evidence, Mapping) else dict.fromkeys(views, evidence)
    for name, value in kappa.items():
        if view_of(name) not in views:
            raise ParameterError(f"evidence names the view {name!r}, the bags have {views}: use their names.")
        if name.endswith(LINEAR) and counted[view_of(name)]:
            raise ParameterError(
                f"{name!r} is a linear scorer of embeddings, view {view_of(name)!r} has word counts: leave "
                "it out."
            )
        if not is_number(value, 0, 1) or value == 0:
            raise ParameterError(
                f"evidence must be above 0 and at most 1, got {value!r}: 1 is the paper, less doubts more."
            )
    if not kappa:
        raise ParameterError(f"evidence must name at least one view of {views}, got none: add one.")
    return {name: float(value) for name, value in kappa.items()}


def rewire(emm: "EMM") -> None:
    """Let a fitted model compute with the kernels and threads that its parameters now ask for."""
    check_parameters(emm)
    now = settings_of_views(emm, dict.fromkeys(views_read(emm.settings_), False))
    emm.settings_ = replace(emm.settings_, kernels=now.kernels, n_threads=now.n_threads)
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
