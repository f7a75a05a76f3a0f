"""tagmix search: paths, JSON, counts and pages from the catalogue of a folder."""

import json
import os
import re
import webbrowser
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tagmix.cli import run
from tagmix.report.search_page import thumbnail
from tests.library.shelves import Shelf


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shelf = Shelf(tmp_path / "photos")
    shelf.day = shelf.photo("2019/day.png", metadata=["boat", "sea"])
    shelf.night = shelf.photo("2019/night.png", human=["boat", "night"])
    shelf.town = shelf.photo("town.png", human=["town"], denied=["boat"])
    shelf.guess({shelf.town: {"sky": 0.75}})
    shelf.catalogue.close()
    monkeypatch.chdir(tmp_path)
    return shelf


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("boat -night", ["photos/2019/day.png"]),
        ("-night", ["photos/2019/day.png", "photos/town.png"]),
        ("-boat", ["photos/town.png"]),
        ("no:boat", ["photos/town.png"]),
        ("night OR town", ["photos/2019/night.png", "photos/town.png"]),
        ("path:2020", []),
    ],
)
def test_photos_are_printed_as_their_folder_was_named(shelf, capsys, question, found):
    assert run(["search", question, "photos"]) == 0
    assert capsys.readouterr().out.splitlines() == found


def test_without_a_folder_the_library_of_the_current_one_is_searched_below_it(shelf, capsys, monkeypatch):
    monkeypatch.chdir(shelf.root / "2019")
    assert run(["search", "-night"]) == 0
    assert capsys.readouterr().out == "day.png\n"


def test_outside_of_all_libraries_the_only_one_is_searched(shelf, capsys):
    for words in ([], ["--catalogue", str(shelf.path)]):
        assert run(["search", "town", *words]) == 0
        assert capsys.readouterr().out == f"{shelf.root}/town.png\n"
    Shelf(shelf.root.parent / "second").catalogue.close()
    assert run(["search", "town"]) == 1
    assert "there is no catalogue of" in capsys.readouterr().err


def test_a_folder_inside_the_library_limits_what_is_found(shelf, capsys):
    assert run(["search", "-night", "photos/2019", "--count"]) == 0
    assert capsys.readouterr().out == "1\n"


def test_json_has_the_verdict_the_source_and_the_probability_of_each_tag(shelf, capsys):
    assert run(["search", "town", "photos", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    content = json.loads(line)
    said = [(one["tag"], one["verdict"], one["source"], one["probability"]) for one in content["tags"]]
    assert content["path"] == "photos/town.png"
    assert said == [
        ("boat", "no", "human", None),
        ("sky", "yes", "machine", 0.75),
        ("town", "yes", "human", None),
    ]


def test_names_are_safe_on_lines_and_exact_between_zero_bytes(shelf, capfdbinary, monkeypatch):
    shelf.again()
    names = [b"-rf.png", b"a\n\x1b[2Jb.png", b"bad\xff.png"]
    for name in names:
        shelf.photo(os.fsdecode(name), human=["odd"])
    shelf.catalogue.close()
    monkeypatch.chdir(shelf.root)
    assert run(["search", "odd", "-0"]) == 0
    assert capfdbinary.readouterr().out == b"".join(n + b"\0" for n in [b"./-rf.png", *names[1:]])
    assert run(["search", "odd"]) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert lines == [b"./-rf.png", rb"a\n\x1b[2Jb.png", rb"bad\udcff.png"]


def test_a_folder_without_a_catalogue_is_one_line_with_the_way_out(shelf, capsys, tmp_path):
    (tmp_path / "other").mkdir()
    assert run(["search", "boat", "other"]) == 1
    assert capsys.readouterr().err == (
        "tagmix: there is no catalogue of 'other' yet: make one by tagmix scan FOLDER.\n"
    )
    assert [path.name for path in shelf.path.parent.glob("*.sqlite")] == [shelf.path.name]


def test_a_catalogue_that_is_empty_or_older_than_its_folder_is_said_in_one_line(shelf, capsys):
    assert run(["search", "boat", "photos"]) == 0
    assert capsys.readouterr().err == ""
    (shelf.root / "2019" / "new.png").write_bytes(b"new")
    os.utime(shelf.root / "2019", ns=(0, 2**62))
    assert run(["search", "boat", "photos"]) == 0
    assert capsys.readouterr().err == (
        f"the folder has changed since the last scan: tagmix scan {shelf.root}\n"
    )
    os.utime(shelf.root / "2019", ns=(0, 0))
    empty = Shelf(shelf.root.parent / "empty")
    empty.catalogue.close()
    assert run(["search", "missing:no", "empty"]) == 0
    assert capsys.readouterr().err == f"the catalogue has no photos yet: tagmix scan {empty.root}\n"


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.outside, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "action") and not value.startswith(("data:", "file:///")):
                self.outside.append(value)
            if name.startswith("on"):
                self.outside.append(name)

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_has_everything_inside_and_runs_nothing(shelf, capsys):
    shelf.again()
    name, tag = "<img src=x onerror=alert(1)>.png", '"><script>alert(2)</script>'
    shelf.photo(f"2019/{name}", human=["boat", tag], size=(2000, 900))
    shelf.catalogue.close()
    assert run(["search", "boat", "photos", "--page", "found.html"]) == 0
    text = (shelf.root.parent / "found.html").read_text()
    page = _Page(text)
    assert page.outside == []
    assert page.tags.count("img") == 3
    assert not {"script", "iframe", "object", "embed", "form"} & set(page.tags)
    assert f"photos/2019/{name}" in page.text
    assert tag in page.text
    assert "default-src 'none'" in text
    assert len(text) < 40_000
    assert run(["search", "boat", "photos", "--page", "found.html"]) == 0  # ours: written again


def test_a_thumbnail_is_small_and_turned_as_the_sidecar_says(shelf):
    photo = shelf.root / "town.png"
    Image.new("RGB", (900, 600)).save(photo)
    (shelf.root / "town.png.xmp").write_text(
        '<x:xmpmeta xmlns:x="adobe:ns:meta/" xmlns:t="http://ns.adobe.com/tiff/1.0/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description t:Orientation="6"/></rdf:RDF></x:xmpmeta>'
    )
    with Image.open(BytesIO(thumbnail(photo))) as small:
        assert small.size == (320, 480)


def test_a_page_shows_no_more_photos_than_asked_and_says_so(shelf, capsys):
    assert run(["search", "missing:no", "photos", "--page", "found.html", "--most", "2"]) == 0
    text = (shelf.root.parent / "found.html").read_text()
    assert _Page(text).tags.count("img") == 2
    assert "3 photos found, the first 2 shown" in text
    assert re.search("by a machine", text) is None  # no legend for what is not on the page


def test_open_page_opens_the_page_in_the_browser(shelf, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda uri: bool(opened.append(uri)) or True)
    (shelf.root / "town.png").write_bytes(b"broken")
    assert run(["search", "town", "photos", "--open-page"]) == 0
    said = capsys.readouterr()
    path = said.out.strip()
    assert opened == [f"file://{path}"]
    assert "cannot be shown" in Path(path).read_text(encoding="utf-8")
    assert "photos/town.png: cannot be shown" in said.err


def test_other_files_are_not_replaced_by_a_page(shelf, capsys):
    (shelf.root.parent / "mine.html").write_text("<p>mine")
    assert run(["search", "boat", "photos", "--page", "mine.html"]) == 1
    assert (shelf.root.parent / "mine.html").read_text() == "<p>mine"
