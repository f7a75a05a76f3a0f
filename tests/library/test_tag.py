"""Tags go into sidecars: new ones, once, and never against a human's word."""

import contextlib
import os

import pytest

from tagmix.catalogue import open_catalogue
from tagmix.errors import MetadataError
from tagmix.images.sources import Problem
from tagmix.library import writing
from tagmix.library.decisions import Decision, StopAsking
from tagmix.library.events import PhotoTagged, RunFinished, RunStarted, Skipped
from tagmix.library.records import records_of
from tagmix.library.scan import scan
from tagmix.library.tag import tag
from tagmix.library.undo import undo
from tagmix.library.wishes import Wishes
from tagmix.metadata.read import read_photo
from tagmix.metadata.write import Addition
from tests.library.makers import FixedAnnotator, contents, draw_photo, sidecar


def tagged(catalogue, annotator=None, wishes=None, **options):
    annotator = annotator or FixedAnnotator()
    events = list(tag(catalogue, annotator, None, wishes, **options))
    return {event.path.name: event for event in events if isinstance(event, PhotoTagged | Skipped)}, events


def verdicts(catalogue, place):
    return {
        one.tag: (one.answer, one.source) for one in catalogue.verdicts.of(catalogue.photos.require(place))
    }


def test_shown_tags_that_a_photo_lacks_are_written_beside_it(catalogue, photos):
    before = contents(photos)
    found, events = tagged(catalogue)
    assert [tag for tag, _ in found["a.jpg"].added] == ["boat", "sea", "Places|Berlin"]
    assert [tag for tag, _ in found["b.jpg"].added] == ["sea", "Places|Berlin"]
    assert found["b.jpg"].present == (("boat", 0.9),)
    assert set(read_photo(photos / "b.jpg").tags) == {"boat", "holiday"}
    assert set(read_photo(photos / "b.jpg").machine) == {"sea", "Places|Berlin"}
    after = contents(photos)
    assert all(after[name] == content for name, content in before.items() if not name.endswith(".xmp"))
    assert verdicts(catalogue, "b.jpg") == {
        "boat": ("yes", "metadata"),
        "holiday": ("yes", "metadata"),
        "sea": ("yes", "machine"),
        "Places|Berlin": ("yes", "machine"),
    }
    assert isinstance(events[-1], RunFinished)


def test_a_broken_photo_is_named_once_and_the_others_are_tagged(catalogue):
    _, events = tagged(catalogue)
    problems = [event for event in events if isinstance(event, Problem)]
    assert [problem.source.name for problem in problems] == ["d.jpg"]
    assert sum(isinstance(event, PhotoTagged) for event in events) == 3


def test_the_same_call_again_does_nothing(catalogue, photos):
    tagged(catalogue)
    before, annotator = contents(photos), FixedAnnotator()
    found, _ = tagged(catalogue, annotator)
    assert {event.reason for event in found.values()} == {"done before"}
    assert annotator.calls == 1  # the broken photo
    assert contents(photos) == before
    assert len(catalogue.runs.all()) == 1


def test_an_edited_photo_and_another_model_are_tagged_again(catalogue, photos):
    tagged(catalogue)
    draw_photo(photos / "a.jpg", 77)
    found, _ = tagged(catalogue)
    assert isinstance(found["a.jpg"], PhotoTagged)
    assert isinstance(found["b.jpg"], Skipped)
    found, _ = tagged(catalogue, FixedAnnotator("another", [("harbour", 0.9)]))
    assert found["b.jpg"].added == (("harbour", 0.9),)


def test_a_rejected_tag_is_never_added_nor_what_is_below_it(catalogue, photos):
    list(scan(catalogue))
    photo = catalogue.photos.require("a.jpg")
    catalogue.verdicts.set(photo, "sea", "no")
    catalogue.verdicts.set(photo, "Places", "no")
    found, _ = tagged(catalogue)
    assert [tag for tag, _ in found["a.jpg"].added] == ["boat"]
    assert verdicts(catalogue, "a.jpg")["sea"] == ("no", "human")


def test_a_tag_that_was_taken_out_by_another_program_does_not_come_back(catalogue, photos):
    tagged(catalogue)
    beside = photos / "a.jpg.xmp"
    text = beside.read_text()
    beside.write_text(text.replace("<rdf:li>boat</rdf:li>", "", 3))
    found, _ = tagged(catalogue, FixedAnnotator("another"))
    assert "boat" not in [tag for tag, _ in found["a.jpg"].added]
    assert "boat" in [tag for tag, _ in found["2026/c.png".rpartition("/")[2]].added]


