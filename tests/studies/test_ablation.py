"""One table says what EMM with context owes to what."""

from dataclasses import replace

import numpy as np

from tagmix.comparison.records import Task
from tagmix.report.comparison.page import comparison_figures, comparison_page
from tagmix.report.comparison.samples import MethodSample, groups
from tagmix.report.comparison.sections import group_section
from tagmix.studies.ablation import ablation
from tagmix.studies.page import PaperPage
from tests.report.comparison.makers import compared, record
from tests.report.comparison.test_page import WORDS
from tests.report.comparison.test_tables import by_name, cells

VIEWS = ("sift", "layout", "map")
OURS = "ContextEMM"


def changed(points, data="msrc_v2_rich", parts=2, regions=True):
    return [
        record(Task(data, OURS, VIEWS, part, point), skill, regions=regions)
        for point, skill in points
        for part in range(parts)
    ]


POINTS = [
    ({}, 1.0),
    ({"context": "linear"}, 0.2),
    ({"context": ["kernel", "neighbours"]}, 1.0),
    ({"evidence": 0.1}, 0.9),
    ({"without": "layout"}, 0.6),
    ({"without": ["map"]}, 0.5),
]


def grid(skill=0.3):
    task = Task("msrc_v2_rich_grid", OURS, ("sift", "layout"))
    return [record(Task(*(task.data, OURS, task.views, part)), skill, regions=True) for part in range(2)]


def test_every_change_is_a_line_with_accuracy_regions_and_seconds():
    made = changed(POINTS)
    rows = by_name(ablation(groups([*made, *grid()])))
    assert list(rows) == [
        "unchanged",
        "context by kernel and neighbours",
        "context by linear",
        "κ = 0.1, fixed",
        "without layout",
        "without map",
        "regions from a grid",
    ]
    own = [r for r in made if r.task.point == {"context": "linear"}]
    score = np.sum([r.picture_parts().gain.sum() for r in own]) / np.sum(
        [r.picture_parts().weight.sum() for r in own]
    )
    free, told = (
        np.mean([place == 1 for r in own for place in places(r.regions)])
        for places in (lambda regions: regions.free, lambda regions: regions.captioned)
    )
    row = rows["context by linear"]
    f1 = np.mean([r.metrics["per_tag_f1"] for r in own])
    assert row[2:4] == [f"{f1:.3f}", f"{np.mean([r.metrics['n_plus'] for r in own]):.0f}"]
    assert [row[0][:5], row[4][:5], row[5][:5]] == [f"{value:.3f}" for value in (score, free, told)]
    assert row[6:] == ["12", "1.2", "<0.1"]
    assert row[1].startswith("−0.")
    assert rows["context by kernel and neighbours"][1].startswith("≈ +0.000")
    assert rows["unchanged"][1] == ""


def test_what_is_cut_otherwise_stands_beside_what_is_without_a_network_too():
    without = [r for r in changed(POINTS) if r.task.point == {"without": ["map"]}]
    apart = MethodSample(OURS, tuple(grid())).score() - MethodSample(OURS, tuple(without)).score()
    rows = by_name(ablation(groups([*changed(POINTS), *grid()])))
    assert rows["regions from a grid"][1].lstrip("≈ ").startswith(f"{apart:+.3f}".replace("-", "−"))
    alone = by_name(ablation(groups([*changed(POINTS[:2]), *grid()])))
    assert list(alone) == ["unchanged", "context by linear", "regions from a grid"]


def test_the_first_seed_alone_is_compared_with_the_first_seed():
    skills = [0.9, 0.1]
    made = [record(Task("corel5k_rich", OURS, VIEWS, 0), skill) for skill in skills]
    seeds = [replace(own, task=replace(own.task, part=part)) for part, own in enumerate(made)]
    point = record(Task("corel5k_rich", OURS, VIEWS, 0, {"evidence": 0.1}), 0.9)
    both = [replace(own, task=replace(own.task, point={"context": "linear"})) for own in seeds]
    rows = by_name(ablation(groups([*seeds, point, *both])))  # the last has both seeds
    assert rows["κ = 0.1, fixed"][1].startswith("≈ +0.000")
    assert rows["unchanged"][4] == "–"  # no regions are known


def test_the_table_is_on_the_page_once_and_what_was_cut_otherwise_has_no_section():
    made = [*changed(POINTS), *grid()]
    text = comparison_page(made, **WORDS, extras=PaperPage())
    assert text.count("Ablation of EMM with context</h2>") == 1
    assert "Why: context" not in text
    assert "_grid" not in text
    assert not any("grid" in name for name in comparison_figures(made, PaperPage()))
    assert ablation(groups(compared())) == ""
    assert "Why" not in group_section(groups(made)[0], True, None, False, PaperPage())


def test_other_methods_keep_their_curves():
    made = [*compared({"EMM_d": 0.5}), record(Task("album", "EMM_d", ("sift",), 0, {"evidence": 0.1}))]
    assert "Why: evidence" in comparison_page(made, **WORDS, extras=PaperPage())
    assert len(cells(ablation(groups(made)))) == 0
