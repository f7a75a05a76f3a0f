"""Polygons of regions cover the picture without gaps, as far as whole numbers of the cache allow."""

import cv2
import numpy as np
import pytest
from tests.report.test_overlay import CASES

from tagmix.datasets.scenes import draw_scene
from tagmix.images.polygons import UNITS, are_rings, rings_of
from tagmix.images.segment import segment


def area(ring):
    x, y = np.array(ring).T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def area_of(polygons):
    """Return the area within the outer rings, clockwise, without that of the holes, the other way round."""
    for outer, *holes in polygons:
        assert area(outer) > 0
        assert all(area(hole) < 0 for hole in holes)
    return sum(area(ring) for polygon in polygons for ring in polygon)


@pytest.fixture(scope="module", params=[10, 40])
def labels(request):
    return segment(draw_scene(np.random.default_rng(4), size=(320, 240)).image, n_regions=request.param)


def test_the_area_of_a_polygon_is_that_of_its_region(labels):
    rings = rings_of(labels)
    shares = np.bincount(labels.ravel()) / labels.size
    found = [area_of(rings.polygons(region)) for region in range(len(shares))]
    np.testing.assert_allclose(found, shares, rtol=0.02)
    assert sum(found) == pytest.approx(1, abs=1e-4)


def test_points_are_shares_of_the_picture_and_reach_its_corners(labels):
    rings = rings_of(labels)
    points = {
        point
        for region in range(labels.max() + 1)
        for polygon in rings.polygons(region)
        for ring in polygon
        for point in ring
    }
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)
    assert {(0, 0), (0, 1), (1, 0), (1, 1)} <= points
    exact = np.count_nonzero(np.diff(labels, axis=0)) + np.count_nonzero(np.diff(labels, axis=1))
    assert len(points) < 0.4 * exact


def test_a_polygon_covers_the_pixels_of_its_region(labels):
    rings = rings_of(labels)
    scale = np.array(labels.shape[::-1])
    for region in range(labels.max() + 1):
        canvas = np.zeros(labels.shape, np.uint8)
        for polygon in rings.polygons(region):
            # The corner (0, 0) of a pixel is at −.5 of its centre; 4 binary digits behind the point
            drawn = [np.rint(16 * (np.array(ring) * scale - 0.5)).astype(np.int32) for ring in polygon]
            cv2.fillPoly(canvas, drawn, 1, shift=4)
        own = labels == region
        assert (own & (canvas > 0)).sum() / own.sum() > 0.95
        assert (own & (canvas > 0)).sum() / canvas.sum() > 0.75  # a filled polygon has its border too


def test_every_stretch_between_two_regions_belongs_to_both(labels):
    rings = rings_of(labels)
    ways = [
        (a, b)
        for region in range(labels.max() + 1)
        for polygon in rings.polygons(region)
        for ring in polygon
        for a, b in zip(ring, (*ring[1:], ring[0]), strict=True)
    ]
    inside = [(a, b) for a, b in ways if not any(a[i] == b[i] and a[i] in (0, 1) for i in (0, 1))]
    assert len(inside) > 20
    assert len(set(ways)) == len(ways)
    assert {(b, a) for a, b in inside} == set(inside)


def test_a_hole_is_a_ring_after_the_outer_one():
    labels = np.zeros((90, 120), np.int32)
    labels[30:60, 40:80] = 1
    ((outer, hole),) = rings_of(labels).polygons(0)
    assert set(outer) == {(0, 0), (1, 0), (1, 1), (0, 1)}
    ((island,),) = rings_of(labels).polygons(1)
    assert set(hole) == set(island)
    np.testing.assert_allclose(sorted(island)[0], [40 / 120, 30 / 90], atol=1 / UNITS)


@pytest.mark.parametrize("name", CASES)
def test_pictures_of_any_kind_have_rings_that_the_cache_accepts(name):
    labels = CASES[name]
    rings = rings_of(labels)
    assert are_rings(rings._asdict(), labels.max() + 1)
    total = sum(area(ring) for n in range(labels.max() + 1) for p in rings.polygons(n) for ring in p)
    assert total == pytest.approx(1, abs=1e-3)


def test_no_region_of_a_tiny_picture_shrinks_to_a_line():
    labels = segment(tiny_noise(), "ncuts", 40, min_share=0.01)
    rings = rings_of(labels)
    assert all(area_of(rings.polygons(n)) > 0 for n in range(labels.max() + 1))


def tiny_noise():
    return (np.random.default_rng(40166790).random((16, 13, 3)) * 255).astype(np.uint8)


def test_rings_out_of_order_or_of_other_numbers_are_not_those_of_a_picture():
    points, sizes = rings_of(np.array([[0, 0, 1, 1], [0, 0, 1, 1]]))
    assert are_rings({"points": points, "sizes": sizes}, 2)
    for wrong in (sizes[::-1], sizes[:1], sizes + np.uint32([0, 1]), sizes - np.uint32([0, 1])):
        assert not are_rings({"points": points, "sizes": wrong}, 2)


def test_a_thin_region_of_a_tiny_picture_keeps_its_inside():
    labels = np.array([[0, 0, 0, 0, 0], [0, 1, 2, 2, 0], [0, 3, 3, 3, 0]])
    rings = rings_of(labels)
    assert [area_of(rings.polygons(n)) > 0 for n in range(4)] == 4 * [True]
