"""Plans and their application: what is written where, what is refused, and what a kill leaves behind."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tagmix.errors import MetadataError, ParameterError
from tagmix.metadata import removal
from tagmix.metadata.provenance import records_in
from tagmix.metadata.splice import Splicer
from tagmix.metadata.write import Addition, RegionTag, apply_change, plan_addition, plan_removal
from tagmix.metadata.xmp import MOST_BYTES, parse_xmp
from tests.metadata.photos import dataset, holding, picture, resource, segment, xmp
from tests.metadata.programs import PROGRAMS
from tests.metadata.random_sidecars import facts_of, qualified

BOAT = Addition((("boat", 0.75),), (), "run-1", "model-1")
SUBJECT, TAGS_LIST = qualified("dc:subject"), qualified("digiKam:TagsList")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (8, 6)).save(path)
    return path


@pytest.fixture
def sidecar(photo: Path) -> Path:
    return photo.with_name("photo.jpg.xmp")


def tags(*names: str, run: str = "run-1", regions: tuple[RegionTag, ...] = ()) -> Addition:
    return Addition(tuple((name, 0.5) for name in names), regions, run, "model-1")


def add(photo: Path, *names: str, run: str = "run-1") -> tuple[str, ...]:
    change = plan_addition(photo, tags(*names, run=run))
    apply_change(change)
    return change.added


def subjects(sidecar: Path) -> list[str]:
    return facts_of(sidecar.read_bytes())[SUBJECT]


def test_a_plan_writes_nothing(photo: Path) -> None:
    plan_addition(photo, BOAT)
    assert os.listdir(photo.parent) == ["photo.jpg"]


def test_a_new_sidecar_goes_with_the_undo(photo: Path, sidecar: Path) -> None:
    add(photo, "boat")
    assert os.listdir(photo.parent) == ["photo.jpg", "photo.jpg.xmp"] or sidecar.exists()
    change = plan_removal(photo, "run-1")
    assert (change.after, change.removed) == (None, ("boat",))
    apply_change(change)
    assert os.listdir(photo.parent) == ["photo.jpg"]


def test_tags_that_are_there_are_not_added_and_stay(photo: Path, sidecar: Path) -> None:
    sidecar.write_bytes(PROGRAMS["digiKam"])
    assert add(photo, "holiday", "Berlin", "Germany", "Places|Germany", "boat") == ("boat",)
    apply_change(plan_removal(photo, None))
    assert sidecar.read_bytes() == PROGRAMS["digiKam"]


def test_nothing_new_changes_nothing(photo: Path, sidecar: Path) -> None:
    sidecar.write_bytes(PROGRAMS["digiKam"])
    change = plan_addition(photo, tags("holiday"))
    assert change.before == change.after
    sidecar.chmod(0o644)
    before = sidecar.stat()
    apply_change(change)
    assert sidecar.stat().st_mtime_ns == before.st_mtime_ns


def test_the_same_run_again_changes_nothing_and_more_tags_need_another(photo: Path) -> None:
    add(photo, "boat")
    change = plan_addition(photo, BOAT)
    assert change.before == change.after
    with pytest.raises(MetadataError, match="has tags of the run 'run-1' already"):
        plan_addition(photo, tags("boat", "sea"))


@pytest.mark.parametrize("foreign", [False, True])
def test_a_tag_of_two_runs_goes_with_the_second(photo: Path, sidecar: Path, foreign: bool) -> None:
    add(photo, "boat", "sea")
    assert add(photo, "boat", "night", run="run-2") == ("boat", "night")
    if foreign:
        sidecar.write_bytes(sidecar.read_bytes() + b"\n")
    change = plan_removal(photo, "run-1")
    assert change.removed == ("sea",)
    apply_change(change)
    assert sorted(subjects(sidecar)) == ["boat", "night"]
    apply_change(plan_removal(photo, "run-2"))
    assert sidecar.exists() == foreign  # the record of who made it went with the first run
    assert not foreign or subjects_or_none(sidecar) is None


@pytest.mark.parametrize("foreign", [False, True])
def test_confirmed_tags_stay_without_provenance(photo: Path, sidecar: Path, foreign: bool) -> None:
    ring = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    regions = tuple(RegionTag(name, ((ring,),), (0, 0, 1, 1), 0.5) for name in ("boat", "sea"))
    apply_change(plan_addition(photo, tags("boat", "sea", regions=regions)))
    if foreign:
        sidecar.write_bytes(sidecar.read_bytes().replace(b"<rdf:li>boat<", b"<!--x--><rdf:li>boat<"))
    change = plan_removal(photo, "run-1", keep={"boat"})
    assert change.removed == ("sea",)
    apply_change(change)
    assert subjects(sidecar) == ["boat"]
    assert b"sea" not in sidecar.read_bytes()
    assert sidecar.read_bytes().count(b"<Iptc4xmpExt:RegionBoundary") == 1
    assert records_in(parse_xmp(sidecar.read_bytes(), "")) == []
    assert plan_removal(photo, None).removed == ()


def test_reset_of_machine_tags_leaves_every_human_tag(photo: Path, sidecar: Path) -> None:
    """Recall recognize #631: a reset deleted the users' own tags."""
    sidecar.write_bytes(PROGRAMS["Lightroom"])
    human = facts_of(PROGRAMS["Lightroom"])
    for number in range(3):
        add(photo, f"machine {number}", "Berlin", run=f"run-{number}")
        text = sidecar.read_bytes().replace(b'xmp:Rating="4"', b'xmp:Rating="5"')
        sidecar.write_bytes(text)
    apply_change(plan_removal(photo, None))
    now = facts_of(sidecar.read_bytes())
    assert b"machine" not in sidecar.read_bytes()
    for name, values in human.items():
        assert now[name] == (["5"] if name == qualified("xmp:Rating") else values)


