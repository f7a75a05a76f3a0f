"""Points of a curve: exactly what is meant to change changes, and the truth of regions goes along."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tagmix import Bags
from tagmix.comparison.parts import DataPart, Places
from tagmix.comparison.variations import (
    apply_variation,
    fewer_pictures,
    fewer_tags,
    fewer_words,
    settings_at,
    shorter_captions,
    with_views,
)
from tagmix.errors import BagsError
from tagmix.evaluation.regions import NONE, UNKNOWN
from tests.comparison.conftest import planted_part


def same(first, second):
    """Return whether two bags are the same in words, captions and names."""
    return (
        first.views.keys() == second.views.keys()
        and all((first.views[name] != second.views[name]).nnz == 0 for name in first.views)
        and first.offsets.tolist() == second.offsets.tolist()
        and first.captions.toarray().tolist() == second.captions.toarray().tolist()
        and first.tag_names == second.tag_names
        and first.ids == second.ids
    )


def uneven(seed, n_tags=5):
    """Return a part with pictures of 0 to 3 regions, some of them without tags, and one word a region."""
    rng = np.random.default_rng(seed)

    def bags(n, name):
        offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))])
        words = np.arange(1, offsets[-1] + 1)[:, None]  # every region is known by its number
        tags = rng.random((n, n_tags)) < rng.random(n_tags)
        names = [f"tag {i}" for i in range(n_tags)]
        return Bags(words, offsets, tags=tags, tag_names=names, ids=[f"{name} {i}" for i in range(n)])

    train, test = bags(12, "train"), bags(9, "test")
    return DataPart(train, test, rng.integers(-1, n_tags, test.n_regions))


def test_the_most_frequent_tags_are_those_of_training_and_of_equals_the_first():
    words = np.ones((4, 1), int)
    train = Bags(words, range(5), tags=[["b", "c"], ["c", "d"], ["b"], ["a"]])
    test = Bags(words, range(5), tags=[["a", "d"], ["a", "b", "d"], ["a"], ["a"]], tag_names="abcd")
    made = fewer_tags(DataPart(train, test, np.array([0, 1, -1, 3])), {"tags": 2})
    assert made.train.tag_names == made.test.tag_names == ("b", "c")  # not a, the commonest of the test
    assert made.train.ids == ("0", "1", "2")
    assert made.test.ids == ("1",)
    assert made.test.captions.toarray().tolist() == [[1, 0]]
    assert made.truth.tolist() == [0]
    one_more = fewer_tags(DataPart(train, test, np.array([0, 1, -1, 3])), {"tags": 3})
    assert one_more.train.tag_names == ("a", "b", "c")  # a and d are equals
    assert one_more.truth.tolist() == [0, 1, UNKNOWN, UNKNOWN]  # another tag is no background


def test_a_tag_that_no_training_picture_has_is_kept_last():
    words = np.ones((3, 1), int)
    train = Bags(words, range(4), tags=[["b"], ["c"], ["b"]], tag_names="abc")
    test = Bags(words, range(4), tags=[["a"], ["a", "b"], ["c"]], tag_names="abc")
    part = DataPart(train, test, np.array([0, 1, 2]))
    assert [fewer_tags(part, {"tags": n}).train.tag_names for n in (1, 2, 3)] == [
        ("b",),
        ("b", "c"),
        tuple("abc"),
    ]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_the_truth_of_regions_stays_with_its_regions(seed, n_tags):
    part = uneven(seed)
    made = fewer_tags(part, {"tags": n_tags})
    name_of = dict(zip(part.test.views["words"].toarray().ravel().tolist(), part.truth.tolist(), strict=True))
    for number, own in zip(made.test.views["words"].toarray().ravel(), made.truth, strict=True):
        before = name_of[int(number)]
        name = None if before < 0 else part.test.tag_names[before]
        assert (made.test.tag_names[own] if own >= 0 else None) == (
            name if name in made.test.tag_names else None
        )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_exactly_the_pictures_without_one_of_the_tags_are_left_out(seed, n_tags):
    part = uneven(seed)
    made = fewer_tags(part, {"tags": n_tags})
    assert made.train.n_tags == made.test.n_tags == min(5, n_tags)
    for before, after in ((part.train, made.train), (part.test, made.test)):
        kept = [before.tag_names.index(name) for name in after.tag_names]
        own = before.captions.toarray()[:, kept]
        assert after.ids == tuple(name for name, row in zip(before.ids, own, strict=True) if row.any())
        assert after.captions.toarray().tolist() == own[own.any(axis=1)].tolist()
    counts = part.train.captions.toarray().sum(axis=0)
    left_out = [i for i, name in enumerate(part.train.tag_names) if name not in made.train.tag_names]
    kept = [i for i in range(5) if i not in left_out]
    assert all(counts[i] >= counts[j] for i in kept for j in left_out)


def test_draws_of_pictures_are_the_same_each_time_differ_by_number_and_grow_by_adding(part):
    def drawn(size, draw):
        made = fewer_pictures(part, {"pictures": size, "draw": draw})
        assert same(made.test, part.test)
        assert made.truth is part.truth
        assert len(made.train) == size
        ids = made.train.ids
        assert list(ids) == sorted(ids, key=part.train.ids.index)
        places = [part.train.ids.index(name) for name in ids]
        assert same(made.train, part.train[places])
        return set(ids)

    assert drawn(20, 0) == drawn(20, 0)
    assert drawn(20, 0) != drawn(20, 1)
    assert drawn(20, 0) < drawn(40, 0)
    assert fewer_pictures(part, {"pictures": 20}).train.ids == tuple(
        sorted(drawn(20, 0), key=part.train.ids.index)
    )


def test_a_share_of_the_words_is_left_and_no_word_is_new(part):
    made = fewer_words(part, {"words": 0.25})
    for before, after in ((part.train, made.train), (part.test, made.test)):
        b, a = before.views["sift"], after.views["sift"]
        # The share of so many words is within four standard errors
        assert a.sum() / b.sum() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / b.sum()))
        assert ((b - a).toarray() >= 0).all()
        assert (a.data > 0).all()
        assert after.offsets.tolist() == before.offsets.tolist()
        assert after.captions.toarray().tolist() == before.captions.toarray().tolist()
        assert (after.ids, after.tag_names) == (before.ids, before.tag_names)
    assert made.truth.tolist() == part.truth.tolist()
    assert same(made.train, fewer_words(part, {"words": 0.25}).train)


def test_thinning_words_leaves_the_bags_it_was_given_alone():
    part = planted_part(6, 4)
    before = part.train.views["sift"].toarray()
    fewer_words(part, {"words": 0.5})
    assert part.train.views["sift"].toarray().tolist() == before.tolist()


def test_regions_that_lose_all_words_stay_as_empty_regions_and_all_words_stay_with_the_share_one(part):
    nothing = fewer_words(part, {"words": 0.0})
    assert nothing.train.views["sift"].sum() == 0
    assert nothing.train.offsets.tolist() == part.train.offsets.tolist()
    assert len(nothing.truth) == nothing.test.n_regions
    everything = fewer_words(part, {"words": 1.0})
    assert same(everything.train, part.train)
    assert same(everything.test, part.test)


def test_embeddings_are_no_words_and_stay():
    dense = np.random.default_rng(0).normal(size=(4, 3))
    views = {"network": dense, "sift": np.full((4, 2), 9)}
    bags = Bags(views, [0, 2, 4], tags=[["a"], ["b"]])
    made = fewer_words(DataPart(bags, bags, np.full(4, -1)), {"words": 0.1})
    assert made.train.views["network"].tolist() == dense.tolist()
    assert made.train.views["sift"].sum() < 72


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_captions_are_cut_to_some_of_their_own_tags(seed, most):
    part = uneven(seed)
    made = shorter_captions(part, {"caption": most})
    for before, after in ((part.train, made.train), (part.test, made.test)):
        b, a = before.captions.toarray(), after.captions.toarray()
        assert (a <= b).all()
        assert a.sum(axis=1).tolist() == np.minimum(b.sum(axis=1), most).tolist()
        assert same(after.with_tags(b, before.tag_names), before)
    assert made.truth.tolist() == part.truth.tolist()
    assert same(made.train, shorter_captions(part, {"caption": most}).train)


def test_every_tag_of_a_caption_may_be_the_one_that_stays():
    n, n_tags = 600, 4
    bags = Bags(np.ones((n, 1), int), range(n + 1), tags=np.ones((n, n_tags), int))
    made = shorter_captions(DataPart(bags, bags[:1], np.array([-1])), {"caption": 1})
    counts = made.train.captions.toarray().sum(axis=0)
    assert np.abs(counts - n / n_tags).max() < 4 * np.sqrt(n * 0.25 * 0.75)


def test_some_views_are_the_same_pictures_in_these_words_only():
    part = planted_part(6, 4, views=("sift", "colour", "place"))
    made = with_views(part, ("colour", "sift"))
    for before, after in ((part.train, made.train), (part.test, made.test)):
        assert list(after.views) == ["colour", "sift"]
        whole = {name: before.views[name] for name in after.views}
        assert same(
            after, Bags(whole, before.offsets, before.captions, tag_names=before.tag_names, ids=before.ids)
        )
    assert made.truth is part.truth


def test_a_point_changes_data_or_holds_settings_and_the_empty_point_neither(part):
    assert apply_variation(part, {}) is part
    assert apply_variation(part, {"evidence": 0.1, "ranking": "theta"}) is part
    assert settings_at({"evidence": 0.1, "pictures": 5, "draw": 1}) == {"evidence": 0.1}
    assert settings_at({"words": 0.5, "caption": 1, "tags": 3}) == {}
    both = apply_variation(part, {"pictures": 20, "draw": 1, "tags": 3})
    assert both.train.n_tags == 3
    assert len(both.train) <= 20


def seen_whole(n=6):
    """Return a part with two views of regions and two of whole pictures."""
    part = planted_part(n, n, views=("sift", "colour"))

    def more(bags):
        whole = {name: np.arange(2.0 * len(bags)).reshape(-1, 2) for name in ("layout", "pooled")}
        return Bags(bags.views, bags.offsets, bags.captions, bags.tag_names, bags.ids, whole)

    return DataPart(more(part.train), more(part.test), part.truth)


@pytest.mark.parametrize(
    ("views", "regions", "pictures"),
    [
        (("sift",), ["sift"], []),
        (("sift", "layout"), ["sift"], ["layout"]),
        (("pooled", "colour", "sift"), ["colour", "sift"], ["pooled"]),
    ],
)
def test_views_that_are_not_named_are_not_seen_of_regions_or_of_pictures(views, regions, pictures):
    made = with_views(seen_whole(), views)
    for bags in (made.train, made.test):
        assert (list(bags.views), list(bags.pictures)) == (regions, pictures)


def test_a_view_that_is_not_there_is_refused_in_one_line():
    with pytest.raises(BagsError, match=r"one of sift, colour, layout, pooled, got 'net'"):
        with_views(seen_whole(), ("sift", "net"))


@pytest.mark.parametrize(
    ("without", "left"),
    [("layout", ["sift", "colour", "pooled"]), (["colour", "pooled"], ["sift", "layout"])],
)
def test_views_can_be_left_out_by_a_point(without, left):
    part = seen_whole()
    made = apply_variation(part, {"without": without})
    assert [*made.train.views, *made.train.pictures] == [*made.test.views, *made.test.pictures] == left
    assert made.truth is part.truth
    assert settings_at({"without": without}) == {}


def test_fewer_words_take_the_layout_away_which_was_made_of_all_of_them():
    made = apply_variation(seen_whole(), {"words": 0.5})
    assert list(made.train.pictures) == list(made.test.pictures) == ["pooled"]


def placed(part):
    """Return the part with a place for every picture, region and tag."""
    n_tags = part.test.n_tags
    sizes = (len(part.test), part.test.n_regions, part.test.n_regions)
    rng = np.random.default_rng(3)
    return part._replace(
        places=Places(*(csr_array((rng.random((n, n_tags)) < 0.5).astype(float)) for n in sizes))
    )


def test_without_stuff_regions_of_stuff_are_none_and_all_pictures_stay():
    words, names = np.ones((3, 1), int), ("car", "grass", "sky")
    train = Bags(words, range(4), tags=[["grass"], ["car", "sky"], ["sky"]], tag_names=names)
    test = Bags(words, range(4), tags=[["grass"], ["car"], ["sky"]], tag_names=names)
    part = placed(DataPart(train, test, np.array([1, 0, -1])))
    made = apply_variation(part, {"objects": True})
    assert made.train.tag_names == made.test.tag_names == ("car",)
    assert made.train.captions.toarray().tolist() == [[0], [1], [0]]
    assert made.truth.tolist() == [NONE, 0, UNKNOWN]
    assert made.places.inside.toarray().tolist() == part.places.inside.toarray()[:, :1].tolist()


def test_about_half_of_the_training_tags_are_dropped_and_none_of_the_test():
    part = placed(planted_part(300, 40))
    made = apply_variation(part, {"dropped": 0.5})
    before, after = part.train.captions, made.train.captions
    assert after.nnz / before.nnz == pytest.approx(0.5, abs=0.06)
    assert (after.toarray() <= before.toarray()).all()
    assert same(part.test, made.test)
    assert made.truth is part.truth
    assert made.places is part.places
    again, other = (apply_variation(part, {"dropped": 0.5, "draw": draw}) for draw in (0, 1))
    assert same(again.train, made.train)
    assert not same(other.train, made.train)


def test_places_go_along_with_tags_and_pictures():
    for seed in range(5):
        part = placed(uneven(seed))
        made = fewer_tags(part, {"tags": 3})
        kept = [part.test.tag_names.index(name) for name in made.test.tag_names]
        rows = [part.test.ids.index(name) for name in made.test.ids]
        regions = made.test.views["words"].toarray().ravel() - 1
        assert made.places.pairs.toarray().tolist() == part.places.pairs.toarray()[rows][:, kept].tolist()
        for name in ("inside", "near"):
            ours, theirs = (getattr(one.places, name).toarray() for one in (made, part))
            assert ours.tolist() == theirs[regions][:, kept].tolist()
