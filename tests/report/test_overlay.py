"""Outlines are those of the pixels, neighbours share them, and tags stand inside what they name."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.ndimage import label, zoom

from tagmix.images.outline import outline, simplify, smooth
from tagmix.report.overlay import LENGTHS, Mark, label_spot, merge, overlay, shorten, text_width

SMOOTHED = ((0.0, 0), (0.4, 4), (2.0, 9))


def blobs(seed, height=40, width=56, n=5):
    """Regions as a segmenter makes them: ragged, with islands, meeting in threes and fours."""
    rng = np.random.default_rng(seed)
    fields = zoom(rng.random((n, 6, 7)), (1, height / 6, width / 7), order=1)
    kinds = fields.argmax(axis=0)
    labels = np.zeros(kinds.shape, np.int32)
    for kind in range(n):
        parts, _ = label(kinds == kind)
        labels[parts > 0] = parts[parts > 0] + labels.max()
    return labels - 1


def chessboard():
    return np.indices((4, 6)).sum(axis=0) % 2


def island():
    labels = np.zeros((9, 12), np.int64)
    labels[3:6, 4:8] = 1
    labels[4, 5:7] = 2
    return labels


CASES = {
    "one pixel": np.zeros((1, 1), int),
    "one region": np.zeros((5, 8), int),
    "chessboard": chessboard(),
    "island": island(),
    **{f"blobs {seed}": blobs(seed) for seed in range(4)},
}


def area(points):
    x, y = points.T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


def areas(outlines):
    """Return the area that the rings of each region enclose, holes taken away."""
    found = {}
    for region, rings in outlines.rings.items():
        found[region] = 0.0
        for ring in rings:
            lines = [(outlines.arcs[arc].line, forwards) for arc, forwards in ring]
            found[region] += area(np.vstack([(ln if fwd else ln[::-1])[:-1] for ln, fwd in lines]))
    return found


def marks(*tags):
    return [Mark(tag.strip("!"), tag.endswith("!"), f"about {tag}") for tag in tags]


@pytest.mark.parametrize("name", CASES)
def test_the_arcs_are_exactly_the_borders_between_pixels_with_the_regions_beside_them(name):
    labels = CASES[name]
    padded = np.pad(labels, 1, constant_values=-1)
    expected = {}
    for y, x in np.argwhere(padded[:, 1:] != padded[:, :-1]):
        expected[frozenset({(x, y - 1), (x, y)})] = {padded[y, x], padded[y, x + 1]} - {-1}
    for y, x in np.argwhere(padded[1:] != padded[:-1]):
        expected[frozenset({(x - 1, y), (x, y)})] = {padded[y, x], padded[y + 1, x]} - {-1}
    found = {}
    for line, regions in outline(labels, tolerance=-1.0).arcs:
        for a, b in zip(line[:-1].astype(int).tolist(), line[1:].astype(int).tolist(), strict=True):
            edge = frozenset({tuple(a), tuple(b)})
            assert edge not in found
            found[edge] = set(regions)
    assert found == expected


@pytest.mark.parametrize("name", CASES)
def test_exact_outlines_enclose_as_many_pixels_as_the_region_has(name):
    labels = CASES[name]
    np.testing.assert_allclose(
        [value for _, value in sorted(areas(outline(labels)).items())], np.bincount(labels.ravel()), atol=1e-9
    )


@pytest.mark.parametrize(("tolerance", "reach"), SMOOTHED)
@pytest.mark.parametrize("name", CASES)
def test_smoothed_outlines_leave_no_gap_and_no_overlap(name, tolerance, reach):
    labels = CASES[name]
    np.testing.assert_allclose(
        sum(areas(outline(labels, tolerance, reach)).values()), labels.size, rtol=1e-12
    )


@pytest.mark.parametrize("name", CASES)
def test_a_smoothed_outline_stays_close_to_the_border(name):
    exact = np.vstack([arc.line for arc in outline(CASES[name], -1.0).arcs])
    smoothed = np.vstack([arc.line for arc in outline(CASES[name], 0.4, 4).arcs])
    far = np.linalg.norm(smoothed[:, None] - exact[None], axis=2).min(axis=1)
    assert far.max() < 1.5


def test_an_island_has_a_ring_inside_its_surroundings_and_shares_it():
    found = outline(island())
    assert [len(found.rings[region]) for region in range(3)] == [2, 2, 1]
    assert [arc.regions for arc in found.arcs if len(arc.regions) == 2] == [(0, 1), (1, 2)]


def test_pixels_that_meet_at_a_corner_alone_have_a_ring_each():
    found = outline(np.array([[0, 1], [1, 0]]))
    assert [len(found.rings[region]) for region in (0, 1)] == [2, 2]


def test_the_corners_of_the_picture_stay():
    points = {tuple(p) for arc in outline(np.zeros((6, 9), int), 5.0, 5).arcs for p in arc.line.tolist()}
    assert points == {(0, 0), (9, 0), (0, 6), (9, 6)}


def test_a_point_beyond_the_ends_of_a_chord_stays():
    assert simplify(np.array([[0.0, 0.0], [5.0, 0.0], [2.0, 0.0]]), 1.0).tolist() == [[0, 0], [5, 0], [2, 0]]


def test_smoothing_moves_neither_end_and_straightens_stairs():
    stairs = tuple((k // 2 + k % 2, k // 2) for k in range(21))
    smoothed = smooth(stairs, 4)
    assert smoothed[0].tolist() == [0, 0]
    assert smoothed[-1].tolist() == [10, 10]
    middle = smoothed[4:-4]
    assert np.ptp(middle[:, 0] - middle[:, 1]) < 0.15


def test_simplifying_keeps_an_inside_in_every_ring():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=float)
    assert abs(area(simplify(square, 3.0)[:-1])) == 1.0


@pytest.mark.parametrize("aspect", [1.0, 3.5, 12.0])
@pytest.mark.parametrize("name", CASES)
def test_the_spot_for_a_tag_lies_in_its_region(name, aspect):
    labels = CASES[name]
    for region in np.unique(labels):
        spot = label_spot(labels == region, aspect)
        assert labels[int(spot.y), int(spot.x)] == region


def test_the_spot_in_a_bent_region_is_in_its_widest_part_and_not_in_its_middle():
    mask = np.zeros((30, 30), bool)
    mask[:, :4] = mask[:4] = True
    mask[18:, 4:26] = True
    spot = label_spot(mask, 2.0)
    assert 18 < spot.y < 30
    assert 4 < spot.x < 26


def test_neighbours_of_one_tag_are_one_thing_unless_only_one_of_them_is_wrong():
    labels = np.repeat([[0, 1, 2, 3, 4]], 3, axis=0)
    found = merge(outline(labels), marks("sky", "sky", "sky!", "sea", "sky"))
    assert found == {0: 0, 1: 0, 2: 2, 3: 3, 4: 4}


def test_regions_that_touch_at_a_corner_alone_are_no_neighbours():
    labels = np.array([[0, 1], [2, 3]])
    assert merge(outline(labels), marks("a", "b", "c", "a")) == {0: 0, 1: 1, 2: 2, 3: 3}


def drawn(labels, said, size=(480.0, 360.0)):
    root = ElementTree.fromstring(overlay(labels, said, size))
    return root, {look: [e for e in root if e.get("class").startswith(look)] for look in ("region", "line")}


def test_each_region_is_one_path_with_its_tooltip_and_each_thing_has_one_tag():
    labels = np.repeat(np.repeat([[0, 1, 2]], 60, axis=0), 40, axis=1)
    root, parts = drawn(labels, marks("sky", "sky", "sea!"))
    assert [path[0].text for path in parts["region"]] == ["about sky", "about sky", "about sea!"]
    texts = [(e.text, e.get("class")) for e in root if e.tag == "text"]
    assert texts == [("sky", "l"), ("✗\u2009sea", "l miss")]
    looks = [e.get("class") for e in root if e.tag == "path"]
    assert looks == ["region"] * 3 + ["inner", "halo", "line"]
    # Between sky and sea, and nowhere else; the frame has no line
    assert set(re.findall(r"[ML]([\d.]+) ", parts["line"][0].get("d"))) == {"320.0"}


def test_regions_that_are_none_of_the_tags_have_faint_lines_between_them_and_no_tag():
    labels = np.repeat(np.repeat([[0, 1, 2, 3]], 60, axis=0), 40, axis=1)
    root, parts = drawn(labels, marks("sky", "", "!", ""))
    assert [e.text for e in root if e.tag == "text"] == ["sky", "✗"]
    (inner,) = (e for e in root if e.get("class") == "inner")
    assert set(re.findall(r"[ML]([\d.]+) ", parts["line"][0].get("d"))) == {"120.0"}
    assert set(re.findall(r"[ML]([\d.]+) ", inner.get("d"))) == {"240.0", "360.0"}


@pytest.mark.parametrize("seed", range(6))
def test_every_tag_in_a_picture_stands_in_its_region_and_on_no_other_tag(seed):
    labels = blobs(seed, 120, 160, 9)
    said = marks(*(f"tag {k}{'!' * (k % 3 == 0)}" for k in range(labels.max() + 1)))
    root, _ = drawn(labels, said)
    texts = [e for e in root if e.tag == "text"]
    assert texts
    boxes = []
    for text in texts:
        x, y = float(text.get("x")), float(text.get("y"))
        region = labels[int(y / 3), int(x / 3)]
        if text.text != "✗":
            assert text.text.endswith(f"tag {region}")
        size = {"l": 17, "m": 14, "s": 11.5}[text.get("class")[0]]
        boxes.append((x, y, text_width(text.text) * size, size))
    for k, (x, y, w, h) in enumerate(boxes):
        assert all(abs(x - a) >= (w + c) / 2 or abs(y - b) >= (h + d) / 2 for a, b, c, d in boxes[:k])


def test_a_region_too_small_for_text_has_a_tooltip_and_at_most_a_sign():
    labels = np.zeros((90, 120), int)
    labels[40:45, 40:45] = 1
    root, _ = drawn(labels, marks("sky", "lighthouse"))
    assert [e.text for e in root if e.tag == "text"] == ["sky"]
    assert "about lighthouse" in "".join(root.itertext())
    root, _ = drawn(labels, marks("sky", "lighthouse!"))
    assert [e.text for e in root if e.tag == "text"] == ["sky", "✗"]


def test_an_overlay_is_the_same_twice_and_does_not_depend_on_the_type_of_its_labels():
    labels = blobs(1)
    said = marks(*(f"tag{k % 4}" for k in range(labels.max() + 1)))
    once = overlay(labels, said, (480.0, 343.0))
    assert once == overlay(labels.astype(np.uint16), said, (480.0, 343.0))
    assert once == overlay(np.asfortranarray(labels), said, (480.0, 343.0))


def test_hostile_tags_are_text():
    hostile = '<script>"&\n'
    root, _ = drawn(np.zeros((30, 40), int), [Mark(hostile, False, hostile)])
    assert [e.text for e in root.iter() if e.tag in ("text", "title")] == [hostile, '<script>"&']


def test_the_length_of_paths_does_not_grow_with_the_size_of_the_picture():
    lengths = []
    for times in (1, 4):
        labels = blobs(2, 240 * times, 320 * times)
        said = marks(*(f"tag{k}" for k in range(labels.max() + 1)))
        lengths.append(len(overlay(labels, said, (480.0, 360.0))))
    assert lengths[1] < 1.3 * lengths[0]


def test_tags_are_cut_to_the_lengths_that_pictures_have_room_for():
    for most in LENGTHS:
        assert len(shorten("x" * 200, most)) == most
        assert shorten("sea", most) == "sea"
    assert text_width("海岸") == 2.0