@pytest.mark.parametrize("step", ["adding", "removing"])
def test_a_step_that_would_touch_the_words_of_others_is_refused(
    step: str, photo: Path, sidecar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mistake of ours, or a form of XMP that nobody thought of: what was not asked for stops the change."""
    sidecar.write_bytes(PROGRAMS["Lightroom"])
    if step == "adding":
        add_to = Splicer.add_to
        monkeypatch.setattr(Splicer, "add_to", lambda *own: (add_to(*own), add_to(*own)))
        with pytest.raises(MetadataError, match="without touching 'subject' of another program"):
            plan_addition(photo, BOAT)
        return
    add(photo, "boat")
    sidecar.write_bytes(sidecar.read_bytes() + b"\n")
    cut = removal._cut
    monkeypatch.setattr(removal, "_cut", lambda *own: cut(*own).replace(b'xmp:Rating="4"', b""))
    with pytest.raises(MetadataError, match="without touching 'Rating' of another program"):
        plan_removal(photo, None)


def test_a_region_that_somebody_changed_stays(photo: Path, sidecar: Path) -> None:
    ring = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    regions = tuple(RegionTag(name, ((ring,),), (0, 0, 1, 1), 0.5) for name in ("boat", "sea"))
    apply_change(plan_addition(photo, tags("boat", "sea", regions=regions)))
    text = sidecar.read_bytes()
    moved = text.replace(b'rbX="1.00000"', b'rbX="0.90000"', 2)
    sidecar.write_bytes(moved)
    apply_change(plan_removal(photo, None))
    assert sidecar.read_bytes().count(b"<Iptc4xmpExt:RegionBoundary") == 1
    assert subjects_or_none(sidecar) is None


def subjects_or_none(sidecar: Path) -> list[str] | None:
    return facts_of(sidecar.read_bytes()).get(SUBJECT)


def test_a_keyword_that_a_later_tag_of_a_human_needs_stays(photo: Path, sidecar: Path) -> None:
    add(photo, "Places|Berlin")
    text = sidecar.read_bytes()
    item = b"<rdf:li>Places/Berlin</rdf:li>"
    sidecar.write_bytes(text.replace(item, item + b"<rdf:li>Trips/Berlin</rdf:li>", 1))
    apply_change(plan_removal(photo, None))
    assert subjects(sidecar) == ["Berlin"]
    assert facts_of(sidecar.read_bytes())[TAGS_LIST] == ["Trips/Berlin"]


def test_a_sidecar_of_ours_with_nothing_of_others_goes_also_after_another_program(
    photo: Path, sidecar: Path
) -> None:
    add(photo, "boat")
    sidecar.write_bytes(sidecar.read_bytes() + b"\n")
    apply_change(plan_removal(photo, None))
    assert not sidecar.exists()


def test_a_keyword_inside_the_photo_is_copied_beside_it_and_not_added(photo: Path, sidecar: Path) -> None:
    block = segment(0xED, b"Photoshop 3.0\0" + resource(dataset(2, 25, b"boat")))
    photo.write_bytes(picture()[:2] + block + picture()[2:])
    assert add(photo, "boat", "sea") == ("sea",)
    assert subjects(sidecar) == ["boat", "sea"]


def test_what_somebody_wrote_between_our_keywords_stays(photo: Path, sidecar: Path) -> None:
    add(photo, "boat")
    sidecar.write_bytes(sidecar.read_bytes().replace(b"<rdf:li>boat<", b"<!--mine--><rdf:li>boat<", 1))
    apply_change(plan_removal(photo, None))
    assert b"<!--mine-->" in sidecar.read_bytes()
    assert b"boat" not in sidecar.read_bytes()


@pytest.mark.parametrize("kind", ["IPTC", "XMP"])
def test_a_tag_that_somebody_gave_to_the_photo_itself_stays(kind: str, photo: Path, sidecar: Path) -> None:
    add(photo, "boat", "sea")
    block = segment(0xED, b"Photoshop 3.0\0" + resource(dataset(2, 25, b"boat")))
    inside = (
        picture()[:2] + block + picture()[2:]
        if kind == "IPTC"
        else holding("JPEG", xmp(dc_subject=("boat",)))
    )
    photo.write_bytes(inside)
    sidecar.write_bytes(sidecar.read_bytes() + b"\n")  # another program was there, too
    apply_change(plan_removal(photo, None))
    assert subjects(sidecar) == ["boat"]


NAMES = {
    "only the photo": (["photo.jpg"], "photo.jpg.xmp"),
    "photo.jpg.xmp": (["photo.jpg", "photo.jpg.xmp", "photo.xmp"], "photo.jpg.xmp"),
    "photo.xmp": (["photo.jpg", "photo.xmp"], "photo.xmp"),
    "a raw file beside it": (["photo.jpg", "photo.xmp", "photo.CR2"], "photo.jpg.xmp"),
}


@pytest.mark.parametrize("case", NAMES)
def test_an_existing_sidecar_of_either_name_is_used(case: str, photo: Path) -> None:
    names, expected = NAMES[case]
    for name in names[1:]:
        photo.with_name(name).write_bytes(PROGRAMS["Immich"])
    assert plan_addition(photo, BOAT).sidecar.name == expected


def test_the_mode_of_a_sidecar_stays(photo: Path, sidecar: Path) -> None:
    sidecar.write_bytes(PROGRAMS["Immich"])
    sidecar.chmod(0o640)
    add(photo, "boat")
    assert sidecar.stat().st_mode & 0o777 == 0o640


BAD: dict[str, Any] = {
    "no XML": b"not XML",
    "nothing": b"",
    "XML of another kind": b"<html><body/></html>",
    "a DOCTYPE": b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + PROGRAMS["Lightroom"],
    "too large": b" " * (MOST_BYTES + 1),
    "keywords in a form of their own": PROGRAMS["Immich"].replace(
        b"<dc:description>", b"<dc:subject><rdf:Description dc:x='y'/></dc:subject><dc:description>"
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_sidecar_that_cannot_be_read_is_refused_in_one_line(what: str, photo: Path, sidecar: Path) -> None:
    sidecar.write_bytes(BAD[what])
    with pytest.raises(MetadataError) as caught:
        plan_addition(photo, BOAT)
    assert "\n" not in str(caught.value)
    assert sidecar.read_bytes() == BAD[what]


def test_links_folders_pipes_and_read_only_files_are_refused(photo: Path, sidecar: Path) -> None:
    target = photo.with_name("target")
    target.write_bytes(PROGRAMS["Immich"])
    sidecar.symlink_to(target)
    with pytest.raises(MetadataError, match="got a link"):
        plan_addition(photo, BOAT)
    sidecar.unlink()
    sidecar.mkdir()
    with pytest.raises(MetadataError, match="plain file"):
        plan_addition(photo, BOAT)
    sidecar.rmdir()
    os.mkfifo(sidecar)
    with pytest.raises(MetadataError, match="plain file"):
        plan_addition(photo, BOAT)
    sidecar.unlink()
    target.chmod(0o444)
    target.rename(sidecar)
    with pytest.raises(MetadataError, match="read-only"):
        plan_addition(photo, BOAT)


def test_no_photo_and_a_long_name_are_refused(photo: Path, tmp_path: Path) -> None:
    with pytest.raises(MetadataError, match="must be a photo"):
        plan_addition(tmp_path / "none.jpg", BOAT)
    long = tmp_path / f"{'x' * 250}.jpg"
    photo.rename(long)
    with pytest.raises(MetadataError, match="File name too long"):
        plan_addition(long, BOAT)


def test_a_sidecar_that_changed_since_the_plan_is_refused(photo: Path, sidecar: Path) -> None:
    change = plan_addition(photo, BOAT)
    sidecar.write_bytes(PROGRAMS["Immich"])
    with pytest.raises(MetadataError, match="changed by another program"):
        apply_change(change)
    change = plan_addition(photo, BOAT)
    sidecar.unlink()
    with pytest.raises(MetadataError, match="changed by another program"):
        apply_change(change)
    assert not sidecar.exists()


def test_a_sidecar_of_ours_that_changed_since_the_plan_is_not_deleted(photo: Path, sidecar: Path) -> None:
    add(photo, "boat")
    change = plan_removal(photo, None)
    assert change.after is None
    sidecar.write_bytes(PROGRAMS["Immich"])
    with pytest.raises(MetadataError, match="changed by another program"):
        apply_change(change)
    assert sidecar.read_bytes() == PROGRAMS["Immich"]


def test_a_photo_that_moved_since_the_plan_gets_no_sidecar_where_it_was(photo: Path, sidecar: Path) -> None:
    change = plan_addition(photo, BOAT)
    photo.rename(photo.with_name("moved.jpg"))
    with pytest.raises(MetadataError, match="moved or deleted meanwhile"):
        apply_change(change)
    assert not sidecar.exists()


def test_a_sidecar_that_changes_while_we_write_keeps_the_change(
    photo: Path, sidecar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecar.write_bytes(PROGRAMS["Immich"])
    change = plan_addition(photo, BOAT)
    monkeypatch.setattr(os, "fsync", lambda _: sidecar.write_bytes(PROGRAMS["IMatch"]))
    with pytest.raises(MetadataError, match="changed by another program"):
        apply_change(change)
    assert sidecar.read_bytes() == PROGRAMS["IMatch"]
    assert sorted(os.listdir(photo.parent)) == ["photo.jpg", "photo.jpg.xmp"]


def test_a_full_disk_is_one_line_and_changes_nothing(
    photo: Path, sidecar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecar.write_bytes(PROGRAMS["Immich"])
    change = plan_addition(photo, BOAT)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MetadataError, match=r"was not written \(No space left on device\): check"):
        apply_change(change)
    assert sidecar.read_bytes() == PROGRAMS["Immich"]
    assert sorted(os.listdir(photo.parent)) == ["photo.jpg", "photo.jpg.xmp"]


@pytest.mark.parametrize("tag", ["", "a\nb", " a", "a||b", "\ud800", "x" * 201, "a\u202eb", "e\u0301"])
def test_a_tag_that_is_not_in_normal_form_is_refused(tag: str, photo: Path) -> None:
    with pytest.raises(ParameterError, match="normal form"):
        plan_addition(photo, tags(tag))


@pytest.mark.parametrize(
    "tag", ["AC/DC", "a & b", "<b>", "]]>", '"', "é夜𝄞", "x" * 200, "rdf:li", "a rdf:b", "--"]
)
def test_any_usable_tag_is_written_and_taken_back(tag: str, photo: Path, sidecar: Path) -> None:
    sidecar.write_bytes(PROGRAMS["IMatch"])
    assert add(photo, tag) == (tag,)
    assert tag in subjects(sidecar)
    add(photo, "night", run="run-2")
    apply_change(plan_removal(photo, "run-1"))
    assert tag not in subjects(sidecar)
    apply_change(plan_removal(photo, None))
    assert sidecar.read_bytes() == PROGRAMS["IMatch"]


KILLED = """
import sys
from tagmix.metadata.write import Addition, apply_change, plan_addition, plan_removal
for n in range(10**6):
    apply_change(plan_addition(sys.argv[1], Addition((("boat", .5), (f"tag {n}", .5)), (), f"run {n}", "m")))
    if n % 3 == 2:
        apply_change(plan_removal(sys.argv[1], None))
"""


@pytest.mark.parametrize("how_many", [int(os.environ.get("TAGMIX_KILLS", "5"))])
def test_a_kill_at_any_moment_leaves_a_whole_file(how_many: int, photo: Path, sidecar: Path) -> None:
    before = PROGRAMS["darktable"]
    sidecar.write_bytes(before)
    for number in range(how_many):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(photo)])
        while sidecar.read_bytes() == before and process.poll() is None:
            time.sleep(0.005)
        time.sleep((number * 7919 % 101) / 1000)
        process.send_signal(signal.SIGKILL)
        process.wait()
        document = parse_xmp(sidecar.read_bytes(), "the sidecar")
        assert len(records_in(document)) <= 3
        apply_change(plan_removal(photo, None))
        assert sidecar.read_bytes() == before
