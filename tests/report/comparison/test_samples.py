"""Records that belong together are put together, and count as the metrics would count them."""

from dataclasses import replace

import numpy as np
import pytest

from tagmix.comparison.records import Record, RegionRanks, Task
from tagmix.evaluation.blocks import quotient
from tagmix.evaluation.metrics import top_k_ceiling
from tagmix.evaluation.significance import t_interval
from tagmix.report.comparison.intervals import differ, difference, interval
from tagmix.report.comparison.samples import MethodSample, groups
from tests.report.comparison.makers import compared, curve, record

# Two pictures, tags 0 … 2. The first has 0 and is shown 0, 1; the second has 1, 2 and is shown 0, 2.
SMALL = Record(
    Task("album", "EMM_m", ("sift",)),
    {},
    0,
    {},
    10,
    ["a", "b", "c"],
    ["x", "y"],
    [[0], [1, 2]],
    [[0, 1], [0, 2]],
    {},
    RegionRanks([0, 0, 1], [1, 3, 2], [1, 1, 2]),
    {},
)


def test_the_score_of_a_hand_case_is_that_of_paper_and_pencil():
    sample = MethodSample("EMM_m", (SMALL,))
    assert sample.score(1) == 2 * 1 / (2 * 1 + 3)  # one hit, two shown, three given
    assert sample.score(2) == 2 * 2 / (2 * 2 + 3)
    assert sample.score(5) == sample.score(2)  # two are all that were kept
    assert sample.first() == 0.5
    assert sample.ceiling(1) == 2 * 2 / (2 * 1 + 3)
    assert sample.ceiling(2) == 2 * 3 / (2 * 2 + 3)


@pytest.mark.parametrize(("n_tags", "k"), [(30, 5), (10, 5), (9, 4), (3, 1), (1, 1)])
def test_half_of_the_tags_count_where_there_are_fewer_than_ten(n_tags, k):
    made = record(Task("album", "EMM_m", ("sift",)), 0.7, n_tags=n_tags)
    (group,) = groups([made])
    assert group.k == group.whole["EMM_m"].k == k
    assert group.whole["EMM_m"].score() == pytest.approx(made.metrics["top_k_accuracy"], rel=1e-12)
    assert group.whole["EMM_m"].score() == group.whole["EMM_m"].score(k)


def test_a_group_knows_the_methods_of_its_curves():
    (group,) = groups(compared({"KNN": 1.0}, parts=2) + curve("tags", [10], {"DBA": 1.0}))
    assert group.methods == {"KNN", "DBA"}
    assert group.n_tested == 2 * 60


def test_regions_count_by_their_picture():
    sample = MethodSample("EMM_m", (SMALL,))
    (parts,) = sample.regions(2, captioned=False).values()
    assert parts.gain.tolist() == [1, 1]
    assert parts.weight.tolist() == [2, 1]


@pytest.mark.parametrize("k", [1, 5, 30])
def test_the_score_is_the_one_that_the_record_was_saved_with(k):
    made = record(Task("album", "EMM_m", ("sift",)), 0.7)
    sample = MethodSample("EMM_m", (made,))
    assert sample.score(k) == pytest.approx(quotient(made.picture_parts(k)), rel=1e-12)
    assert sample.ceiling(k) == pytest.approx(top_k_ceiling(made.truth, k), rel=1e-12)
    if k == 5:
        assert sample.score() == pytest.approx(made.metrics["top_k_accuracy"], rel=1e-12)


def test_folds_are_one_set_of_pictures():
    made = [record(Task("album", "EMM_m", ("sift",), part), 0.7, n=20 + 10 * part) for part in range(3)]
    sample = MethodSample("EMM_m", tuple(made))
    gain = sum(r.picture_parts().gain.sum() for r in made)
    weight = sum(r.picture_parts().weight.sum() for r in made)
    assert sample.score() == pytest.approx(gain / weight, rel=1e-12)
    assert [len(parts.gain) for parts in sample.parts().values()] == [20, 30, 40]


def test_the_interval_over_folds_is_the_widened_one():
    made = tuple(record(Task("album", "EMM_m", ("sift",), part), 0.7, n_train=240) for part in range(4))
    scores = [quotient(r.picture_parts()) for r in made]
    sample = MethodSample("EMM_m", made)
    assert sample.over_folds(sample.parts()) == pytest.approx(t_interval(scores, test_share=60 / 240))
    assert MethodSample("EMM_m", made[:1]).over_folds(MethodSample("EMM_m", made[:1]).parts()) is None


def test_draws_of_training_pictures_are_averaged_picture_by_picture():
    task = Task("album", "EMM_m", ("sift",), 0, {"pictures": 50, "draw": 0})
    good, bad = record(task, 2.0), record(replace(task, point={"pictures": 50, "draw": 1}), 0.0)
    sample = MethodSample("EMM_m", (good, bad))
    mean = (quotient(good.picture_parts()) + quotient(bad.picture_parts())) / 2
    assert sample.score() == pytest.approx(mean, rel=1e-12)
    assert [len(parts.gain) for parts in sample.parts().values()] == [60]
    assert sample.ceiling() == pytest.approx(top_k_ceiling(good.truth, 5), rel=1e-12)


