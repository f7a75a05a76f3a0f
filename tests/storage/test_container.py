"""What goes into a file comes out of it, and a failed write leaves no trace."""

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagmix.errors import ModelFileError
from tagmix.storage import read, write
from tagmix.storage.manifest import ITEM_BYTES, MAX_DEPTH

FIELDS = {"tags": ["sky", "Küste", "海"], "alpha": 0.1, "n": 2**70, "odd": {"": [None, True, -0.0]}}
ARRAYS = {"beta": np.array([[0.25, 0.75], [0.5, 0.5]]), "alpha": np.arange(3, dtype=np.int32)}


def assert_same(got: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(got) == sorted(expected)
    for name, array in expected.items():
        assert got[name].dtype == array.dtype, name
        assert got[name].shape == array.shape, name
        assert got[name].tobytes() == np.asarray(array, order="C").tobytes(), name


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("dtype", list(ITEM_BYTES))
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 5), (2, 0, 4), (2, 3, 1, 5)])
def test_every_type_and_shape_comes_back_bit_for_bit(tmp_path, dtype, shape):
    rng = np.random.default_rng(0)
    array = rng.integers(0, 2, size=shape).astype(dtype)
    write(tmp_path / "m", "demo", {}, {"first": array, "second": array})
    assert_same(read(tmp_path / "m").arrays, {"first": array, "second": array})


def test_special_floats_keep_their_bits(tmp_path):
    special = np.array([np.nan, -np.nan, np.inf, -0.0, 5e-324])
    write(tmp_path / "m", "demo", {}, {"special": special})
    assert read(tmp_path / "m").arrays["special"].tobytes() == special.tobytes()


def test_strided_and_big_endian_arrays_come_back_with_their_values(tmp_path):
    strided = np.arange(12.0).reshape(3, 4).T[::2]
    write(tmp_path / "m", "demo", {}, {"strided": strided, "foreign": np.arange(3, dtype=">i4")})
    arrays = read(tmp_path / "m").arrays
    np.testing.assert_array_equal(arrays["strided"], strided)
    assert arrays["foreign"].dtype.str == "<i4"
    assert arrays["foreign"].tolist() == [0, 1, 2]


def test_fields_come_back_with_their_types(tmp_path):
    write(tmp_path / "m", "demo", FIELDS, {})
    contents = read(tmp_path / "m", "demo")
    assert contents.kind == "demo"
    assert repr(contents.fields) == repr(dict(sorted(FIELDS.items())))
    assert contents.arrays == {}


def test_a_file_name_that_is_not_unicode_survives_as_a_field(tmp_path):
    write(tmp_path / "m", "demo", {"id": "caf\udce9.jpg"}, {})
    assert read(tmp_path / "m").fields == {"id": "caf\udce9.jpg"}


def test_tuples_come_back_as_lists(tmp_path):
    write(tmp_path / "m", "demo", {"pair": (1, 2)}, {})
    assert read(tmp_path / "m").fields == {"pair": [1, 2]}


