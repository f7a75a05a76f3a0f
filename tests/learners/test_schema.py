"""Fields of model files: what was packed comes back, and every lie is refused in one line."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix.learners.schema import (
    Array,
    ByName,
    Choices,
    Dimension,
    Flag,
    Kind,
    Maybe,
    Number,
    Part,
    Several,
    StoredMatrix,
)

REFUSED = (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError)


class Pair(NamedTuple):
    left: float
    right: np.ndarray


class Other(NamedTuple):
    left: float


def check_pair(values):
    if values["left"] > values["right"].sum():
        raise ValueError("left must not exceed the sum of right")


PAIR = Part(
    {
        "pair": Kind(Pair, {"left": Number(0, 10), "right": Array(("tags",), 0, 5)}, check_pair),
        "other": Kind(Other, {"left": Number(0, 1)}),
    }
)
SPARSE = csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
WHOLE = Array(("n",), 0, 9, whole=True)
# field, value, sizes that are known beforehand
FIELDS = {
    "array": (Array(("tags", "view"), -1, 5), np.arange(6.0).reshape(2, 3), {"tags": 2, "view": 3}),
    "fixed": (Array((2, "n")), np.ones((2, 4)), {}),
    "any shape": (Array(None), np.ones((1, 2, 3)), {}),
    "whole": (WHOLE, np.array([1, 5], dtype=np.int32), {}),
    "empty": (Array(("n?",)), np.zeros(0), {}),
    "dense": (StoredMatrix(("n", "tags")), np.ones((4, 2)), {"tags": 2}),
    "sparse": (StoredMatrix(("n", "tags"), 0, 3), SPARSE, {"tags": 3}),
    "number": (Number(0, 1), 0.1 + 0.2, {}),
    "whole number": (Number(0, 9, whole=True), 7, {}),
    "dimension": (Dimension("components"), 4, {"tags": 3}),
    "flag": (Flag(), True, {}),
    "choices": (Choices((("a", "b"), ("c",))), ("b", "c"), {}),
    "nothing": (Maybe(Number()), None, {}),
    "something": (Maybe(Number()), 3.5, {}),
    "group": (ByName(Number(0, 1), key=float), {2.0: 0.5, 1.0: 0.25}, {}),
    "views": (ByName(Array(("view",))), {"a": np.ones(2), "b": np.ones(5)}, {"width a": 2, "width b": 5}),
    "several": (Several(Array(("n",))), (np.ones(2), np.zeros(2)), {}),
    "part": (PAIR, Pair(1.5, np.array([1.0, 2.0])), {"tags": 2}),
    "other part": (PAIR, Other(0.5), {"tags": 2}),
}


def packed(field, value):
    arrays = {}
    return field.pack(value, "x", arrays), arrays


def same(one, other):
    if isinstance(one, np.ndarray):
        return type(other) is np.ndarray and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, csr_array):
        parts = ("data", "indices", "indptr", "shape")
        return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in parts)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("name", FIELDS)
def test_what_was_packed_comes_back_bit_for_bit(name):
    field, value, sizes = FIELDS[name]
    plain, arrays = packed(field, value)
    assert all(key == "x" or key.startswith("x.") for key in arrays)
    assert same(value, field.unpack(plain, "x", arrays, dict(sizes)))


@pytest.mark.parametrize("name", [name for name in FIELDS if packed(*FIELDS[name][:2])[1]])
def test_every_missing_array_is_refused(name):
    field, value, sizes = FIELDS[name]
    plain, arrays = packed(field, value)
    for gone in arrays:
        left = {key: array for key, array in arrays.items() if key != gone}
        with pytest.raises(KeyError, match=re.escape(gone)):
            field.unpack(plain, "x", left, dict(sizes))


def one_nan(array):
    wrong = array.copy()
    wrong.flat[0] = np.nan
    return wrong


ARRAY_LIES = {
    "a dimension more": lambda array: array[None],
    "another size": lambda array: array[:, :-1],
    "no row": lambda array: array[:0],
    "single precision": lambda array: array.astype(np.float32),
    "whole numbers": lambda array: array.astype(np.int64),
    "big-endian": lambda array: array.astype(">f8"),
    "too small": lambda array: array - 2.0,
    "too large": lambda array: array + 1.0,
    "nan": one_nan,
    "infinity": lambda array: array + np.inf,
}


@pytest.mark.parametrize("lie", ARRAY_LIES)
def test_an_array_of_another_shape_type_or_range_is_refused_by_name_in_one_line(lie):
    field, value, sizes = FIELDS["array"]
    with pytest.raises(ValueError, match=r"^means must .*") as caught:
        field.unpack(None, "means", {"means": ARRAY_LIES[lie](value)}, dict(sizes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [np.array([1.0, 2.0]), np.array([1], np.int16), np.array([True]), np.array([10])]
)
def test_whole_numbers_have_four_or_eight_bytes_and_a_range(wrong):
    with pytest.raises(ValueError, match="n must be"):
        WHOLE.unpack(None, "n", {"n": wrong}, {})


@pytest.mark.parametrize("wrong", [2, 5, 3.5, "3", True, None])
def test_components_are_the_tags_or_one_more_and_become_a_dimension(wrong):
    sizes = {"tags": 3}
    for right in (3, 4):
        Dimension("components").unpack(right, "n_tags", {}, sizes)
        assert sizes == {"tags": 3, "components": right}
    with pytest.raises(ValueError, match="n_tags must be a number from 3 to 4"):
        Dimension("components").unpack(wrong, "n_tags", {}, sizes)


def test_a_dimension_means_one_number_throughout():
    arrays, sizes = {"a": np.ones((2, 3)), "b": np.ones(3), "c": np.ones(2)}, {}
    Array(("topics", "words")).unpack(None, "a", arrays, sizes)
    assert sizes == {"topics": 2, "words": 3}
    Array(("words",)).unpack(None, "b", arrays, sizes)
    with pytest.raises(ValueError, match=r"c must have the shape \('words',\), got \(2,\)"):
        Array(("words",)).unpack(None, "c", arrays, sizes)


def test_only_dimensions_that_end_in_a_question_mark_may_be_zero():
    assert len(Array(("n?",)).unpack(None, "x", {"x": np.zeros(0)}, {})) == 0
    with pytest.raises(ValueError, match="shape"):
        Array(("n",)).unpack(None, "x", {"x": np.zeros(0)}, {})


@pytest.mark.parametrize("wrong", [None, True, "1", [1], -1e-9, 1.1, float("nan"), float("inf"), 10**400])
def test_a_number_outside_its_range_or_of_another_type_is_refused(wrong):
    with pytest.raises(ValueError, match="x must be a number from 0 to 1") as caught:
        Number(0, 1).unpack(wrong, "x", {}, {})
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


LIES = {
    "a whole number with a fraction": ("whole number", 1.5),
    "a flag of 1": ("flag", 1),
    "a flag of nothing": ("flag", None),
    "a word that is not allowed": ("choices", ["b", "d"]),
    "a word too many": ("choices", ["b", "c", "c"]),
    "a word too few": ("choices", ["b"]),
    "no words": ("choices", None),
    "two values of one": ("something", [3.5, 3.5]),
    "no value of one": ("something", []),
    "a value without its list": ("something", 3.5),
    "one name twice": ("group", [["1.0", 0.5], ["1", 0.5]]),
    "a name that is not text": ("group", [[1.0, 0.5]]),
    "a name of another type": ("group", [["one", 0.5]]),
    "a name without a value": ("group", [["1.0"]]),
    "a value out of range": ("group", [["1.0", 1.5]]),
    "no group": ("group", None),
    "a view that was not read": ("views", [["a", None], ["c", None]]),
    "one view's width for another": ("views", [["b", None], ["a", None]]),
    "a field more": ("part", {"kind": "pair", "fields": {"left": 1.0, "right": None, "more": 1}}),
    "a field less": ("part", {"kind": "pair", "fields": {"right": None}}),
    "an unknown kind": ("part", {"kind": "trio", "fields": {"left": 1.0, "right": None}}),
    "another kind's fields": ("part", {"kind": "other", "fields": {"left": 1.0, "right": None}}),
    "no kind": ("part", {"fields": {"left": 1.0, "right": None}}),
    "no part": ("part", None),
    "parts that do not fit": ("part", {"kind": "pair", "fields": {"left": 9.0, "right": None}}),
}


@pytest.mark.parametrize("lie", LIES)
def test_plain_values_that_training_does_not_produce_are_refused(lie):
    name, plain = LIES[lie]
    field, value, sizes = FIELDS[name]
    with pytest.raises(REFUSED) as caught:
        field.unpack(plain, "x", packed(field, value)[1], dict(sizes))
    assert "\n" not in str(caught.value)


def csr(data=SPARSE.data, indices=(1, 0, 2), indptr=(0, 1, 3), index=np.int32):
    arrays = {"x.data": np.asarray(data, dtype=float)}
    return arrays | {"x.indices": np.asarray(indices, index), "x.indptr": np.asarray(indptr, index)}


HOSTILE = {
    "a column beyond the last": (csr(indices=(1, 0, 3)), [2, 3]),
    "a negative column": (csr(indices=(1, -1, 2)), [2, 3]),
    "a column of 2^62": (csr(indices=(1, 2**62, 2), index=np.int64), [2, 3]),
    "a column that wraps around": (csr(indices=(1, 2**32, 2), index=np.int64), [2, 3]),
    "row starts that fall": (csr(indptr=(0, 3, 1)), [2, 3]),
    "row starts that fall at the end": (csr(indptr=(0, 3, 0)), [2, 3]),
    "a first row that starts late": (csr(indptr=(1, 1, 3)), [2, 3]),
    "a last row that ends late": (csr(indptr=(0, 1, 4)), [2, 3]),
    "a last row that ends early": (csr(indptr=(0, 1, 2)), [2, 3]),
    "row starts of the whole address space": (csr(indptr=(0, 1, 2**62), index=np.int64), [2, 3]),
    "a row more": (csr(), [3, 3]),
    "a row less": (csr(), [1, 3]),
    "a billion rows": (csr(), [10**9, 3]),
    "a column less": (csr(), [2, 2]),
    "a column more": (csr(), [2, 4]),
    "columns beyond any memory": (csr(), [2, 10**30]),
    "a negative shape": (csr(), [2, -3]),
    "three dimensions": (csr(), [2, 3, 1]),
    "one dimension": (csr(), [2]),
    "a shape of text": (csr(), ["2", "3"]),
    "less data than columns": (csr(data=SPARSE.data[:2]), [2, 3]),
    "data in two dimensions": (csr(data=SPARSE.data[None]), [2, 3]),
    "columns in two dimensions": (csr(indices=[[1, 0, 2]]), [2, 3]),
    "fractional columns": (csr(index=np.float64), [2, 3]),
    "columns of one byte": (csr(index=np.int8), [2, 3]),
    "not a number": (csr(data=[1.0, np.nan, 2.0]), [2, 3]),
    "data above the range": (csr(data=[1.0, 4.0, 2.0]), [2, 3]),
    "data below the range": (csr(data=[1.0, -1.0, 2.0]), [2, 3]),
    "a dense matrix of three dimensions": ({"x": np.ones((2, 3, 1))}, None),
    "a dense matrix of another width": ({"x": np.ones((2, 4))}, None),
    "a dense matrix above the range": ({"x": np.full((2, 3), 4.0)}, None),
}


@pytest.mark.parametrize("lie", HOSTILE)
def test_a_hostile_matrix_is_refused(lie):
    arrays, shape = HOSTILE[lie]
    with pytest.raises(REFUSED) as caught:
        StoredMatrix(("n", "tags"), 0, 3).unpack(shape, "x", arrays, {"tags": 3})
    assert "\n" not in str(caught.value)


def test_the_rows_of_a_matrix_are_a_dimension_as_well():
    with pytest.raises(ValueError, match="shape"):
        StoredMatrix(("n", None)).unpack([2, 3], "x", csr(), {"n": 5})


def test_a_part_of_its_own_dimensions_leaves_those_outside_alone():
    def kind(own):
        return Part({"other": Kind(Other, {"left": Array(("n",))}, own_dimensions=own)})

    def unpack(own):
        arrays = {"x.0.left": np.ones(2), "x.1.left": np.ones(3)}
        plain = [{"kind": "other", "fields": {"left": None}}] * 2
        return Several(kind(own)).unpack(plain, "x", arrays, {})

    assert len(unpack(True)) == 2
    with pytest.raises(ValueError, match="shape"):
        unpack(False)
