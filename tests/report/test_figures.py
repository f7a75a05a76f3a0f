"""Figures are well-formed SVG that says in words what it shows."""

from xml.etree import ElementTree

import numpy as np
import pytest

from tagmix.report import figures

BINS = figures.ReliabilityPoints(np.array([0.1, 0.9]), np.array([0.0, 1.0]), np.array([7, 3]))
HOSTILE = '<script>"&$x_'
DRAWN = {
    "bound": lambda: figures.bound_curve({HOSTILE: [-30.0, -20.0, -19.5]}, n_regions=10),
    "recovery": lambda: figures.recovery_curve(
        [0.0, 0.5], [figures.Curve(HOSTILE, np.array([[1.0, 0.5], [0.9, 0.4]]))], chance=0.1
    ),
    "words": lambda: figures.word_maps([HOSTILE, "sea"], {"planted": np.eye(2, 6), "found": np.ones((2, 6))}),
    "reliability": lambda: figures.reliability({HOSTILE: BINS}),
    "counts": lambda: figures.counts_chart(HOSTILE, np.array([1, 2, 2]), "true", np.array([2, 2, 3])),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_one_svg_element_with_a_label(name):
    root = ElementTree.fromstring(DRAWN[name]())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert len(root.get("aria-label")) > 40


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_shows_hostile_names_as_text(name):
    drawn = DRAWN[name]()
    assert "<script" not in drawn
    root = ElementTree.fromstring(drawn)
    texts = "".join(root.itertext()) + root.get("aria-label")
    assert HOSTILE in texts


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_drawn_the_same_twice_and_keeps_only_the_names_it_uses(name):
    drawn = DRAWN[name]()
    assert drawn == DRAWN[name]()
    for element in ElementTree.fromstring(drawn).iter():
        if "id" in element.attrib:
            assert f"#{element.attrib['id']}" in drawn


def test_bins_hold_every_prediction_and_leave_out_the_empty():
    p, truth = np.array([[0.0, 0.3], [0.35, 1.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    bins = figures.reliability_bins(p, truth, np.array([0.0, 0.2, 0.4, 0.6, 1.0]))
    assert bins.size.tolist() == [1, 2, 1]
    np.testing.assert_allclose(bins.said, [0.0, 0.325, 1.0], rtol=1e-12)
    np.testing.assert_allclose(bins.right, [0.0, 0.5, 1.0], rtol=1e-12)
