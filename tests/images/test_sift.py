"""SIFT of patches against the textbook formula, against OpenCV, and under changes of the picture."""

import cv2
import numpy as np
import pytest

from tagmix.images.views.sift import describe_patches, level_of, scale_space, sigma_of
from tagmix.kernels.reference import sift as reference


def textured(height=240, width=320, seed=0):
    """A picture with structure at several scales, as photographs have."""
    rng = np.random.default_rng(seed)
    picture = np.zeros((height, width))
    for cells in (4, 12, 40, 120):
        coarse = rng.normal(0, 1, (cells, cells)).astype(np.float32)
        picture += cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC) / np.sqrt(cells / 4)
    picture -= picture.min()
    return (picture / picture.max() * 255).astype(np.uint8)


def patches_of(grey, low, high, n=60, seed=1):
    rng = np.random.default_rng(seed)
    sides = rng.uniform(low, high, n)
    x = rng.uniform(0.7 * sides, grey.shape[1] - 1 - 0.7 * sides)
    y = rng.uniform(0.7 * sides, grey.shape[0] - 1 - 0.7 * sides)
    return np.stack([x, y, sides], axis=1)


def by_the_book(grey, x, y, side):
    """Lowe's descriptor of an upright patch in exact scale space, sampled densely, apart from the package."""
    sigma = max(side / 12, 0.8)
    smooth = cv2.GaussianBlur(grey.astype(np.float64), (0, 0), np.sqrt(sigma**2 - 0.25))
    cell = side / 4
    grid = np.linspace(-2.5, 2.5, 81)[1:-1]
    v, u = (a.ravel() for a in np.meshgrid(grid, grid, indexing="ij"))
    places = (x + u * cell).astype(np.float32), (y + v * cell).astype(np.float32)
    down, right = np.gradient(smooth)
    gx, gy = (cv2.remap(g, *(p[None] for p in places), cv2.INTER_LINEAR)[0] for g in (right, -down))
    weight = np.hypot(gx, gy) * np.exp(-(u**2 + v**2) / 8)
    turn = np.arctan2(gy, gx) / (2 * np.pi) * 8 % 8
    vector = np.zeros((4, 4, 8))
    for r, c, o in np.ndindex(4, 4, 8):
        near = np.maximum(0, 1 - abs(v + 1.5 - r)) * np.maximum(0, 1 - abs(u + 1.5 - c))
        apart = np.minimum(abs(turn - o), 8 - abs(turn - o))
        vector[r, c, o] = (weight * near * np.maximum(0, 1 - apart)).sum()
    vector = np.minimum(vector.ravel() / np.linalg.norm(vector), 0.2)
    return vector / np.linalg.norm(vector)


SIZES = [(5, 10), (10, 19), (19, 38), (38, 77), (77, 110)]


@pytest.mark.parametrize(("low", "high"), SIZES)
def test_descriptors_agree_with_the_textbook_at_every_size(low, high):
    grey = textured()
    patches = patches_of(grey, low, high, n=20)
    ours = describe_patches(grey, patches)
    cosine = [float(one @ by_the_book(grey, *patch)) for one, patch in zip(ours, patches, strict=True)]
    assert np.mean(cosine) > 0.98
    assert min(cosine) > 0.93