def test_wishes_choose_the_tags(catalogue):
    assert [t for t, _ in tagged(catalogue, wishes=Wishes(top=1))[0]["a.jpg"].added] == ["boat"]
    wishes = Wishes(min_probability=0.1, only_untagged=True)
    found, _ = tagged(catalogue, FixedAnnotator("another"), wishes)
    assert {event.reason for event in found.values()} == {"has tags"}
    found, _ = tagged(catalogue, FixedAnnotator("third"), Wishes(min_probability=0.1))
    assert "night" in [tag for tag, _ in found["a.jpg"].added]


def test_what_a_run_records_of_wishes_stays_when_wishes_are_added():
    assert Wishes(only_untagged=True).plain() == {}
    assert Wishes(top=3, regions="none").plain() == {"top": 3, "regions": "none"}


def test_a_photo_of_which_a_tag_was_only_denied_has_no_tags(catalogue):
    list(scan(catalogue))
    catalogue.verdicts.set(catalogue.photos.require("a.jpg"), "sea", "no")
    found, _ = tagged(catalogue, wishes=Wishes(only_untagged=True))
    assert [tag for tag, _ in found["a.jpg"].added] == ["boat", "Places|Berlin"]
    assert found["b.jpg"].reason == "has tags"


def test_progress_counts_the_photos_of_all_parts_and_those_that_are_skipped(catalogue, photos, monkeypatch):
    monkeypatch.setattr("tagmix.library.tag.CHUNK", 2)
    told = []
    tagged(catalogue, progress=lambda stage, done, _: told.append((stage, done)))
    assert told == [("pictures", n) for n in (1, 2, 3, 4)]
    told.clear()
    draw_photo(photos / "z.jpg", 77)
    tagged(catalogue, progress=lambda stage, done, _: told.append((stage, done)))
    assert told == [("pictures", 3), ("pictures", 4)]  # the broken and the new one, after two that are done


def test_other_wishes_are_other_work(catalogue):
    tagged(catalogue)
    found, _ = tagged(catalogue, wishes=Wishes(min_probability=0.2))
    assert "night" in [tag for tag, _ in found["a.jpg"].added]


def test_synonyms_of_the_library_are_written_by_their_main_name(catalogue):
    list(scan(catalogue))
    catalogue.tags.rename("boat", "ship")
    found, _ = tagged(catalogue)
    assert ("ship", 0.9) in found["a.jpg"].added


def test_without_sidecars_tags_go_into_the_catalogue_alone(catalogue, photos):
    before = contents(photos)
    found, _ = tagged(catalogue, wishes=Wishes(sidecars=False))
    assert found["a.jpg"].sidecar is None
    assert contents(photos) == before
    assert verdicts(catalogue, "a.jpg")["sea"] == ("yes", "machine")


def test_a_dry_run_changes_no_file_and_begins_no_run(catalogue, photos):
    before = contents(photos)
    found, _ = tagged(catalogue, dry=True)
    assert found["a.jpg"].sidecar == photos / "a.jpg.xmp"
    assert found["a.jpg"].is_new_sidecar
    assert not found["b.jpg"].is_new_sidecar
    assert contents(photos) == before
    assert catalogue.runs.all() == ()


def test_answers_are_kept_as_verdicts_of_a_human_and_accepted_tags_are_the_humans_own(catalogue, photos):
    def decide(proposal):
        if proposal.path.name == "c.png":
            return None
        return Decision(accepted=("sea",), rejected=("boat",))

    found, events = tagged(catalogue, decide=decide)
    assert found["c.png"].reason == "declined"
    said = verdicts(catalogue, "a.jpg")
    assert (said["sea"], said["boat"]) == (("yes", "human"), ("no", "human"))
    assert read_photo(photos / "a.jpg").tags == ("sea",)
    assert records_of(photos / "a.jpg") == ()
    run = next(event.run for event in events if isinstance(event, RunStarted))
    list(undo(catalogue, run))
    assert read_photo(photos / "a.jpg").tags == ("sea",)


def test_what_a_run_wrote_unasked_is_asked_once_later_and_undo_then_takes_what_was_rejected(
    catalogue, photos
):
    asked = []

    def decide(proposal):
        asked.append(proposal.path.name)
        return Decision(accepted=("sea",), rejected=("boat",))

    _, events = tagged(catalogue)
    run = next(event.run for event in events if isinstance(event, RunStarted))
    tagged(catalogue, decide=decide)
    assert "a.jpg" in asked
    count = len(asked)
    for later in (decide, None):
        assert tagged(catalogue, decide=later)[0]["a.jpg"].reason == "done before"
    assert len(asked) == count
    list(undo(catalogue, run))
    assert read_photo(photos / "a.jpg").tags == ("sea",)
    assert "boat" not in read_photo(photos / "a.jpg").machine


