"""Albums: cutting, counting, and drawing the truth."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagmix.datasets import Album, Item, Runs, TrueRegion, open_album
from tagmix.datasets.truth import rolled, unrolled
from tagmix.errors import AlbumError
from tagmix.images.decode import decode

REAL = Path(os.environ.get("TAGMIX_DATA", "data"))


def album_of(*tags, splits=None):
    parts = splits or [None] * len(tags)
    items = (
        Item(Path(f"/a/{k}.jpg"), t, s, id=f"{k}.jpg")
        for k, (t, s) in enumerate(zip(tags, parts, strict=True))
    )
    return Album(tuple(items), Path("/a"), problems=("one",))


def test_a_slice_is_an_album_and_an_index_an_item():
    album = album_of(("x",), ("y",), ("x", "y"))
    assert [item.id for item in album[1:]] == ["1.jpg", "2.jpg"]
    assert isinstance(album[1:], Album)
    assert album[-1].tags == ("x", "y")
    assert album[1:].problems == ("one",)
    assert len(album) == 3


def test_tags_are_counted_the_most_frequent_first():
    assert list(album_of(("b",), ("a", "c"), ("c",)).tag_counts().items()) == [("c", 2), ("a", 1), ("b", 1)]


def test_keep_tags_keeps_what_is_on_more_than_three_pictures_and_every_picture():
    album = album_of(*[("often", "thrice")] * 3, ("often",), ("once",))
    kept = album.keep_tags()
    assert kept.tag_counts() == {"often": 4}
    assert len(kept) == 5
    assert kept[4].tags == ()
    assert album.keep_tags(3).tag_counts() == {"often": 4, "thrice": 3}


def test_split_takes_one_part_and_refuses_an_unknown_one():
    album = album_of(("x",), ("y",), ("z",), splits=["train", "test", None])
    assert [item.tags for item in album.split("test")] == [("y",)]
    with pytest.raises(AlbumError, match=r"\['test', 'train'\]"):
        album.split("val")


def drawn(tmp_path, *regions, size=(6, 5), shape=None, mask=None, labels=None):
    """Return the truth of a picture of 6 × 5 pixels with these regions."""
    Image.new("RGB", size).save(tmp_path / "p.png")
    if mask is not None:
        Image.fromarray(np.asarray(mask, np.uint8)).save(tmp_path / "m.png")
    item = Item(tmp_path / "p.png", mask=None if mask is None else tmp_path / "m.png", regions=regions)
    return Album((item,), tmp_path, labels or {}).region_truth(item, shape or (size[1], size[0], 3))


def box(tag, *values):
    return TrueRegion(tag, box=values)


def test_a_box_covers_its_width_times_its_height(tmp_path):
    truth = drawn(tmp_path, box("a", 1, 2, 3, 2))
    wanted = np.zeros((5, 6), int)
    wanted[2:4, 1:4] = 1
    assert truth.labels.tolist() == wanted.tolist()
    assert truth.labels.dtype == np.uint16
    assert truth.names == ("", "a")


def test_small_boxes_lie_over_large_ones_and_later_ones_over_earlier(tmp_path):
    truth = drawn(tmp_path, box("small", 1, 1, 2, 2), box("large", 0, 0, 6, 5))
    assert truth.names[truth.labels[1, 1]] == "small"
    assert truth.names[truth.labels[0, 0]] == "large"
    truth = drawn(tmp_path, box("first", 0, 0, 2, 2), box("second", 0, 0, 2, 2))
    assert truth.names[truth.labels[0, 0]] == "second"


def test_a_polygon_lies_over_boxes_and_earlier_polygons(tmp_path):
    corner = ((0, 0), (3, 0), (0, 3))
    truth = drawn(
        tmp_path,
        TrueRegion("one", polygon=corner),
        TrueRegion("two", polygon=corner),
        box("tiny", 0, 0, 1, 1),
    )
    assert truth.names[truth.labels[0, 0]] == "two"
    assert (truth.labels > 0).sum() == 10  # the triangle with its edge: 4 + 3 + 2 + 1


def test_what_sticks_out_is_cut_and_what_is_outside_draws_nothing(tmp_path):
    out = drawn(tmp_path, box("a", -3, -3, 4, 4), box("b", 10, 10, 5, 5), box("c", -9, 0, 5, 5))
    assert (out.labels == 1).sum() == 1
    assert set(np.unique(out.labels)) == {0, 1}
    far = ((-1e6, -1e6), (1e6, -1e6), (1e6, 1e6), (-1e6, 1e6))
    assert (drawn(tmp_path, TrueRegion("a", polygon=far)).labels == 1).all()


def test_a_box_thinner_than_a_pixel_keeps_one(tmp_path):
    assert (drawn(tmp_path, box("a", 2, 2, 0.2, 0.2)).labels == 1).sum() == 1


def test_the_drawing_is_scaled_to_a_shrunk_picture(tmp_path):
    half = drawn(tmp_path, box("a", 20, 10, 40, 30), size=(60, 50), shape=(25, 30))
    wanted = np.zeros((25, 30), int)
    wanted[5:20, 10:30] = 1
    assert half.labels.tolist() == wanted.tolist()


def test_masks_lie_below_and_their_unnamed_values_are_void(tmp_path):
    mask = np.zeros((5, 6), int)
    mask[:, 3:] = 7
    mask[0] = 255
    truth = drawn(tmp_path, box("b", 3, 4, 1, 1), mask=mask, labels={7: "sky", 9: "sea"})
    assert truth.names == ("", "sky", "b")
    assert truth.labels[0].tolist() == [0] * 6
    assert truth.labels[1].tolist() == [0, 0, 0, 1, 1, 1]
    assert truth.labels[4].tolist() == [0, 0, 0, 2, 1, 1]


def test_a_mask_keeps_its_own_numbers_and_takes_the_pictures_size(tmp_path):
    Image.fromarray(np.array([[0, 7], [9, 9]], np.uint8)).save(tmp_path / "m.png")
    item = Item(tmp_path / "p.png", mask=tmp_path / "m.png")
    album = Album((item,), tmp_path, {7: "sky", 9: "sea"})
    assert album.mask_of(item, (4, 4)).tolist() == [[0, 0, 7, 7]] * 2 + [[9] * 4] * 2
    assert album.mask_of(Item(tmp_path / "p.png"), (1, 2)).tolist() == [[0, 0]]


def test_runs_go_down_the_columns_and_back(tmp_path):
    mask = np.random.default_rng(0).random((5, 6)) < 0.5
    assert np.array_equal(unrolled(rolled(mask)), mask)
    assert unrolled(Runs(3, 2, (0, 2, 4))).tolist() == [[1, 0], [1, 0], [0, 0]]
    truth = drawn(tmp_path, TrueRegion("a", runs=rolled(mask)))
    assert np.array_equal(truth.labels, mask)


def test_an_impossible_shape_is_refused(tmp_path):
    for shape in ((0, 5), (-1, -5), (10**6, 10**6)):
        with pytest.raises(AlbumError, match="shape"):
            drawn(tmp_path, shape=shape)


@pytest.mark.skipif(not REAL.is_dir(), reason="set TAGMIX_DATA to the folder of corel5k and msrc_v2")
def test_the_real_albums_are_read_without_a_problem():
    corel, msrc = open_album(REAL / "corel5k"), open_album(REAL / "msrc_v2")
    assert (corel.problems, msrc.problems) == ((), ())
    assert (len(corel.split("train")), len(corel.split("test")), len(corel.tag_counts())) == (4500, 499, 374)
    assert (len(msrc), len(msrc.tag_counts()), len(msrc.mask_labels)) == (591, 23, 23)
    item = msrc[0]
    truth = msrc.region_truth(item, decode(item.image).shape)
    assert set(np.array(truth.names)[np.unique(truth.labels)]) - {""} == set(item.tags)
