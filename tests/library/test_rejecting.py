"""What a human rejects leaves the sidecar at once, where tagmix wrote it, and does not come back."""

import pytest

from tagmix.catalogue import file_digest
from tagmix.errors import MetadataError
from tagmix.images.sources import Problem
from tagmix.library import rejecting
from tagmix.library.decisions import Decision
from tagmix.library.events import PhotoTagged
from tagmix.library.rejecting import reject
from tagmix.library.tag import tag
from tagmix.library.undo import run_to_undo, undo
from tagmix.library.wishes import Wishes
from tagmix.metadata.read import read_photo
from tests.library.makers import FixedAnnotator, contents

EVERY = ("boat", "sea", "Places|Berlin")


@pytest.fixture
def before(catalogue, photos):
    """Return the files of a library before it was tagged."""
    found = contents(photos)
    list(tag(catalogue, FixedAnnotator()))
    return found


@pytest.fixture
def rejecting_in(catalogue, photos):
    def call(name, *tags):
        return reject(catalogue, catalogue.photos.require(name), photos / name, tags)

    return call


def added(events):
    return {
        event.path.name: [tag for tag, _ in event.added] for event in events if isinstance(event, PhotoTagged)
    }


def owned(catalogue, name):
    run = catalogue.runs.all()[-1]
    return catalogue.runs.entry(run, catalogue.photos.require(name)).tags


def test_a_rejected_tag_leaves_the_sidecar_and_undo_takes_the_rest(catalogue, photos, before, rejecting_in):
    assert rejecting_in("a.jpg", "boat") == ("boat",)
    assert set(read_photo(photos / "a.jpg").machine) == {"sea", "Places|Berlin"}
    assert b"boat" not in (photos / "a.jpg.xmp").read_bytes()
    assert catalogue.verdicts.get(catalogue.photos.require("a.jpg"), "boat") == "no"
    assert owned(catalogue, "a.jpg") == ("sea", "Places|Berlin")
    list(undo(catalogue, run_to_undo(catalogue)))
    assert contents(photos) == before


def test_a_sidecar_of_ours_goes_with_its_last_tag_and_that_of_a_person_is_as_before(
    catalogue, photos, before, rejecting_in
):
    for name in ("a.jpg", "b.jpg"):
        rejecting_in(name, *EVERY)
    assert not (photos / "a.jpg.xmp").exists()
    assert (photos / "b.jpg.xmp").read_bytes() == before["b.jpg.xmp"]  # its boat is the person's
    assert list(undo(catalogue, run_to_undo(catalogue)))[-1].is_complete
    assert contents(photos) == before


def test_a_rejected_tag_is_not_suggested_again_by_any_run(catalogue, photos, before, rejecting_in):
    rejecting_in("a.jpg", "boat")
    list(undo(catalogue, run_to_undo(catalogue)))
    events = list(tag(catalogue, FixedAnnotator(), None, Wishes(min_probability=0.1)))
    assert added(events)["a.jpg"] == ["sea", "Places|Berlin", "night"]


def test_a_second_rejection_changes_nothing(catalogue, photos, before, rejecting_in):
    rejecting_in("a.jpg", "boat")
    now = contents(photos)
    assert rejecting_in("a.jpg", "boat") == ()
    assert contents(photos) == now


def test_an_edit_of_another_program_stays(catalogue, photos, before, rejecting_in):
    path = photos / "b.jpg.xmp"
    path.write_text(path.read_text().replace("<rdf:li>holiday", "<rdf:li>regatta</rdf:li><rdf:li>holiday"))
    assert rejecting_in("b.jpg", "sea") == ("sea",)
    assert set(read_photo(photos / "b.jpg").tags) == {"boat", "regatta", "holiday"}
    assert read_photo(photos / "b.jpg").machine == ("Places|Berlin",)
    list(undo(catalogue, run_to_undo(catalogue)))
    assert set(read_photo(photos / "b.jpg").tags) == {"boat", "regatta", "holiday"}
    assert read_photo(photos / "b.jpg").machine == ()


def test_a_tag_goes_under_its_former_name_and_those_below_a_rejected_one_stay(
    catalogue, photos, before, rejecting_in
):
    catalogue.tags.rename("sea", "ocean")
    assert rejecting_in("a.jpg", "Places", "ocean") == ("sea",)
    assert set(read_photo(photos / "a.jpg").machine) == {"boat", "Places|Berlin"}
    assert owned(catalogue, "a.jpg") == ("boat", "Places|Berlin")


