"""The page of a comparison is one file with the results of the records."""

import re
from dataclasses import replace
from html import unescape

import pytest

from tagmix.comparison.records import Task
from tagmix.evaluation.significance import bootstrap_interval
from tagmix.report.comparison.page import comparison_figures, comparison_page
from tests.report.comparison.makers import compared, record
from tests.report.test_album_page import read

HOSTILE = "<script>alert('x')</script>\" onload=\"y"
WORDS = {"title": "Title", "lead": "Lead.", "written_by": "tests"}


def headings(text):
    return [
        unescape(re.sub(r"<[^>]+>", "", found)) for found in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", text)
    ]


def test_the_best_of_each_data_set_is_a_tile():
    made = compared({"KNN": 1.2, "EMM_d": 0.5, "frequency": 0.0})
    text = read(comparison_page(made, **WORDS)).text
    best = made[0].metrics
    low, high = bootstrap_interval(made[0].picture_parts())[1:]
    told = f"Top-5 accuracy ({low:.2f} … {high:.2f}) on your pictures (SIFT), by KNN, first of 3"
    assert f"{best['top_k_accuracy']:.2f}{told}" in text
    assert f"a perfect ranking {best['top_k_ceiling']:.2f}" in text


def test_ceiling_and_frequency_are_stated_beside_the_score():
    made = compared({"KNN": 1.2, "frequency": 0.0})
    text = read(comparison_page(made, **WORDS)).text
    assert f"A perfect ranking reaches {made[0].metrics['top_k_ceiling']:.3f}" in text
    assert f"the most frequent tags for every picture {made[1].metrics['top_k_accuracy']:.3f}" in text


def test_one_method_alone_makes_a_smaller_page():
    text = comparison_page(compared({"KNN": 1.0}), **WORDS)
    read(text)
    assert "The paper" not in " ".join(headings(text))
    assert "Figure 3" not in text


def test_no_records_make_a_page_that_says_who_wrote_it():
    assert "Written bytests" in read(comparison_page([], **WORDS)).text
    assert comparison_figures([]) == {}


@pytest.mark.parametrize(("n_tags", "k"), [(3, 1), (8, 4)])
def test_with_few_tags_the_page_speaks_of_as_many_as_count(n_tags, k):
    made = compared({"KNN": 1.0, "DBA": 0.5, "EMM_m": 0.5}, n_tags=n_tags, regions=True)
    text = read(comparison_page(made, **WORDS)).text
    assert "Top-5" not in text
    assert f"Top-{k} accuracy (95" in text
    assert f"{k} per picture." in text


def test_a_page_of_an_album_does_not_speak_of_the_paper():
    made = compared({"KNN": 1.0, "EMM_calibrated": 0.5, "EMM_m": 0.4, "frequency": 0.0}, regions=True)
    text = comparison_page(made, **WORDS)
    named = [name for name in headings(text) if not name.endswith(".jpg")]
    assert named == ["your pictures (SIFT)", "Accuracy by number of tags shown", "Regions", "Mistakes",
                     "Examples", "Settings"]  # fmt: skip
    assert "paper" not in read(text).text


def test_the_columns_of_the_main_table_are_explained_below_it():
    text = read(comparison_page(compared({"KNN": 1.0, "frequency": 0.0}), **WORDS)).text
    assert "P@1: share of pictures whose first tag is right; Per-tag F1: harmonic mean of" in text
    assert "N+: number of tags that are found on at least one picture." in text


def test_the_methods_of_the_examples_are_those_that_are_named():
    text = comparison_page(compared({"KNN": 1.0, "EMM_calibrated": 0.5, "frequency": 0.0}), **WORDS)
    assert "with the first 5 tags of EMM calibrated and KNN, best first" in text
    assert set(re.findall("<dt>(.*?)</dt><dd><span", text)) == {"EMM calibrated", "KNN"}


@pytest.mark.parametrize(
    "where", ["data", "method", "view", "point", "tag", "id", "chosen", "provenance", "seconds"]
)
def test_no_name_can_become_markup(where):
    name = HOSTILE + " \u202eRTL \u05d0\u05d1"
    task = {"data": "album", "method": "EMM_m", "view": "sift"}
    task |= {where: name} if where in task else {}
    own = Task(task["data"], task["method"], (task["view"],), 0, {})
    first = record(own, 1.0, n=20)
    made = [first, replace(record(replace(own, method="DBA"), 0.5, n=20))]
    if where == "point":
        made += [record(replace(own, point={name: i}), 0.5, n=20) for i in (1, 2, 3)]
        made += [record(replace(own, point={"x": name}), 0.5, n=20)]
    hostile = {
        "tag": {"tag_names": 30 * [name]},
        "id": {"ids": 20 * [name]},
        "chosen": {"chosen": {name: name}},
        "provenance": {"provenance": {name: name}},
        "seconds": {"seconds": {name: 1.0}},
    }
    made = [replace(r, **hostile.get(where, {})) for r in made]
    text = comparison_page(made, **{key: name for key in WORDS}, facts={name: name})
    reader = read(text)
    assert "script" not in reader.tags
    assert not [attribute for _, attribute, _ in reader.attributes if attribute.startswith("on")]
    assert "<script>alert('x')</script>" in reader.text


def test_the_name_of_a_figure_is_a_safe_file_name():
    made = compared({"KNN": 1.0}, data="../../etc/x y")
    assert list(comparison_figures(made)) == ["ranking-.._.._etc_x_y"]


def test_a_figure_is_svg_and_png():
    figure = comparison_figures(compared())["ranking-album"]
    assert figure.svg.startswith("<svg role=")
    assert figure.png().startswith(b"\x89PNG")


def test_examples_are_shown_once_for_each_data_set_where_methods_are_best():
    made = compared({"KNN": 0.3}, views=("sift",)) + compared({"KNN": 1.5}, views=("sift", "colour"))
    text = comparison_page(made, **WORDS)
    assert headings(text).count("Examples") == 1
    assert text.index("SIFT and colour)</h2>") < text.index(">Examples</h3>")


def test_the_verdict_stands_above_the_tiles_and_once():
    text = read(comparison_page(compared({"KNN": 1.0, "DBA": 0.1}), **WORDS)).text
    said = "KNN is better than DBA."
    assert text.count(said) == 1
    assert text.index(said) < text.index("first of 2")


def test_other_words_have_their_verdict_in_their_section():
    made = compared({"KNN": 1.2, "DBA": 0.1}) + compared({"KNN": 1.0, "DBA": 0.1}, views=("colour",))
    text = read(comparison_page(made, **WORDS)).text
    assert text.count("KNN is better than DBA.") == 2