def test_equal_input_in_any_order_gives_equal_bytes(tmp_path):
    write(tmp_path / "a", "demo", FIELDS, ARRAYS)
    write(tmp_path / "b", "demo", dict(reversed(FIELDS.items())), dict(reversed(ARRAYS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_arrays_start_at_multiples_of_64_bytes_with_zeros_between(tmp_path):
    first, second = np.arange(1, 4, dtype=np.uint8), np.array([2.5])
    write(tmp_path / "m", "demo", {}, {"first": first, "second": second})
    data = (tmp_path / "m").read_bytes()
    assert len(data) % 64 == 8
    assert data[-72:] == first.tobytes() + bytes(61) + second.tobytes()


def test_arrays_that_were_read_cannot_be_written_to_nor_unlocked(tmp_path):
    write(tmp_path / "m", "demo", {}, ARRAYS)
    beta = read(tmp_path / "m").arrays["beta"]
    with pytest.raises(ValueError, match="read-only"):
        beta[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        beta.setflags(write=True)


@pytest.mark.parametrize(
    "array",
    [
        np.array([{}], dtype=object),
        np.array(["sky"]),
        np.array([b"sky"]),
        np.array([1j]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", "<f8")]),
        np.zeros((1, 1, 1, 1, 1)),
        np.empty((0, 2**60 + 1), dtype=np.float32),
        np.ma.masked_array([1.0, 2.0], [True, False]),
        [1.0, 2.0],
    ],
    ids=lambda array: str(getattr(array, "dtype", "list")),
)
def test_arrays_that_cannot_be_stored_are_refused_by_name(tmp_path, array):
    with pytest.raises(ModelFileError, match="'culprit'"):
        write(tmp_path / "m", "demo", {}, {"culprit": array})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: "a"}, {"a", "b"}, b"a", np.arange(2), nested(MAX_DEPTH + 1)]
)
def test_fields_that_json_would_change_are_refused(tmp_path, value):
    with pytest.raises(ModelFileError, match="plain JSON"):
        write(tmp_path / "m", "demo", {"field": value}, {})
    assert list(tmp_path.iterdir()) == []


def test_fields_as_deep_as_allowed_come_back(tmp_path):
    deepest = nested(MAX_DEPTH - 1)
    write(tmp_path / "m", "demo", {"field": deepest}, {})
    assert read(tmp_path / "m").fields == {"field": deepest}


@pytest.mark.parametrize("name", ["", "a b", "../a", "a//b", "a\n", "é", "1a", "a" * 201])
def test_names_that_are_not_plain_are_refused_for_arrays_and_kinds(tmp_path, name):
    with pytest.raises(ModelFileError, match="plain name"):
        write(tmp_path / "m", "demo", {}, {name: np.zeros(1)})
    with pytest.raises(ModelFileError, match="plain name"):
        write(tmp_path / "m", name, {}, {})


def test_fields_larger_than_a_reader_accepts_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("tagmix.storage.container.MAX_MANIFEST_BYTES", 1000)
    with pytest.raises(ModelFileError, match="at most 1,000 are allowed"):
        write(tmp_path / "m", "demo", {"long": "a" * 1000}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call, failure):
    target = tmp_path / "m"
    write(target, "demo", {"version": "old"}, ARRAYS)
    before = target.read_bytes()

    def fail(*_: object, **__: object) -> None:
        assert len(list(tmp_path.iterdir())) == 2, "the temporary file must exist by now"
        raise failure

    monkeypatch.setattr(os, call, fail)
    expected = ModelFileError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write(target, "demo", {"version": "new"}, ARRAYS)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_cannot_be_synced_does_not_undo_the_write(tmp_path, monkeypatch):
    calls = []

    def fail_on_folders(descriptor: int) -> None:
        calls.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        if calls[-1]:
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    write(tmp_path / "m", "demo", FIELDS, {})
    assert calls == [False, True]
    assert read(tmp_path / "m").fields == FIELDS


def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_permissions(tmp_path):
    previous = os.umask(0o027)
    try:
        write(tmp_path / "m", "demo", {}, {})
        assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640
        (tmp_path / "m").chmod(0o604)
        write(tmp_path / "m", "demo", {"new": True}, {})
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o604
    assert read(tmp_path / "m").fields == {"new": True}


def test_writing_through_a_link_keeps_the_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "m")
    write(tmp_path / "link", "demo", FIELDS, {})
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "folder" / "m").fields == FIELDS


@pytest.mark.parametrize("name", [".", "missing/m", "file/m", "a\0b", "\ud800", "n" * 300])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError) as caught:
        write(str(tmp_path / name) if name != "." else tmp_path, "demo", {}, {})
    assert "\n" not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
some_arrays = st.sampled_from(sorted(ITEM_BYTES)).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}([./][a-z0-9]{1,3})?", fullmatch=True)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    names,
    st.dictionaries(st.text(), json_values, max_size=4),
    st.dictionaries(names, some_arrays, max_size=4),
)
def test_anything_that_may_be_stored_comes_back(tmp_path_factory, kind, fields, arrays):
    path: Path = tmp_path_factory.getbasetemp() / "round-trip"
    write(path, kind, fields, arrays)
    contents = read(path, kind)
    assert contents.kind == kind
    assert contents.fields == fields
    assert_same(contents.arrays, arrays)