@pytest.mark.parametrize("step", ["apply_change", "disown"])
def test_what_a_kill_left_is_completed_by_the_next_run(
    catalogue, photos, before, rejecting_in, monkeypatch, step
):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(
            *((rejecting, step) if step == "apply_change" else (type(catalogue.runs), step)), killed
        )
        with pytest.raises(KeyboardInterrupt):
            rejecting_in("a.jpg", "boat")
    assert ("boat" in read_photo(photos / "a.jpg").machine) == (step == "apply_change")
    assert catalogue.verdicts.get(catalogue.photos.require("a.jpg"), "boat") == "no"
    assert catalogue.runs.rejected() == (catalogue.photos.require("a.jpg"),)
    list(tag(catalogue, FixedAnnotator()))
    assert set(read_photo(photos / "a.jpg").machine) == {"sea", "Places|Berlin"}
    assert catalogue.runs.rejected() == ()
    list(undo(catalogue, run_to_undo(catalogue)))
    assert contents(photos) == before


def test_a_sidecar_that_changes_meanwhile_is_planned_again(
    catalogue, photos, before, rejecting_in, monkeypatch
):
    path, apply, left = photos / "a.jpg.xmp", rejecting.apply_change, [1]

    def late(change):
        if left:
            path.write_bytes(path.read_bytes() + b"\n" * left.pop())
        apply(change)

    monkeypatch.setattr(rejecting, "apply_change", late)
    assert rejecting_in("a.jpg", "boat") == ("boat",)


def test_a_sidecar_that_cannot_be_written_is_named_and_the_word_stands(catalogue, photos, before):
    (photos / "a.jpg.xmp").chmod(0o444)

    def decide(proposal):
        return Decision(rejected=("boat",))

    events = list(tag(catalogue, FixedAnnotator(), [photos / "a.jpg"], decide=decide))
    assert [event.source.name for event in events if isinstance(event, Problem)] == ["a.jpg"]
    assert catalogue.verdicts.get(catalogue.photos.require("a.jpg"), "boat") == "no"
    with pytest.raises(MetadataError, match="read-only"):
        reject(catalogue, catalogue.photos.require("a.jpg"), photos / "a.jpg", ["boat"])
    (photos / "a.jpg.xmp").chmod(0o644)
    list(tag(catalogue, FixedAnnotator()))
    assert "boat" not in read_photo(photos / "a.jpg").machine


def test_embedded_tags_are_rejected_inside_the_photo(catalogue, photos, rejecting_in):
    list(tag(catalogue, FixedAnnotator(), [photos / "a.jpg"], Wishes(embed=True)))
    assert rejecting_in("a.jpg", "boat") == ("boat",)
    assert set(read_photo(photos / "a.jpg").machine) == {"sea", "Places|Berlin"}
    noted = catalogue.photos.get(catalogue.photos.require("a.jpg"))
    assert noted.digest == file_digest(photos / "a.jpg")
    assert catalogue.runs.rejected() == ()
    assert list(undo(catalogue, run_to_undo(catalogue)))[-1].is_complete
    assert read_photo(photos / "a.jpg").machine == ()


def test_a_rejection_is_completed_for_its_photo_wherever_that_is_now(catalogue, photos, before, rejecting_in):
    (photos / "a.jpg.xmp").chmod(0o444)
    with pytest.raises(MetadataError):
        rejecting_in("a.jpg", "boat")
    (photos / "a.jpg.xmp").chmod(0o644)
    for ending in ("", ".xmp"):
        (photos / f"a.jpg{ending}").rename(photos / f"moved.jpg{ending}")
    list(tag(catalogue, FixedAnnotator()))
    assert "boat" not in read_photo(photos / "moved.jpg").machine


def test_a_question_about_an_earlier_run_takes_out_what_is_rejected_and_keeps_what_is_accepted(
    catalogue, photos, before
):
    def decide(proposal):
        return Decision(accepted=("sea",), rejected=("boat",))

    list(tag(catalogue, FixedAnnotator(), [photos / "a.jpg"], dry=True, decide=decide))
    assert "boat" in read_photo(photos / "a.jpg").machine
    run = run_to_undo(catalogue)
    list(tag(catalogue, FixedAnnotator(), [photos / "a.jpg"], decide=decide))
    assert set(read_photo(photos / "a.jpg").machine) == {"sea", "Places|Berlin"}
    list(undo(catalogue, run))
    assert read_photo(photos / "a.jpg").tags == ("sea",)
    assert read_photo(photos / "a.jpg").machine == ()
    assert b"boat" not in (photos / "a.jpg.xmp").read_bytes()
