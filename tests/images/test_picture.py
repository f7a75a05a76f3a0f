"""The numbers of a patch, by hand: colour, place, region, words."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image
from tests.images.test_sift import SIZES, by_the_book, patches_of, textured

from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images import describe, vocabulary
from tagmix.images.describe import Describer
from tagmix.images.patches import random_patches
from tagmix.images.picture import Sampling, sample_picture
from tagmix.images.views.colour import Colour, patch_colours
from tagmix.images.views.place import cells_of
from tagmix.images.views.sift import Sift, describe_patches
from tagmix.images.vocabulary import Vocabulary, learn_vocabulary

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 2}


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 4, size=(97, 61)))


def noise(height, width):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return pixels, stream.getvalue()


def test_the_colour_of_a_patch_is_the_mean_and_half_the_spread_of_the_pixels_in_it():
    pixels, _ = noise(61, 97)
    patches = random_patches(61, 97, 50, np.random.default_rng(1))
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB) / 255
    for (x, y, side), found in zip(patches, patch_colours(pixels, patches), strict=True):
        rows, columns = (
            np.flatnonzero((np.arange(n) >= at - side / 2) & (np.arange(n) < at + side / 2))
            for n, at in ((61, y), (97, x))
        )
        inside = lab[np.ix_(rows, columns)].reshape(-1, 3)
        np.testing.assert_allclose(found, np.r_[inside.mean(axis=0), inside.std(axis=0) / 2], atol=1e-6)


def test_a_patch_has_the_place_and_the_region_of_the_pixel_in_its_middle():
    _, content = noise(60, 120)
    found = sample_picture(content, Sampling(n_patches=300, segmenter="grid", n_regions=2))
    column, row = (np.rint(found.patches[:, i]).astype(int) for i in (0, 1))
    np.testing.assert_array_equal(cells_of(found), row * 8 // 60 * 4 + column * 4 // 120)
    np.testing.assert_array_equal(found.region, column >= 60)
    np.testing.assert_allclose(found.boxes, [[0, 0, 0.5, 1, 0.5], [0.5, 0, 0.5, 1, 0.5]])


def test_patches_are_drawn_on_the_picture_at_its_working_size():
    _, content = noise(60, 120)
    assert sample_picture(content, Sampling(max_side=40)).patches[:, 0].max() < 40


@pytest.mark.parametrize("value", [3, 7, 100, 255])
def test_no_patch_of_a_flat_picture_has_a_direction(value):
    patches = random_patches(61, 97, 300, np.random.default_rng(0))
    assert not describe_patches(np.full((61, 97), value, np.uint8), patches).any()


def test_words_of_other_colours_never_come_from_the_cache(album, tmp_path):
    describer = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    paths = [item.image for item in album]
    before = describer.describe(paths)
    turned = Vocabulary(describer.vocabularies_["colour"].centres[::-1].copy())
    describer.vocabularies_ = {**describer.vocabularies_, "colour": turned}
    after = describer.describe(paths)
    assert not any(picture.reused for picture in after)
    np.testing.assert_array_equal(after[0].arrays["colour"], 7 - before[0].arrays["colour"])


def test_words_are_learnt_from_as_many_pictures_and_starts_as_asked_for(album, monkeypatch):
    told, asked = [], []
    keep = describe.keep_vocabulary
    monkeypatch.setattr(
        describe, "keep_vocabulary", lambda *a, **how: asked.append(how["restarts"]) or keep(*a, **how)
    )
    describer = Describer.paper(**SMALL, vocabulary_pictures=3)
    describer.fit(album, progress=lambda *step: told.append(step))
    assert [step for step in told if step[0] == "vocabulary"] == [("vocabulary", n, 3) for n in range(4)]
    assert asked == [2, 2]


def test_other_restarts_learn_again(tmp_path, monkeypatch):
    points = np.random.default_rng(0).random((100, 6), dtype=np.float32)
    cache = describe.Cache(tmp_path)
    learnt = []
    learn = vocabulary.learn_vocabulary
    monkeypatch.setattr(vocabulary, "learn_vocabulary", lambda *a, **k: learnt.append(1) or learn(*a, **k))
    for restarts, seed in ((1, 0), (2, 0), (2, 1), (2, 1)):
        vocabulary.keep_vocabulary(cache, points, 5, restarts=restarts, seed=seed)
    assert len(learnt) == 3


def test_more_starts_and_more_sweeps_leave_descriptors_nearer_to_their_words():
    points = np.random.default_rng(0).random((2000, 8), dtype=np.float32)

    def off(**how):
        words = learn_vocabulary(points, 30, **how)
        return float(((points - words.centres[words.words_of(points)]) ** 2).sum())

    sweeps = vocabulary.TRIAL  # so few that the best start is the best end
    assert all(
        off(restarts=8, max_iter=sweeps, seed=s) <= off(restarts=1, max_iter=sweeps, seed=s) for s in range(4)
    )
    assert off(restarts=1, max_iter=40) < 0.995 * off(restarts=1, max_iter=sweeps)


def test_examples_are_those_of_the_first_patches():
    pixels, content = noise(60, 120)
    found = sample_picture(content, Sampling(n_patches=50))
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    for view, every in ((Colour(), patch_colours(pixels, found.patches)),
                        (Sift(mirrored=False), describe_patches(grey, found.patches))):  # fmt: skip
        np.testing.assert_array_equal(view.examples(found.first(20)), every[:20])


@pytest.mark.parametrize(("low", "high"), SIZES)
def test_descriptors_agree_with_the_textbook_closely_inside_and_at_the_right_and_lower_edge(low, high):
    grey = textured()
    patches = patches_of(grey, low, high, n=20)
    edge = patches.copy()
    edge[:, 0] = grey.shape[1] - 0.5 - patches[:, 2] / 2
    edge[:10, 1] = grey.shape[0] - 0.5 - patches[:10, 2] / 2
    for those, least in ((patches, 0.993), (edge, 0.97)):
        ours = describe_patches(grey, those)
        assert np.mean([one @ by_the_book(grey, *p) for one, p in zip(ours, those, strict=True)]) > least
