"""An update is a refit with the same settings, to rounding."""

from copy import copy
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from tests.learners.continued.makers import (
    KINDS,
    N_TAGS,
    album,
    everything,
    learnt,
    relabelled,
    with_verdicts,
)

from tagmix import Bags, ContextEMM
from tagmix.errors import BagsError, ParameterError
from tagmix.learners.context.prior import ContextPrior
from tagmix.learners.continued.assemble import assembled
from tagmix.learners.continued.remember import remember
from tagmix.learners.continued.update import extended_folds, refit, update
from tagmix.learners.continued.verdicts import Correction, codes_of

EXACT = 1e-9
EXPECTED = ("kernel", "expected")
CASES = (*((kind, "kernel") for kind in KINDS), ("words", EXPECTED), ("embeddings", EXPECTED))
# What does not depend on the views is tested on embeddings alone.
CONTEXTS = ("kernel", EXPECTED)


@cache
def start(kind, verdicts=False, context="kernel"):
    bags = album(72, kind)
    bags = with_verdicts(bags) if verdicts else bags
    return bags, *learnt(bags, context=context)


def stripped(memory):
    """Return the memory with nothing that a refit has to compute."""
    nothing = dict.fromkeys(("factor", "kept", "regions", "weights", "held", "pooled", "sums"))
    return memory._replace(**nothing)


def unfitted(model):
    """Return the model with nothing of its pool and its calibration but what a refit keeps."""
    bare = copy(model)
    bare.accuracy_ = bare.frequency_accuracy_ = np.nan
    bare.prior_ = ContextPrior(model.prior_.experts, model.prior_.scorer, None)
    bare.calibration_ = SimpleNamespace(thresholds=model.calibration_.thresholds)
    return bare


def differences(after, bags, kind):
    """Return the largest difference of each sort of score between an update and the refit of its pictures."""
    again = refit(unfitted(after.model), stripped(after.memory), relabelled(bags, after.memory.codes))
    unseen = album(30, kind, seed=5)
    one, other = everything(after.model, unseen), everything(again.model, unseen)
    found = {name: np.abs(one[name] - other[name]).max() for name in one}
    found["accuracy"] = abs(after.model.accuracy_ - again.model.accuracy_)
    found["frequency"] = abs(after.model.frequency_accuracy_ - again.model.frequency_accuracy_)
    experts = zip(after.model.prior_.experts, again.model.prior_.experts, strict=True)
    for one, other in experts:
        name = type(one).__name__
        found |= {
            f"{part} of {name}": np.abs(getattr(one, part) - getattr(other, part)).max()
            for part in ("leverages_", "coefficients_")
        }
    return found


def corrections(bags, n=6, seed=1):
    """Return corrections that remove, add and forget tags."""
    rng, codes = np.random.default_rng(seed), codes_of(bags)
    made = []
    for row in rng.permutation(len(bags))[:n]:
        column = int(rng.integers(3))
        verdict = "no" if codes[row, column] == 1 else ("yes", "no", "unknown")[int(rng.integers(3))]
        made.append(Correction(bags.ids[row], f"tag{column}", verdict))
    return made


@pytest.mark.parametrize("verdicts", [False, True])
@pytest.mark.parametrize(("kind", "context"), CASES)
def test_corrected_tags_equal_a_refit(kind, context, verdicts):
    bags, model, memory = start(kind, verdicts, context)
    after = update(model, memory, corrections(bags))
    assert 1 <= len(after.touched) <= 3
    assert max(differences(after, bags, kind).values()) < EXACT
    before = everything(model, album(30, kind, seed=5))["marginals"]
    assert np.abs(everything(after.model, album(30, kind, seed=5))["marginals"] - before).max() > 1e-3


@pytest.mark.parametrize(("kind", "context"), CASES)
@pytest.mark.parametrize("verdict", ["yes", "no", "unknown"])
def test_one_verdict_of_each_sort_equals_a_refit(kind, context, verdict):
    bags, model, memory = start(kind, context=context)
    pictures = np.flatnonzero(memory.codes[:, 2] == (verdict == "no"))[:5]
    after = update(model, memory, [Correction(bags.ids[n], "tag2", verdict) for n in pictures])
    assert after.touched.tolist() == [2]
    assert max(differences(after, bags, kind).values()) < EXACT


