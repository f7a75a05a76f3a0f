"""The page is one file that trusts no text and asks for nothing."""

import re
from html.parser import HTMLParser

import pytest

from tagmix.errors import ParameterError
from tagmix.report import page

HOSTILE = "<script>alert('x')</script>\" onload=\"y"
PICTURE = page.Picture(HOSTILE, [HOSTILE, "sea"], ["sea", HOSTILE], [HOSTILE], [(HOSTILE, 0.5), ("sea", 0.2)])


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


def hostile_page():
    parts = (
        page.header(HOSTILE, HOSTILE, HOSTILE),
        page.tiles([(HOSTILE, HOSTILE, HOSTILE)]),
        page.section(HOSTILE, page.paragraph(HOSTILE, HOSTILE), page.figure("<svg></svg>", HOSTILE)),
        page.table([HOSTILE], [page.Row(HOSTILE, HOSTILE, [0.5, None], HOSTILE)]),
        page.facts({HOSTILE: HOSTILE}),
        page.columns(page.picture_card(PICTURE, {"sea": "#2f7f9e"})),
    )
    return page.document(HOSTILE, "".join(parts))


def test_no_text_can_become_markup():
    reader = read(hostile_page())
    assert "script" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert HOSTILE in reader.text


def test_the_page_refers_to_nothing_outside():
    text = hostile_page()
    assert "http" not in text
    assert "@import" not in text
    assert all(value.startswith("data:") for name, value in read(text).attributes if name in {"src", "href"})


def test_a_colour_that_is_no_colour_is_refused():
    with pytest.raises(ParameterError, match="must look like"):
        page.picture_card(PICTURE, {"sea": "red;background:url(//evil)"})


def test_errors_are_marked_by_a_sign_and_not_by_colour_alone():
    card = page.picture_card(PICTURE._replace(true=["sky", "sea"], found=["sky", "sky"]), {})
    assert "1 of 2 regions right" in card
    assert card.count("✗") == 1


def test_tags_of_the_caption_that_the_list_lacks_are_named():
    card = page.picture_card(PICTURE._replace(caption=["moon", "sea"]), {})
    assert "Not among the 2 most probable: moon." in card


def test_text_on_every_colour_has_a_contrast_of_at_least_three_point_eight():
    for grey in range(0, 256, 5):
        colour = f"#{grey:02x}{grey:02x}{grey:02x}"
        light, dark = sorted((page._luminance(colour), page._luminance(page.ink_on(colour))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 3.8, colour


def test_bars_never_leave_their_frame():
    widths = [float(w) for w in re.findall(r"width:([\d.]+)%", page._bar(1.7) + page._bar(-0.2))]
    assert widths == [100.0, 0.0]
