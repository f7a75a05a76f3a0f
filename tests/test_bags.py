"""Bags behave as Python lists of regions do, however they are sliced, joined or captioned."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from sklearn.preprocessing import StandardScaler

from tagmix import Bags, BagsError

N_WORDS, N_TAGS = 4, 3

steady = settings(derandomize=True, deadline=None, max_examples=60)

region = st.lists(st.integers(0, 3), min_size=N_WORDS, max_size=N_WORDS)
caption = st.lists(
    st.sampled_from(["given", "absent", "rejected", "unknown"]), min_size=N_TAGS, max_size=N_TAGS
)
picture = st.tuples(st.lists(region, max_size=3), caption)  # empty regions, no region, no tag: all legal
album = st.lists(picture, max_size=6)


def bags_of(pictures):
    rows = [row for regions, _ in pictures for row in regions]
    counts = csr_array(np.array(rows, dtype=np.int64).reshape(-1, N_WORDS))
    offsets = np.cumsum([0, *(len(regions) for regions, _ in pictures)])
    said = np.array([caption for _, caption in pictures], dtype="<U8").reshape(-1, N_TAGS)
    more = {what: said == what for what in ("rejected", "unknown")}
    return Bags(counts, offsets, said == "given", ids=[f"pic{i}" for i in range(len(pictures))], **more)


def labels_in(bags):
    said = np.full((len(bags), bags.n_tags), "absent", dtype="<U8")
    for what, matrix in (("given", bags.tags), ("rejected", bags.rejected), ("unknown", bags.unknown)):
        if matrix is not None:
            assert matrix.nnz or what == "given"  # None says nothing, too
            said[matrix.toarray() > 0] = what
    return said.tolist()


def pictures_in(bags):
    rows, cuts = bags.views["words"].toarray().tolist(), bags.offsets.tolist()
    labels = labels_in(bags)
    return [(rows[a:b], labels[n]) for n, (a, b) in enumerate(itertools.pairwise(cuts))]


def small(**more):
    """Three pictures of 2, 0 and 1 regions, in two views and with a picture view."""
    views = {"sift": csr_array(np.array([[2, 0, 1], [0, 3, 0], [1, 1, 0]])), "net": np.eye(3) / 2}
    tags = [[1, 1], [0, 0], [0, 1]]
    return Bags(
        views, [0, 2, 2, 3], tags, ["sky", "sea"], ["a", "b", "c"], {"whole": np.ones((3, 2))}, **more
    )


OPEN = {"rejected": [[0, 0], [1, 0], [0, 0]], "unknown": [[0, 0], [0, 1], [1, 0]]}


@steady
@given(album, st.data())
def test_bags_are_sliced_as_lists_are(pictures, data):
    bags, n = bags_of(pictures), len(pictures)
    slices = data.draw(st.slices(n))
    assert pictures_in(bags[slices]) == pictures[slices]
    assert pictures_in(bags[slices, ...]) == pictures[slices]
    assert pictures_in(bags[::-1]) == pictures[::-1]
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    kept = [i for i in range(n) if mask[i]]
    assert pictures_in(bags[np.array(mask, dtype=bool)]) == [pictures[i] for i in kept]
    chosen = data.draw(st.lists(st.integers(-n, n - 1), max_size=5)) if n else []
    for index in (chosen, np.array(chosen, dtype=np.int64), (np.array(chosen, dtype=np.int64), ...)):
        assert pictures_in(bags[index]) == [pictures[i] for i in chosen]
        assert bags[index].ids == tuple(f"pic{i % n}" for i in chosen)
    for i in range(-n, n):
        assert pictures_in(bags[i]) == [pictures[i]]
    assert [pictures_in(one)[0] for one in bags] == pictures


@steady
@given(album, st.integers(0, 8))
def test_shards_cover_every_picture_once_within_the_limit_and_join_to_the_whole(pictures, limit):
    bags = bags_of(pictures)
    shards = list(bags.shards(limit))
    assert [i for where in shards for i in range(where.start, where.stop)] == list(range(len(bags)))
    assert all(bags[where].n_regions <= limit or len(bags[where]) == 1 for where in shards)
    joined = Bags.concat([bags[where] for where in shards] or [bags])
    assert pictures_in(joined) == pictures
    assert joined.ids == bags.ids


@steady
@given(album, st.lists(st.integers(0, N_TAGS - 1), unique=True))
def test_select_tags_returns_the_chosen_columns(pictures, columns):
    chosen = bags_of(pictures).select_tags(columns)
    assert pictures_in(chosen) == [(regions, [own[c] for c in columns]) for regions, own in pictures]
    assert chosen.tag_names == tuple(f"tag{c}" for c in columns)
    assert small().select_tags([False, True]).tag_names == ("sea",)


@pytest.mark.parametrize("kind", ["f2", ">i4", ">f8", ">u2"])
def test_numbers_of_any_width_and_byte_order_are_read(kind):
    counts = np.array([[2, 0], [0, 3]], dtype=kind)
    bags = Bags({"words": counts}, [0, 1, 2], np.eye(2, dtype=kind), unknown=np.eye(2, dtype=kind)[::-1])
    views = bags.views["words"]
    assert (views if isinstance(views, np.ndarray) else views.toarray()).tolist() == [[2, 0], [0, 3]]
    assert bags.unknown.toarray().tolist() == [[0, 1], [1, 0]]


def test_masked_arrays_are_refused():
    masked = np.ma.array([[0, 1]], mask=[[0, 1]])
    with pytest.raises(BagsError, match="must be a plain array, got a masked one"):
        Bags(np.ones((1, 2), int), [0, 1], [[1, 0]], unknown=masked)


def test_selected_views_come_with_labels_and_whole_pictures():
    bags = Bags(
        {"map": np.ones((2, 2)), "words": np.ones((2, 3), int)},
        [0, 1, 2],
        [[1, 0], [0, 1]],
        rejected=[[0, 1], [0, 0]],
        unknown=[[0, 0], [1, 0]],
        pictures={"layout": np.ones((2, 4))},
    )
    own = bags.select_views(["map"])
    assert list(own.views) == ["map"]
    assert np.shares_memory(own.views["map"], bags.views["map"])
    assert list(own.pictures) == ["layout"]
    for name in ("tags", "rejected", "unknown"):
        assert getattr(own, name).toarray().tolist() == getattr(bags, name).toarray().tolist()
    assert list(bags.select_views(["words", "map"]).views) == ["words", "map"]
    for names in ([], ["map", "layout"], 5, None, [["map"]]):
        with pytest.raises(
            BagsError, match=r"names must be of views of these bags, got .*choose of \['map', 'words'\]"
        ):
            bags.select_views(names)


def test_all_parts_are_sliced_together():
    cut = small()[[2, 0]]
    assert cut.views["sift"].toarray().tolist() == [[1, 1, 0], [2, 0, 1], [0, 3, 0]]
    assert cut.views["net"].tolist() == [[0, 0, 0.5], [0.5, 0, 0], [0, 0.5, 0]]
    assert (cut.offsets.tolist(), cut.ids, cut.tag_names) == ([0, 1, 3], ("c", "a"), ("sky", "sea"))
    assert cut.pictures["whole"].shape == (2, 2)
    assert cut.captions.toarray().tolist() == [[0, 1], [1, 1]]


def test_joining_joins_every_part():
    joined = Bags.concat([small()[2:], small()[:2]])
    assert joined.views["net"].tolist() == [[0, 0, 0.5], [0.5, 0, 0], [0, 0.5, 0]]
    assert (joined.offsets.tolist(), joined.ids) == ([0, 1, 3, 3], ("c", "a", "b"))
    assert joined.pictures["whole"].shape == (3, 2)


def test_joining_the_same_pictures_twice_renumbers_them():
    assert Bags.concat([small(), small()]).ids == ("0", "1", "2", "3", "4", "5")


def test_repr_shows_sizes_and_kinds_of_views():
    expected = "Bags(3 pictures, 3 regions, 2 tags; sift: 3 words, net: 3 dimensions)"
    assert repr(small()) == expected
    assert repr(small().with_tags(None)) == expected.replace("2 tags", "no tags")
    assert repr(small(**OPEN)) == expected.replace("2 tags", "2 tags, 1 rejected, 2 unknown")
    one = Bags(np.array([[1]]), [0, 1], [[1]])
    assert repr(one) == "Bags(1 picture, 1 region, 1 tag; words: 1 word)"


@pytest.mark.parametrize("convert", [np.asarray, np.array, StandardScaler().fit])
def test_bags_cannot_become_an_array(convert):
    with pytest.raises(BagsError, match=r"bags are not a matrix and cannot become an array: use bags.views"):
        convert(small())


def test_tags_may_be_one_list_of_names_per_picture():
    counts, offsets = np.ones((3, 2), dtype=int), [0, 1, 2, 3]
    for rows in (
        [["sky", "sea"], [], ["sky"]],
        (("sea", "sky"), (), ("sky",)),
        [{"sky", "sea"}, set(), {"sky"}],
    ):
        bags = Bags(counts, offsets, rows)
        assert bags.tag_names == ("sea", "sky")
        assert bags.captions.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    ordered = Bags(counts, offsets, [["sky", "sea"], [], ["sky"]], ["sky", "cow", "sea"])
    assert ordered.tag_names == ("sky", "cow", "sea")
    assert ordered.captions.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert Bags(counts, offsets, [[], [], []]).n_tags == 0


def test_a_data_frame_of_0_and_1_names_its_tags_by_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sky": [1, 0], "sea": [True, False]}, index=["b", "a"])
    counts, offsets = np.ones((2, 2), dtype=int), [0, 1, 2]
    bags = Bags(counts, offsets, frame)
    assert bags.tag_names == ("sky", "sea")
    assert bags.captions.toarray().tolist() == [[1, 1], [0, 0]]
    ordered = Bags(counts, offsets, frame, ["cow", "sea", "sky"])  # by name, not by position
    assert ordered.captions.toarray().tolist() == [[0, 1, 1], [0, 0, 0]]
    assert Bags(counts, offsets, pandas.DataFrame([[1, 0], [0, 1]])).tag_names == ("tag0", "tag1")
    for wrong, message in (
        (frame.rename(columns={"sea": "cow"}), r"among the 2 tag names, got 'cow'"),
        (frame.rename(columns={"sea": "sky"}), r"columns of tags must differ from each other, got 'sky'"),
        (frame.astype(float) * np.nan, r"tags must be 0 or 1"),
        (frame.astype(object).replace({1: "yes"}), r"tags must be an array, got other values: pass 0 and 1"),
        (frame.iloc[:1], r"one row per picture \(2\)"),
    ):
        with pytest.raises(BagsError, match=message):
            Bags(counts, offsets, wrong, ["sky", "sea"])


@pytest.mark.parametrize("kind", ["Series", "array"])
def test_a_series_or_array_of_lists_counts_as_a_list_of_lists(kind):
    captions = np.empty(2, dtype=object)
    captions[:] = [["sky", "sea"], ["sky"]]
    if kind == "Series":
        captions = pytest.importorskip("pandas").Series(captions, index=[7, 3])
    bags = Bags(np.ones((2, 2), dtype=int), [0, 1, 2], captions)
    assert bags.tag_names == ("sea", "sky")
    assert bags.captions.toarray().tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: rows,
        lambda rows: np.array(rows, dtype=bool),
        coo_array,
        lambda rows: [[name for name, own in zip(("sky", "sea"), row, strict=True) if own] for row in rows],
    ],
    ids=["lists", "mask", "sparse", "names"],
)
def test_rejected_and_unknown_have_every_form_that_tags_have(form):
    bags = small(**{what: form(rows) for what, rows in OPEN.items()})
    assert labels_in(bags) == [["given", "given"], ["rejected", "unknown"], ["unknown", "given"]]
    assert bags.unknown.dtype == np.uint8


def test_a_data_frame_of_unknown_pairs_is_read_by_name():
    pandas = pytest.importorskip("pandas")
    bags = small(unknown=pandas.DataFrame({"sea": [0, 1, 0], "sky": [0, 0, 1]}))
    assert labels_in(bags) == [["given", "given"], ["absent", "unknown"], ["unknown", "given"]]


@pytest.mark.parametrize("nothing", [None, [[0, 0]] * 3, [[], [], []], np.zeros((3, 2), bool)])
def test_what_says_nothing_is_not_kept(nothing):
    bags = small(rejected=nothing, unknown=nothing)
    assert (bags.rejected, bags.unknown) == (None, None)
    assert small(**OPEN)[:1].unknown is None
    assert small(**OPEN).select_tags([1]).rejected is None


def test_other_captions_drop_what_was_said_of_the_old_ones():
    bags = small(**OPEN)
    for other in (bags.with_tags(None), bags.with_tags(bags.tags)):
        assert (other.rejected, other.unknown) == (None, None)
    assert labels_in(bags.with_tags(bags.tags, **OPEN)) == labels_in(bags)


def test_joining_bags_of_which_only_some_have_unknown_pairs_keeps_them():
    joined = Bags.concat([small(), small(**OPEN), small()])
    assert labels_in(joined) == labels_in(small()) + labels_in(small(**OPEN)) + labels_in(small())
    assert joined.unknown.nnz == 2


def test_pickles_keep_every_label():
    assert labels_in(pickle.loads(pickle.dumps(small(**OPEN)))) == labels_in(small(**OPEN))


def test_sizes_are_those_of_the_parts():
    bags = small()
    assert (len(bags), bags.shape, bags.n_regions, bags.n_tags) == (3, (3,), 3, 2)
    bare = bags.with_tags(None)
    assert (bare.tags, bare.tag_names, bare.n_tags) == (None, None, 0)


def test_other_captions_keep_the_names_when_they_fit():
    bags = small()
    assert bags.with_tags([[0, 1]] * 3).tag_names == ("sky", "sea")
    assert bags.with_tags([[0, 1, 1]] * 3).tag_names == ("tag0", "tag1", "tag2")
    assert bags.with_tags([[0, 1]] * 3, ["x", "y"]).tag_names == ("x", "y")
    assert bags.tag_names == ("sky", "sea")


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.float32, np.float64])
def test_whole_counts_take_two_bytes_whatever_they_came_as(dtype):
    counts = Bags(csr_array(np.array([[1, 0], [0, 1]], dtype=dtype)), [0, 2]).views["words"]
    assert counts.dtype == np.uint16
    assert counts.toarray().tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("count", [0.5, 65536, 2.0**40])
def test_counts_that_two_bytes_cannot_hold_stay_float64(count):
    counts = Bags(csr_array(np.array([[1, count]])), [0, 1]).views["words"]
    assert counts.dtype == np.float64
    assert counts.toarray().tolist() == [[1, count]]


def test_dense_whole_numbers_are_counts_and_dense_real_ones_an_embedding():
    bags = Bags({"counts": np.array([[1, 2]]), "network": np.array([[-1.0, 2.0]], dtype=np.float32)}, [0, 1])
    assert isinstance(bags.views["counts"], csr_array)
    assert bags.views["network"].dtype == np.float32  # twice the bytes would hold no more
    assert Bags({"network": np.ones((1, 2))}, [0, 1]).views["network"].dtype == np.float64
    assert Bags({"network": np.ones((1, 2), np.float16)}, [0, 1]).views["network"].dtype == np.float32
    assert bags.views["network"].tolist() == [[-1.0, 2.0]]
    whole = Bags(np.array([[1.0, 2.0]]), [0, 1])  # the type decides, not the values
    assert whole.views["words"].tolist() == [[1.0, 2.0]]
    assert isinstance(Bags(csr_array([[0.5, 2.0]]), [0, 1]).views["words"], csr_array)


def test_explicit_zeros_are_dropped_and_duplicates_summed_beyond_a_byte():
    data = np.array([200, 100, 0], dtype=np.uint8)
    counts = csr_array((data, np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    view = Bags(counts, [0, 1]).views["words"]
    assert view.nnz == 1
    assert view.toarray().tolist() == [[0, 300]]


def test_tags_may_be_sparse_boolean_or_carry_explicit_zeros():
    tags = coo_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
    for given_tags in (tags, tags.toarray(), tags.toarray().astype(bool), csr_array(tags)):
        bags = Bags(np.ones((2, 1), dtype=int), [0, 1, 2], given_tags)
        assert bags.captions.toarray().tolist() == [[0, 1], [0, 0]]
        assert bags.captions.nnz == 1


def test_neighbouring_pictures_share_memory_with_the_whole():
    bags = small()
    part = bags[1:3]
    assert np.shares_memory(part.views["sift"].data, bags.views["sift"].data)
    assert np.shares_memory(part.views["sift"].indices, bags.views["sift"].indices)
    assert np.shares_memory(part.views["net"], bags.views["net"])


def arrays_of(bags):
    labels = [matrix for matrix in (bags.captions, bags.rejected, bags.unknown) if matrix is not None]
    for matrix in (*bags.views.values(), *labels, bags.offsets, *bags.pictures.values()):
        sparse = isinstance(matrix, csr_array)
        yield from (matrix.data, matrix.indices, matrix.indptr) if sparse else (matrix,)


@pytest.mark.parametrize(
    "derive",
    [
        lambda bags: bags,
        lambda bags: bags[0:2],
        lambda bags: bags[[0, 2]],
        lambda bags: bags[::2],
        lambda bags: bags.select_tags([1]),
        lambda bags: bags.with_tags([[1, 0]] * 3, unknown=[[0, 1]] * 3),
        lambda bags: Bags.concat([bags, bags]),
        lambda bags: pickle.loads(pickle.dumps(bags)),
    ],
    ids=["made", "slice", "list", "step", "select_tags", "with_tags", "concat", "pickle"],
)
def test_no_array_of_bags_can_be_written_to(derive):
    for array in arrays_of(derive(small(**OPEN))):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_later_changes_of_the_given_arrays_do_not_change_the_bags():
    counts, net, offsets = csr_array(np.array([[1, 2]])), np.ones((1, 2)), np.array([0, 1])
    tags, whole = csr_array(np.array([[1, 0]], dtype=np.uint8)), np.ones((1, 2))
    bags = Bags({"words": counts, "net": net}, offsets, tags, pictures={"whole": whole})
    before = [array.copy() for array in arrays_of(bags)]
    for array in (counts.data, counts.indices, net, offsets, tags.data, tags.indices, whole):
        array[...] = 7
    for array, old in zip(arrays_of(bags), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_adding_to_the_dictionary_of_views_does_not_change_the_bags():
    bags = small()
    bags.views["more"] = bags.pictures["more"] = np.ones((3, 1))
    assert list(bags.views) == ["sift", "net"]
    assert list(bags.pictures) == ["whole"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Bags(np.ones((1, 2), dtype=int), [0, 1]), r"same views and widths.*one vocabulary"),
        (small().with_tags([[1, 0]] * 3, ["sky", "cow"]), r"same tags in the same order.*with_tags"),
        (small().with_tags(None), r"same tags in the same order.*with_tags"),
    ],
    ids=["views", "names", "untagged"],
)
def test_bags_that_do_not_fit_together_are_not_joined(other, message):
    with pytest.raises(BagsError, match=message):
        Bags.concat([small(), other])


def test_joining_nothing_is_refused():
    with pytest.raises(BagsError, match="at least one Bags, got none"):
        Bags.concat([])


def test_bags_without_captions_raise_with_the_way_out():
    bare = small().with_tags(None)
    with pytest.raises(BagsError, match=r"these bags have no tags: pass `tags`.*with_tags"):
        _ = bare.captions
    with pytest.raises(BagsError, match="no tags to select from"):
        bare.select_tags([0])