@pytest.mark.parametrize("verdicts", [False, True])
@pytest.mark.parametrize(("kind", "context"), CASES)
def test_new_pictures_and_their_duplicates_equal_a_refit(kind, context, verdicts):
    bags, model, memory = start(kind, context=context)
    new = album(17, kind, seed=3)
    twins = bags[:2]
    twins = Bags(twins.views, twins.offsets, twins.tags, ids=["twin a", "twin b"], pictures=twins.pictures)
    new = Bags.concat([new, twins.with_tags(bags[:2].tags, bags.tag_names)])
    new = with_verdicts(new) if verdicts else new
    after = update(model, memory, (), new)
    assert after.memory.folds[-2:].tolist() == memory.folds[:2].tolist()
    assert max(differences(after, Bags.concat([bags, new]), kind).values()) < EXACT


def test_new_pictures_spread_over_the_folds():
    assert extended_folds(np.array([0, 1]), np.arange(7)).tolist() == [0, 1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("context", CONTEXTS)
def test_ten_updates_in_a_row_do_not_drift(context):
    bags, model, memory = start("embeddings", context=context)
    after = update(model, memory)
    for step in range(10):
        new = None if step % 3 else album(4, "embeddings", seed=20 + step)
        bags = bags if new is None else Bags.concat([bags, new])
        after = update(after.model, after.memory, corrections(bags[:60], 3, seed=step), new)
    assert max(differences(after, bags, "embeddings").values()) < EXACT


@pytest.mark.parametrize("context", CONTEXTS)
def test_the_order_of_updates_does_not_matter(context):
    bags, model, memory = start("embeddings", context=context)
    said, new = corrections(bags), album(9, "embeddings", seed=3)
    one = update(model, memory, said, new)
    first = update(model, memory, (), new)
    other = update(first.model, first.memory, said)
    unseen = album(30, "embeddings", seed=5)
    pairs = zip(*(everything(own.model, unseen).values() for own in (one, other)), strict=True)
    assert max(np.abs(a - b).max() for a, b in pairs) < EXACT


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_correction_that_is_taken_back_leaves_the_model_as_it_was(context):
    bags, model, memory = start("embeddings", context=context)
    row = int(np.flatnonzero(memory.codes[:, 1] == 1)[0])
    there = update(model, memory, [Correction(bags.ids[row], "tag1", "no")])
    back = update(there.model, there.memory, [Correction(bags.ids[row], "tag1", "yes")])
    unseen = album(30, "embeddings", seed=5)
    pairs = zip(everything(model, unseen).values(), everything(back.model, unseen).values(), strict=True)
    assert max(np.abs(a - b).max() for a, b in pairs) < EXACT


def test_tags_that_nobody_corrected_keep_their_probabilities_to_the_last_bit():
    bags, model, memory = start("embeddings")
    after = update(model, memory, corrections(bags))
    others = np.setdiff1d(np.arange(N_TAGS), after.touched)
    unseen = album(30, "embeddings", seed=5)
    one, other = (everything(own, unseen)["marginals"][:, others] for own in (model, after.model))
    assert np.array_equal(one, other)


def without_new_statistics(model, memory, ridge):
    return assembled(model, memory._replace(sums=memory.chosen.sums), ridge)


@pytest.mark.parametrize(
    ("part", "broken"),
    [
        ("solved", lambda losses, chosen, tags: chosen.weights[:, :, tags]),
        ("updated", lambda ridge, codes, touched, new: ridge),
        (
            "assembled",
            lambda model, memory, ridge: assembled(model, memory._replace(sums=memory.chosen.sums), ridge),
        ),
    ],
)
def test_a_column_that_is_not_solved_again_is_found(monkeypatch, part, broken):
    bags, model, memory = start("embeddings")
    monkeypatch.setattr(f"tagmix.learners.continued.update.{part}", broken)
    after = update(model, memory, corrections(bags))
    monkeypatch.undo()
    assert max(differences(after, bags, "embeddings").values()) > 1e-6


def test_an_expert_of_expected_tags_that_keeps_those_of_then_is_found(monkeypatch):
    bags, model, memory = start("embeddings", context=EXPECTED)
    monkeypatch.setattr("tagmix.learners.continued.assemble._expecting", lambda expert, first, codes: expert)
    after = update(model, memory, corrections(bags))
    monkeypatch.undo()
    assert max(differences(after, bags, "embeddings").values()) > 1e-6


@pytest.mark.parametrize("context", CONTEXTS)
def test_remembering_moves_no_probability_by_more_than_rounding(context):
    bags = album(72, "embeddings")
    plain = ContextEMM(context=context, tol=1e-3).fit(bags)
    unseen = album(30, "embeddings", seed=5)
    model = start("embeddings", context=context)[1]
    assert (
        np.abs(everything(plain, unseen)["marginals"] - everything(model, unseen)["marginals"]).max() < 1e-3
    )


@pytest.mark.parametrize("context", CONTEXTS)
def test_the_pictures_that_changed_are_those_whose_shown_tags_are_others(context):
    bags, model, memory = start("embeddings", context=context)
    said = [Correction(name, "tag0", "no") for name in bags.ids[:40] if bags.ids.index(name) % 2]
    after = update(model, memory, said)
    one, other = (own.predict(bags) for own in (model, after.model))
    changed = {bags.ids[n] for n in np.flatnonzero((one != other).any(axis=1))}
    assert changed
    assert len(changed ^ set(after.changed)) <= 1  # half precision moves a score at the threshold


def test_pictures_that_teach_nothing_are_left_out():
    bags, model, memory = start("words")
    new = album(3, "words", seed=3)
    codes = codes_of(new)
    codes[0] = 0
    codes[1] = [2, 0, 0, 0, 0, 0]
    after = update(model, memory, (), relabelled(new, codes))
    assert after.memory.ids == (*bags.ids, *new.ids[1:])
    same = update(model, memory, (), relabelled(new[:1], codes[:1]))
    assert same.model is model
    assert not len(same.touched)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (("nobody", "tag1", "yes"), "pictures that the model learnt from, got 'nobody'"),
        (("0-1", "tag9", "yes"), "of a tag of the model, got 'yes' of 'tag9'"),
        (("0-1", "tag1", "maybe"), "must be yes, no or unknown .* got 'maybe'"),
    ],
)
def test_unknown_pictures_tags_and_verdicts_are_refused(said, problem):
    _, model, memory = start("words")
    with pytest.raises(ParameterError, match=problem):
        update(model, memory, [Correction(*said)])


