"""Where colours lie: a view of the whole picture, by hand, through a describer and through a file."""

import numpy as np
import pytest

from tagmix import Annotator, ContextEMM, load
from tagmix.datasets import open_album
from tagmix.datasets.scenes import draw_album
from tagmix.images.describe import Describer
from tagmix.images.picture import QuantisedPicture
from tagmix.images.views.layout import layout_of

SMALL = {"n_words": 20, "n_colours": 8, "n_patches": 80, "vocabulary_patches": 40, "restarts": 1}


def words(colour, place):
    region, boxes = np.zeros(len(colour), dtype=np.int64), np.array([[0, 0, 1, 1, 1]], dtype=np.float32)
    return QuantisedPicture(region, boxes, {"colour": np.array(colour), "place": np.array(place)})


def test_shares_are_of_the_patches_in_a_band_and_a_band_without_patches_is_empty():
    # Rows of places have four columns: rows 0 to 2 are high, 3 and 4 in the middle, 5 to 7 low.
    one = words([0, 1, 1, 1, 2, 0], [0, 11, 12, 19, 20, 31])
    found = layout_of([one, words([2], [16])], 3).reshape(2, 3, 3) ** 2
    np.testing.assert_allclose(found[0], [[0.5, 0.5, 0], [0, 1, 0], [0.5, 0, 0.5]])
    np.testing.assert_allclose(found[1], [[0, 0, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("how", "there"), [({}, True), ({"layout": False}, False), ({"n_colours": 0}, False)]
)
def test_the_view_is_active_if_asked_for_and_if_there_are_colours(how, there):
    assert ("layout" in [view.name for view in Describer(**how).config.active]) == there


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    return open_album(draw_album(tmp_path_factory.mktemp("drawn"), 14, size=(80, 60)))


def test_every_band_of_a_described_picture_sums_to_one_and_words_stay_as_they_are(album):
    describer = Describer.paper(**SMALL, layout=True).fit(album)
    bags = describer.transform(album).bags
    assert bags.pictures["layout"].shape == (14, 24)
    np.testing.assert_allclose((bags.pictures["layout"] ** 2).reshape(14, 3, 8).sum(axis=2), 1.0)
    plain = Describer.paper(**SMALL).fit(album).transform(album).bags
    assert plain.pictures == {}
    np.testing.assert_array_equal(plain.views["sift"].toarray(), bags.views["sift"].toarray())


def test_an_annotator_from_a_file_looks_at_the_layout_too(album, tmp_path):
    describer = Describer.paper(**SMALL, layout=True).fit(album)
    bags = describer.transform(album).bags
    model = ContextEMM(evidence=0.1).fit(bags)
    assert list(model.prior_.experts[0].scales_) == ["sift", "colour", "pictures/layout"]
    annotator = Annotator(describer, model)
    annotator.save(tmp_path / "m.tagmix")
    photos = [item.image for item in album][:3]
    assert list(load(tmp_path / "m.tagmix").annotate(photos)) == list(annotator.annotate(photos))