def test_whoever_decides_can_stop_and_what_was_decided_stands(catalogue, photos):
    asked = []

    def decide(proposal):
        if asked:
            raise StopAsking
        asked.append(proposal.path.name)
        return Decision(accepted=tuple(tag for tag, _ in proposal.new))

    _, events = tagged(catalogue, decide=decide)
    assert events[-1].stopped
    assert asked == ["a.jpg"]
    assert set(read_photo(photos / "a.jpg").tags) == {"boat", "sea", "Places|Berlin"}
    assert not (photos / "2026" / "c.png.xmp").exists()


def test_an_interrupted_run_goes_on_and_settles_what_was_planned(catalogue, photos, monkeypatch):
    # As a kill between the sidecar and the last note would leave it: the run belongs to a dead process
    monkeypatch.setattr("tagmix.catalogue.runs.this_process", lambda: "999999999|0|" + os.uname().nodename)
    monkeypatch.setattr("tagmix.catalogue.runs.Runs.wrote", lambda *_: (_ for _ in ()).throw(MemoryError))
    monkeypatch.setattr("tagmix.catalogue.runs.Runs._check_running", lambda *_: None)
    with pytest.raises(MemoryError):
        tagged(catalogue)
    before = contents(photos)
    monkeypatch.undo()
    monkeypatch.setattr("tagmix.library.tag.model_id", lambda annotator: annotator.name)
    found, events = tagged(catalogue)
    started = next(event for event in events if isinstance(event, RunStarted))
    assert (started.resumed, started.settled, started.run.id) == (True, 3, 1)
    assert {event.reason for event in found.values()} == {"done before"}
    assert contents(photos) == before
    assert [run.state for run in catalogue.runs.all()] == ["finished"]


@pytest.mark.parametrize("killed", [False, True])
def test_photos_that_another_process_tags_meanwhile_are_tagged_once(
    catalogue, photos, tmp_path, monkeypatch, killed
):
    real, runs = writing.plan_addition, []

    def plan(*given, **options):
        if not runs:  # the other process begins when this one has chosen its photos
            runs.append(None)
            with (
                open_catalogue(tmp_path / "catalogue.sqlite", photos) as other,
                pytest.MonkeyPatch.context() as patch,
            ):
                if killed:
                    gone = "999999999|0|" + os.uname().nodename
                    patch.setattr("tagmix.catalogue.runs.this_process", lambda: gone)
                    patch.setattr("tagmix.catalogue.runs.Runs._check_running", lambda *_: None)
                    patch.setattr(
                        "tagmix.catalogue.runs.Runs.wrote", lambda *_: (_ for _ in ()).throw(MemoryError)
                    )
                with pytest.raises(MemoryError) if killed else contextlib.nullcontext():
                    tagged(other)
        return real(*given, **options)

    monkeypatch.setattr(writing, "plan_addition", plan)
    found, _ = tagged(catalogue)
    assert {event.reason for event in found.values()} == {"done before"}
    assert [len(records_of(path)) for path in sorted(photos.rglob("*.[jp][pn]g"))] == [1, 1, 1, 0]


