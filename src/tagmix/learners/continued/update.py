"""Learning from verdicts: corrected tags and new pictures, exactly as a refit with the same settings."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Ints
from tagmix.bags import Bags
from tagmix.errors import BagsError, ParameterError
from tagmix.evaluation.folds import groups_of, prints_of
from tagmix.learners.context_emm import ContextEMM
from tagmix.learners.continued.assemble import assembled, changed_pictures
from tagmix.learners.continued.columns import Losses, scores, solved
from tagmix.learners.continued.instances import Kept
from tagmix.learners.continued.memory import Memory, checked_ridge
from tagmix.learners.continued.mixture import Regions, statistics
from tagmix.learners.continued.ridge import Ridge, solved_again, updated
from tagmix.learners.continued.verdicts import NO, YES, Correction, codes_of, corrected
from tagmix.learners.whole_pictures import whole_pictures


class Continued(NamedTuple):
    """A model that has learnt on, its memory, the tags that were solved again, and pictures that show others.

    ``touched`` are columns; ``changed`` the ids of the old training pictures whose shown tags are others.
    """

    model: ContextEMM
    memory: Memory
    touched: Ints
    changed: tuple[str, ...] = ()


def refit(model: ContextEMM, memory: Memory, bags: Bags) -> Continued:
    """Return the model that all pictures and verdicts of ``bags`` determine, with the settings of ``memory``.

    The pictures are those of the memory, in its order; nothing but what was chosen is read of either.
    """
    if bags.ids != memory.ids or bags.tag_names != model.tag_names_:
        raise BagsError(
            f"a refit needs the {len(memory.ids):,} pictures of the memory in its order and the model's "
            f"tags, got {len(bags):,} pictures: pass the same with other verdicts."
        )
    chosen, codes, scorer = memory.chosen, codes_of(bags), model.prior_.scorer
    every = np.arange(bags.n_tags)
    views = whole_pictures(bags, checked_ridge(model, len(bags)).distance)
    ridge = solved_again(checked_ridge(model, len(bags)), views, codes)
    kept, regions = Kept.of(bags, scorer, chosen.axes), Regions.of(bags, chosen.regions)
    losses = Losses(kept, memory.folds, codes, scorer)
    weights = solved(losses, chosen.columns, every)
    held, pooled = scores(losses, weights)
    first = chosen.columns.weights[0]
    sums = statistics(regions, kept, codes, chosen.regions, first, model.settings_)
    made = memory._replace(
        prints=tuple(prints_of(bags)), codes=codes, factor=ridge.factor, kept=kept, regions=regions,
        weights=weights, held=held, pooled=pooled, sums=sums,
    )  # fmt: skip
    return Continued(assembled(model, made, ridge), made, every)


def update(
    model: ContextEMM, memory: Memory, corrections: Sequence[Correction] = (), new: Bags | None = None
) -> Continued:
    """Return the model after corrections of training pictures, and with new pictures learnt.

    It is the model of ``refit`` to within rounding. New pictures need a tag or a rejected tag, and regions;
    the others teach nothing and are left out.
    """
    ridge = Ridge(checked_ridge(model, len(memory.ids)), memory.factor)
    after = _corrected(model, memory, corrections)
    touched = np.flatnonzero((after.codes != memory.codes).any(axis=0))
    extra = _teaching(model, memory, new)
    if extra is not None:
        checked_ridge(model, len(memory.ids) + len(extra))
        after, touched = _extended(model, after, extra), np.arange(len(model.tag_names_))
    if not len(touched):
        return Continued(model, memory, touched)
    ridge = updated(ridge, after.codes, touched, extra)
    after = _scored(model, after._replace(factor=ridge.factor), touched)
    made = assembled(model, after, ridge)
    return Continued(made, after, touched, changed_pictures(model, memory, made, after))


def _corrected(model: ContextEMM, memory: Memory, corrections: Sequence[Correction]) -> Memory:
    """Return the memory with these verdicts, and with the statistics of the corrected pictures."""
    codes = corrected(memory.codes, memory.ids, model.tag_names_, corrections)
    rows = np.flatnonzero((codes != memory.codes).any(axis=1))
    if not len(rows):
        return memory
    if not (codes == YES).any(axis=0).all():
        gone = model.tag_names_[int(np.flatnonzero(~(codes == YES).any(axis=0))[0])]
        raise ParameterError(
            f"every tag needs a picture that has it, got none for {gone!r:.60}: train again without the tag."
        )
    parts = memory.regions.of_pictures(rows), memory.kept.of_pictures(rows)
    mixture, first = memory.chosen.regions, memory.chosen.columns.weights[0]
    then, now = (
        statistics(*parts, own[rows], mixture, first, model.settings_) for own in (memory.codes, codes)
    )
    sums = {name: total + now[name] - then[name] for name, total in memory.sums.items()}
    return memory._replace(codes=codes, sums=sums)


def _teaching(model: ContextEMM, memory: Memory, new: Bags | None) -> Bags | None:
    """Return the new pictures that teach something; None if none does."""
    if new is None or not len(new):
        return None
    if new.tag_names != model.tag_names_:
        raise BagsError(
            f"new pictures must have the model's {len(model.tag_names_)} tags in their order, got "
            f"{len(new.tag_names or ())}: train again to learn other tags."
        )
    known = sorted(set(new.ids) & set(memory.ids))
    if known:
        raise BagsError(
            f"new pictures must be new, got {known[0]!r:.60} ({len(known)} such) that the model learnt from: "
            "pass corrections of these."
        )
    codes = codes_of(new)
    useful = np.isin(codes, (YES, NO)).any(axis=1) & (np.diff(new.offsets) > 0)
    return new[np.flatnonzero(useful)] if useful.any() else None


def _extended(model: ContextEMM, memory: Memory, new: Bags) -> Memory:
    """Return the memory with new pictures, whose scores are still to come."""
    chosen, codes, prints = memory.chosen, codes_of(new), tuple(prints_of(new))
    kept, regions = Kept.of(new, model.prior_.scorer, chosen.axes), Regions.of(new, chosen.regions)
    own = statistics(regions, kept, codes, chosen.regions, chosen.columns.weights[0], model.settings_)
    ids, every = (*memory.ids, *new.ids), (*memory.prints, *prints)
    groups = groups_of(ids, every)
    return memory._replace(
        ids=ids, prints=every, codes=np.vstack([memory.codes, codes]),
        folds=extended_folds(memory.folds, groups), halves=extended_folds(memory.halves, groups),
        kept=memory.kept.with_(kept), regions=memory.regions.with_(regions),
        sums={name: total + own[name] for name, total in memory.sums.items()},
    )  # fmt: skip


def extended_folds(folds: Ints, groups: Ints) -> Ints:
    """Return the folds with those of new pictures: a duplicate's own, else the one with the fewest pictures.

    >>> extended_folds(np.array([0, 1, 1]), np.array([0, 1, 2, 1, 3, 3])).tolist()
    [0, 1, 1, 1, 0, 0]
    """
    sizes = np.bincount(folds)
    fold_of = dict(zip(groups[: len(folds)].tolist(), folds.tolist(), strict=True))
    own = []
    for group in groups[len(folds) :].tolist():
        fold = fold_of.setdefault(group, int(sizes.argmin()))
        sizes[fold] += 1
        own.append(fold)
    return np.concatenate([folds, np.array(own, dtype=np.int64)])


def _scored(model: ContextEMM, memory: Memory, touched: Ints) -> Memory:
    """Return the memory with the columns of these tags solved again, and their scores."""
    losses = Losses(memory.kept, memory.folds, memory.codes, model.prior_.scorer)
    own = solved(losses, memory.chosen.columns, touched)
    held_of, pooled_of = scores(losses, own)
    weights = memory.weights.copy()
    weights[:, :, touched] = own
    if len(touched) == weights.shape[2]:
        return memory._replace(weights=weights, held=held_of, pooled=pooled_of)
    held, pooled = memory.held.copy(), memory.pooled.copy()
    held[:, touched], pooled[:, touched] = held_of, pooled_of
    return memory._replace(weights=weights, held=held, pooled=pooled)
