"""Words of mirror images: the same as in the mirrored picture, counted with their patches, kept apart."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from tests.images.test_sift import SIZES, patches_of, textured

from tagmix import ParameterError, storage
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images import describe
from tagmix.images import sketch as sketching
from tagmix.images.describe import Describer, bags_of
from tagmix.images.sift import describe_patches, mirror
from tagmix.images.sketch import Recipe, Vocabularies, Words, sketch, words_of
from tagmix.images.vocabulary import Vocabulary

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 2}


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 4, size=(97, 61)))


def in_a_mirror(grey, patches):
    flipped = patches.copy()
    flipped[:, 0] = grey.shape[1] - 1 - patches[:, 0]
    return np.ascontiguousarray(grey[:, ::-1]), flipped


@pytest.mark.parametrize(("low", "high"), SIZES)
def test_a_mirrored_patch_has_the_vector_of_the_mirrored_picture(low, high):
    grey = textured(240, 321)  # 320 pixels halve evenly, so that coarse levels keep the same columns
    patches = patches_of(grey, low, high)
    here, there = describe_patches(grey, patches), describe_patches(*in_a_mirror(grey, patches))
    np.testing.assert_allclose(mirror(here), there, rtol=0, atol=1e-5)
    assert np.abs(here - there).max() > 0.1
    np.testing.assert_array_equal(mirror(mirror(here)), here)


def test_a_mirrored_patch_is_nearly_that_of_the_mirrored_picture_at_any_width():
    grey = textured(240, 318)
    patches = patches_of(grey, 5, 110)
    there = describe_patches(*in_a_mirror(grey, patches))
    assert (mirror(describe_patches(grey, patches)) * there).sum(axis=1).min() > 0.98


def sketches_of_both(monkeypatch, mirrored):
    """Return the sketches of a picture and of its mirror image, with patches at the same things."""
    grey = textured(120, 161)
    patches = patches_of(grey, 5, 40, n=400)
    found = []
    for picture, those in ((grey, patches), in_a_mirror(grey, patches)):
        stream = io.BytesIO()
        Image.fromarray(picture).save(stream, "PNG")
        monkeypatch.setattr(sketching, "random_patches", lambda *_, those=those: those)
        recipe = Recipe(400, segmenter="grid", n_regions=1, mirrored=mirrored)
        found.append(sketch(stream.getvalue(), recipe))
    return found


@pytest.mark.parametrize("mirrored", [True, False])
def test_a_picture_and_its_mirror_image_have_the_same_counts_if_words_are_mirrored(monkeypatch, mirrored):
    here, there = sketches_of_both(monkeypatch, mirrored)
    words = Vocabularies(Vocabulary(here.sift[:40].copy()), None)  # words that lean to one side
    one, two = (np.bincount(words_of(s, words).sift, minlength=40) for s in (here, there))
    moved = np.abs(one - two).sum() / one.sum()
    assert one.sum() == two.sum() == (800 if mirrored else 400)
    assert moved <= 0.01 if mirrored else moved > 0.2


def test_words_of_mirror_images_follow_those_of_the_patches_in_the_same_order(monkeypatch):
    here, there = sketches_of_both(monkeypatch, mirrored=True)
    words = Vocabularies(Vocabulary(here.sift[:40].copy()), None)
    one, two = (words_of(s, words).sift.reshape(2, 400) for s in (here, there))
    assert (one[::-1] == two).mean() > 0.99
    assert len(here.region) == len(here.place) == len(here.colour) == 400


def test_each_word_of_a_mirror_image_counts_in_the_region_of_its_patch():
    boxes = np.zeros((2, 5), np.float32)
    uint8 = {"dtype": np.uint8}
    one = Words(*(np.array(a, **uint8) for a in ([0, 1, 2, 3, 3, 0], [0, 1, 1], [5, 5, 6], [0, 1, 1])), boxes)
    two = Words(*(np.array(a, **uint8) for a in ([1, 1, 2, 2], [0, 0], [9, 9], [1, 0])), boxes)
    items = [SimpleNamespace(image=name, tags=()) for name in "ab"]
    bags = bags_of(items, [one, two], {"sift": 4, "colour": 2, "place": 32})
    assert bags.views["sift"].toarray().tolist() == [[1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 0]]
    assert bags.views["colour"].toarray().tolist() == [[1, 0], [0, 2], [1, 0], [1, 0]]
    assert bags.views["place"].sum(axis=1).tolist() == [1, 2, 1, 1]


def test_mirrored_words_double_the_counts_of_sift_in_every_region_and_no_other(album):
    settings = {**SMALL, "places": True, "mirrored": True}
    mirrored = Describer(**settings).fit(album)
    bags = mirrored.transform(album)
    plain = Describer(**{**settings, "mirrored": False})
    plain.vocabularies_ = mirrored.vocabularies_
    once = plain.transform(album)
    for view, times in {"sift": 2, "colour": 1, "place": 1}.items():
        sums = [b.views[view].sum(axis=1) for b in (bags, once)]
        np.testing.assert_array_equal(sums[0], times * sums[1])
    more = (bags.views["sift"] - once.views["sift"]).toarray()
    assert more.min() >= 0  # the patches' own words are among them
    assert (more != once.views["sift"].toarray()).any()
    np.testing.assert_array_equal(bags.views["colour"].toarray(), once.views["colour"].toarray())


def test_words_are_learnt_from_patches_of_which_every_second_is_mirrored(album, monkeypatch):
    seen = []
    keep = describe.keep_vocabulary
    monkeypatch.setattr(
        describe, "keep_vocabulary", lambda c, x, *a, **k: seen.append(x) or keep(c, x, *a, **k)
    )
    for mirrored in (False, True):
        Describer(**{**SMALL, "n_colours": 0}, mirrored=mirrored).fit(album)
    plain, both = seen
    np.testing.assert_array_equal(both[::2], plain[::2])
    np.testing.assert_array_equal(both[1::2], mirror(plain[1::2]))


@pytest.mark.parametrize("first", [True, False])
def test_mirrored_and_plain_words_never_take_each_other_from_the_cache(album, tmp_path, first):
    kept = Describer(**SMALL, mirrored=first, cache=tmp_path).fit(album)
    paths = [item.image for item in album]
    kept.describe(paths)
    other = Describer(**SMALL, mirrored=not first, cache=tmp_path).fit(album)
    assert other.reused_ == 0
    other.vocabularies_ = kept.vocabularies_  # even with the same words
    found = other.describe(paths)
    assert other.reused_ == 0
    assert {len(words.sift) for words in found} == {80 if first else 160}


def test_mirrored_words_come_back_from_the_cache_and_half_of_them_are_made_again(album, tmp_path):
    describer = Describer(**SMALL, mirrored=True, cache=tmp_path).fit(album)
    paths = [item.image for item in album]
    first = describer.describe(paths)
    again = describer.describe(paths)
    assert describer.reused_ == len(album)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.sift, two.sift)
    for path in tmp_path.rglob("*.tagmix"):
        arrays = storage.read(path).arrays
        if "region" in arrays:
            storage.write(path, "Cached", {}, {**arrays, "sift": arrays["sift"][:80]})
    describer.describe(paths)
    assert describer.reused_ == 0


def test_what_was_kept_before_there_were_mirrors_still_fits():
    assert repr(Recipe(70, "grid", 4, 320, 5, 0.3, True)) == (
        "Recipe(n_patches=70, segmenter='grid', n_regions=4, max_side=320, seed=5, "
        "largest_patch=0.3, places=True)"
    )
    assert repr(Recipe(mirrored=True)) == f"{repr(Recipe())[:-1]}, mirrored=True)"


@pytest.mark.parametrize("wrong", [1, None, "yes", np.True_])
def test_mirrored_is_yes_or_no(wrong):
    with pytest.raises(ParameterError, match="mirrored must be True or False, got"):
        Describer(mirrored=wrong)
