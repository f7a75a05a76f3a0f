"""Undoing takes out what tagmix wrote and nobody confirmed, and nothing else."""

import os
import shutil

import pytest

from tagmix.errors import CatalogueError
from tagmix.images.sources import Problem
from tagmix.library import undo as module
from tagmix.library.events import PhotoTagged, Restored, RunUndone
from tagmix.library.scan import scan
from tagmix.library.tag import tag
from tagmix.library.undo import run_to_undo, undo, undo_all
from tagmix.library.wishes import Wishes
from tagmix.metadata.read import read_photo
from tests.library.makers import FixedAnnotator, contents, sidecar


@pytest.fixture
def before(catalogue, photos):
    """Return the files of a library before it was tagged."""
    found = contents(photos)
    list(tag(catalogue, FixedAnnotator()))
    return found


def test_the_former_bytes_come_back_and_our_sidecars_go(catalogue, photos, before):
    assert contents(photos) != before
    events = list(undo(catalogue, run_to_undo(catalogue)))
    assert contents(photos) == before
    assert events[-1].is_complete
    assert events[-1].run.state == "undone"
    assert {event.path.name: event.is_deleted for event in events[:-1]} == {
        "a.jpg": True,
        "b.jpg": False,
        "c.png": True,
    }
    assert len(catalogue.search("sea")) == 0
    with pytest.raises(CatalogueError, match="no run to undo"):
        run_to_undo(catalogue)


def test_a_dry_run_shows_the_same_and_changes_nothing(catalogue, photos, before):
    now = contents(photos)
    shown = list(undo(catalogue, run_to_undo(catalogue), dry=True))
    assert contents(photos) == now
    assert catalogue.runs.all()[0].state == "finished"
    done = list(undo(catalogue, run_to_undo(catalogue)))
    assert [e for e in shown if isinstance(e, Restored)] == [e for e in done if isinstance(e, Restored)]


def test_a_reset_of_machine_tags_leaves_every_human_tag(catalogue, photos, before):
    # nextcloud/recognize #631: the reset deleted tags that people had given, also those that they had given
    # again to what the machine had tagged
    by_hand = sidecar(photos / "2026" / "c.png", "grandmother")  # written over ours by another program
    text = (photos / "b.jpg.xmp").read_text()
    (photos / "b.jpg.xmp").write_text(
        text.replace("<rdf:li>holiday", "<rdf:li>regatta</rdf:li><rdf:li>holiday")
    )
    list(scan(catalogue))
    catalogue.verdicts.set(catalogue.photos.require("a.jpg"), "sea", "yes")
    (event,) = [e for e in undo(catalogue, run_to_undo(catalogue)) if getattr(e, "kept", ())]
    assert (event.path.name, event.kept) == ("a.jpg", ("sea",))
    assert read_photo(photos / "a.jpg").tags == ("sea",)
    assert set(read_photo(photos / "b.jpg").tags) == {"boat", "regatta", "holiday"}
    assert read_photo(photos / "2026" / "c.png").tags == ("grandmother",)
    assert by_hand.exists()
    assert all(read_photo(path).machine == () for path in photos.rglob("*.jpg"))


def test_what_cannot_be_undone_is_named_and_the_rest_follows_later(catalogue, photos, before):
    os.rename(photos / "a.jpg", photos.parent / "a.jpg")
    os.rename(photos / "a.jpg.xmp", photos.parent / "a.jpg.xmp")
    ours = (photos / "b.jpg.xmp").read_bytes()
    (photos / "b.jpg.xmp").write_bytes(b"damaged")
    events = list(undo(catalogue, run_to_undo(catalogue)))
    assert sorted(e.source.name for e in events if isinstance(e, Problem)) == ["a.jpg", "b.jpg"]
    assert isinstance(events[-1], RunUndone)
    assert not events[-1].is_complete
    os.rename(photos.parent / "a.jpg", photos / "a.jpg")
    os.rename(photos.parent / "a.jpg.xmp", photos / "a.jpg.xmp")
    (photos / "b.jpg.xmp").write_bytes(ours)
    events = list(undo(catalogue, run_to_undo(catalogue)))
    assert sorted(e.path.name for e in events if isinstance(e, Restored)) == ["a.jpg", "b.jpg"]
    assert events[-1].is_complete
    assert contents(photos) == before


def test_a_sidecar_that_changes_while_it_is_undone_keeps_the_change(catalogue, photos, before, monkeypatch):
    real, changed = module.apply_change, []

    def apply(change):
        if change.photo.name == "b.jpg" and not changed:
            changed.append(sidecar(photos / "b.jpg", "boat", "holiday", "added meanwhile"))
        real(change)

    monkeypatch.setattr(module, "apply_change", apply)
    assert list(undo(catalogue, run_to_undo(catalogue)))[-1].is_complete
    assert set(read_photo(photos / "b.jpg").tags) == {"boat", "holiday", "added meanwhile"}


def test_a_run_stays_open_for_a_sidecar_that_cannot_be_read(catalogue, photos, before):
    (photos / "b.jpg.xmp").write_bytes(b"damaged")
    assert not list(undo(catalogue, run_to_undo(catalogue)))[-1].is_complete
    assert run_to_undo(catalogue).state != "undone"