@pytest.mark.parametrize(("low", "high"), SIZES)
def test_descriptors_agree_with_opencv_at_the_right_scale(low, high):
    grey = textured(seed=3)
    patches = patches_of(grey, low, high)
    levels = level_of(patches[:, 2])
    points = [
        cv2.KeyPoint(
            float(x), float(y), float(side / 6), 0.0, 0.0, int(((level // 3 - 1) & 255) | (level % 3) << 8)
        )
        for (x, y, side), level in zip(patches, levels, strict=True)
    ]
    _, theirs = cv2.SIFT_create().compute(grey, points)
    theirs = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
    cosine = (describe_patches(grey, patches) * theirs).sum(axis=1)
    # Below 10 pixels OpenCV doubles the picture a quarter of a pixel aside, which such patches feel.
    assert cosine.mean() > (0.96 if high <= 10 else 0.98)


def test_compiled_equals_reference_to_single_precision():
    grey = textured(120, 160)
    patches = np.vstack([patches_of(grey, low, high, n=4) for low, high in SIZES[:4]])
    edge = [[2.0, 2.0, 30.0], [159.0, 119.0, 12.0], [0.0, 60.0, 5.0]]  # over the picture's edge
    patches = np.vstack([patches, edge])
    fast, slow = describe_patches(grey, patches), describe_patches(grey, patches, reference)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=2e-6)
    assert np.linalg.norm(slow, axis=1).min() > 0.99


def test_light_and_contrast_change_nothing():
    grey = (textured() * 0.4).astype(np.float32)
    patches = patches_of(grey, 5, 110)
    np.testing.assert_allclose(
        describe_patches(grey * 2.5 + 3, patches), describe_patches(grey, patches), rtol=0, atol=1e-3
    )


def test_turning_the_picture_turns_cells_and_orientations():
    grey = textured(240, 240)
    patches = patches_of(grey, 20, 60, n=30)
    turned = np.ascontiguousarray(grey[::-1, ::-1])
    there = np.column_stack([239 - patches[:, 0], 239 - patches[:, 1], patches[:, 2]])
    after = describe_patches(turned, there).reshape(-1, 4, 4, 8)
    expected = np.roll(describe_patches(grey, patches).reshape(-1, 4, 4, 8)[:, ::-1, ::-1], 4, axis=3)
    cosine = (after * expected).sum(axis=(1, 2, 3))
    assert cosine.min() > 0.98  # octaves start from the other corner


def test_a_ramp_has_one_orientation_and_a_flat_patch_none():
    ramp = np.tile(np.arange(100, dtype=np.float32), (100, 1))
    vector = describe_patches(ramp, np.array([[50.0, 50.0, 24.0]])).reshape(4, 4, 8)
    np.testing.assert_allclose(vector[:, :, 1:].max(), 0, atol=1e-3)  # rising to the right is orientation 0
    assert vector[:, :, 0].min() > 0.2
    assert not describe_patches(np.full((50, 50), 7.0), np.array([[25.0, 25.0, 20.0]])).any()


def test_an_upward_ramp_is_a_quarter_turn_on():
    ramp = np.tile(np.arange(100, 0, -1, dtype=np.float32)[:, None], (1, 100))
    vector = describe_patches(ramp, np.array([[50.0, 50.0, 24.0]])).reshape(4, 4, 8)
    assert vector[:, :, 2].sum() > 0.99 * vector.sum()


def test_levels_are_a_third_of_an_octave_apart():
    assert [round(sigma_of(level), 3) for level in (0, 3, 6)] == [0.8, 1.6, 3.2]
    space = scale_space(textured(), 10)
    assert space.shapes[[0, 4, 5, 8]].tolist() == [[240, 320], [240, 320], [120, 160], [60, 80]]
    # σ of level l spreads a point to a Gaussian of variance σ² − ½²
    point = np.zeros((129, 129), dtype=np.float32)
    point[64, 64] = 1.0
    space = scale_space(point, 9)
    for level in range(9):
        height, width = space.shapes[level]
        image = space.pixels[space.starts[level] : space.starts[level] + height * width].reshape(
            height, width
        )
        along = image.sum(axis=0) / image.sum()
        place = np.arange(width) * space.shrink[level]
        variance = (along * place**2).sum() - (along * place).sum() ** 2
        np.testing.assert_allclose(variance, sigma_of(level) ** 2 - 0.25, rtol=0.03)


def test_tiny_pictures_and_no_patches_are_legal():
    assert describe_patches(np.zeros((1, 1)), np.array([[0.0, 0.0, 1.0]])).shape == (1, 128)
    assert describe_patches(textured(), np.zeros((0, 3))).shape == (0, 128)
