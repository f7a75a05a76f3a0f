"""The rows that a scorer learns from: whose they are, which are drawn, and along which axes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tagmix import Bags
from tagmix.errors import BagsError
from tagmix.learners.linear import features_of
from tagmix.learners.regions import instances
from tagmix.learners.regions.instances import along_axes, instances_of, scaling_of_all, scores_of

OFFSETS = np.array([0, 2, 5, 6, 8, 10, 11])


def bags_of(kind="embeddings", widths=(3, 2)):
    rng = np.random.default_rng(0)
    if kind == "words":
        return Bags({"words": rng.poisson(0.3, (11, 40)), "place": rng.poisson(2.0, (11, 4))}, OFFSETS)
    views = {f"map{i}": rng.normal(i, 1 + i, (11, width)) for i, width in enumerate(widths)}
    return Bags(views, OFFSETS)


def dense(features):
    return np.hstack([b.toarray() if hasattr(b, "toarray") else b for b in features.blocks])


@pytest.mark.parametrize("kind", ["words", "embeddings"])
def test_instances_of_some_pictures_are_those_of_their_bags(kind):
    bags = bags_of(kind)
    scaling = scaling_of_all(bags.views)
    some = np.array([4, 1, 2])
    own = instances_of(bags, scaling).of(some)
    alone = instances_of(bags[some], scaling)
    np.testing.assert_array_equal(own.starts, alone.starts)
    np.testing.assert_allclose(dense(own.features), dense(alone.features), rtol=1e-12)
    np.testing.assert_allclose(own.wholes(), dense(own.features)[own.starts[1:] - 1], rtol=1e-12)


def test_drawn_regions_are_as_many_as_asked_and_the_whole_stays():
    rng = np.random.default_rng(1)
    sizes = np.array([2, 5, 9, 3])
    bags = Bags({"map": rng.normal(size=(19, 2))}, np.concatenate([[0], np.cumsum(sizes)]))
    whole = instances_of(bags, scaling_of_all(bags.views))
    some = whole.with_at_most(3)
    np.testing.assert_array_equal(np.diff(some.starts), np.minimum(sizes, 3) + 1)
    np.testing.assert_array_equal(some.wholes(), whole.wholes())
    rows, all_rows = dense(some.features), dense(whole.features)
    owner = np.repeat(np.arange(4), sizes + 1)
    for n, (first, last) in enumerate(zip(some.starts[:-1], some.starts[1:], strict=True)):
        found = [np.flatnonzero((all_rows == row).all(axis=1))[0] for row in rows[first:last]]
        assert len(set(found)) == len(found)
        assert (owner[found] == n).all()
    assert whole.with_at_most(9) is whole
    np.testing.assert_array_equal(dense(whole.with_at_most(3).features), rows)  # the same every time


def test_drawn_regions_come_from_everywhere_in_a_picture():
    rows = np.tile(np.arange(9.0), 400)[:, None]
    bags = Bags({"place": rows}, np.arange(401) * 9)
    whole = instances_of(bags, {"place": np.array([[0.0], [1.0]])})
    drawn = np.delete(dense(whole.with_at_most(3).features), np.arange(400) * 4 + 3)
    shares = np.bincount(drawn.astype(int), minlength=9) / 400
    np.testing.assert_allclose(shares, np.full(9, 1 / 3), atol=0.1)


@pytest.mark.parametrize("kind", ["words", "embeddings"])
def test_features_have_the_precision_that_is_asked_for(kind):
    bags = bags_of(kind)
    for precision in (np.float32, np.float64):
        features = instances_of(bags, scaling_of_all(bags.views), precision).features
        assert {block.dtype for block in features.blocks} == {np.dtype(precision)}


def test_views_together_have_a_mean_square_of_one():
    bags = bags_of(widths=(3, 2, 4))
    rows = dense(instances_of(bags, scaling_of_all(bags.views)).features)
    regions = np.delete(rows, bags.offsets[1:] + np.arange(len(bags)), axis=0)
    assert (regions**2).sum(axis=1).mean() == pytest.approx(1.0)


def test_with_all_axes_nothing_is_lost_and_axes_lead_back():
    bags = bags_of()
    scaling = scaling_of_all(bags.views)
    turned, plain = along_axes(bags, scaling), instances_of(bags, scaling)
    np.testing.assert_array_equal(turned.starts, plain.starts)
    np.testing.assert_allclose(turned.axes.T @ turned.axes, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(dense(turned.features), dense(plain.features) @ turned.axes, atol=1e-5)
    assert dense(turned.features).dtype == np.float32


def test_axes_keep_what_tells_regions_apart_and_what_tells_pictures_apart(monkeypatch):
    rng = np.random.default_rng(2)
    n = 60
    of_picture = np.repeat(rng.normal(size=(n, 1)), 4, axis=0)
    of_region = rng.normal(size=(n, 4, 1))
    of_region = (of_region - of_region.mean(axis=1, keepdims=True)).reshape(-1, 1)
    noise = rng.normal(size=(4 * n, 1))
    # Two columns follow the picture and three the region; the sixth is noise. One axis is enough for each.
    rows = np.hstack([of_picture, of_picture, of_region, of_region, of_region, noise])
    bags = Bags({"map": rows}, np.arange(n + 1) * 4)
    monkeypatch.setattr(instances, "AXES", 2)
    axes = along_axes(bags, scaling_of_all(bags.views)).axes
    kept = (axes**2).sum(axis=1)
    np.testing.assert_allclose(kept[:5], [1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3], atol=0.02)
    assert kept[5] < 0.02


def test_a_direction_in_which_only_pictures_differ_comes_before_those_of_many_regions(monkeypatch):
    rng = np.random.default_rng(3)
    n = 60
    of_picture = np.repeat(rng.normal(size=(n, 1)), 4, axis=0)
    of_regions = rng.normal(size=(n, 4, 2))
    of_regions = (of_regions - of_regions.mean(axis=1, keepdims=True)).reshape(-1, 2)
    rows = np.hstack([np.tile(of_picture, 2), np.repeat(of_regions, 4, axis=1)])
    bags = Bags({"map": rows}, np.arange(n + 1) * 4)
    monkeypatch.setattr(instances, "AXES", 1)
    axis = along_axes(bags, scaling_of_all(bags.views)).axes[:, 0]
    np.testing.assert_allclose(axis**2, [1 / 2, 1 / 2, *[0] * 8], atol=0.02)


def test_axes_are_those_of_pictures_from_beginning_to_end(monkeypatch):
    rng = np.random.default_rng(4)
    halves = rng.normal(size=(800, 2)) * np.repeat([[1, 0], [0, 1]], 400, axis=0)
    # Four columns differ in the first pictures alone, four in the last alone, and one everywhere.
    rows = np.hstack([np.repeat(halves, 4, axis=1), rng.normal(size=(800, 1))])
    bags = Bags({"map": rows}, np.arange(401) * 2)
    monkeypatch.setattr(instances, "AXES", 2)
    monkeypatch.setattr(instances, "ROWS", 200)
    axes = along_axes(bags, scaling_of_all(bags.views)).axes
    kept = (axes**2).sum(axis=1)
    np.testing.assert_allclose(kept, [1 / 4] * 8 + [0], atol=0.05)


def test_shards_and_samples_change_only_rounding(monkeypatch):
    bags = bags_of()
    scaling = scaling_of_all(bags.views)
    whole = along_axes(bags, scaling)
    monkeypatch.setattr(instances, "CELLS", 10)
    parts = along_axes(bags, scaling)
    np.testing.assert_allclose(dense(parts.features), dense(whole.features), rtol=1e-6)
    monkeypatch.setattr(instances, "ROWS", 6)  # axes of about half of the pictures still span all
    few = along_axes(bags, scaling)
    np.testing.assert_allclose(
        dense(few.features) @ few.axes.T, dense(whole.features) @ whole.axes.T, atol=1e-5
    )


def test_scales_come_from_evenly_spaced_pictures(monkeypatch):
    bags = bags_of()
    assert instances.sample_of(bags) is bags
    monkeypatch.setattr(instances, "ROWS", 6)  # of 11 regions in 6 pictures
    assert instances.sample_of(bags).ids == ("0", "2", "5")


def test_scores_without_features_are_those_of_the_features():
    rng = np.random.default_rng(3)
    views = {
        "fine": rng.normal(5, 2, (7, 3)).astype(np.float32),
        "deep": rng.normal(-1, 0.1, (7, 2)),
        "other": rng.normal(2, 1, (7, 4)),
    }
    weights = rng.normal(size=(10, 4))
    scaling = scaling_of_all(views)
    expected = features_of(views, scaling).scores(weights)
    np.testing.assert_allclose(scores_of(views, scaling, weights), expected, rtol=1e-9)
    words = {"words": csr_array(rng.poisson(1.0, (7, 5)))}
    np.testing.assert_array_equal(scores_of(words, {}, weights), features_of(words, {}).scores(weights))
    with pytest.raises(BagsError, match="was fitted with dense floats in view 'fine'"):
        scores_of({**views, "fine": words["words"]}, scaling, weights)
