"""The pages of the studies have the paper's claims, figures, curves and ablation."""

import re

import pytest

from tagmix.report.comparison.page import comparison_figures, comparison_page
from tagmix.studies.page import PaperPage
from tests.report.comparison.makers import compared, curve
from tests.report.comparison.test_page import WORDS, headings
from tests.report.test_album_page import read


def everything():
    made = compared(regions=True, parts=2, n=30)
    made += curve("tags", [10, 20], n=30) + curve("pictures", [50, 100], draws=2, n=30)
    return made + curve("evidence", [0.01, 0.1, 1], n=30) + curve("supervision", ["soft", "hard"], n=30)


@pytest.fixture(scope="module")
def full_page():
    return comparison_page(everything(), **WORDS, extras=PaperPage())


def test_everything_that_was_run_has_its_place(full_page):
    reader = read(full_page)
    named = [name for name in headings(full_page) if not name.endswith(".jpg")]
    assert named == [
        "album, SIFT words",
        "The paper's claims",
        "Figure 2: whole pictures",
        "Figure 3: regions",
        "Mistakes",
        "Figure 4: examples",
        "Why: evidence",
        "Why: supervision",
        "Settings",
    ]
    assert reader.tags.count("figure") == 3 + 2 + 1
    assert "Written bytests" in reader.text


def test_the_page_asks_for_nothing(full_page):
    reader = read(full_page)
    assert not {"script", "iframe", "object"} & set(reader.tags)
    links = [value for tag, name, value in reader.attributes if name in ("src", "href", "xlink:href")]
    assert all(link.startswith(("#", "data:")) for link in links)


def test_links_lead_to_sections():
    text = comparison_page(compared(data="corel5k"), **WORDS, extras=PaperPage())
    reader = read(text)
    sections = set(reader.values("section", "id"))
    assert {link.removeprefix("#") for link in reader.values("a", "href")} == sections
    assert len(sections) == 3


def test_emm_with_context_is_told_beside_the_best_where_it_was_measured():
    skills = {"KNN": 2.0, "ContextEMM": 0.9, "EMM_d": 0.2}
    text = comparison_page(compared(skills, data="corel5k_rich", regions=True), **WORDS, extras=PaperPage())
    assert len(re.findall(r"; EMM with context reaches 0\.\d\d;", text)) == 1
    assert len(re.findall(r"; EMM with context reaches \d+(\s|&nbsp;|\u00a0)%", text)) == 1
    assert "reaches" not in "".join(re.findall(r"EMM_?d.{0,20}reaches", text))


def test_curves_without_the_whole_data_make_a_page():
    text = comparison_page(curve("tags", [10, 20], {"KNN": 1.0}), **WORDS, extras=PaperPage())
    read(text)
    assert "Figure 2: whole pictures" in headings(text)


def test_data_sets_may_count_different_numbers_of_tags():
    made = compared({"KNN": 1.0}, data="a", n_tags=8) + compared({"KNN": 1.0}, data="b")
    text = read(comparison_page(made, **WORDS, extras=PaperPage())).text
    assert "Top-4 accuracy (95" in text
    assert "Top-5 accuracy (95" in text
    assert "half of the tags if there are fewer than 10" in text


def test_figures_are_named_by_study_data_and_words():
    assert list(comparison_figures(everything(), PaperPage())) == [
        "ranking-album",
        "regions-album",
        "why-evidence-album",
    ]
    both = compared(data="corel5k") + compared(data="corel5k", views=("sift", "colour"))
    assert list(comparison_figures(both, PaperPage())) == [
        "ranking-corel5k-sift",
        "ranking-corel5k-sift+colour",
    ]
