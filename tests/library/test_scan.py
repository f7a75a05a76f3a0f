"""A scan notes photos and what their metadata says, reading only what changed."""

import os
import time

import pytest

from tagmix.images.sources import Problem
from tagmix.library import scan as module
from tagmix.library.events import Scanned
from tagmix.library.scan import photos_below, scan
from tagmix.library.sessions import remove_unfinished
from tests.library.makers import draw_photo, sidecar


def scanned(catalogue, folder=None):
    return {event.path.name: event.change for event in scan(catalogue, folder) if isinstance(event, Scanned)}


def tags(catalogue, place):
    return {one.tag: one.answer for one in catalogue.verdicts.of(catalogue.photos.require(place))}


@pytest.fixture
def old(photos):
    """Make the files old enough for their times of change to be trusted."""
    for path in photos.rglob("*"):
        os.utime(path, (time.time() - 100,) * 2)


def test_keywords_become_verdicts_and_keywords_that_vanish_become_unknown(catalogue, photos, old):
    assert scanned(catalogue) == {"a.jpg": "new", "b.jpg": "new", "c.png": "new", "d.jpg": "new"}
    assert tags(catalogue, "b.jpg") == {"boat": "yes", "holiday": "yes"}
    sidecar(photos / "b.jpg", "boat")
    assert scanned(catalogue)["b.jpg"] == "same"
    assert tags(catalogue, "b.jpg") == {"boat": "yes"}


def test_nothing_is_read_twice_and_every_change_is_noticed(catalogue, photos, old, monkeypatch):
    read = []
    real = module.read_photo
    monkeypatch.setattr(module, "read_photo", lambda path, **o: read.append(path.name) or real(path, **o))
    list(scan(catalogue))
    assert sorted(read) == ["a.jpg", "b.jpg", "c.png", "d.jpg"]
    read.clear()
    list(scan(catalogue))
    assert read == []
    sidecar(photos / "a.jpg", "sea")
    list(scan(catalogue))
    assert read == ["a.jpg"]
    (photos / "b.jpg.xmp").rename(photos / "b.xmp")
    list(scan(catalogue))
    assert read[-1] == "b.jpg"


def test_of_a_damaged_sidecar_nothing_is_inferred_and_it_is_named_each_time(catalogue, photos, old):
    list(scan(catalogue))
    (photos / "b.jpg.xmp").write_bytes(b"<x:xmpmeta")
    os.utime(photos / "b.jpg.xmp", (time.time() - 50,) * 2)  # else it is read again for being fresh
    for _ in range(2):
        problems = [event for event in scan(catalogue) if isinstance(event, Problem)]
        assert [problem.source.name for problem in problems] == ["b.jpg"]
        assert tags(catalogue, "b.jpg") == {"boat": "yes", "holiday": "yes"}


def test_missing_photos_of_the_scanned_folder_alone_are_noted(catalogue, photos, old):
    list(scan(catalogue))
    (photos / "a.jpg").unlink()
    (photos / "2026" / "c.png").unlink()
    assert scanned(catalogue, photos / "2026") == {"c.png": "missing"}
    assert scanned(catalogue)["a.jpg"] == "missing"


def test_hidden_files_and_linked_folders_are_left_out(photos, tmp_path):
    draw_photo(photos / ".trash" / "x.jpg")
    draw_photo(photos / ".hidden.jpg")
    draw_photo(tmp_path / "elsewhere" / "y.jpg")
    (photos / "link").symlink_to(tmp_path / "elsewhere")
    assert [path.name for path in photos_below(photos)] == ["a.jpg", "b.jpg", "d.jpg", "c.png"]


def test_a_photo_outside_of_the_library_is_a_problem(catalogue, tmp_path):
    (event,) = module.scan_photos(catalogue, [draw_photo(tmp_path / "x.jpg")])
    assert isinstance(event, Problem)


def test_unfinished_files_of_a_killed_process_go_and_those_in_use_stay(photos):
    names = [f".tagmix-{n}{'0' * 15}.tmp" for n in range(2)] + [".tagmix-mine.tmp"]
    for name in names:
        (photos / name).touch()
        os.utime(photos / name, (time.time() - (0 if name == names[0] else 100),) * 2)
    remove_unfinished(photos)
    assert [name for name in names if (photos / name).exists()] == [names[0], names[2]]


def test_a_file_that_may_still_change_at_the_same_time_is_read_again(catalogue, photos):
    beside = photos / "b.jpg.xmp"
    list(scan(catalogue))
    stamp = beside.stat()
    beside.write_text(beside.read_text().replace("boat", "goat"))
    os.utime(beside, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as on a disk that counts in seconds
    list(scan(catalogue))
    assert tags(catalogue, "b.jpg") == {"goat": "yes", "holiday": "yes"}
