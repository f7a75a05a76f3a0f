"""The tag of a region is what most of its pixels show, by masks or by boxes."""

from collections import Counter
from dataclasses import replace

import numpy as np
from PIL import Image

from tagmix.comparison.parts import load_part
from tagmix.comparison.prepare import prepare_album
from tagmix.comparison.region_truth import Seen, middle_pixels, picture_truth, region_tags, see
from tagmix.datasets import TrueRegion
from tests.comparison.painted import NAMES, album_of, describer


def test_the_tag_of_a_region_is_the_one_most_of_its_pixels_have(tmp_path, album):
    """Counted here pixel by pixel on the file of the mask, which has the size of the picture."""
    prepare_album(tmp_path / "data", "painted", album, describer())
    part = load_part(tmp_path / "data", "painted", 0)
    found = []
    for i in (1, 5, 9):
        labels = see(album[i].image, describer().config).labels
        mask = np.asarray(Image.open(album[i].mask))
        assert labels.shape == mask.shape
        for region in range(labels.max() + 1):
            pixels = [int(mask[y, x]) for y, x in np.argwhere(labels == region)]
            counted = Counter(pixels)  # 0 is a pixel that nobody named
            most = max(counted, key=lambda value: (counted[value], -value))
            found.append(part.test.tag_names.index(NAMES[most - 1]) if most else -1)
    assert part.truth.tolist() == found
    assert len(set(found)) > 2
    assert part.knows_regions


def test_regions_by_boxes_are_known_too_and_regions_of_no_tag_are_not(tmp_path):
    album = album_of(tmp_path, n=8, split=True, masks=False)
    boxed = tuple(
        replace(item, regions=(TrueRegion(tag, box=(0, 0, 48, 36)),))
        for item, tag in zip(album, ["dragon", "sky"] * 4, strict=True)
    )
    prepare_album(tmp_path / "data", "painted", replace(album, items=boxed), describer())
    part = load_part(tmp_path / "data", "painted", 0)
    sky = part.test.tag_names.index("sky")
    assert set(part.truth.tolist()) == {sky}  # 1 and 5 are tested
    assert part.places.pairs.toarray()[:, sky].tolist() == [1, 1]
    assert part.places.inside.toarray().sum() == part.test.n_regions == part.places.near.nnz
    unknown = tuple(replace(item, regions=(TrueRegion("dragon", box=(0, 0, 48, 36)),)) for item in album)
    made = prepare_album(tmp_path / "data", "unknown", replace(album, items=unknown), describer())
    assert not made.knows_regions


def test_a_picture_whose_mask_is_broken_has_regions_of_unknown_tags(tmp_path, album):
    album[5].mask.write_bytes(b"no picture")
    prepare_album(tmp_path / "data", "painted", album, describer())
    part = load_part(tmp_path / "data", "painted", 0)
    first, last = part.test.offsets[1:3]
    assert part.truth[first:last].tolist() == [-1] * (last - first)
    assert (part.truth[:first] >= 0).any()


def test_a_region_without_named_pixels_has_the_empty_tag(tmp_path, album):
    Image.fromarray(np.zeros((36, 48), np.uint8)).save(album[0].mask)
    seen = see(album[0].image, describer().config)
    assert region_tags(album, album[0], seen) == [""] * (seen.labels.max() + 1)


def test_a_region_has_no_tag_where_most_of_its_pixels_are_unnamed_or_as_many_as_of_its_tag(tmp_path, album):
    # Two columns a region; of the four pixels of each, 3, 2 and 1 are sky
    mask = np.array([[1, 1, 1, 1, 1, 0], [1, 0, 0, 0, 0, 0]], np.uint8)
    Image.fromarray(mask).save(album[0].mask)
    seen = Seen(np.zeros((2, 6, 3), np.uint8), np.repeat([[0, 1, 2]], 2, axis=0).repeat(2, axis=1))
    assert region_tags(album, album[0], seen) == ["sky", "", ""]


# Six columns, two per region; all boxes are at the scale of the file.
THREE = Seen(np.zeros((36, 48, 3), np.uint8), np.repeat([[0, 1, 2]], 36, axis=0).repeat(16, axis=1))


def with_boxes(album, *boxes):
    regions = tuple(TrueRegion(tag, box=box) for tag, box in boxes)
    return replace(album[0], mask=None, regions=regions)


def test_of_several_boxes_that_hold_a_region_the_smallest_names_it(tmp_path, album):
    for order in ((0, 1), (1, 0)):
        boxes = [("sky", (0, 0, 48, 36)), ("sea", (0, 0, 16, 36))]
        truth = picture_truth(album, with_boxes(album, *(boxes[i] for i in order)), THREE)
        assert truth.tags == ["sea", "sky", "sky"]
        assert set(truth.inside) == {(0, "sea"), (0, "sky"), (1, "sky"), (2, "sky")}
        assert set(truth.placed) == {"sea", "sky"}


def test_a_region_is_none_of_the_tags_where_no_box_holds_more_than_half_of_it(tmp_path, album):
    halves = with_boxes(album, ("sky", (0, 0, 8, 36)), ("sky", (8, 0, 8, 36)), ("sea", (20, 0, 12, 36)))
    truth = picture_truth(album, halves, THREE)
    assert truth.tags == [None, "sea", None]  # two halves of one tag are no box that holds the region
    assert truth.inside == [(1, "sea")]


def test_regions_of_a_picture_without_mask_and_boxes_are_unknown_and_not_none(album):
    truth = picture_truth(album, with_boxes(album), THREE)
    assert truth.tags == [""] * 3
    assert (truth.placed, truth.inside, truth.near) == ([], [], [])


def test_a_region_points_at_a_box_from_at_most_fifteen_pixels_away(tmp_path, album):
    for left, near in ((22, True), (23, False)):  # the middle of the first region is column 7
        truth = picture_truth(album, with_boxes(album, ("sky", (left, 0, 4, 36))), THREE)
        assert ((0, "sky") in truth.near) == near
        assert (1, "sky") in truth.near
        assert truth.inside == []


def test_places_are_known_by_masks_too_and_void_stays_unknown(tmp_path, album):
    mask = np.zeros((36, 48), np.uint8)
    mask[:, :16], mask[:, 16:20] = 1, 2
    Image.fromarray(mask).save(album[0].mask)
    truth = picture_truth(album, album[0], THREE)
    assert truth.tags == ["sky", "", ""]
    assert (truth.placed, truth.inside) == (["sky", "sea"], [(0, "sky")])


def test_the_middle_of_a_region_lies_in_it():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(60) % 7).reshape(6, 10)
    middles = middle_pixels(labels)
    assert labels[middles[:, 0], middles[:, 1]].tolist() == list(range(7))
    for region, (row, column) in enumerate(middles):
        own = np.argwhere(labels == region)
        away = ((own - own.mean(axis=0)) ** 2).sum(axis=1)
        assert ((row, column) - own.mean(axis=0)) @ ((row, column) - own.mean(axis=0)) <= away.min() + 1e-9
