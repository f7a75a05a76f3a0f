"""What files say is checked at the gate: paths, texts, JSON, XML, tags, shapes."""

import unicodedata
from pathlib import Path

import pytest

from tagmix.datasets import contained
from tagmix.datasets.collect import MAX_PROBLEMS, Collector
from tagmix.datasets.files import parse_json, parse_xml, read_bytes, read_text, write_text
from tagmix.datasets.paths import beside, existing
from tagmix.datasets.shapes import circle, region, runs
from tagmix.datasets.tags import listed, words
from tagmix.errors import AlbumError
from tagmix.tag_names import normal_name, normal_names

# --- paths


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../x",
        "a/../../x",
        "..",
        "/x",
        "//x",
        "\\\\host\\x",
        "C:x",
        "c:/x",
        "..\\x",
        "a\\..\\..\\x",
        "a\0b",
        "",
        " ",
    ],
)
def test_paths_that_lead_out_or_nowhere_are_refused(tmp_path, path):
    with pytest.raises(AlbumError):
        contained(tmp_path, path)


@pytest.mark.parametrize("path", [None, 3, ["a"], b"a", "\ud800.jpg", "x" * 5000])
def test_what_is_no_path_at_all_is_refused(tmp_path, path):
    with pytest.raises(AlbumError):
        contained(tmp_path, path)


def test_paths_below_the_root_are_taken_with_either_slash(tmp_path):
    root = tmp_path.resolve()
    assert contained(tmp_path, "./a//b\\c.jpg") == root / "a" / "b" / "c.jpg"
    assert contained(tmp_path, "...jpg") == root / "...jpg"


def test_links_are_followed_inside_the_root_and_refused_outside(tmp_path):
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (tmp_path / "root-twin").mkdir()  # shares the first letters with the root, and is outside
    (root / "inside").symlink_to(root / "real")
    (root / "outside").symlink_to(tmp_path / "root-twin")
    (root / "loop").symlink_to(root / "loop")
    assert contained(root, "inside/x") == root.resolve() / "inside" / "x"
    with pytest.raises(AlbumError, match="link"):
        contained(root, "outside/x")
    with pytest.raises(AlbumError):
        existing(root, "loop")


def test_a_root_that_is_itself_a_link_is_no_obstacle(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert contained(tmp_path / "link", "a.jpg") == (tmp_path / "real" / "a.jpg").resolve()


def test_a_path_meant_from_a_sub_folder_may_climb_inside_the_album_only(tmp_path):
    file = tmp_path / "labels" / "a.json"
    assert beside(tmp_path, file, "..\\images\\a.jpg") == "images/a.jpg"
    with pytest.raises(AlbumError):
        contained(tmp_path, beside(tmp_path, file, "../../a.jpg"))
    with pytest.raises(AlbumError):
        contained(tmp_path, beside(tmp_path, file, "/etc/passwd"))


# --- files


def test_text_is_utf_8_or_says_that_it_is_utf_16(tmp_path):
    path = tmp_path / "t"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes("é\r\nb\rc".encode(encoding))
        assert read_text(path) == "é\nb\nc"
    path.write_bytes("é".encode("latin-1"))
    with pytest.raises(AlbumError, match="UTF-8"):
        read_text(path)


def test_a_file_above_the_limit_is_refused_unread(tmp_path):
    (tmp_path / "t").write_bytes(bytes(11))
    assert len(read_bytes(tmp_path / "t", 11)) == 11
    with pytest.raises(AlbumError, match="at most 10 bytes"):
        read_bytes(tmp_path / "t", 10)
    with pytest.raises(AlbumError, match="not a regular file"):
        read_bytes(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "{", "", "nul"])
def test_json_that_is_none_or_a_bomb_is_refused_in_one_line(text):
    with pytest.raises(AlbumError) as caught:
        parse_json(text, "x")
    assert "\n" not in str(caught.value)


