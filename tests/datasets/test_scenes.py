"""The drawn album: repeatable, exactly labelled, loosely captioned."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagmix.datasets.scenes import GLOBAL_TAGS, KINDS, TAGS, Noise, Scene, draw_album, draw_scene
from tagmix.datasets.scenes.album import album_scene
from tagmix.datasets.scenes.scene import VISIBLE, caption

SMALL = (160, 120)


@pytest.fixture(scope="module")
def many() -> list[Scene]:
    return [album_scene(0, index, size=SMALL) for index in range(400)]


def test_there_are_tags_enough_and_each_once():
    assert len(TAGS) >= 32
    assert len(set(TAGS)) == len(TAGS) < 255
    assert set(GLOBAL_TAGS) <= set(TAGS)


def test_same_seed_same_bits_and_other_seed_other_picture():
    first, again = (draw_scene(np.random.default_rng(5), size=SMALL) for _ in range(2))
    other = draw_scene(np.random.default_rng(6), size=SMALL)
    np.testing.assert_array_equal(first.image, again.image)
    np.testing.assert_array_equal(first.mask, again.mask)
    assert first[2:] == again[2:]
    assert not np.array_equal(first.image, other.image)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_and_fully_labelled(kind):
    for seed in range(4):
        scene = draw_scene(np.random.default_rng(seed), size=SMALL, kind=kind)
        assert scene.kind == kind
        assert scene.image.shape == (120, 160, 3)
        assert scene.image.dtype == scene.mask.dtype == np.uint8
        assert scene.mask.max() <= len(TAGS)
        assert scene.image.std() > 5
        # Only pavement, river banks and rails have no name: where nothing was painted it would be black.
        unpainted = (scene.mask == 0) & (scene.image.max(axis=2) < 3)
        assert unpainted.mean() < 0.002


@pytest.mark.parametrize("size", [(97, 61), (640, 480), (64, 200)])
def test_other_sizes_work(size):
    for seed in range(5):
        scene = draw_scene(np.random.default_rng(seed), size=size)
        assert scene.image.shape == (size[1], size[0], 3)
        assert scene.mask.shape == (size[1], size[0])
        assert scene.truth


def test_bad_arguments_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="unknown kind"):
        draw_scene(rng, kind="moonbase")
    with pytest.raises(ValueError, match="at least 48"):
        draw_scene(rng, size=(20, 20))
    with pytest.raises(ValueError, match="n must be at least 1"):
        draw_album(tmp_path, 0)
    with pytest.raises(ValueError, match="split must be a fraction from 0 to 1"):
        draw_album(tmp_path, 1, split=1.5)


def test_truth_is_what_can_be_seen(many):
    for scene in many[:100]:
        seen = {
            tag
            for value, tag in enumerate(TAGS, start=1)
            if (scene.mask == value).sum() >= VISIBLE * scene.mask.size
        }
        assert set(scene.truth) - set(GLOBAL_TAGS) == seen
        assert sum(tag in GLOBAL_TAGS for tag in scene.truth) <= 1
        assert list(scene.truth) == [tag for tag in TAGS if tag in scene.truth]


def test_global_tags_own_no_pixels(many):
    values = [TAGS.index(tag) + 1 for tag in GLOBAL_TAGS]
    assert not any(np.isin(scene.mask, values).any() for scene in many)


def test_every_tag_occurs_and_none_is_in_all(many):
    count = Counter(tag for scene in many for tag in scene.truth)
    assert min(count[tag] for tag in TAGS) >= 5
    assert max(count.values()) < 0.97 * len(many)
    assert 5 <= sum(count.values()) / len(many) <= 11
    assert {scene.kind for scene in many} == set(KINDS)


def test_void_is_rare(many):
    assert np.mean([(scene.mask == 0).mean() for scene in many]) < 0.04


def test_captions_miss_and_add_at_the_stated_rates(many):
    true = sum(len(scene.truth) for scene in many)
    missed = sum(len(set(scene.truth) - set(scene.tags)) for scene in many)
    added = sum(len(set(scene.tags) - set(scene.truth)) for scene in many)
    # Three standard deviations of about 3000 tosses.
    assert missed / true == pytest.approx(0.10, abs=0.02)
    assert added / true == pytest.approx(0.03, abs=0.011)
    assert all(set(scene.tags) & set(scene.truth) for scene in many)


def test_caption_noise_can_be_set():
    rng = np.random.default_rng(0)
    assert caption(rng, ("sky", "sea"), Noise(0.0, 0.0)) == ("sky", "sea")
    assert len(caption(rng, ("sky", "sea"), Noise(1.0, 0.0))) == 1


def test_album_round_trips(tmp_path: Path):
    root = draw_album(tmp_path / "album", 6, seed=3, size=SMALL)
    rows = [json.loads(line) for line in (root / "annotations.jsonl").read_text().splitlines()]
    names = [line.split(" ", 1) for line in (root / "labels.txt").read_text().splitlines()]
    assert names == [[str(value), tag] for value, tag in enumerate(TAGS, start=1)]
    assert [row["image"] for row in rows] == [f"images/{index:04d}.jpg" for index in range(6)]
    for index, row in enumerate(rows):
        scene = album_scene(3, index, size=SMALL)
        assert row["split"] in {"train", "test"}
        assert tuple(row["tags"]) == scene.tags
        with Image.open(root / row["mask"]) as mask:
            np.testing.assert_array_equal(np.asarray(mask), scene.mask)
        with Image.open(root / row["image"]) as image:
            assert image.size == SMALL
            error = np.abs(np.asarray(image, np.float32) - scene.image).mean()
        assert error < 6
    assert not list(root.rglob("*.part"))


def test_album_is_the_same_whatever_its_length_and_can_be_repeated(tmp_path: Path):
    short, long = (
        draw_album(tmp_path / "a", 2, seed=1, size=SMALL),
        draw_album(tmp_path / "b", 4, seed=1, size=SMALL),
    )
    for name in ("images/0000.jpg", "images/0001.jpg", "masks/0001.png"):
        assert (short / name).read_bytes() == (long / name).read_bytes()
    head = (long / "annotations.jsonl").read_text().splitlines()[:2]
    assert (short / "annotations.jsonl").read_text().splitlines() == head
    (short / "images/0001.jpg").unlink()
    draw_album(short, 2, seed=1, size=SMALL)
    assert (short / "images/0001.jpg").read_bytes() == (long / "images/0001.jpg").read_bytes()


def test_split_share_is_kept(tmp_path: Path):
    root = draw_album(tmp_path, 3, split=0.0, size=SMALL)
    assert {json.loads(line)["split"] for line in (root / "annotations.jsonl").read_text().splitlines()} == {
        "test"
    }