def test_a_tag_that_no_picture_keeps_is_refused():
    bags, model, memory = start("words")
    every = [Correction(name, "tag1", "no") for name in bags.ids]
    with pytest.raises(ParameterError, match="every tag needs a picture that has it, got none for 'tag1'"):
        update(model, memory, every)


def test_new_pictures_must_be_new_and_have_the_tags_of_the_model():
    bags, model, memory = start("words")
    with pytest.raises(BagsError, match=r"must be new, got '0-0' \(3 such\)"):
        update(model, memory, (), bags[:3])
    with pytest.raises(BagsError, match="must have the model's 6 tags"):
        update(model, memory, (), album(3, "words", seed=3).select_tags([0, 1]))
    with pytest.raises(BagsError, match="must have the views"):
        update(model, memory, (), album(3, "several", seed=3))


def test_more_pictures_than_landmarks_are_refused():
    _, model, memory = start("words")
    few = ContextEMM(context="neighbours", tol=1e-1, evidence=0.1)
    with pytest.raises(ParameterError, match='needs the context "kernel"'):
        remember(few, few.learn(album(40, "words")))
    small = start("words")[1].prior_.experts[0]
    small.max_landmarks, before = 74, small.max_landmarks
    with pytest.raises(ParameterError, match="exact up to 74 pictures"):
        update(model, memory, (), album(3, "words", seed=3))
    small.max_landmarks = before


def test_a_refit_of_other_pictures_is_refused():
    bags, model, memory = start("words")
    with pytest.raises(BagsError, match="in its order"):
        refit(model, memory, bags[::-1])