LAUGHS = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(9))
BOMBS = {
    "laughs": f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><a>&l9;</a>',
    "file": '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>',
    "net": '<!DOCTYPE a SYSTEM "http://localhost/x.dtd"><a/>',
    "depth": "<a>" * 65 + "</a>" * 65,
    "bottomless": "<a>" * 100_000,
    "cut": "<a><b></b>",
    "none": "hello",
    "empty": "",
    "entity": "<a>&unknown;</a>",
    "coding": '<?xml version="1.0" encoding="x-nothing"?><a/>',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_xml_that_is_none_or_a_bomb_is_refused_in_one_line(bomb):
    with pytest.raises(AlbumError) as caught:
        parse_xml(BOMBS[bomb].encode(), "x")
    assert "\n" not in str(caught.value)


def test_plain_xml_is_read_with_accents_and_attributes():
    root = parse_xml('<a n="1"><b>é&amp;&#233;</b></a>'.encode(), "x")
    assert (root.get("n"), root.findtext("b")) == ("1", "é&é")


def test_writing_is_whole_or_not_at_all(tmp_path):
    write_text(tmp_path / "a", "é\n")
    assert (tmp_path / "a").read_bytes() == "é\n".encode()
    with pytest.raises(AlbumError, match="not written"):
        write_text(tmp_path / "a", "\ud800")
    with pytest.raises(AlbumError, match="not written"):
        write_text(tmp_path / "nowhere" / "a", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text(encoding="utf-8") == "é\n"


# --- tags


def test_keywords_are_kept_in_any_language_composed_and_merged():
    assert normal_names(["Zürich", unicodedata.normalize("NFD", "Zürich"), "東京", " a\tb ", "", "a b"]) == (
        "Zürich",
        "東京",
        "a b",
    )
    assert normal_name("a\u0000b\ud800") == "ab"
    assert normal_name("न्यू यॉर्क") == "न्यू यॉर्क"


def test_overlong_keywords_are_left_out():
    assert normal_names(["x" * 200, "y" * 201]) == ("x" * 200,)


def test_lists_are_cut_at_their_separators():
    assert listed("a; b | c,d\ne;;a") == ("a", "b", "c", "d", "e")
    assert listed("a, b; c", ";|") == ("a, b", "c")


def test_captions_give_folded_words_without_stop_words_numbers_and_single_letters():
    assert words("Two BIG dogs, 3 cats & a dog's bone – x") == ("big", "dogs", "cats", "dog", "bone")
    assert words("Der Hund", stop={"der"}) == ("hund",)
    assert words("a b", min_letters=1, stop=()) == ("a", "b")
    assert words("हिंदी में लड़का") == ("हिंदी", "में", "लड़का")
    assert words("CAFÉ cafe\u0301") == ("café",)
    assert words("123 !!! ") == ()


# --- shapes


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        {"tag": "a"},
        {"tag": " ", "box": [0, 0, 1, 1]},
        {"tag": 1, "box": [0, 0, 1, 1]},
        {"tag": "a", "box": [0, 0, 0, 1]},
        {"tag": "a", "box": [0, 0, 1]},
        {"tag": "a", "box": [0, 0, True, 1]},
        {"tag": "a", "box": ["0", 0, 1, 1]},
        {"tag": "a", "box": "0011"},
        {"tag": "a", "box": [0, 0, 10**400, 1]},
        {"tag": "a", "polygon": [[0, 0], [1, 1]]},
        {"tag": "a", "polygon": [[0, 0], [1, 1], [2]]},
        {"tag": "a", "polygon": [[0, 0], [1, 1], [float("inf"), 0]]},
        {"tag": "a", "runs": [1, 2]},
        {"tag": "a", "runs": {"size": [2, 2], "counts": [1, 2]}},
        {"tag": "a", "runs": {"size": [2, 2], "counts": [5, -1]}},
        {"tag": "a", "runs": {"size": [10**6, 10**6], "counts": [10**12]}},
        {"tag": "a", "runs": {"size": [2], "counts": [4]}},
        {"tag": "a", "runs": {"size": [2, 2], "counts": "é"}},
        {"tag": "a", "runs": {"size": [2, 2], "counts": "P"}},
        {"tag": "a", "runs": {"size": [2, 2], "counts": "o" * 20}},
    ],
)
def test_impossible_regions_are_refused(record):
    with pytest.raises(AlbumError):
        region(record)


def test_packed_runs_are_unpacked_as_coco_packs_them():
    # by hand: 6, 1, 40, 4, 5, 49 of a 7 × 15 mask. From the fourth on, differences to the one before last:
    # 6, 1, 40, 4 - 1 = 3, 5 - 40 = -35, 49 - 4 = 45; then five bits a character, low first, 0x20 for more,
    # and 0x10 in the last for negative, each plus 48
    assert runs({"size": [7, 15], "counts": "61X13mN]1"}).counts == (6, 1, 40, 4, 5, 49)


def test_a_circle_runs_round_its_centre():
    around = circle([5, 5], [5, 8])
    assert len(around) == 32
    assert all(((x - 5) ** 2 + (y - 5) ** 2) ** 0.5 == pytest.approx(3) for x, y in around)


def test_problems_are_listed_up_to_a_limit_and_then_counted(tmp_path):
    collector = Collector(tmp_path)
    for k in range(MAX_PROBLEMS + 5):
        collector.problem(f"line {k}", "bad\nthing")
    problems = collector.album().problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[0] == "line 0: bad thing"
    assert problems[-1] == "and 5 more"


@pytest.mark.parametrize(
    ("field", "value"), [("tags", "sky"), ("tags", [3]), ("split", 7), ("regions", {}), ("mask", "gone.png")]
)
def test_a_bad_field_is_left_out_and_the_picture_kept(tmp_path, field, value):
    (tmp_path / "a.jpg").touch()
    collector = Collector(tmp_path)
    collector.add("x", {"image": "a.jpg", field: value})
    album = collector.album()
    assert (album[0].tags, album[0].split, album[0].regions, album[0].mask) == ((), None, (), None)
    assert len(album.problems) == 1
    assert Path(album[0].image).name == "a.jpg"
