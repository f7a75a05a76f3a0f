"""Joined outlines against the label maps they came from: drawn again, they cover the same pixels."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from tagmix.images.joined import joined, simplified
from tagmix.images.polygons import Polygon, rings_of

SIZE = 48


def random_labels(seed: int, n: int = 14) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, SIZE, (n, 2))
    y, x = np.mgrid[:SIZE, :SIZE]
    return ((y[..., None] - places[:, 0]) ** 2 + (x[..., None] - places[:, 1]) ** 2).argmin(axis=2)


def outlines(labels: NDArray[np.int64], chosen: list[int]) -> list[Polygon]:
    rings = rings_of(labels)
    return [polygon for label in chosen for polygon in rings.polygons(label)]


def filled(polygons: tuple[Polygon, ...], side: int = 12 * SIZE) -> NDArray[np.bool_]:
    """Fill each polygon by itself, its holes by the even-odd rule, and return their union."""
    out = np.zeros((side, side), bool)
    for polygon in polygons:
        canvas = np.zeros((side, side), np.uint8)
        rings = [np.rint(np.array(ring) * side * 16).astype(np.int32) for ring in polygon]
        cv2.fillPoly(canvas, rings, 1, shift=4)
        out |= canvas > 0
    return out


@pytest.mark.parametrize("seed", range(12))
def test_a_union_covers_what_its_polygons_cover_and_counts_connected_parts(seed):
    labels = random_labels(seed)
    chosen = np.random.default_rng(seed).permutation(14)[:6].tolist()
    parts = outlines(labels, chosen)
    union = joined(parts)
    assert (filled(union) != filled(tuple(parts))).mean() < 0.004  # but the pixels of shared borders
    mask = np.isin(labels, chosen).astype(np.uint8)
    assert len(union) == cv2.connectedComponents(mask, connectivity=4)[0] - 1
    assert sum(map(len, union)) <= sum(map(len, parts)) + 6
    assert sum(len(ring) for polygon in union for ring in polygon) < sum(
        len(ring) for polygon in parts for ring in polygon
    )


def test_a_region_inside_others_becomes_a_hole_and_fills_it_when_it_joins():
    labels = np.zeros((30, 30), int)
    labels[:, 15:] = 1
    labels[10:20, 10:20] = 2
    ((outer, hole),) = joined(outlines(labels, [0, 1]))
    assert len(outer) >= 4
    xs, ys = zip(*hole, strict=True)
    assert min(xs) == pytest.approx(1 / 3, abs=1e-4)
    assert max(ys) == pytest.approx(2 / 3, abs=1e-4)
    assert [len(polygon) for polygon in joined(outlines(labels, [0, 1, 2]))] == [1]


def test_a_hole_belongs_to_the_smallest_part_around_it():
    labels = np.zeros((40, 40), int)
    for label, edge in ((1, 5), (2, 10), (3, 15)):
        labels[edge:-edge, edge:-edge] = label
    labels[:, :20][labels[:, :20] == 0] = 4  # two halves, so that there is something to join
    large, small = joined(outlines(labels, [0, 2, 4]))
    tops = [[min(y for _, y in ring) for ring in polygon] for polygon in (large, small)]
    assert tops == [pytest.approx([0, 5 / 40], abs=1e-4), pytest.approx([10 / 40, 15 / 40], abs=1e-4)]


def test_parts_that_touch_in_a_corner_stay_apart():
    labels = np.zeros((20, 20), int)
    labels[:10, 10:], labels[10:, :10], labels[10:, 10:] = 1, 2, 3
    union = joined(outlines(labels, [0, 3]))
    assert len(union) == 2
    assert {len(polygon) for polygon in union} == {1}


def test_the_result_does_not_depend_on_the_order_of_the_regions():
    labels = random_labels(3)
    parts = outlines(labels, [1, 4, 5, 9])
    one, other = filled(joined(parts)), filled(joined(parts[::-1]))
    assert (one == other).all()


def test_simplified_outlines_have_fewer_points_and_stay_near():
    polygon = joined(outlines(random_labels(1), [2, 3, 7]))[0]
    plain = simplified(polygon, 0.02)
    assert len(plain[0]) < len(polygon[0])
    assert set(plain[0]) <= set(polygon[0])
    assert (filled((plain,)) != filled((polygon,))).mean() < 0.02


def test_what_would_vanish_is_left_as_it_is():
    small = (((0.5, 0.5), (0.501, 0.5), (0.501, 0.501), (0.5, 0.501)),)
    assert simplified(small, 0.01) == small