def test_what_was_planned_and_not_written_leaves_the_run_and_nothing_is_said_of_it(
    catalogue, photos, monkeypatch
):
    monkeypatch.setattr("tagmix.catalogue.runs.this_process", lambda: "999999999|0|" + os.uname().nodename)
    monkeypatch.setattr("tagmix.catalogue.runs.Runs._check_running", lambda *_: None)
    monkeypatch.setattr(writing, "apply_change", lambda _: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        tagged(catalogue)
    assert verdicts(catalogue, "a.jpg")["sea"] == ("yes", "machine")
    monkeypatch.undo()
    monkeypatch.setattr("tagmix.library.tag.model_id", lambda annotator: annotator.name)
    other = Wishes(regions="none")  # another work, so the interrupted run ends
    tagged(catalogue, FixedAnnotator(tags=[("harbour", 0.9)]), other)
    assert verdicts(catalogue, "a.jpg") == {"harbour": ("yes", "machine")}
    assert catalogue.runs.counts(catalogue.runs.get(1)) == (0, 0)


def test_a_planned_photo_whose_sidecar_cannot_be_read_stays_planned(catalogue, photos, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("tagmix.catalogue.runs.this_process", lambda: "999999999|0|" + os.uname().nodename)
        patch.setattr("tagmix.catalogue.runs.Runs.wrote", lambda *_: (_ for _ in ()).throw(MemoryError))
        patch.setattr("tagmix.catalogue.runs.Runs._check_running", lambda *_: None)
        with pytest.raises(MemoryError):
            tagged(catalogue)
    (photos / "a.jpg.xmp").write_bytes(b"damaged")
    tagged(catalogue)
    states = {one.place: one.state for one in catalogue.runs.entries(catalogue.runs.get(1))}
    assert states == {"a.jpg": "planned", "b.jpg": "written", "2026/c.png": "written"}


def test_a_record_that_no_catalogue_wrote_makes_no_run(catalogue, photos):
    # The sidecar of a stranger must not name a run of ours by its number
    for run, photo in (("1", "a.jpg"), ("../x", "2026/c.png")):
        addition = Addition((("boat", 0.9),), (), run, "model")
        writing.apply_change(writing.plan_addition(photos / photo, addition))
    list(scan(catalogue))
    assert catalogue.runs.all() == ()
    assert verdicts(catalogue, "a.jpg") == {}


def test_a_sidecar_that_changes_while_it_is_written_gets_both_changes(catalogue, photos, monkeypatch):
    real, changed = writing.apply_change, []

    def apply(change):
        if change.photo.name == "b.jpg" and not changed:
            changed.append(sidecar(photos / "b.jpg", "boat", "holiday", "added meanwhile"))
        real(change)

    monkeypatch.setattr(writing, "apply_change", apply)
    tagged(catalogue)
    assert set(read_photo(photos / "b.jpg").tags) == {"boat", "holiday", "added meanwhile"}
    assert set(read_photo(photos / "b.jpg").machine) == {"sea", "Places|Berlin"}


def test_a_sidecar_that_cannot_be_written_is_one_line_and_is_not_in_the_run(catalogue, photos, monkeypatch):
    real = writing.apply_change

    def apply(change):
        if change.photo.name == "b.jpg":
            raise MetadataError("'b.jpg.xmp' was not written (No space left on device): free some")
        real(change)

    monkeypatch.setattr(writing, "apply_change", apply)
    before = (photos / "b.jpg.xmp").read_bytes()
    _, events = tagged(catalogue)
    assert [p.source.name for p in events if isinstance(p, Problem)] == ["d.jpg", "b.jpg"]
    assert (photos / "b.jpg.xmp").read_bytes() == before
    run = catalogue.runs.all()[0]
    assert {entry.place for entry in catalogue.runs.entries(run)} == {"a.jpg", "2026/c.png"}
    monkeypatch.undo()
    monkeypatch.setattr("tagmix.library.tag.model_id", lambda annotator: annotator.name)
    found, _ = tagged(catalogue)
    assert isinstance(found["b.jpg"], PhotoTagged)


@pytest.mark.parametrize(
    "content",
    [
        b"no XML",
        b"",
        b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x:xmpmeta xmlns:x="adobe:ns:meta/"/>',
        b"\xff\xfe" + "<x".encode("utf-16-le"),
    ],
)
def test_a_bad_sidecar_is_one_line_stays_as_it_is_and_the_others_are_tagged(catalogue, photos, content):
    (photos / "a.jpg.xmp").write_bytes(content)
    found, events = tagged(catalogue)
    bad = [event for event in events if isinstance(event, Problem) and event.source.name == "a.jpg"]
    assert len(bad) == 1
    assert "\n" not in str(bad[0])
    assert (photos / "a.jpg.xmp").read_bytes() == content
    assert isinstance(found["b.jpg"], PhotoTagged)


def test_a_sidecar_in_utf_16_is_written(catalogue, photos):
    beside = sidecar(photos / "a.jpg", "boat")
    beside.write_bytes(beside.read_text().replace("?>", ' encoding="UTF-16"?>', 1).encode("utf-16"))
    tagged(catalogue)
    assert set(read_photo(photos / "a.jpg").machine) == {"sea", "Places|Berlin"}


def test_a_link_as_sidecar_is_refused_and_not_followed(catalogue, photos, tmp_path):
    elsewhere = sidecar(draw_photo(tmp_path / "other.jpg"), "boat")
    before = elsewhere.read_bytes()
    (photos / "a.jpg.xmp").symlink_to(elsewhere)
    _, events = tagged(catalogue)
    assert "a.jpg" in [event.source.name for event in events if isinstance(event, Problem)]
    assert elsewhere.read_bytes() == before


def test_runs_that_only_sidecars_know_are_taken_up_after_the_loss_of_the_catalogue(
    catalogue, photos, tmp_path
):
    before = contents(photos)
    tagged(catalogue)
    with open_catalogue(tmp_path / "new.sqlite", photos) as new:
        list(scan(new))
        (run,) = new.runs.all()
        assert run.name == catalogue.runs.all()[0].name
        assert verdicts(new, "a.jpg")["sea"] == ("yes", "machine")
        found, _ = tagged(new)
        assert {event.reason for event in found.values()} == {"done before"}
        list(undo(new, run))
    assert contents(photos) == before
