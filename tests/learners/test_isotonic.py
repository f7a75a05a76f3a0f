"""The rising curve that corrects logits, where its stretches can be counted by hand."""

import numpy as np
import pytest
from scipy.special import expit

from tagmix.learners.isotonic import fit_isotonic, isotonic_logits


def pairs(*groups):
    """Return logits and tags of groups (logit, pairs, tags among them)."""
    raw = np.concatenate([np.full(n, logit) for logit, n, _ in groups])
    tags = np.concatenate([np.arange(n) < given for _, n, given in groups]).astype(float)
    return raw, tags


def test_equal_logits_are_one_knot_and_get_the_share_of_their_tags_and_of_one_picture_more():
    groups = [(-2.0, 1000, 150), (-1.0, 700, 260), (0.5, 90, 70)]
    knots, levels = fit_isotonic(*pairs(*groups))
    np.testing.assert_allclose(knots, [-2.0, -1.0, 0.5], rtol=1e-12)
    expected = [(given + expit(logit)) / (n + 1) for logit, n, given in groups]
    np.testing.assert_allclose(levels, expected, rtol=1e-12)
    np.testing.assert_allclose(expit(isotonic_logits(knots, knots, levels)), levels, rtol=1e-9)


def test_the_order_of_equal_logits_does_not_matter():
    raw, tags = pairs((-1.0, 400, 100), (-0.9, 401, 130), (0.3, 95, 60))
    order = np.random.default_rng(0).permutation(len(raw))
    for one, other in zip(fit_isotonic(raw, tags), fit_isotonic(raw[order], tags[order]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_stretch_that_falls_becomes_one_knot_in_the_middle_of_its_pairs():
    knots, levels = fit_isotonic(*pairs((-1.0, 1000, 600), (1.0, 200, 60)))
    np.testing.assert_allclose(knots, [(-1000 + 200) / 1200], rtol=1e-12)
    expected = (1000 * expit(-1.0) + 200 * expit(1.0)) / 1200
    np.testing.assert_allclose(levels, [(660 + expected) / 1201], rtol=1e-12)


def test_levels_rise_even_where_one_picture_more_would_turn_two_stretches_around():
    few, many = (4 + expit(3.0)) / 13, (140 + expit(3.5)) / 401
    assert 4 / 12 < 140 / 400 < many < few
    knots, levels = fit_isotonic(*pairs((3.0, 12, 4), (3.5, 400, 140)))
    assert knots == pytest.approx([(12 * 3.0 + 400 * 3.5) / 412])
    assert levels == pytest.approx([(12 * few + 400 * many) / 412])


def test_every_stretch_rests_on_about_ten_expected_tags():
    rng = np.random.default_rng(1)
    raw = np.sort(rng.normal(-2.0, 1.5, 4000))
    tags = np.arange(4000) / 4000  # they rise, so that no stretch is joined with another
    knots, _ = fit_isotonic(raw, tags)
    assert len(knots) == int(expit(raw).sum() / 10)


def test_logits_that_differ_by_rounding_are_one_knot():
    raw, tags = pairs((0.0, 100, 20), (1e-11, 100, 70))
    knots, levels = fit_isotonic(raw, tags)
    assert len(knots) == len(levels) == 1
    assert levels[0] == pytest.approx(90.5 / 201)
