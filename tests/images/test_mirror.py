"""Words of mirror images: the same as in the mirrored picture, counted with their patches, kept apart."""

import io

import numpy as np
import pytest
from PIL import Image
from tests.images.test_sift import SIZES, patches_of, textured

from tagmix import ParameterError, storage
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images import describe
from tagmix.images import picture as sampling
from tagmix.images.describe import Describer
from tagmix.images.picture import QuantisedPicture, Sampling, sample_picture
from tagmix.images.views.base import count_words
from tagmix.images.views.sift import Sift, describe_patches, mirror
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


def words_of_both(monkeypatch, mirrored):
    """Return the words of a picture and of its mirror image, with patches at the same things."""
    grey = textured(120, 161)
    patches = patches_of(grey, 5, 40, n=400)
    found = []
    for picture, those in ((grey, patches), in_a_mirror(grey, patches)):
        stream = io.BytesIO()
        Image.fromarray(picture).save(stream, "PNG")
        monkeypatch.setattr(sampling, "random_patches", lambda *_, those=those: those)
        found.append(sample_picture(stream.getvalue(), Sampling(400, segmenter="grid", n_regions=1)))
    view = Sift(mirrored=mirrored, nearest=1)
    words = {"sift": Vocabulary(describe_patches(found[0].grey, patches[:40]))}  # they lean to one side
    return [view.describe(picture, words)["sift"] for picture in found]


@pytest.mark.parametrize("mirrored", [True, False])
def test_a_picture_and_its_mirror_image_have_the_same_counts_if_words_are_mirrored(monkeypatch, mirrored):
    one, two = (np.bincount(words, minlength=40) for words in words_of_both(monkeypatch, mirrored))
    moved = np.abs(one - two).sum() / one.sum()
    assert one.sum() == two.sum() == (800 if mirrored else 400)
    assert moved <= 0.01 if mirrored else moved > 0.2


def test_words_of_mirror_images_follow_those_of_the_patches_in_the_same_order(monkeypatch):
    one, two = (words.reshape(2, 400) for words in words_of_both(monkeypatch, mirrored=True))
    assert (one[::-1] == two).mean() > 0.99


def test_each_word_of_a_mirror_image_counts_in_the_region_of_its_patch():
    boxes = np.zeros((2, 5), np.float32)
    both = [
        QuantisedPicture(
            np.array(region, np.uint8),
            boxes,
            {"sift": np.array(sift, np.uint8), "colour": np.array(colour, np.uint8)},
        )
        for sift, colour, region in (
            ([0, 1, 2, 3, 3, 0], [0, 1, 1], [0, 1, 1]),
            ([1, 1, 2, 2], [0, 0], [1, 0]),
        )
    ]
    counts = count_words(both, "sift", 4).toarray().tolist()
    assert counts == [[1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 0]]
    assert count_words(both, "colour", 2).toarray().tolist() == [[1, 0], [0, 2], [1, 0], [1, 0]]


def test_mirrored_words_double_the_counts_of_sift_in_every_region_and_no_other(album):
    settings = {**SMALL, "places": True, "mirrored": True}
    mirrored = Describer.paper(**settings).fit(album)
    bags = mirrored.transform(album).bags
    plain = Describer.of(mirrored.config.changed({"mirrored": False}), mirrored.vocabularies_)
    once = plain.transform(album).bags
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
        Describer.paper(**{**SMALL, "n_colours": 0}, mirrored=mirrored).fit(album)
    plain, both = seen
    np.testing.assert_array_equal(both[::2], plain[::2])
    np.testing.assert_array_equal(both[1::2], mirror(plain[1::2]))


@pytest.mark.parametrize("first", [True, False])
def test_mirrored_and_plain_words_never_take_each_other_from_the_cache(album, tmp_path, first):
    kept = Describer.paper(**SMALL, mirrored=first, cache=tmp_path).fit(album)
    paths = [item.image for item in album]
    kept.describe(paths)
    other = Describer.paper(**SMALL, mirrored=not first, cache=tmp_path).fit(album)
    other.vocabularies_ = kept.vocabularies_  # even with the same words
    found = other.describe(paths)
    assert not any(picture.reused for picture in found)
    assert {len(picture.arrays["sift"]) for picture in found} == {80 if first else 160}


def test_mirrored_words_come_back_from_the_cache_and_half_of_them_are_made_again(album, tmp_path):
    describer = Describer.paper(**SMALL, mirrored=True, cache=tmp_path).fit(album)
    paths = [item.image for item in album]
    first = describer.describe(paths)
    again = describer.describe(paths)
    assert all(picture.reused for picture in again)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.arrays["sift"], two.arrays["sift"])
    for path in tmp_path.rglob("*.tagmix"):
        arrays = storage.read(path).arrays
        if "region" in arrays:
            storage.write(path, "Cached", {}, {**arrays, "sift": arrays["sift"][:80]})
    assert not any(picture.reused for picture in describer.describe(paths))


@pytest.mark.parametrize("wrong", [1, None, "yes", np.True_])
def test_mirrored_is_yes_or_no(wrong):
    with pytest.raises(ParameterError, match="mirrored must be True or False, got"):
        Describer(mirrored=wrong)
