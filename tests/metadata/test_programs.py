"""Sidecars in the style of other programs through write, merge and undo, and what exiftool reads back."""

import json
import os
import re
from pathlib import Path

import pytest
from PIL import Image

from tagmix.metadata.read import read_photo
from tagmix.metadata.write import Addition, RegionTag, apply_change, plan_addition, plan_removal
from tests.metadata.exiftool import exiftool, fields, listed
from tests.metadata.programs import PROGRAMS

TRIANGLE = ((((0.25, 0.125), (0.75, 0.125), (0.75, 0.5)),),)
BOX = (0.25, 0.125, 0.5, 0.375)
REGION = RegionTag("Things|boat", TRIANGLE, BOX, 0.75)
FIRST = Addition((("Things|boat", 0.75), ("AC/DC", 0.5)), (REGION,), "run-1", "model-1")
SECOND = Addition((("AC/DC", 0.625), ("night", 0.25)), (), "run-2", "model-2")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (40, 30), "blue").save(path)
    os.utime(path, ns=(10**18, 10**18))
    return path


def beside(photo: Path) -> Path:
    return photo.with_name("photo.jpg.xmp")


def without_ours(text: bytes, before: bytes) -> bool:
    """Return whether a text is another one with parts put in: all its bytes are there, in order."""
    place = 0
    for tag in re.split(rb"(?<=>)", before):
        found = text.find(tag, place)
        if found < 0:
            return False
        place = found + len(tag)
    return True


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("regions", ["iptc", "mwg", "none"])
def test_sidecars_of_programs_keep_every_byte_and_come_back(program: str, regions: str, photo: Path) -> None:
    before = PROGRAMS[program]
    beside(photo).write_bytes(before)
    picture = photo.read_bytes()
    for addition in (FIRST, SECOND):
        apply_change(plan_addition(photo, addition, regions=regions))
    both = beside(photo).read_bytes()
    assert without_ours(both, before)
    apply_change(plan_removal(photo, "run-1"))
    assert b"boat" not in beside(photo).read_bytes()
    assert b">AC/DC<" in beside(photo).read_bytes()
    apply_change(plan_removal(photo, "run-2"))
    assert beside(photo).read_bytes() == before
    assert photo.read_bytes() == picture
    assert photo.stat().st_mtime_ns == 10**18


@pytest.mark.parametrize("program", PROGRAMS)
def test_exiftool_reads_all_that_it_read_before_and_all_that_is_new(program: str, photo: Path) -> None:
    beside(photo).write_bytes(PROGRAMS[program])
    before = fields(beside(photo))
    apply_change(plan_addition(photo, FIRST))
    after = fields(beside(photo))
    added = {
        "XMP-dc:Subject": ["boat", "AC/DC"],
        "XMP-lr:HierarchicalSubject": ["Things|boat", "AC/DC"],
        "XMP-digiKam:TagsList": ["Things/boat", "AC|DC"],
    }
    for name, values in added.items():
        assert listed(after[name])[-2:] == values
        assert [one for one in listed(before.get(name)) if one not in listed(after[name])] == []
    for name, value in before.items():
        if name not in added and name != "XMP-iptcExt:ImageRegion":
            assert after[name] == value, name
    assert listed(after["XMP-iptcExt:ImageRegion"])[:-1] == listed(before.get("XMP-iptcExt:ImageRegion"))
    region = listed(after["XMP-iptcExt:ImageRegion"])[-1]
    assert region["Name"] == "boat"
    assert region["RCtype"] == [{"Name": "boat"}]
    assert region["RegionBoundary"]["RbShape"] == "polygon"
    corners = [(one["RbX"], one["RbY"]) for one in region["RegionBoundary"]["RbVertices"]]
    assert corners == [(0.25, 0.125), (0.75, 0.125), (0.75, 0.5)]
    (record,) = listed(after["XMP-tagmix:Runs"])
    assert (record["Run"], record["Model"]) == ("run-1", "model-1")
    assert record["Tags"] == [
        {"Tag": "Things|boat", "Probability": 0.75},
        {"Tag": "AC/DC", "Probability": 0.5},
    ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_undo_after_exiftool_rewrote_the_file_removes_ours_alone(program: str, photo: Path) -> None:
    beside(photo).write_bytes(PROGRAMS[program])
    control = photo.with_name("control.xmp")
    control.write_bytes(PROGRAMS[program])
    apply_change(plan_addition(photo, FIRST))
    apply_change(plan_addition(photo, SECOND, regions="mwg"))
    edit = ("-overwrite_original", "-XMP-dc:Creator=Ann", "-XMP-dc:Subject+=by hand")
    exiftool(*edit, beside(photo), control)
    before = fields(control)
    change = plan_removal(photo, None)
    assert set(change.removed) == {"Things|boat", "AC/DC", "night"}
    apply_change(change)
    after = fields(beside(photo))
    assert after["XMP-dc:Creator"] == ["Ann"]
    assert "by hand" in listed(after["XMP-dc:Subject"])
    for name, value in before.items():
        if name != "XMP-x:XMPToolkit":
            assert set(map(json.dumps, listed(value))) <= set(map(json.dumps, listed(after[name]))), name
    assert "tagmix" not in beside(photo).read_text("utf-8").replace("x:xmptk='tagmix", "")
    assert "boat" not in beside(photo).read_text("utf-8")


def test_exiftool_writes_mwg_regions_as_we_do(photo: Path) -> None:
    apply_change(plan_addition(photo, FIRST, regions="mwg"))
    info = fields(beside(photo))["XMP-mwg-rs:RegionInfo"]
    assert info["AppliedToDimensions"] == {"W": 40, "H": 30, "Unit": "pixel"}
    (region,) = info["RegionList"]
    assert region["Name"] == "boat"
    assert region["Area"] == {"X": 0.5, "Y": 0.3125, "W": 0.5, "H": 0.375, "Unit": "normalized"}


def test_exiftool_finds_no_fault_in_a_new_sidecar(photo: Path) -> None:
    apply_change(plan_addition(photo, FIRST))
    assert exiftool("-validate", "-warning", "-a", beside(photo)).split(":")[-1].strip() in ("", "OK")


def test_what_is_embedded_is_in_all_fields_of_a_new_sidecar(photo: Path) -> None:
    exiftool(
        "-overwrite_original", "-XMP-dc:Subject=sea", "-IPTC:Keywords=Zürich", "-IPTC:CodedCharacterSet=UTF8",
        "-XMP-lr:HierarchicalSubject=Places|Lake", "-XMP-lr:HierarchicalSubject=darktable|changed", photo,
    )  # fmt: skip
    apply_change(plan_addition(photo, FIRST))
    found = fields(beside(photo))
    assert set(found["XMP-dc:Subject"]) == {"sea", "Zürich", "Lake", "boat", "AC/DC"}
    assert set(found["XMP-digiKam:TagsList"]) == {"sea", "Zürich", "Places/Lake", "Things/boat", "AC|DC"}
    assert set(found["XMP-lr:HierarchicalSubject"]) == {
        "darktable|changed", "sea", "Zürich", "Places|Lake", "Things|boat", "AC/DC",
    }  # fmt: skip
    apply_change(plan_removal(photo, None))
    assert not beside(photo).exists()


def test_what_programs_read_is_what_the_reader_reads(photo: Path) -> None:
    beside(photo).write_bytes(PROGRAMS["digiKam"])
    apply_change(plan_addition(photo, FIRST))
    assert set(read_photo(photo).tags) >= {"Places|Germany|Berlin", "holiday"}
