"""Which tasks a study makes of which data: their number, their names, and none that makes no sense."""

import hashlib
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagmix.comparison.methods import METHODS, RIVALS, method_of
from tagmix.comparison.records import Task
from tagmix.comparison.variations import settings_at
from tagmix.studies.names import rich_name, rich_parts
from tagmix.studies.planted import DESIGNS
from tagmix.studies.tasks import (
    CONTENDERS,
    DRAWN,
    ON_CURVES,
    OUR_FORMS,
    OURS,
    READS_ALL,
    REGIONS,
    RICH,
    STUDIES,
    ablation,
    flagship,
    over_sizes,
    over_tags,
    tasks_of,
    whole,
    why,
    words_of,
)
from tests.comparison.conftest import ALL, data_set

COREL = data_set("corel5k")
MSRC = data_set("msrc_v2", n_parts=5, n_train=472, n_tags=23, knows_regions=True)
TATE = data_set("tate", ("text",), n_train=50_000, n_tags=7848)
SETS = {data.name: data for data in (COREL, MSRC, TATE)}
NET = (*ALL, "map", "layout", "pooled")
RICH_COREL = data_set("corel5k_rich", NET, n_parts=5, repeated=True)
RICH_MSRC = data_set("msrc_v2_rich", NET, n_parts=5, n_train=472, n_tags=23, knows_regions=True)
GRID = data_set("msrc_v2_rich_grid", (*ALL, "layout"), n_parts=5, n_tags=23, knows_regions=True)
RICH_SETS = {data.name: data for data in (RICH_COREL, RICH_MSRC, GRID)}


def test_pictures_are_compared_with_sift_alone_and_with_colour_by_all_methods_but_those_for_regions():
    tasks = whole(COREL)
    assert len(tasks) == 2 * (len(METHODS) - len(RIVALS) - len(REGIONS) - len(OUR_FORMS))
    assert {task.views for task in tasks} == {("sift",), ("sift", "colour")}
    assert not {task.method for task in tasks} & set(REGIONS)


def test_where_regions_are_known_all_methods_use_all_words_on_every_part():
    tasks = whole(MSRC)
    assert {task.method for task in tasks} == set(METHODS) - set(RIVALS) - set(OUR_FORMS)
    assert len(tasks) == 5 * (len(METHODS) - len(RIVALS) - len(OUR_FORMS))
    assert {task.views for task in tasks} == {ALL}
    assert {task.part for task in tasks} == set(range(5))


def test_without_colour_all_words_are_used():
    assert words_of(data_set(views=("sift", "place"))) == [("sift", "place")]


