"""What tagmix did not write it does not replace."""

from pathlib import Path

import numpy as np
import pytest

from tagmix import Bags
from tagmix.cli import run
from tagmix.cli.options import alone_in, check_writable, is_page, is_stored
from tagmix.datasets.scenes import draw_album
from tagmix.errors import AlbumError, ModelFileError
from tagmix.files import save
from tagmix.report.page import document
from tests.cli.test_train import lines


@pytest.mark.parametrize("verb", ["train", "describe"])
@pytest.mark.parametrize("victim", ["annotations.jsonl", "images/0001.jpg"])
def test_a_file_of_the_album_is_never_the_target(tmp_path: Path, capsys, verb: str, victim: str) -> None:
    album = draw_album(tmp_path / "album", 4, size=(64, 48))
    before = (album / victim).read_bytes()
    flag = "--model" if verb == "train" else "--bags"
    assert run([verb, str(album), flag, str(album / victim), "-j", "1"]) == 1
    said = lines(capsys.readouterr().err)
    assert len(said) == 1
    assert said[0].endswith("there is a file of that name that tagmix did not write: choose another path")
    assert (album / victim).read_bytes() == before


def test_what_tagmix_wrote_it_replaces(tmp_path: Path) -> None:
    save(Bags(np.ones((1, 2), int), [0, 1]), tmp_path / "old.tagmix")
    (tmp_path / "index.html").write_text(document("a page", "of ours"))
    (tmp_path / "results.json").write_text('{\n "generator": "tagmix",\n "results": []}')
    (tmp_path / "empty").touch()
    check_writable(tmp_path / "old.tagmix", is_stored)
    check_writable(tmp_path / "index.html", is_page)
    check_writable(tmp_path / "results.json", is_page)
    for ours in (is_page, is_stored):
        check_writable(tmp_path / "empty", ours)
        check_writable(tmp_path / "new", ours)


@pytest.mark.parametrize("name", ["index.html", "results.json"])
def test_a_page_of_somebody_else_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"results": "<html>my holidays</html>"}')
    with pytest.raises(ModelFileError, match="that tagmix did not write"):
        check_writable(tmp_path / name, is_page)


def test_the_demo_does_not_draw_over_an_album(tmp_path: Path, capsys) -> None:
    mine = tmp_path / "album" / "annotations.jsonl"
    mine.parent.mkdir()
    mine.write_text('{"image": "a.jpg", "tags": ["mine"]}\n')
    assert run(["demo", "--pictures", "30", "--out", str(tmp_path), "-j", "1"]) == 1
    assert "must be new or drawn by tagmix demo, got another: choose another --out" in capsys.readouterr().err
    assert "mine" in mine.read_text()


def test_a_link_in_the_place_of_the_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(AlbumError, match="delete it"), alone_in(tmp_path):
        pass
    assert (tmp_path / "mine").read_text() == "mine"
