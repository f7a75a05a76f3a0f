"""Illegal parts of Bags raise BagsError with one line: expected, got, way out."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from tagmix import Bags, BagsError

ONE = np.ones((3, 2), dtype=int)  # three regions of two words
OFFSETS = [0, 2, 3]  # in two pictures


def refused(message, *args, error=BagsError, **kwargs):
    with pytest.raises(error, match=message) as caught:
        Bags(*args, **kwargs)
    assert "\n" not in str(caught.value)


def unsound_csr():
    counts = csr_array(np.array([[1, 2], [3, 0], [0, 1]]))
    counts.indices[-1] = 99  # SciPy does not check again
    return counts


def with_value(value, dtype=np.float64):
    counts = ONE.astype(dtype)
    counts[1, 1] = value
    return counts


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        (with_value(-1, int), r"'words' must not be negative, got -1 in region 1: .*embeddings"),
        (csr_array(with_value(-0.5)), r"must not be negative, got -0.5 in region 1"),
        (np.diag([1, 1, -2]), r"must not be negative, got -2 in region 2"),
        (csr_array(with_value(np.nan)), r"must hold finite numbers, got nan \(1 such\): remove or repair"),
        (csr_array(with_value(np.inf)), r"must hold finite numbers, got inf"),
        (with_value(np.nan), r"must hold finite numbers, got nan"),
        (with_value(-2e15), r"'words' must hold numbers of at most 1e\+15, got 2e\+15: repair or rescale it"),
        (ONE.astype(object), r"matrix of numbers, got 2 dimension\(s\) of object: pass regions × words"),
        ([["a", "b"]] * 3, r"matrix of numbers, got 2 dimension\(s\) of <U1"),
        (ONE.astype(complex), r"matrix of numbers, got 2 dimension\(s\) of complex128"),
        (csr_array(ONE.astype(complex)), r"matrix of numbers, got 2 dimension\(s\) of complex128"),
        (ONE.ravel(), r"two-dimensional matrix of numbers, got 1 dimension\(s\) of int64"),
        (coo_array(ONE.ravel()), r"two-dimensional matrix of numbers, got 1 dimension\(s\) of int64"),
        ([[1, 2], [3], [4]], r"'words' must be an array, got rows of unequal length: pass regions × words"),
        (unsound_csr(), r"must be a valid CSR matrix, got: .*; rebuild it"),
        ({}, r"at least one view, got an empty mapping: pass a counts matrix"),
        (
            {"a": ONE, "b": ONE[:2]},
            r"one row per region, got {'a': 3, 'b': 2} rows: describe",
        ),
    ],
)
def test_instances_other_than_a_matrix_of_counts_are_refused(instances, message):
    refused(message, instances, OFFSETS)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([1, 2, 3], r"start at 0 and end at the number of regions 3, got 1 … 3: is the first"),
        ([0, 2], r"start at 0 and end at the number of regions 3, got 0 … 2"),
        ([0, 2, 4], r"start at 0 and end at the number of regions 3, got 0 … 4"),
        ([0, 2, 1, 3], r"must not decrease, got 2 then 1 at picture 1: pass cumulative sums"),
        (np.array([0, 2, 1, 3], dtype=np.uint64), r"must not decrease, got 2 then 1 at picture 1"),
        ([0.0, 2.0, 3.0], r"list of whole numbers, got shape \(3,\) of float64: pass \[0, regions"),
        ([[0, 2, 3]], r"one-dimensional list of whole numbers, got shape \(1, 3\)"),
        ([], r"one-dimensional list of whole numbers, got shape \(0,\)"),
        (["0", "3"], r"list of whole numbers, got shape \(2,\) of <U1"),
        (
            [2, 1],
            r"got 2 … 1: if n is the number of regions per picture, pass np.concatenate\(\[\[0\]",
        ),
        ([[0], [1, 2]], r"offsets must be an array, got rows of unequal length: pass \[0,"),
    ],
)
def test_offsets_that_do_not_cut_the_regions_are_refused(offsets, message):
    refused(message, ONE, offsets)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (
            [[1, 0]],
            r"one row per picture \(2\), got shape \(1, 2\): pass pictures × tags; offsets",
        ),
        ([1, 0], r"tags must be a two-dimensional matrix of numbers, got 1 dimension\(s\)"),
        ([[1, 2], [0, 1]], r"tags must be 0 or 1, got other values: pass True"),
        ([[1, -1], [0, 1]], r"tags must be 0 or 1"),
        ([[1, np.nan], [0, 1]], r"tags must be 0 or 1"),
        (
            ["sky", "sea"],
            r"matrix of numbers, got 1 dimension\(s\) of <U3: .* or one list of names per picture",
        ),
        ([[1, 0], [1]], r"tags must be an array, got rows of unequal length: pass pictures × tags"),
        ([["sky"]], r"one row per picture \(2\), got shape \(1, 1\)"),
        ([["sky", "sky"], []], r"each tag once per picture, got one twice"),
        (
            csr_array((np.ones(2, int), [0, 0], [0, 2, 2]), shape=(2, 2)),
            r"each tag once per picture, got one twice",
        ),
        (csr_array((np.ones(1, int), [0], [0, 1, 1]), shape=(2, 2)), None),
    ],
)
def test_tags_other_than_0_and_1_are_refused(tags, message):
    if message is None:  # the same matrix without the repetition is legal
        assert Bags(ONE, OFFSETS, tags).captions.nnz == 1
    else:
        refused(message, ONE, OFFSETS, tags)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"tag_names": ["sky", "sky"]}, r"tag_names must differ from each other, got 'sky' twice: merge"),
        ({"tag_names": ["sky"]}, r"tag_names must be 2 names, got 1: pass one name each"),
        ({"tags": None, "tag_names": ["sky"]}, r"tag_names name .*, got 1 names and no tags: pass tags too"),
        ({"tags": [["sky"], ["cow"]], "tag_names": ["sky"]}, r"among the 1 tag names, got 'cow': add it"),
        ({"ids": ["a"]}, r"ids must be 2 names, got 1: pass one name each"),
        ({"ids": ["a", "a"]}, r"ids must differ from each other, got 'a' twice"),
        (
            {"pictures": {"net": np.ones((3, 2))}},
            r"'net' must have one row per picture \(2\), got shape \(3, 2\)",
        ),
        ({"pictures": {"net": np.ones(2)}}, r"picture view 'net' must be a two-dimensional matrix"),
        ({"pictures": {"net": np.full((2, 1), np.inf)}}, r"'net' must hold finite numbers, got inf"),
        ({"pictures": {"net": [["a"], ["b"]]}}, r"picture view 'net' must be a .*matrix of numbers"),
        ({"pictures": {"net": [[1], [2, 3]]}}, r"picture view 'net' must be an array, got rows of"),
    ],
)
def test_names_and_pictures_that_do_not_fit_are_refused(parts, message):
    refused(message, ONE, OFFSETS, **{"tags": [[1, 0], [0, 1]], **parts})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            {"unknown": [[1, 0], [0, 0]]},
            r"in one of tags and unknown, got 'sky' of picture 0 in both: remove",
        ),
        ({"rejected": [[0, 0], [0, 1]]}, r"in one of tags and rejected, got 'sea' of picture 1 in both"),
        (
            {"rejected": [[0, 1], [0, 0]], "unknown": [["sea"], []]},
            r"in one of rejected and unknown, got 'sea' of picture 0 in both",
        ),
        ({"unknown": [[0], [1]]}, r"unknown must have one column per tag \(2\), got shape \(2, 1\): pass"),
        ({"unknown": [[0, 1]]}, r"unknown must have one row per picture \(2\), got shape \(1, 2\)"),
        ({"rejected": [[0, 2], [0, 0]]}, r"rejected must be 0 or 1, got other values"),
        ({"rejected": [["sea", "sea"], []]}, r"rejected must name each tag once per picture, got one twice"),
        ({"rejected": [["cow"], []]}, r"among the 2 tag names, got 'cow': add it, or leave it out"),
        ({"tags": None, "tag_names": None, "unknown": [[0, 1]] * 2}, r"add to tags, got no tags: pass tags"),
        ({"tags": None, "tag_names": None, "rejected": [[0, 1]] * 2}, r"add to tags, got no tags: pass tags"),
    ],
)
def test_rejected_and_unknown_that_do_not_fit_the_tags_are_refused(labels, message):
    labels = {"tags": [[1, 0], [0, 1]], "tag_names": ["sky", "sea"], **labels}
    refused(message, ONE, OFFSETS, **labels)
    with pytest.raises(BagsError, match=message):
        Bags(ONE, OFFSETS).with_tags(**labels)


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (2, IndexError, r"there are 2 pictures, got 2: count from 0"),
        (-3, IndexError, r"there are 2 pictures, got -3"),
        ([0, 5], IndexError, r"there are 2 pictures, got \[0, 5\]"),
        ([True], BagsError, r"a mask of pictures must have 2 entries, got shape \(1,\)"),
        (np.ones((2, 2), dtype=bool), BagsError, r"a mask of pictures must have 2 entries"),
        (True, BagsError, r"a mask of pictures must have 2 entries, got shape \(\)"),
        (1.0, BagsError, r"a whole number, a slice, a mask or a list of whole numbers, got 1.0"),
        ("a", BagsError, r"a list of whole numbers, got 'a'"),
        (None, BagsError, r"a list of whole numbers, got None"),
        ([[0, 1]], BagsError, r"a list of whole numbers, got \[\[0, 1\]\]"),
        ((0, 1), BagsError, r"one axis, their pictures, got \(0, 1\): use bags\[\[…\]\]"),
        ((np.array([0, 1]), np.array([0, 1])), BagsError, r"one axis, their pictures"),
    ],
)
def test_an_invalid_index_of_pictures_is_refused(index, error, message):
    with pytest.raises(error, match=message):
        Bags(ONE, OFFSETS)[index]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ([2], IndexError, r"there are 2 tags, got \[2\]"),
        ([0, 0], BagsError, r"selected tags must differ from each other, got 'tag0' twice"),
        ([True], BagsError, r"a mask of tags must have 2 entries"),
        (["sky"], BagsError, r"tags are indexed by a whole number"),
    ],
)
def test_an_invalid_index_of_tags_is_refused(columns, error, message):
    with pytest.raises(error, match=message):
        Bags(ONE, OFFSETS, [[1, 0], [0, 1]]).select_tags(columns)
