"""Regions of pictures: the promises of ``segment``, where it must cut, and how it does on real pictures."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from tagmix.errors import ImageError, ParameterError
from tagmix.images.decode import decode, decode_labels
from tagmix.images.ncuts import cut_graph
from tagmix.images.segment import OUTLINE, SEGMENTERS, draw_regions, segment
from tagmix.images.superpixels import cut_superpixels, prepare

METHODS = sorted(SEGMENTERS)
DATA = Path(os.environ.get("TAGMIX_DATA", "data"))
MSRC = DATA / "msrc_v2"
SHAPES = [(1, 1), (1, 7), (7, 1), (2, 2), (3, 5), (1, 5000), (9, 900), (700, 11), (61, 47), (480, 640)]


def scene(height=240, width=320, seed=0):
    """Soft blobs of colour with noise: some structure everywhere, no edge that is exactly straight."""
    rng = np.random.default_rng(seed)
    blobs = np.stack([ndimage.gaussian_filter(rng.normal(size=(height, width)), 12) for _ in range(3)], 2)
    levels = np.floor(2.5 * blobs / blobs.std()) * 25 + 128
    return np.clip(levels + rng.normal(0, 6, blobs.shape), 0, 255).astype(np.uint8)


def quarters(height=120, width=160):
    picture = np.empty((height, width, 3), np.uint8)
    half = height // 2, width // 2
    picture[: half[0], : half[1]] = (200, 40, 40)
    picture[: half[0], half[1] :] = (40, 160, 60)
    picture[half[0] :, : half[1]] = (50, 60, 190)
    picture[half[0] :, half[1] :] = (220, 210, 90)
    return picture


def truth_of_quarters(height=120, width=160):
    return np.kron(np.array([[0, 1], [2, 3]]), np.ones((height // 2, width // 2), int))


def agreement(labels, truth):
    """The share of pixels in the majority of their region."""
    table = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(table, (labels.ravel(), truth.ravel()), 1)
    return table.max(axis=1).sum() / truth.size


def assert_promises(labels, shape, n_regions, min_share):
    assert labels.shape == shape
    assert labels.dtype == np.int32
    found, first, area = np.unique(labels, return_index=True, return_counts=True)
    assert found.tolist() == list(range(len(found)))
    assert (np.diff(first) > 0).all()
    assert len(found) <= n_regions
    assert area.min() >= min_share * labels.size
    assert all(ndimage.label(labels == label)[1] == 1 for label in found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_regions_are_connected_large_enough_and_numbered_at_every_size(method, shape):
    assert_promises(segment(scene(*shape), method), shape, 10, 0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("n_regions", "min_share"), [(1, 0.01), (2, 0.3), (5, 0.0), (25, 0.02), (10, 0.4), (3, 1.0)]
)
def test_regions_keep_the_given_number_and_share(method, n_regions, min_share):
    assert_promises(segment(scene(), method, n_regions, min_share), (240, 320), n_regions, min_share)


@pytest.mark.parametrize("method", METHODS)
def test_there_are_about_as_many_regions_as_asked_for(method):
    for n_regions in (4, 10, 20):
        assert 0.75 * n_regions <= segment(scene(), method, n_regions).max() + 1 <= n_regions


@pytest.mark.parametrize("method", METHODS)
def test_a_huge_picture_is_cut_like_its_small_copy(method):
    small = scene(120, 160)
    huge = small.repeat(18, axis=0).repeat(18, axis=1)
    labels = segment(huge, method)
    assert_promises(labels, (2160, 2880), 10, 0.01)
    assert agreement(segment(small, method), labels[9::18, 9::18]) > 0.98


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0, 127, 255])
def test_a_flat_picture_is_cut_somehow(method, value):
    assert_promises(segment(np.full((90, 130, 3), value, np.uint8), method), (90, 130), 10, 0.01)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_picture_gives_the_same_regions(method):
    picture = scene(seed=3)
    before = picture.copy()
    np.testing.assert_array_equal(segment(picture, method), segment(picture.copy(), method))
    np.testing.assert_array_equal(picture, before)


def test_a_view_into_a_larger_array_gives_the_regions_of_its_copy():
    view = scene(seed=4)[10:200:2, ::-1]
    np.testing.assert_array_equal(segment(view), segment(view.copy()))


@pytest.mark.parametrize("method", ["ncuts", "graph"])
@pytest.mark.parametrize(("size", "off_by"), [((120, 160), 0), ((480, 640), 0), ((360, 240), 1)])
def test_two_halves_are_cut_between_them(method, size, off_by):
    picture = np.full((*size, 3), (30, 60, 160), np.uint8)
    picture[:, size[1] // 2 :] = (200, 180, 60)
    truth = np.zeros(size, int)
    truth[:, size[1] // 2 :] = 1
    # Where the small copy has an odd width, one of its columns is half of each
    off = (segment(picture, method, n_regions=2) != truth).sum(axis=1)
    assert (off <= off_by).all()


@pytest.mark.parametrize("method", ["ncuts", "graph"])
@pytest.mark.parametrize("side", [2, 4, 6, 10, 30])
def test_halves_of_a_tiny_picture_are_cut_between_them(method, side):
    picture = np.zeros((side, side, 3), np.uint8)
    picture[:, side // 2 :] = 255
    np.testing.assert_array_equal(segment(picture, method, n_regions=2), picture[..., 0] // 255)


@pytest.mark.parametrize("method", ["ncuts", "graph"])
def test_four_quarters_are_four_regions(method):
    np.testing.assert_array_equal(segment(quarters(), method, n_regions=4), truth_of_quarters())


@pytest.mark.parametrize("method", ["ncuts", "graph"])
@pytest.mark.parametrize("n_regions", [4, 10])
def test_noise_does_not_move_the_borders_of_quarters(method, n_regions):
    noise = np.random.default_rng(0).normal(0, 20, (480, 640, 3))
    noisy = np.clip(quarters(480, 640) + noise, 0, 255).astype(np.uint8)
    assert agreement(segment(noisy, method, n_regions), truth_of_quarters(480, 640)) > 0.98


@pytest.mark.parametrize("method", ["ncuts", "graph"])
def test_grey_halves_are_cut_between_them(method):
    grey = np.full((120, 160, 3), 90, np.uint8)
    grey[:70] = 150
    assert agreement(segment(grey, method, n_regions=2), (np.indices((120, 160))[0] < 70).astype(int)) == 1


def test_ncuts_tells_textures_of_the_same_grey_apart():
    picture = np.full((120, 160, 3), 128, np.uint8)
    picture[:, 80:] += np.where(np.indices((120, 80)).sum(axis=0) // 3 % 2, 40, -40).astype(np.uint8)[
        ..., None
    ]
    truth = (np.indices((120, 160))[1] >= 80).astype(int)
    assert agreement(segment(picture, "ncuts", n_regions=2), truth) > 0.93


@pytest.mark.parametrize(
    "picture", [scene(), np.random.default_rng(0).integers(256, size=(120, 160, 3), dtype=np.uint8)]
)
def test_superpixels_are_each_in_one_piece_even_in_noise(picture):
    labels = cut_superpixels(prepare(picture)).labels
    assert 60 <= labels.max() + 1 <= 400
    assert all(ndimage.label(labels == label)[1] == 1 for label in range(labels.max() + 1))


def test_a_graph_of_three_groups_is_cut_into_them():
    group = np.repeat([0, 1, 2], [5, 3, 7])
    weights = np.where(group[:, None] == group, 1.0, 0.01) * (1 - np.eye(15))
    assert cut_graph(weights, 3).tolist() == group.tolist()


def test_a_graph_is_never_cut_into_more_parts_than_nodes():
    assert cut_graph(np.ones((3, 3)) - np.eye(3), 9).tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", METHODS)
def test_exactly_the_pixels_at_a_border_are_outlined(method):
    picture = scene(60, 80, seed=1) // 2
    labels = segment(picture, method)
    drawn = draw_regions(picture, labels)
    padded = np.pad(labels, 1, mode="edge")
    shifted = (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:])
    border = np.any([other != labels for other in shifted], axis=0)
    assert 0 < border.sum() < border.size
    assert (drawn[border] == OUTLINE).all()
    np.testing.assert_array_equal(drawn[~border], picture[~border])


def test_labels_of_another_picture_cannot_be_drawn():
    with pytest.raises(ImageError, match="size of the picture"):
        draw_regions(scene(20, 30), np.zeros((30, 20), np.int32))


@pytest.mark.parametrize(
    ("picture", "arguments", "error", "message"),
    [
        (np.zeros((4, 4), np.uint8), {}, ImageError, "height × width × 3"),
        (np.zeros((4, 4, 3)), {}, ImageError, "float64"),
        (np.zeros((0, 4, 3), np.uint8), {}, ImageError, "shape"),
        (np.zeros((4, 4, 3), np.uint8), {"method": "magic"}, ParameterError, "ncuts, grid, graph"),
        (np.zeros((4, 4, 3), np.uint8), {"n_regions": 0}, ParameterError, "n_regions"),
        (np.zeros((4, 4, 3), np.uint8), {"min_share": 1.5}, ParameterError, "min_share"),
    ],
)
def test_what_is_no_picture_or_no_setting_is_refused(picture, arguments, error, message):
    with pytest.raises(error, match=message):
        segment(picture, **arguments)


@pytest.mark.skipif(
    not MSRC.is_dir(), reason=f"MSRC v2 is not under {DATA.name}: set TAGMIX_DATA to its folder"
)
def test_ncuts_follows_objects_of_real_pictures_far_better_than_a_grid():
    masks = sorted((MSRC / "masks").glob("*.png"))[1::40]
    purity = {"ncuts": [], "grid": []}
    for mask in masks:
        truth = decode_labels(mask).astype(int)
        picture = decode(MSRC / "images" / f"{mask.stem}.jpg")
        known = truth > 0
        for method, values in purity.items():
            values.append(agreement(segment(picture, method)[known], truth[known]))
    assert np.mean(purity["ncuts"]) > 0.9
    assert np.mean(purity["ncuts"]) > np.mean(purity["grid"]) + 0.06