def test_a_photo_is_tagged_again_after_an_undo(catalogue, photos, before):
    tagged = contents(photos)
    list(undo(catalogue, run_to_undo(catalogue)))
    assert any(isinstance(event, PhotoTagged) for event in tag(catalogue, FixedAnnotator()))
    assert contents(photos).keys() == tagged.keys()


def test_a_copy_from_a_backup_does_not_bring_back_a_run_that_was_undone(catalogue, photos, before):
    kept = contents(photos)
    list(undo(catalogue, run_to_undo(catalogue)))
    for name in ("a.jpg", "a.jpg.xmp"):
        (photos / f"backup-{name}").write_bytes(kept[name])
    list(scan(catalogue))
    assert catalogue.verdicts.of(catalogue.photos.require("backup-a.jpg")) == ()


def test_a_run_that_was_killed_is_undone_where_only_its_sidecars_know(catalogue, photos, monkeypatch):
    before = contents(photos)
    with monkeypatch.context() as patch:
        patch.setattr("tagmix.catalogue.runs.Runs.wrote", lambda *_: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            list(tag(catalogue, FixedAnnotator()))
    assert contents(photos) != before
    assert list(undo(catalogue, run_to_undo(catalogue)))[-1].is_complete
    assert contents(photos) == before


def test_a_catalogue_of_a_stranger_leads_to_no_file_outside_of_its_folder(catalogue, photos, before):
    outside = photos.parent / "outside.jpg"
    shutil.copy(photos / "a.jpg", outside)
    ours = shutil.copy(photos / "a.jpg.xmp", f"{outside}.xmp")
    for place in (b"../outside.jpg", bytes(outside)):
        with catalogue.batch():
            sql = "UPDATE photo SET place = ? WHERE place IN (X'612E6A7067', X'2E2E2F6F7574736964652E6A7067')"
            catalogue._store.write(sql, (place,))
        with pytest.raises(CatalogueError, match="outside of its folder"):
            list(undo(catalogue, run_to_undo(catalogue)))
        assert os.path.exists(ours)


def test_missing_photos_can_be_left(catalogue, photos, before):
    (photos / "a.jpg").unlink()
    (photos / "a.jpg.xmp").unlink()
    assert list(undo(catalogue, run_to_undo(catalogue), leave_missing=True))[-1].is_complete


def test_a_photo_that_moved_with_its_sidecar_is_undone_where_it_is_now(catalogue, photos, before):
    for name in ("a.jpg", "a.jpg.xmp"):
        os.renames(photos / name, photos / "moved" / name)
    list(scan(catalogue))
    list(undo(catalogue, run_to_undo(catalogue)))
    assert os.listdir(photos / "moved") == ["a.jpg"]


def test_an_earlier_run_comes_back_when_the_later_one_is_undone(catalogue, photos, before):
    first = contents(photos)
    list(tag(catalogue, FixedAnnotator("another", [("harbour", 0.9)])))
    list(undo(catalogue, run_to_undo(catalogue)))
    assert contents(photos) == first
    list(undo(catalogue, run_to_undo(catalogue)))
    assert contents(photos) == before


def test_everything_is_undone_without_a_catalogue(catalogue, photos, before):
    list(tag(catalogue, FixedAnnotator("another", [("harbour", 0.9)])))
    (photos / "a.jpg").rename(photos.parent / "a.jpg")  # its sidecar stays, and says what is ours
    problems = [event for event in undo_all(None, photos) if isinstance(event, Problem)]
    assert problems == []
    (photos.parent / "a.jpg").rename(photos / "a.jpg")
    assert contents(photos) == before


def test_undoing_everything_keeps_confirmed_tags_and_tells_the_catalogue(catalogue, photos, before):
    catalogue.verdicts.set(catalogue.photos.require("a.jpg"), "sea", "yes")
    catalogue.verdicts.set(catalogue.photos.require("a.jpg"), "boat", "no")
    list(undo_all(catalogue, photos))
    assert read_photo(photos / "a.jpg").tags == ("sea",)
    assert not (photos / "2026" / "c.png.xmp").exists()
    assert [run.state for run in catalogue.runs.all()] == ["undone"]


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="exiftool is not installed")
def test_embedded_tags_are_written_into_jpegs_without_a_sidecar_once_and_taken_out_again(catalogue, photos):
    untouched = contents(photos)
    wishes = Wishes(embed=True)
    events = list(tag(catalogue, FixedAnnotator(), None, wishes))
    targets = {event.path.name: event.sidecar.name for event in events if isinstance(event, PhotoTagged)}
    assert targets == {"a.jpg": "a.jpg", "b.jpg": "b.jpg.xmp", "c.png": "c.png.xmp"}
    assert read_photo(photos / "a.jpg").tags == ()
    assert set(read_photo(photos / "a.jpg").machine) == {"boat", "sea", "Places|Berlin"}
    written = contents(photos)
    again = list(tag(catalogue, FixedAnnotator(), None, wishes))
    assert not any(isinstance(event, PhotoTagged) for event in again)
    assert contents(photos) == written
    assert list(undo(catalogue, run_to_undo(catalogue)))[-1].is_complete
    found = read_photo(photos / "a.jpg")
    assert (found.tags, found.machine) == ((), ())
    assert {n: c for n, c in contents(photos).items() if n != "a.jpg"} == {
        n: c for n, c in untouched.items() if n != "a.jpg"
    }
