"""The page of an album shows what was found beside what is true, and leaves out what nobody knows."""

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tagmix.annotate import Annotation, Guess, Region
from tagmix.report import figures
from tagmix.report.album_page import album_page, case_card
from tagmix.report.album_results import AlbumResults, Case, Score, TagPatches

HOSTILE = "<script>alert('x')</script>\" onload=\"y"
VOID = {"meta", "link", "img", "br"}
VOCABULARIES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


class Reader(HTMLParser):
    """Reads a page and insists that what opens is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        self.text += data

    def values(self, tag, name):
        return [value for of, attribute, value in self.attributes if (of, attribute) == (tag, name)]


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def region(*tags):
    return Region(tuple((tag, 0.5 / (k + 1)) for k, tag in enumerate(tags)), (0.0, 0.0, 1.0, 0.5), 0.5)


def case(shape=(60, 90), truth=("sky", "sea"), caption=("sky", "sea", "boat"), name="a.jpg", visible=()):
    image = np.random.default_rng(0).integers(0, 255, (*shape, 3), dtype=np.uint8)
    labels = np.zeros(shape, np.int32)
    labels[shape[0] // 2 :] = 1
    guesses = (Guess("sky", 0.9, True), Guess("car", 0.6, True), Guess("sea", 0.3, False))
    found = Annotation(Path("/album") / name, guesses, (region("sky", "sea"), region("sand", "sea")))
    return Case(found, caption, image, labels, truth, visible)


def results(**changes):
    scores = {
        "tagmix": Score(0.61, 0.42, 0.713),
        "tag frequency": Score(0.35, 0.094, 0.31),
        "chance": Score(0.2, 0.05, 0.25),
        "ceiling": Score(0.87, None, None),
    }
    curves = {
        "tagmix": [0.3, 0.5, 0.6, 0.62, 0.61],
        "tag frequency": [0.2, 0.3, 0.3, 0.3, 0.35],
        "ceiling": [0.4] * 5,
    }
    looks = [TagPatches("sky", [np.full((20, 30, 3), 200, np.uint8)] * 3)]
    found = AlbumResults(
        "My album", 1200, 340, 40, 3.5, scores, curves, [-9e5, -8e5], [case()], looks, {"Seed": "1"}
    )
    return found._replace(**changes)


def hostile_page():
    evil = Annotation(Path(f"/album/{HOSTILE.replace('/', '')}.jpg"), (Guess(HOSTILE, 0.9, True),),
                      (region(HOSTILE, HOSTILE), region("sea")))  # fmt: skip
    full = results(
        title=HOSTILE,
        cases=[case()._replace(annotation=evil, caption=[HOSTILE], truth=[HOSTILE, HOSTILE])],
        tag_patches=[TagPatches(HOSTILE, [np.zeros((8, 8, 3), np.uint8)])],
        facts={HOSTILE: HOSTILE},
    )
    return album_page(
        full._replace(
            scores={**full.scores, HOSTILE: Score(0.1, 0.1, 0.1)}, curves={**full.curves, HOSTILE: [0.1]}
        ),
        HOSTILE,
    )


def heads(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


def test_the_page_is_well_formed_and_has_all_its_parts_in_order():
    text = album_page(results(), "tagmix 1")
    reader = read(text)
    assert heads(text) == ["Test pictures", "Accuracy", "Typical patches", "Training"]
    for number in (
        "1,200",
        "340",
        "3.5",
        "0.610",
        "0.350",
        "0.870",
        "61 %",
        "35\u00a0%",
        "87\u00a0%",
        "42 %",
        "9.4\u00a0%",
        "71 %",
    ):
        assert number in reader.text
    assert text.count('class="tile"') == 3
    assert "tagmix 1" in reader.text


def test_no_text_can_become_markup():
    reader = read(hostile_page())
    assert "script" not in reader.tags
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    assert reader.text.count(HOSTILE) > 8


def test_the_page_refers_to_nothing_outside():
    text = hostile_page()
    reader = read(text)
    asked = [value for _, name, value in reader.attributes if name in ("src", "href", "xlink:href", "srcset")]
    assert asked
    assert all(value.startswith(("data:", "#")) for value in asked)
    assert set(re.findall(r"https?://[^\s\"<]+", text)) <= VOCABULARIES
    assert not re.findall(r"url\((?!#)|@import", text)


def test_a_picture_says_in_words_what_was_found_in_it():
    (alt,) = [alt for alt in read(case_card(case())).values("img", "alt") if alt]
    assert alt == "a.jpg. Found: sky, car. Regions: sky, sand."


def test_a_wrong_region_is_marked_by_a_sign_and_tells_the_truth_when_pointed_at():
    card = case_card(case())
    assert re.findall(r"<text[^>]*>([^<]*)</text>", card) == ["sky", "✗\u2009sand"]
    assert re.findall(r"<title>([^<]*)</title>", card) == [
        "sky 0.50, sea 0.25",
        "sand 0.50, sea 0.25; true tag sea",
    ]
    assert "1 of 2 regions right" in card


def test_without_truth_there_are_no_marks_and_no_verdict():
    for truth in ((), ("", "")):
        assert "✗" not in album_page(results(cases=[case(truth=truth, caption=[])]), "x")
        text = album_page(results(cases=[case(truth=truth)]), "x")
        assert "✗\u2009" not in text
        assert "regions right" not in text
        assert "truly" not in text


def test_regions_of_unknown_truth_are_not_counted():
    assert "1 of 1 regions of known tag right" in case_card(case(truth=("sky", "")))


def test_tags_of_the_caption_are_ticked_and_those_shown_stand_out_and_are_crossed_if_wrong():
    lines = re.findall(r"<li(.*?)</li>", case_card(case()))
    assert ["shown" in line for line in lines] == [True, True, False]
    assert [re.findall("[✓✗]", line) for line in lines] == [["✓"], ["✗"], ["✓"]]
    wrong = re.findall(r"<li(.*?)</li>", case_card(case(caption=["boat"])))
    assert [re.findall("[✓✗]", line) for line in wrong] == [["✗"], ["✗"], []]


def test_tags_that_a_picture_shows_and_the_caption_lacks_are_circled_and_explained():
    lines = re.findall(r"<li(.*?)</li>", case_card(case(caption=["sky"], visible=("sky", "car"))))
    assert [re.findall("[✓✗○]", line) for line in lines] == [["✓"], ["○"], []]
    explained = "○ marks tags that the picture shows and its caption lacks"
    assert explained in album_page(results(cases=[case(caption=["sky"], visible=("sky", "car"))]), "x")
    assert explained not in album_page(
        results(cases=[case(caption=["sky", "car"], visible=("sky", "car"))]), "x"
    )


def test_circles_are_not_explained_where_there_are_none():
    hidden = case(caption=["sky"], visible=("sea",))  # sea is not selected
    assert "○" not in album_page(results(cases=[hidden, case(caption=[], visible=("car",))]), "x")


def test_missed_tags_are_those_of_the_caption_that_are_not_shown():
    assert "Missed: sea, boat" in read(case_card(case())).text
    assert "None missed." in case_card(case(caption=["sky"]))
    assert "caption:" not in case_card(case(caption=[]))


def test_every_tag_worth_showing_is_ranked_as_far_as_there_is_room():
    many = tuple(Guess(f"t{k}", 0.5, k == 10) for k in range(40))
    card = case_card(case()._replace(annotation=case().annotation._replace(tags=many)))
    assert card.count("<li") == 11
    few = tuple(guess._replace(shown=False) for guess in many)
    card = case_card(case()._replace(annotation=case().annotation._replace(tags=few)))
    assert card.count("<li") == 8
    assert "Found: no tag." in card


def test_without_region_scores_tiles_and_columns_are_left_out():
    scores = {name: Score(score.top_k, None, None) for name, score in results().scores.items()}
    text = album_page(results(scores=scores), "x")
    assert text.count('class="tile"') == 1
    assert text.count('<th scope="col">') == 2
    assert "Regions right" not in text
    full = album_page(results(), "x")
    assert full.count('<th scope="col">') == 4


def test_what_is_empty_has_no_section():
    text = album_page(results(cases=[], tag_patches=[], bound=[], curves={}), "x")
    assert heads(text) == ["Accuracy"]
    assert "<svg" not in text
    read(text)


def test_scores_of_one_method_alone_make_a_page():
    text = album_page(results(scores={"tagmix": Score(0.5, 0.4, None)}), "x")
    assert text.count('class="tile"') == 2
    assert text.count('<th scope="col">') == 3


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((60, 90), (90, 60)), ((900, 1200), (480, 360)), ((1200, 300), (90, 360)), ((3, 900), (480, 2))],
)
def test_pictures_are_shrunk_to_their_place_and_never_enlarged(shape, expected):
    source = next(s for s in read(case_card(case(shape))).values("img", "src"))
    with Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) as picture:
        assert picture.format == "JPEG"
        assert picture.size == expected


def test_the_overlay_has_the_shape_of_its_picture():
    card = case_card(case((300, 400)))
    assert 'viewBox="0 0 480 360"' in card
    assert 'style="width:480px"' in card


def test_twelve_pictures_of_mere_noise_stay_below_three_megabytes():
    assert len(album_page(results(cases=[case((720, 960))] * 12), "x").encode()) < 3_000_000


def test_long_tags_in_any_script_are_cut_in_the_picture_and_whole_in_the_tooltip():
    long = "海" * 60
    found = case().annotation._replace(regions=(region(long), region("שלום")))
    card = case_card(case(truth=())._replace(annotation=found))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", card)
    assert texts[0].startswith("海")
    assert texts[0].endswith("…")
    assert len(texts[0]) <= 18
    assert f"{long} 0.50" in card


def test_a_label_without_an_annotation_is_drawn_without_a_tag():
    found = case().annotation._replace(regions=(region("sky"),))
    card = case_card(case()._replace(annotation=found))
    assert card.count("<text") == 1
    assert "<title>no tag</title>" in card


def test_the_page_is_the_same_twice():
    assert album_page(results(), "x") == album_page(results(), "x")


def test_the_curve_says_in_words_where_each_method_is_best():
    drawn = figures.topk_curve(
        [
            figures.Curve(HOSTILE, np.array([[0.2, 0.5, 0.4]])),
            figures.Curve("b", np.array([[0.9] + 7 * [0.1]])),
        ]
    )
    root = ElementTree.fromstring(drawn)
    assert f"{HOSTILE} at best 0.50 with 2; b at best 0.90 with 1" in root.get("aria-label")
    assert HOSTILE in "".join(root.itertext())


def test_the_bound_can_be_told_for_each_picture():
    assert "nats per picture: a from -4.50 to -4.00" in figures.bound_curve({"a": [-9.0, -8.0]}, 2, "picture")
