"""tagmix tags: lists and changes of tags, in the catalogue alone."""

import json
import shlex

import pytest

from tagmix.cli import run
from tests.library.shelves import Shelf


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shelf = Shelf(tmp_path / "photos")
    shelf.photo("a.png", metadata=["boat", "Places|Rome"])
    shelf.photo("b.png", metadata=["boat"], human=["boats"])
    shelf.photo("c.png", human=["boat"], denied=["boats"])
    shelf.guess({shelf.photo("d.png"): {"boats": 0.9}, shelf.photo("e.png", denied=["boat"]): {"boat": 0.9}})
    shelf.catalogue.close()
    monkeypatch.chdir(tmp_path / "photos")
    return shelf


def found(capsys, question):
    capsys.readouterr()
    assert run(["search", question]) == 0
    return "".join(line[0] for line in capsys.readouterr().out.splitlines())


def test_tags_are_listed_with_photos_by_who_says_so(shelf, capsys):
    assert run(["tags"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["3", "boat", "(1", "human,", "2", "metadata)"],
        ["2", "boats", "(1", "human,", "1", "machine)"],
        ["1", "Places"],
        ["1", "Places|Rome", "(1", "metadata)", "below", "Places"],
    ]


def test_the_list_can_be_json_for_any_folder_of_the_library(shelf, capsys):
    assert run(["tags", str(shelf.root), "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first == {
        "tag": "boat", "photos": 3, "human": 1, "metadata": 2, "machine": 0, "synonyms": [], "parents": [],
    }  # fmt: skip


def test_the_command_that_is_shown_for_similar_tags_merges_them(shelf, capsys):
    assert run(["tags", "similar", "."]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "boats (2), boat (3): plural"
    words = shlex.split(lines[1])
    assert words == ["tagmix", "tags", "merge", "boats", "boat", "."]
    assert run(words[1:]) == 0
    said = capsys.readouterr()
    assert said.out == "'boats' is now 'boat', on 3 photos\n"
    assert "c.png: you said yes and no; that of boat holds" in said.err
    assert found(capsys, "boat") == found(capsys, "boats") == "abcd"
    assert run(["tags", "similar"]) == 0
    assert capsys.readouterr().out == ""


def test_levels_are_kept_where_a_flat_tag_on_more_photos_means_the_same(shelf, capsys):
    assert run(["tags", "rename", "boats", "Things|boat"]) == 0
    capsys.readouterr()
    assert run(["tags", "similar"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["boat (3), Things|boat (2): level", "    tagmix tags merge boat 'Things|boat'"]


def test_a_renamed_tag_is_found_by_both_names_and_what_files_keep_is_said(shelf, capsys):
    assert run(["tags", "rename", "boat", "Things|boat"]) == 0
    said = capsys.readouterr()
    assert said.out == "'boat' is now 'Things|boat'\n"
    assert said.err.startswith(
        "the old keyword stays in 2 photos, or their sidecars: tagmix reads it as the new tag"
    )
    assert found(capsys, "Things") == found(capsys, "boat") == "abc"


def test_a_dry_run_says_what_would_change_and_changes_nothing(shelf, capsys):
    for words in (
        ["rename", "boat", "ship"],
        ["merge", "boats", "boat"],
        ["parent", "set", "boat", "Things"],
    ):
        assert run(["tags", *words, "--dry-run"]) == 0
        assert capsys.readouterr().out.startswith("would: ")
    assert run(["tags", "--json"]) == 0
    tags = [json.loads(line)["tag"] for line in capsys.readouterr().out.splitlines()]
    assert tags == ["boat", "boats", "Places", "Places|Rome"]
    assert run(["tags", "merge", "boats", "nothing", "--dry-run"]) == 1


def test_synonyms_and_parents_are_found_until_they_are_removed(shelf, capsys):
    assert run(["tags", "synonym", "add", "Kahn", "boat"]) == 0
    assert run(["tags", "parent", "set", "boat", "vehicle"]) == 0
    assert found(capsys, "Kahn") == found(capsys, "vehicle") == "abc"
    assert run(["tags"]) == 0
    assert "boat  (1 human, 2 metadata)  also Kahn  below vehicle" in capsys.readouterr().out
    assert run(["tags", "synonym", "remove", "Kahn"]) == 0
    assert run(["tags", "parent", "remove", "boat", "vehicle"]) == 0
    assert found(capsys, "vehicle") == ""
    assert run(["search", "Kahn"]) == 1


def test_mistakes_are_one_line(shelf, capsys):
    for words in (["rename", "boat", "boats"], ["synonym", "remove", "boat"], ["merge", "x", "boat"]):
        assert run(["tags", *words]) == 1
        said = capsys.readouterr().err
        assert said.startswith("tagmix: ")
        assert said.count("\n") == 1
