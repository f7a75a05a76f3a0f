"""What a writer writes, its reader reads back the same."""

import json

import numpy as np
import pytest
from PIL import Image

from tagmix.datasets import READERS, WRITERS, Album, Item, Runs, TrueRegion
from tagmix.errors import AlbumError

POLYGON = TrueRegion("boat", polygon=((0.5, 0.0), (4.0, 0.0), (4.0, 3.25)))
BOX = TrueRegion("golden gate", box=(1.0, 2.0, 3.5, 4.0))
RUNS = TrueRegion("été", runs=Runs(8, 12, (3, 5, 88)))


def album_in(folder, *, masks=False, runs=False):
    (folder / "sub").mkdir(parents=True)
    for name in ("a.png", "sub/b.png", "sub/é.png"):
        Image.new("RGB", (12, 8)).save(folder / name)
    mask = None
    if masks:
        mask = folder.resolve() / "m.png"
        values = np.zeros((8, 12), np.uint8)
        values[2:5, 3:9], values[6], values[0, 0] = 4, 9, 77
        Image.fromarray(values).save(mask)
    root = folder.resolve()
    items = (
        Item(root / "a.png", ("boat", "été", "golden gate"), "train", mask, (POLYGON, BOX), "a.png"),
        Item(root / "sub" / "b.png", (), None, None, (RUNS,) if runs else (), "sub/b.png"),
        Item(
            root / "sub" / "é.png", ("sea",), "test", None, (BOX,), "sub/é.png"
        ),  # a region not among the tags
    )
    return Album(items, root, {4: "sky", 9: "old sea"} if masks else {})


def target(name, folder):
    return folder if name == "labelme" else folder / f"album.{'jsonl' if name == 'jsonl' else 'json'}"


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_read_back_the_same(name, tmp_path):
    album = album_in(tmp_path / "x", runs=name != "labelme")
    path = target(name, tmp_path / "x")
    WRITERS[name](album, path)
    assert READERS[name](path) == album


def test_jsonl_keeps_masks_and_their_names(tmp_path):
    album = album_in(tmp_path / "x", masks=True, runs=True)
    WRITERS["jsonl"](album, tmp_path / "x" / "album.jsonl")
    assert READERS["jsonl"](tmp_path / "x" / "album.jsonl") == album


def test_coco_turns_masks_into_runs_with_the_same_truth(tmp_path):
    album = album_in(tmp_path / "x", masks=True)
    WRITERS["coco"](album, tmp_path / "x" / "album.json")
    back = READERS["coco"](tmp_path / "x" / "album.json")
    assert back[0].mask is None
    names = [region.tag for region in back[0].regions]
    assert names == ["sky", "old sea", "boat", "golden gate"]
    from_mask = Album((Item(album[0].image, mask=album[0].mask),), album.root, album.mask_labels)
    from_runs = Album((Item(album[0].image, regions=back[0].regions[:2]),), album.root)
    one, other = (some.region_truth(some[0], (8, 12)) for some in (from_mask, from_runs))
    assert np.array_equal(np.array(one.names)[one.labels], np.array(other.names)[other.labels])


def test_coco_boxes_and_areas_are_those_of_the_shapes(tmp_path):
    WRITERS["coco"](album_in(tmp_path / "x", runs=True), tmp_path / "x" / "album.json")
    content = json.loads((tmp_path / "x" / "album.json").read_text(encoding="utf-8"))
    polygon, box, runs, _ = content["annotations"]
    assert (polygon["bbox"], polygon["area"]) == ([0.5, 0.0, 3.5, 3.25], 3.5 * 3.25 / 2)
    assert (box["bbox"], box["area"]) == ([1.0, 2.0, 3.5, 4.0], 14.0)
    assert (runs["bbox"], runs["area"]) == ([0.0, 3.0, 1.0, 5.0], 5)
    assert [(image["height"], image["width"]) for image in content["images"]] == [(8, 12)] * 3


@pytest.mark.parametrize("name", WRITERS)
def test_pictures_that_are_not_below_the_file_are_refused_and_nothing_is_written(name, tmp_path):
    album = album_in(tmp_path / "x")
    (tmp_path / "y").mkdir()
    with pytest.raises(AlbumError, match="not below"):
        WRITERS[name](album, target(name, tmp_path / "y"))
    assert list((tmp_path / "y").iterdir()) == []


def test_labelme_refuses_what_it_cannot_hold_and_shared_names(tmp_path):
    with pytest.raises(AlbumError, match="runs"):
        WRITERS["labelme"](album_in(tmp_path / "x", runs=True), tmp_path / "x")
    with pytest.raises(AlbumError, match="mask"):
        WRITERS["labelme"](album_in(tmp_path / "y", masks=True), tmp_path / "y")
    root = (tmp_path / "z").resolve()
    alike = Album((Item(root / "a.png", id="a.png"), Item(root / "a.jpg", id="a.jpg")), root)
    with pytest.raises(AlbumError, match="need the same file"):
        WRITERS["labelme"](alike, root)
    assert not list(tmp_path.rglob("*.json"))


def test_coco_refuses_a_region_without_a_shape(tmp_path):
    album = album_in(tmp_path / "x")
    bare = Album((Item(album[0].image, regions=(TrueRegion("a"),)),), album.root)
    with pytest.raises(AlbumError, match="box"):
        WRITERS["coco"](bare, tmp_path / "x" / "album.json")
