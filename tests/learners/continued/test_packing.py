"""A memory in a file: the same after reading, and refused in one line if its parts do not fit."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learners.continued.makers import KINDS, album, everything, learnt, with_verdicts

from tagmix import load, storage
from tagmix.errors import ModelFileError
from tagmix.learners.continued.packing import packed, unpacked
from tagmix.learners.continued.update import update
from tagmix.learners.continued.verdicts import Correction
from tagmix.learners.serialise import DAMAGE

EXPECTED = ("kernel", "expected")


@cache
def start(kind, context="kernel"):
    bags = with_verdicts(album(40, kind))
    return bags, *learnt(bags, context=context)


def stored(path, memory):
    fields, arrays = packed(memory)
    storage.write(path, "Training", fields, arrays)
    contents = storage.read(path, "Training")
    return contents.fields, contents.arrays


@pytest.mark.parametrize(
    ("kind", "context"), [*((kind, "kernel") for kind in KINDS), ("embeddings", EXPECTED)]
)
def test_a_memory_that_was_stored_learns_as_the_one_that_was_not(kind, context, tmp_path):
    bags, model, memory = start(kind, context)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    other = unpacked(*stored(tmp_path / "t", memory), again)
    said = [Correction(bags.ids[3], "tag1", "no"), Correction(bags.ids[5], "tag2", "yes")]
    one = update(model, memory, said, album(5, kind, seed=3))
    two = update(again, other, said, album(5, kind, seed=3))
    unseen = album(20, kind, seed=5)
    pairs = zip(everything(one.model, unseen).values(), everything(two.model, unseen).values(), strict=True)
    assert max(np.abs(a - b).max() for a, b in pairs) < 1e-12
    assert one.changed == two.changed
    assert unpacked(*stored(tmp_path / "u", two.memory), two.model).ids == one.memory.ids


def test_the_factor_takes_half_of_its_square_and_a_region_two_bytes_per_axis(tmp_path):
    _, _, memory = start("embeddings")
    arrays = packed(memory)[1]
    n = len(memory.ids)
    assert arrays["factor"].nbytes == 8 * n * (n + 1) // 2
    assert arrays["kept.rows"].nbytes == 2 * arrays["kept.rows"].size


def refused(fields, arrays, model):
    try:
        unpacked(fields, arrays, model)
    except DAMAGE as error:
        assert "\n" not in str(error)  # noqa: PT017
        return True
    return False


@pytest.mark.parametrize(
    ("kind", "context"), [("words", "kernel"), ("embeddings", "kernel"), ("words", EXPECTED)]
)
def test_an_array_of_another_shape_type_or_range_is_refused(kind, context):
    _, model, memory = start(kind, context)
    fields, arrays = packed(memory)
    assert not refused(fields, arrays, model)
    free = {"prints", "ids"}
    for name, array in arrays.items():
        if array.size < 2:
            continue
        assert refused(fields, {**arrays, name: array.ravel()[:-1]}, model), name
        assert refused(fields, {**arrays, name: array.astype(np.complex128)}, model), name
        if name in free:
            continue
        broken = array.copy()
        if array.dtype.kind == "u":  # counts: any number of a word may be
            continue
        broken.ravel()[-1] = np.nan if array.dtype.kind == "f" else 120 if array.itemsize == 1 else -1
        assert refused(fields, {**arrays, name: broken}, model), name
    assert refused(fields, {**arrays, "more": np.ones(1)}, model)
    assert refused(fields, {name: array for name, array in arrays.items() if name != "held"}, model)


@pytest.mark.parametrize(("one", "other"), [("kernel", EXPECTED), (EXPECTED, "kernel")])
def test_the_memory_of_a_model_with_another_context_is_refused(one, other):
    assert refused(*packed(start("words", one)[2]), start("words", other)[1])


def test_the_memory_of_a_larger_model_is_refused():
    _, _, memory = start("words")
    other = learnt(album(30, "words", seed=4))[0]
    assert refused(*packed(memory), other)


odd = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.integers(0, 10**6), odd)
def test_a_field_with_any_other_value_is_refused_or_read(which, value):
    _, model, memory = start("words")
    fields, arrays = packed(memory)
    names = sorted(fields)
    fields[names[which % len(names)]] = value
    refused(fields, arrays, model)


def test_a_file_of_which_bytes_were_changed_is_refused(tmp_path):
    _, _, memory = start("words")
    path = tmp_path / "t"
    stored(path, memory)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(len(good), size=60):
        bad = bytearray(good)
        bad[at] ^= 1 + int(rng.integers(255))
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            storage.read(path, "Training")