def test_curves_have_only_points_below_the_size_of_the_data():
    tags = {n: len(over_tags(data_set(n_tags=n))) // len(ON_CURVES) for n in (50, 51, 100, 101, 300, 301)}
    assert tags == {50: 0, 51: 1, 100: 1, 101: 2, 300: 3, 301: 4}
    pictures = {n: len(over_sizes(data_set(n_train=n))) // len(ON_CURVES) for n in (500, 501, 1001, 4500)}
    assert pictures == {500: 0, 501: 2, 1001: 3, 4500: 5}  # the smallest is drawn twice
    assert all(task.point["pictures"] < 4500 for task in over_sizes(COREL))
    assert over_tags(MSRC) == over_sizes(MSRC) == []


def test_text_has_its_own_words_methods_and_numbers_of_tags():
    tasks = tasks_of(["tags"], SETS)
    assert {task.views for task in tasks} == {("text",)}
    assert {task.data for task in tasks} == {"tate"}
    assert {task.method for task in tasks} == set(ON_CURVES)
    assert [task.point.get("tags") for task in tasks[:: len(ON_CURVES)]] == [None, 100, 300, 1000, 3000]


def test_no_study_of_pictures_uses_the_text_and_no_task_words_that_its_data_lacks():
    for task in tasks_of(tuple(STUDIES), SETS):
        assert set(task.views) <= set(SETS[task.data].views)
        assert task.method in METHODS
        assert 0 <= task.part < SETS[task.data].n_parts
    assert not any(task.data == "tate" for task in tasks_of(["figure2", "figure3", "figure4", "why"], SETS))


def test_what_decides_the_order_is_asked_of_corel_alone():
    assert tasks_of(["why"], SETS) == why(COREL)
    assert tasks_of(["why"], {"msrc_v2": MSRC, "tate": TATE}) == []
    # κ: 6 × 3, words 2 × 3, captions 2 × 3, passes 3 × 3, supervision 3, margins 2, guided 1, Σα 5, θ 3
    assert len(why(COREL)) == 53


def test_figure_3_needs_known_regions():
    assert tasks_of(["figure3"], SETS) == whole(MSRC)
    assert tasks_of(["figure3"], {"corel5k": COREL}) == []


def test_tasks_of_several_studies_are_there_once_in_the_order_of_the_first():
    assert tasks_of(["figure4", "figure4"], SETS) == [*whole(COREL), *whole(MSRC)]
    both = tasks_of(["figure3", "figure2"], SETS)
    assert both[: len(whole(MSRC))] == whole(MSRC)
    names = [task.name for task in both]
    assert len(set(names)) == len(names)


def test_the_tasks_of_the_papers_studies_are_those_whose_records_are_kept():
    """Another name or number of tasks would measure for hours what was measured before."""
    sets = {
        data.name: data
        for data in (
            COREL,
            MSRC,
            data_set("scenes", n_train=700, n_tags=41, knows_regions=True),
            data_set("tate", ("text",), n_train=5000, n_tags=7848),
            data_set("mine", ("sift", "place"), n_parts=5, n_train=5000, n_tags=300),
        )
    }
    paper = [study for study in STUDIES if study not in RICH]
    tasks = tasks_of(paper, {**sets, **RICH_SETS})
    assert len(tasks) == 675
    names = "\n".join(sorted(task.name for task in tasks))
    assert hashlib.sha256(names.encode()).hexdigest()[:16] == "2c1cca7bab12a679"
    assert tasks_of(RICH, sets) == []


def test_what_margins_gain_is_asked_of_corel_and_of_planted_data_which_no_figure_uses():
    drawn = {name: data_set(name, DRAWN, n_parts=8, n_tags=20, knows_regions=True) for name in DESIGNS}
    tasks = tasks_of(["margins"], {**SETS, **drawn})
    assert {task.data for task in tasks} == {"corel5k", *DESIGNS}
    own = [(task.method, task.point) for task in tasks if task.data == "planted" and task.part == 7]
    assert own[:3] == [("EMM_m", {}), ("EMM_d", {}), ("EMM_d", {"nu2": 0.0})]
    assert [(method, point.get("nu2")) for method, point in own[3:]] == [
        ("EMM_m", None),
        *(("EMM_d", nu2) for nu2 in (0.0, 0.1, 1.0, 10.0)),
    ]
    for method, point in own[3:]:  # nothing is left to choose
        assert not set(method_of(method, DRAWN).without(point).axes) - {"nu1", "nu2"} - set(point)
    assert {task.views for task in tasks} == {("sift", "colour"), DRAWN}
    figures = tasks_of(["figure2", "figure3", "figure4", "why"], {**SETS, **drawn})
    assert not {task.data for task in figures} & {*DESIGNS}


def test_rivals_are_beside_emm_with_context_on_the_same_views():
    tasks = tasks_of(["flagship"], RICH_SETS)
    own = ("sift", "colour", "layout")
    views = {data: {t.views for t in tasks if t.data == data} for data in ("corel5k_rich", "msrc_v2_rich")}
    assert views["corel5k_rich"] == {("sift",), own, (*own, "map", "pooled")}
    assert views["msrc_v2_rich"] == {(*ALL, "layout"), (*ALL, "layout", "map", "pooled")}
    for data, several in views.items():
        for one in several:
            methods = {task.method for task in tasks if (task.data, task.views) == (data, one)}
            regions = set(REGIONS) - {"CandidateEM"}  # an hour by itself
            labelled = data == "msrc_v2_rich"
            rivals = set(METHODS) - {*REGIONS, *RIVALS} if labelled and "map" not in one else set(READS_ALL)
            assert methods == (rivals | regions if labelled else rivals)
    assert not any(task.data == GRID.name or task.point for task in tasks)


def test_without_a_network_its_views_are_left_out():
    assert {task.views for task in flagship(data_set("a_rich", (*ALL, "layout")))} == {
        ("sift",),
        ("sift", "colour", "layout"),
    }


def test_contenders_are_measured_with_every_seed_and_the_others_with_the_first_but_all_in_every_fold():
    seeds = {name: {t.part for t in flagship(RICH_COREL) if t.method == name} for name in METHODS}
    assert all(parts == set(range(5)) for name, parts in seeds.items() if name in CONTENDERS)
    assert seeds["LinearRanker"] == {0}
    assert not any(parts for name, parts in seeds.items() if name not in READS_ALL)
    assert OURS in CONTENDERS
    assert {t.part for t in flagship(RICH_MSRC) if t.method == "DBA"} == set(range(5))


def test_one_thing_is_changed_at_a_time_and_regions_are_cut_otherwise():
    tasks = tasks_of(["ablation"], RICH_SETS)
    assert {task.method for task in tasks} == {OURS}
    corel = [task for task in tasks if task.data == "corel5k_rich"]
    assert {task.part for task in corel} == {0}
    assert [task.point for task in corel] == [
        {},
        {"context": "neighbours"},
        {"context": "linear"},
        {"context": ["kernel", "neighbours"]},
        {"evidence": 0.1},
        {"without": "colour"},
        {"without": "layout"},
        {"without": ["map", "pooled"]},
    ]
    assert {task.part for task in tasks if task.data == "msrc_v2_rich"} == set(range(5))
    assert [(t.views, t.part, t.point) for t in tasks if t.data == GRID.name] == [
        ((*ALL, "layout"), part, {}) for part in range(5)
    ]
    assert {"without": "colour"} not in [t.point for t in ablation(data_set("a_rich", ("sift", "layout")))]


def test_tasks_come_back_from_their_records_as_they_were():
    for task in tasks_of(RICH, RICH_SETS):
        assert json.loads(json.dumps(task.point)) == task.point


@pytest.mark.parametrize("name", ["corel5k", "a_rich", "x_rich_grid", "rich", "_rich", "a_rich_photos"])
def test_rich_descriptions_have_names_of_their_own(name):
    assert rich_parts(rich_name(name)) == (name, "")
    assert rich_parts(rich_name(name, "grid")) == (name, "grid")
    assert (rich_parts(name) is None) == (name not in ("a_rich", "x_rich_grid"))


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_without_data_has_no_tasks(study):
    assert tasks_of([study], {}) == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.booleans(), st.integers(1, 5))
def test_every_task_has_a_file_name_of_its_own_whatever_the_data_is_called(name, knows_regions, n_parts):
    data = data_set(name, n_parts=n_parts, knows_regions=knows_regions)
    tasks = [*whole(data), *over_tags(data), *over_sizes(data), *why(data)]
    names = [task.name for task in tasks]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[\w+=,.-]+", name) for name in names)


@settings(deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_no_part_of_a_name_runs_into_the_next(data, method):
    parts = Task(data, method, ("sift",), 3).name.split("--")
    assert [len(parts[0]), len(parts[3])] == [len(data), len(method)]
    assert parts[1:3] == ["sift", "all"]
    assert parts[4:] == ["3"]


def test_every_held_setting_of_the_studies_is_one_that_its_method_knows():
    rich = data_set("corel5k_rich", views=("sift", "colour", "layout"))
    for task in [*why(data_set("corel5k", views=("sift", "colour"))), *ablation(rich)]:
        held = settings_at(task.point)
        method = method_of(task.method, task.views).without(held)
        learner = method.configured(method.start, 50)
        assert all(learner.get_params()[name] == value for name, value in held.items())
