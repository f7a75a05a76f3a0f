"""tagmix tag, undo, runs and scan on the command line."""

import io
import json
import shutil
import stat

import pytest

from tagmix.cli import run
from tests.library.makers import contents, sidecar


@pytest.fixture
def photos(album, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "photos"
    (folder / "2026").mkdir(parents=True)
    for number, path in enumerate(sorted((album / "images").iterdir())[:4]):
        shutil.copy(path, folder / ("2026" if number % 2 else "") / path.name)
    return folder


@pytest.fixture
def call(model, capsys):
    def called(verb, *arguments, status=0):
        extra = ["-m", str(model), "--jobs", "1", "--no-cache"] if verb == "tag" else []
        assert run([verb, *map(str, arguments), *extra]) == status
        return capsys.readouterr()

    return called


def test_the_story_from_tagging_to_undo(photos, call):
    before = contents(photos)
    shown = call("tag", photos, "--dry-run").out
    assert " → " in shown
    assert "  + " in shown
    assert contents(photos) == before
    done = call("tag", photos).out
    assert "4 photos tagged" in done
    back = done.splitlines()[-1].partition("tagmix ")[2].split()
    assert back[:2] == ["undo", "1"]
    assert len(contents(photos)) == 8
    assert "4 done before" in call("tag", photos).out
    (row,) = json.loads(call("runs", photos, "--json").out)
    assert (row["run"], row["photos"], row["state"]) == (1, 4, "finished")
    assert "finished" in call("runs", photos).out
    assert len(call("runs", 1, photos).out.splitlines()) == 4
    assert "sidecar deleted" in call("undo", photos, "--dry-run").out
    assert call(*back).out.startswith("run 1: ")
    assert contents(photos) == before
    assert "no run to undo" in call("undo", photos, status=1).err


def test_a_photo_without_new_tags_is_listed_in_its_run_as_just_that(photos, call):
    call("tag", photos)
    call("tag", photos, "--min-probability", "1")
    listed = call("runs", 2, photos).out.splitlines()
    assert {line.partition(": ")[2] for line in listed} == {"no new tags"}


def test_a_folder_without_photos_is_refused_and_gets_no_catalogue(call, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "empty").mkdir()
    assert "must have photos below it, got none" in call("tag", tmp_path / "empty", status=1).err
    assert not (tmp_path / "data").exists()


def test_a_catalogue_that_is_named_and_not_there_is_named_in_the_error(photos, call):
    for verb in (["runs"], ["tags", "list"]):
        assert (
            "there is no catalogue 'no.sqlite'"
            in call(*verb, photos, "--catalogue", "no.sqlite", status=1).err
        )


def test_a_dry_run_is_plain_in_a_pipe_and_leaves_no_catalogue(photos, call, tmp_path):
    assert "\x1b" not in call("tag", photos, "--dry-run").out
    assert not (tmp_path / "data").exists()


def test_what_a_photo_has_is_shown_beside_what_is_new(photos, call):
    first = next(photos.glob("*.*"))
    tag = call("tag", first, "--dry-run", "--top", "2").out.splitlines()[1].split()[1]
    sidecar(first, tag)
    lines = call("tag", first, "--dry-run", "--top", "2").out.splitlines()
    assert f"{first.name}.xmp" in lines[0]
    assert "(new)" not in lines[0]
    assert [line for line in lines if line.startswith(f"    {tag} ") and line.endswith("(has it)")]


def test_broken_photos_are_named_and_the_status_is_1(photos, call):
    (photos / "broken.jpg").write_bytes(b"no picture")
    done = call("tag", photos, status=1)
    assert "1 photo had problems" in done.err
    assert "  broken.jpg: " in done.err
    assert "4 photos tagged" in done.out


def test_mwg_regions_are_written_with_a_warning(photos, call):
    assert "a person's face" in call("tag", photos, "--regions", "mwg").err
    assert any(b"mwg-rs:Regions" in content for content in contents(photos).values())


def test_answers_on_the_terminal_are_kept(photos, call, monkeypatch):
    def answer(text, status=0):
        stream = io.StringIO(text)
        stream.isatty = lambda: True
        monkeypatch.setattr("sys.stdin", stream)
        return call("tag", photos, "--confirm", status=status)

    done = answer("a\ns\nq\n").out
    assert "1 photo tagged" in done
    assert "undo keeps them" in done
    assert "1 done before" in answer("").out  # the end of the input stops, too
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "needs a terminal" in call("tag", photos, "--confirm", status=1).err


def test_a_lost_catalogue_does_not_keep_from_undoing(photos, call, tmp_path):
    before = contents(photos)
    call("tag", photos)
    shutil.rmtree(tmp_path / "data")
    assert "there is no catalogue" in call("undo", photos, status=1).err
    call("undo", "--all", photos)
    assert contents(photos) == before
    assert not (tmp_path / "data").exists()


def test_undo_finds_the_only_library_and_asks_which_of_several(photos, call, tmp_path):
    call("tag", photos)
    shutil.copytree(photos, tmp_path / "others")
    call("scan", tmp_path / "others")
    assert "there are 2 libraries" in call("undo", status=1).err
    shutil.rmtree(tmp_path / "data")
    call("scan", photos)
    assert "removed from 4 photos" in call("undo").out


def test_scan_counts_changes(photos, call):
    assert call("scan", photos).out == "4 photos, 4 new\n"
    next((photos / "2026").iterdir()).unlink()
    assert call("scan", photos).out == "3 photos, 1 missing\n"


def test_a_library_that_moved_keeps_its_runs(photos, call, tmp_path):
    file = tmp_path / "mine.sqlite"
    call("tag", photos, "--catalogue", file)
    photos.rename(tmp_path / "elsewhere")
    place = tmp_path / "elsewhere", "--catalogue", file
    assert "--moved" in call("scan", *place, status=1).err
    assert call("scan", *place, "--moved").out == "4 photos\n"
    assert "removed from 4 photos" in call("undo", *place).out


def test_a_photo_and_a_folder_of_one_library_share_its_catalogue(photos, call):
    call("scan", photos)
    call("tag", photos / "2026")
    assert "2 photos tagged, " in call("tag", photos).out
    assert len(json.loads(call("runs", photos, "--json").out)) == 2


def test_a_folder_that_cannot_be_written_is_named(photos, call, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tagmix.metadata.write.replace", refuse)
    done = call("tag", photos, status=1)
    assert "4 photos had problems" in done.err
    assert "Permission denied" in done.err
    assert all(not name.endswith(".xmp") for name in contents(photos))


def test_a_read_only_sidecar_is_named_and_kept(photos, call):
    beside = sidecar(next(photos.glob("*.*")), "mine")
    beside.chmod(stat.S_IREAD)
    before = beside.read_bytes()
    assert "read-only" in call("tag", photos, status=1).err
    assert beside.read_bytes() == before


def test_impossible_calls_are_one_line(photos, call, tmp_path):
    assert "does not exist" in call("tag", tmp_path / "nowhere", status=1).err
    assert "exclude each other" in call("tag", photos, "--top", "2", "--precision", "0.8", status=2).err
    call("scan", photos)
    assert "there is no run" in call("undo", "99", photos, status=1).err
    assert "needs a FOLDER" in call("undo", "--all", status=2).err
