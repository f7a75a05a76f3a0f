"""From an album on disk to bags: the same bits twice, from the cache, and past broken files."""

import shutil

import numpy as np
import pytest

from tagmix import BagsError, ParameterError
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images import describe
from tagmix.images.describe import Describer
from tagmix.images.patches import content_key, patch_generator, random_patches

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("album")
    draw_album(place, 5, size=(97, 61))
    return place


def views_of(bags):
    return [view.toarray() for view in bags.views.values()]


def test_an_album_becomes_bags_with_every_patch_counted_once(folder):
    album = open_album(str(folder / "annotations.jsonl"))
    bags = Describer(**SMALL).fit(album).transform(album)
    assert len(bags) == 5
    assert list(bags.views) == ["sift", "colour"]
    for counts in views_of(bags):
        per_picture = np.add.reduceat(counts.sum(axis=1), bags.offsets[:-1])
        np.testing.assert_array_equal(per_picture, 80)
    for n, item in enumerate(album):
        own = {bags.tag_names[c] for c in np.flatnonzero(bags.captions.toarray()[n])}
        assert own == set(item.tags)


def test_a_copy_under_another_name_is_described_by_the_same_words(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "b")
    here, there = (open_album(str(place / "annotations.jsonl")) for place in (folder, tmp_path / "b"))
    describer = Describer(**SMALL).fit(here)
    for a, b in zip(views_of(describer.transform(here)), views_of(describer.transform(there)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_finished_pictures_come_from_the_cache(folder, tmp_path, monkeypatch):
    album = open_album(str(folder / "annotations.jsonl"))
    describer = Describer(**SMALL, cache=tmp_path).fit(album)
    first = views_of(describer.transform(album[:3]))
    asked = []
    sketch = describe.sketch
    monkeypatch.setattr(describe, "sketch", lambda *a, **k: asked.append(1) or sketch(*a, **k))
    whole = views_of(describer.transform(album))
    assert len(asked) == 2
    for a, b in zip(first, whole, strict=True):
        np.testing.assert_array_equal(a, b[: len(a)])


def test_a_broken_file_is_set_aside_and_named(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "b")
    album = open_album(str(tmp_path / "b" / "annotations.jsonl"))
    album[1].image.write_bytes(b"no picture")
    album[3].image.unlink()
    describer = Describer(**SMALL).fit(album)
    assert len(describer.transform(album)) == 3
    assert [line.split(":")[0] for line in describer.problems_] == [album[1].image.name, album[3].image.name]


def test_an_album_of_broken_files_and_a_describer_without_words_say_so(folder, tmp_path):
    album = open_album(str(folder / "annotations.jsonl"))
    with pytest.raises(ParameterError, match="fit it on an album first"):
        Describer(**SMALL).transform(album)
    shutil.copytree(folder, tmp_path / "b")
    broken = open_album(str(tmp_path / "b" / "annotations.jsonl"))
    for item in broken:
        item.image.write_bytes(b"")
    with pytest.raises(BagsError, match="no picture could be read"):
        Describer(**SMALL).fit(broken)


def test_patches_lie_inside_and_depend_on_the_content_alone():
    one, two = (random_patches(90, 60, 500, patch_generator(content_key(b"x"), 0)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.any(one != random_patches(90, 60, 500, patch_generator(content_key(b"y"), 0)))
    x, y, half = one[:, 0] + 0.5, one[:, 1] + 0.5, one[:, 2] / 2
    assert (x - half).min() >= 0
    assert (x + half).max() <= 60
    assert (y - half).min() >= 0
    assert (y + half).max() <= 90
