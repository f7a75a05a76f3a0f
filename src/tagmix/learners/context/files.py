"""A context in a model's file: its experts, each as it would be stored alone, the pool, and the powers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tagmix.errors import ParameterError
from tagmix.learners import state
from tagmix.learners.base import TagLearner
from tagmix.learners.pictures.tagprop import TagProp
from tagmix.learners.pictures.topic_ridge import TopicRidge
from tagmix.learners.pictures.two_pass_knn import TwoPassKNN
from tagmix.learners.checks import is_number
from tagmix.learners.context.experts import EXPERTS
from tagmix.learners.context.fitting import Context
from tagmix.learners.context.pool import Pool
from tagmix.learners.context.prior import ContextPrior

# Learners whose every part can be checked when a stranger's file brings them.
STORABLE: tuple[type[TagLearner], ...] = (*EXPERTS.values(), TagProp, TopicRidge, TwoPassKNN)
KINDS = {kind.__name__: kind for kind in STORABLE}
LARGEST = 1e9


def stored_setting(context: Any) -> Any:
    """Return the parameter ``context`` as plain values: a learner becomes its kind and settings."""
    if isinstance(context, list | tuple):
        return [stored_setting(one) for one in context]
    if not isinstance(context, TagLearner):
        return context
    return {"kind": _kind(context), "settings": state.plain_settings(context)}


def read_setting(stored: Any) -> Any:
    """Return the parameter that ``stored_setting`` made plain."""
    if isinstance(stored, list):
        return tuple(read_setting(one) for one in stored)
    if isinstance(stored, dict):
        kind = KINDS[stored["kind"]]
        return kind(**state.known_settings(kind, stored["settings"]))
    return stored


def _kind(learner: TagLearner) -> str:
    name = type(learner).__name__
    if KINDS.get(name) is not type(learner):
        raise ParameterError(
            f"a context of {name} cannot be kept in a file that is safe to open: use one of "
            f"{', '.join(KINDS)}, or pickle the model for yourself."
        )
    return name


def context_parts(context: Context) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and arrays that a context is stored as."""
    arrays: dict[str, Any] = {f"context.pool.{name}": a for name, a in context.prior.pool._asdict().items()}
    experts = []
    for i, expert in enumerate(context.prior.experts):
        fields, own = state.parts(expert)
        experts.append({"kind": _kind(expert), **fields})
        arrays |= {f"context.{i}.{name}": array for name, array in own.items()}
    powers = {"power": float(context.power), "region_power": float(context.region_power)}
    agreement = [[float(power), float(share)] for power, share in context.agreement.items()]
    return {**powers, "agreement": agreement, "experts": experts}, arrays


def load_context(fields: Any, arrays: Mapping[str, Any], tag_names: tuple[str, ...]) -> Context:
    """Return the context that ``context_parts`` took apart; raise ValueError where parts do not fit."""
    experts = []
    for i, stored in enumerate(fields["experts"]):
        start = f"context.{i}."
        own = {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
        expert = state.restored(KINDS[stored["kind"]], stored, own)
        if expert.tag_names_ != tag_names:
            raise ValueError("experts of the context must know the model's tags")
        experts.append(expert)
    pool = _pool(arrays, len(experts), len(tag_names))
    powers = float(fields["power"]), float(fields["region_power"])
    if not all(is_number(power, 0, 100) for power in powers):
        raise ValueError("powers of the context must be from 0 to 100")
    agreement = {float(power): float(share) for power, share in fields["agreement"]}
    return Context(ContextPrior(tuple(experts), pool), *powers, agreement)


def _pool(arrays: Mapping[str, Any], n_experts: int, n_tags: int) -> Pool:
    n, n_knots = 2 * n_experts, len(arrays["context.pool.knots"])
    pool = Pool(**{name: arrays[f"context.pool.{name}"] for name in Pool._fields})
    shapes = {"slopes": (n, n_tags), "biases": (n_tags,), "knots": (n_knots,), "levels": (n_knots,)}
    for name, array in pool._asdict().items():
        fits = array.shape == shapes[name] and array.dtype == np.float64
        if not n_experts or not n_knots or not fits or not np.all(np.abs(array) <= LARGEST):
            raise ValueError(f"{name} of the pool must be float64 of shape {shapes[name]} up to {LARGEST:g}")
    if (np.diff(pool.knots) < 0).any() or (np.diff([0, *pool.levels, 1]) < 0).any():
        raise ValueError("the pool needs rising knots, and rising levels between 0 and 1")
    return pool
