"""Learning on: an annotator after corrections and new pictures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tagmix import __version__
from tagmix.annotate import Annotator
from tagmix.bags import Bags
from tagmix.card import Card, Step, today
from tagmix.errors import ParameterError
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.memory import Memory
from tagmix.learners.continued.update import update
from tagmix.learners.continued.verdicts import Correction, labelled


class Continued(NamedTuple):
    """An annotator that has learnt on, and its memory.

    ``touched`` are the tags that were solved again, ``changed`` the ids of the pictures whose shown tags are
    others: of those that the model learnt from before, then of the others that were asked for.
    """

    annotator: Annotator
    memory: Memory
    touched: tuple[str, ...]
    changed: tuple[str, ...]


def continue_training(
    annotator: Annotator,
    memory: Memory,
    corrections: Sequence[Correction] = (),
    new_pictures: Bags | None = None,
    *,
    others: Bags | None = None,
    note: str = "",
) -> Continued:
    """Learn corrections of pictures that the model knows, and new pictures, exactly and without a new fit.

    ``new_pictures`` are described by the annotator's own describer and have the model's tags; ``others`` are
    pictures that are not learnt, whose shown tags are compared as well. ``note`` goes into the card.
    """
    model = annotator.model
    if not isinstance(model, ContextEMM):
        raise ParameterError(f"only ContextEMM can learn on, got {type(model).__name__}: train again.")
    after = update(model, memory, corrections, new_pictures)
    if after.model is model:
        return Continued(annotator, memory, (), ())
    n_read = len({said.picture for said in corrections}) + len(after.memory.ids) - len(memory.ids)
    made = Annotator(
        annotator.describer,
        after.model,
        _updated(annotator.card, after.memory, n_read, note),
        annotator.implied,
    )
    changed = after.changed
    if others is not None and len(others):
        before, now = (own.judge(others)[1] for own in (annotator, made))
        changed += tuple(others.ids[n] for n in np.flatnonzero((before != now).any(axis=1)))
    return Continued(made, after.memory, tuple(model.tag_names_[c] for c in after.touched), changed)


def _updated(card: Card | None, memory: Memory, n_read: int, note: str) -> Card | None:
    if card is None:
        return None
    names = [str(column) for column in range(memory.codes.shape[1])]
    step = Step("update", today(), __version__, n_read, note)
    n_regions = int(memory.regions.offsets[-1])
    return replace(card.updated(step, labelled(memory.codes, names)), regions=n_regions)
