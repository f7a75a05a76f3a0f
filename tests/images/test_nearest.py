"""Several words a patch: the nearest ones, nearest first, all counted in the patch's region."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagmix import ParameterError, storage
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images import quantise
from tagmix.images.describe import Describer
from tagmix.images.vocabulary import BATCH, Vocabulary, learn_vocabulary

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 2}


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 4, size=(97, 61)))


@pytest.mark.parametrize("nearest", [1, 2, 5])
def test_the_nearest_words_are_those_of_sorted_distances(nearest):
    rng = np.random.default_rng(0)
    words = Vocabulary(rng.normal(size=(30, 7)).astype(np.float32))
    points = rng.normal(size=(2 * BATCH + 3, 7)).astype(np.float32)
    found = words.words_of(points, nearest).reshape(nearest, len(points))
    ordered = np.argsort(cdist(points, words.centres), axis=1, kind="stable")
    np.testing.assert_array_equal(found.T, ordered[:, :nearest])


def test_no_word_is_counted_twice_and_there_are_no_more_than_all_of_them():
    words = Vocabulary(np.eye(3, dtype=np.float32))
    found = words.words_of(np.zeros((4, 3), np.float32), 10).reshape(-1, 4)
    np.testing.assert_array_equal(found, np.repeat([[0], [1], [2]], 4, axis=1))


def test_learning_words_moves_each_to_the_mean_of_the_points_whose_nearest_it_is():
    rng = np.random.default_rng(0)
    points = np.concatenate([centre + rng.normal(0, 0.1, (50, 2)) for centre in ([0, 0], [9, 0], [0, 9])])
    words = learn_vocabulary(points.astype(np.float32), 3)
    means = [points[first : first + 50].mean(axis=0) for first in (0, 50, 100)]
    assert cdist(means, words.centres).min(axis=1).max() < 1e-5


def test_all_words_of_a_patch_count_in_its_region_and_only_sift_has_more(album):
    three = Describer.paper(**SMALL, places=True, mirrored=True, nearest=3).fit(album)
    bags = three.transform(album).bags
    once = three.with_(nearest=1).transform(album).bags
    for view, times in {"sift": 3, "colour": 1, "place": 1}.items():
        sums = [b.views[view].sum(axis=1) for b in (bags, once)]
        np.testing.assert_array_equal(sums[0], times * sums[1])
    more = (bags.views["sift"] - once.views["sift"]).toarray()
    assert more.min() >= 0  # the nearest words are among them
    assert (more != 2 * once.views["sift"].toarray()).any()


def test_more_words_than_there_are_count_each_of_them(album, tmp_path):
    describer = Describer.paper(**{**SMALL, "n_words": 2}, nearest=3, cache=tmp_path).fit(album)
    found = describer.describe([item.image for item in album])
    assert {len(picture.arrays["sift"]) for picture in found} == {160}
    again = describer.describe([item.image for item in album])
    assert all(picture.reused for picture in again)


def test_one_word_and_three_never_take_each_other_from_the_cache(album, tmp_path):
    paths = [item.image for item in album]
    one = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    one.describe(paths)
    three = one.with_(nearest=3)
    first = three.describe(paths)
    assert not any(picture.reused for picture in first)
    assert {len(picture.arrays["sift"]) for picture in first} == {240}
    for path in tmp_path.rglob("*.tagmix"):
        arrays = storage.read(path).arrays
        if "region" in arrays:
            storage.write(path, "Cached", {}, {**arrays, "sift": arrays["sift"][:80]})
    assert not any(picture.reused for picture in three.describe(paths))  # too short for three


def test_patches_to_learn_words_from_are_the_same_however_many_count(album, tmp_path, monkeypatch):
    one = Describer.paper(**SMALL, cache=tmp_path).fit(album)
    monkeypatch.setattr(quantise, "sample_picture", None)  # all come from the cache
    three = Describer.paper(**SMALL, nearest=3, cache=tmp_path).fit(album)
    np.testing.assert_array_equal(three.vocabularies_["sift"].centres, one.vocabularies_["sift"].centres)


@pytest.mark.parametrize("wrong", [0, 11, 1.0, True, None])
def test_nearest_is_a_small_number(wrong):
    with pytest.raises(ParameterError, match="nearest must be a whole number from 1 to 10, got"):
        Describer(nearest=wrong)
