"""Examples show what was ranked first, tick what is right, and read pictures only where there are some."""

import base64
import io
import re
from dataclasses import replace

import pytest
from PIL import Image

from tagmix.comparison.records import Task
from tagmix.report.comparison.examples import SHOWN, chosen, example_cards, shown_methods
from tagmix.report.comparison.samples import groups
from tagmix.report.style import CSS
from tests.report.comparison.makers import compared, record


def test_the_papers_methods_and_the_best_of_the_others_are_shown():
    skills = {
        "frequency": 0.0,
        "EMM_m": 0.5,
        "DBA": 0.4,
        "KNN": 1.0,
        "TagProp": 1.1,
        "KernelRidge": 1.2,
        "MaxPooling": 0.1,
    }
    (group,) = groups(compared(skills))
    assert shown_methods(group) == ["EMM_m", "DBA", "KNN", "TagProp", "KernelRidge"]


def test_ours_is_shown_beside_the_best_where_the_papers_are_not():
    skills = {
        "frequency": 3.0,
        "KNN": 1.0,
        "TagProp": 1.1,
        "TwoPassKNN": 1.2,
        "KernelRidge": 1.3,
        "MaxPooling": 1.4,
    }
    (group,) = groups(compared({**skills, "EMM_calibrated": 0.1}))
    assert shown_methods(group) == ["EMM_calibrated", "TagProp", "TwoPassKNN", "KernelRidge", "MaxPooling"]
    assert shown_methods(groups(compared({"frequency": 0.0}))[0]) == ["frequency"]


def test_tags_of_the_caption_that_no_method_shows_are_named():
    first = record(Task("album", "KNN", ("sift",)), n=1, n_tags=12)
    first = replace(first, captions=[[1, 6, 7]], top=[list(range(12))])
    # KNN shows 0 … 4, TagProp 11 … 7: of the caption, tag 6 is shown by neither
    second = replace(first, task=replace(first.task, method="TagProp"), top=[list(range(11, -1, -1))])
    card = example_cards(groups([first, second])[0], None, pictures=False)
    assert re.findall('<bdi class="miss">(.*?)</bdi>', card) == ["tag 6"]
    assert "Missed by all" not in example_cards(groups([replace(second, captions=[[8]])])[0], None, False)


def test_no_comma_begins_a_line():
    made = replace(record(Task("album", "KNN", ("sift",)), n=1), captions=[[0, 1, 2]])
    card = example_cards(groups([made])[0], None, pictures=False)
    kept = [f'<span class="kept"><bdi>tag {i}</bdi>,</span> ' for i in range(2)]
    assert f"True caption: {''.join(kept)}<bdi>tag 2</bdi>" in card
    assert ".kept { white-space: nowrap; }" in CSS


def test_pictures_are_drawn_blindly_and_always_the_same():
    first, again = (chosen(groups(compared({"KNN": skill}))[0], None) for skill in (1.0, 0.1))
    assert first == again
    assert len(set(first)) == SHOWN


def test_examples_can_be_chosen_by_name_in_any_fold():
    (group,) = groups(compared({"KNN": 1.0}, parts=2))
    assert chosen(group, ["part1/3.jpg", "elsewhere.jpg", "part0/2.jpg"]) == [
        (1, "part1/3.jpg"),
        (0, "part0/2.jpg"),
    ]
    assert example_cards(group, [], pictures=True) == ""


def test_right_tags_are_ticked_and_no_others():
    made = record(Task("album", "KNN", ("sift",)), 1.0)
    (group,) = groups([made])
    card = example_cards(group, ["part0/7.jpg"], pictures=False)
    shown = re.findall(r"<span( class=\"hit\")?>(✓ )?<bdi>tag (\d+)</bdi></span>", card)
    assert [int(tag) for _, _, tag in shown] == made.top[7][:5]
    assert [bool(tick) for _, tick, _ in shown] == [tag in made.captions[7] for tag in made.top[7][:5]]


@pytest.mark.parametrize("pictures", [True, False])
def test_a_picture_is_embedded_small_only_when_asked_for(tmp_path, pictures):
    path = tmp_path / "a.png"
    Image.new("RGB", (600, 300), "green").save(path)
    made = record(Task("album", "KNN", ("sift",)), 1.0, n=1, ids=[str(path)])
    card = example_cards(groups([made])[0], None, pictures)
    assert "<b>a.png</b>" in card
    assert str(tmp_path) not in card
    found = re.findall(r"data:image/jpeg;base64,([^\"]+)", card)
    assert len(found) == pictures
    if pictures:
        assert Image.open(io.BytesIO(base64.b64decode(found[0]))).size == (240, 120)


def test_a_file_that_is_no_picture_is_only_named(tmp_path):
    (tmp_path / "a.jpg").write_text("no picture")
    made = record(Task("album", "KNN", ("sift",)), 1.0, n=2, ids=[str(tmp_path / "a.jpg"), "gone\x00.jpg"])
    card = example_cards(groups([made])[0], None, pictures=True)
    assert "<img" not in card
    assert card.count("<article") == 2
