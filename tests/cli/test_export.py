"""tagmix export: what is said of an export, and its options."""

import json
from pathlib import Path

import pytest

from tagmix.cli import run
from tagmix.datasets import open_album
from tests.library.shelves import Shelf


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shelf = Shelf(tmp_path / "photos")
    shelf.photo("2019/a.png", human=["boat"], metadata=["sea"])
    shelf.guess({shelf.photo("b.png", metadata=["sky"]): {"boat": 0.9, "sun": 0.6}})
    shelf.catalogue.close()
    monkeypatch.chdir(tmp_path)
    return shelf


def test_an_export_in_the_folder_says_what_it_holds(shelf, capsys):
    assert run(["export", "photos", "--format", "jsonl", "--out", "photos/annotations.jsonl"]) == 0
    said = capsys.readouterr()
    assert said.out == "photos/annotations.jsonl\n"
    assert said.err == "2 photos, 2 with tags, 3 tags\n"
    assert open_album("photos").tag_counts() == {"boat": 1, "sea": 1, "sky": 1}


def test_an_export_elsewhere_says_where_its_paths_begin(shelf, capsys):
    assert run(["export", "photos/2019", "--format", "coco", "-o", "all.json"]) == 0
    assert capsys.readouterr().err == "1 photo, 1 with tags, 2 tags\n"
    assert (
        json.loads(Path("all.json").read_text(encoding="utf-8"))["images"][0]["file_name"]
        == "photos/2019/a.png"
    )
    (shelf.root.parent / "other").mkdir()
    assert run(["export", "photos/2019", "--format", "coco", "-o", "other/all.json"]) == 0
    said = capsys.readouterr().err.splitlines()[0]
    assert said.startswith(f"its paths begin in {shelf.root / '2019'}: tagmix train needs")


def test_a_probability_adds_the_tags_of_the_machine_and_a_search_leaves_photos_out(shelf):
    options = ["--min-probability", "0.8", "--search", "sky"]
    assert run(["export", "photos", "--format", "csv", "--out", "photos/all.csv", *options]) == 0
    assert [(item.id, item.tags) for item in open_album("photos/all.csv")] == [("b.png", ("boat", "sky"))]


def test_photos_that_cannot_be_exported_are_listed_and_the_status_says_so(shelf, capsys):
    (shelf.root / "b.png").unlink()
    assert run(["export", "photos", "--format", "csv", "--out", "all.csv"]) == 1
    said = capsys.readouterr()
    assert "b.png: is gone: scan the folder again" in said.err
    assert "1 photo, 1 with tags" in said.err
    assert said.out == "all.csv\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["photos", "--format", "csv", "--out", "no/all.csv"], "is in a folder that does not exist"),
        (["photos", "--format", "csv", "--out", "photos"], "is a folder"),
        (["photos", "--format", "labelme", "--out", "photos/b.png"], "LabelMe needs a folder"),
        (["photos", "--format", "csv", "--out", "photos/b.png"], "tagmix did not export it"),
        (["photos", "--format", "csv", "--out", "x.csv", "--search", "sky -sky"], "no photos to export"),
        (["nothing", "--format", "csv", "--out", "x.csv"], "there is no catalogue of 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(shelf, capsys, words, said):
    before = sorted(shelf.root.parent.rglob("*"))
    assert run(["export", *words]) == 1
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert sorted(path for path in shelf.root.parent.rglob("*") if "data" not in path.parts) == [
        path for path in before if "data" not in path.parts
    ]