def test_a_metric_that_one_fold_lacks_is_not_known():
    first, second = (record(Task("album", "KNN", ("sift",), part)) for part in range(2))
    both = MethodSample("KNN", (first, second))
    assert both.metric("n_plus") == np.mean([first.metrics["n_plus"], second.metrics["n_plus"]])
    assert MethodSample("KNN", (first, replace(second, metrics={}))).metric("n_plus") is None


def test_groups_are_data_sets_with_their_words_and_curves_with_ordered_points():
    made = (
        compared(data="b", views=("sift", "colour"))
        + compared(data="a")
        + compared(data="b", views=("sift",))
    )
    made += curve("tags", [30, 10, 20], data="a") + curve("supervision", ["soft", "hard"], data="a")
    found = groups(made)
    assert [(g.data, g.views) for g in found] == [
        ("b", ("sift",)),
        ("b", ("sift", "colour")),
        ("a", ("sift",)),
    ]
    assert [value for value, _ in found[2].curves["tags"]] == [10, 20, 30]
    assert [value for value, _ in found[2].curves["supervision"]] == ["hard", "soft"]
    assert found[2].order[0] == "KNN"


def test_a_record_without_pictures_is_left_out():
    assert groups([replace(SMALL, ids=[], captions=[], top=[])]) == []


def seeds_of(method, skills):
    """Return records of the same pictures and captions, one a seed, each with a skill of its own."""
    first = record(Task("album", method, ("sift",)), 0.0)
    made = []
    for part, skill in enumerate(skills):
        own = record(Task("album", method, ("sift",), 0), skill, regions=True)
        made.append(replace(own, task=replace(own.task, part=part)))
    assert all(own.ids == first.ids and own.captions == first.captions for own in made)
    return made


def test_seeds_of_one_split_are_one_set_of_pictures_whose_gain_is_the_mean():
    made = seeds_of("KNN", (2.0, 0.5, 0.1))
    sample = MethodSample("KNN", tuple(made[::-1]))
    ((unit, parts),) = sample.parts().items()
    assert unit == (0, tuple(made[0].ids))
    assert len(parts.gain) == 60
    np.testing.assert_allclose(parts.gain, np.mean([r.picture_parts().gain for r in made], axis=0))
    assert parts.weight.tolist() == made[0].picture_parts().weight.tolist()
    scores = [quotient(r.picture_parts()) for r in made]
    assert sample.score() == pytest.approx(np.mean(scores), rel=1e-12)
    assert sample.over_seeds() == pytest.approx(scores)
    assert sample.over_folds(sample.parts()) is None
    (regions,) = sample.regions(1, captioned=False).values()
    np.testing.assert_allclose(regions.gain, np.mean([r.regions.parts(1, False).gain for r in made], axis=0))
    assert set(regions.weight) == {3.0}  # three regions a picture, however many seeds
    assert (sample.n_seeds, MethodSample("KNN", tuple(made[:1])).n_seeds) == (3, 1)


def test_an_interval_is_as_wide_as_that_of_one_seed_that_scores_the_mean():
    first = seeds_of("KNN", (0.5,))[0]
    twice = [first, replace(first, task=replace(first.task, part=1))]
    one, two = MethodSample("KNN", (first,)).parts(), MethodSample("KNN", tuple(twice)).parts()
    assert interval(one) == interval(two)
    assert difference(one, two)[:3] == (0, 0, 0)
    assert not differ(one, two)


def test_a_method_with_one_seed_compares_picture_by_picture_with_one_of_many():
    (group,) = groups([*seeds_of("KNN", (2.0, 1.5, 1.0)), *seeds_of("DBA", (0.1,))])
    many, one = group.whole["KNN"], group.whole["DBA"]
    apart = difference(many.parts(), one.parts())
    assert apart.mean == pytest.approx(many.score() - one.score(), rel=1e-12)
    assert differ(many.parts(), one.parts())
    assert (group.n_seeds, group.n_tested) == (3, 60)


def test_folds_are_no_seeds():
    (group,) = groups(compared({"KNN": 1.0}, parts=3))
    assert (group.n_seeds, group.n_tested) == (1, 180)
    assert group.whole["KNN"].over_seeds() == []


def test_the_views_read_are_those_that_the_record_tells():
    made = record(Task("album", "DBA", ("sift", "layout")))
    assert MethodSample("DBA", (made,)).read == []
    assert MethodSample("DBA", (replace(made, provenance={"read": ["sift"]}),)).read == ["sift"]
    assert MethodSample("DBA", (replace(made, provenance={"read": 7}),)).read == []
