"""Rejected tags go out of a sidecar at once: what tagmix wrote of them, and nothing else."""

from pathlib import Path

import pytest
from PIL import Image

from tagmix.metadata.provenance import is_sealed, records_in
from tagmix.metadata.read import read_photo
from tagmix.metadata.write import (
    Addition,
    RegionTag,
    apply_change,
    plan_addition,
    plan_removal,
    plan_tag_removal,
)
from tagmix.metadata.xmp import parse_xmp
from tests.metadata.programs import PROGRAMS
from tests.metadata.random_sidecars import facts_of, qualified

RING = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
KEYWORDS = [qualified(name) for name in ("dc:subject", "lr:hierarchicalSubject", "digiKam:TagsList")]
PEOPLE = [None, *PROGRAMS]


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (8, 6)).save(path)
    return path


@pytest.fixture
def sidecar(photo: Path) -> Path:
    return photo.with_name("photo.jpg.xmp")


def add(photo: Path, *names: str, run: str = "run-1", style: str = "iptc") -> None:
    regions = tuple(RegionTag(name, ((RING,),), (0, 0, 1, 1), 0.5) for name in names)
    addition = Addition(tuple((name, 0.5) for name in names), regions, run, "model-1")
    apply_change(plan_addition(photo, addition, regions=style))


def reject(photo: Path, *names: str) -> tuple[str, ...]:
    change = plan_tag_removal(photo, names)
    apply_change(change)
    return change.removed


def disturb(sidecar: Path) -> None:
    """Change a sidecar as another program would: the former bytes cannot come back."""
    sidecar.write_bytes(sidecar.read_bytes() + b"\n")


def before_of(sidecar: Path, program: str | None) -> bytes | None:
    if program is None:
        return None
    sidecar.write_bytes(PROGRAMS[program])
    return PROGRAMS[program]


@pytest.mark.parametrize("style", ["iptc", "mwg"])
@pytest.mark.parametrize("foreign", [False, True])
@pytest.mark.parametrize("program", PEOPLE)
def test_one_of_two_tags_goes_with_its_regions_and_undo_takes_the_other(
    program: str | None, foreign: bool, style: str, photo: Path, sidecar: Path
) -> None:
    before = before_of(sidecar, program)
    add(photo, "Things|zebu", "yak", style=style)
    if foreign:
        disturb(sidecar)
    assert reject(photo, "Things|zebu") == ("Things|zebu",)
    content = sidecar.read_bytes()
    assert b"zebu" not in content
    assert b"Things" not in content
    assert read_photo(photo).machine == ("yak",)
    facts = facts_of(content)
    assert all("yak" in facts[name] for name in KEYWORDS)
    (record,) = records_in(parse_xmp(content, ""))
    assert [note.tag for note in record.regions] == ["yak"]
    assert is_sealed(parse_xmp(content, ""), record) != foreign
    change = plan_removal(photo, "run-1")
    assert change.removed == ("yak",)
    assert foreign or change.after == before
    apply_change(change)
    assert not sidecar.exists() or b"yak" not in sidecar.read_bytes()
    assert not sidecar.exists() or b"zebu" not in sidecar.read_bytes()


@pytest.mark.parametrize("program", PEOPLE)
def test_with_the_last_tag_the_former_bytes_come_back(
    program: str | None, photo: Path, sidecar: Path
) -> None:
    before = before_of(sidecar, program)
    add(photo, "zebu", "yak")
    reject(photo, "zebu")
    reject(photo, "yak")
    assert (sidecar.read_bytes() if sidecar.exists() else None) == before


def test_a_second_rejection_does_nothing(photo: Path, sidecar: Path) -> None:
    assert reject(photo, "zebu") == ()
    assert not sidecar.exists()
    add(photo, "zebu", "yak")
    reject(photo, "zebu")
    change = plan_tag_removal(photo, ["zebu", "unheard of"])
    assert change.before == change.after
    assert change.removed == ()


@pytest.mark.parametrize("foreign", [False, True])
def test_a_tag_of_two_runs_goes_out_of_both_and_each_is_undone_alone(
    foreign: bool, photo: Path, sidecar: Path
) -> None:
    add(photo, "zebu", "yak")
    if foreign:
        disturb(sidecar)
    add(photo, "zebu", "gnu", run="run-2")
    assert reject(photo, "zebu") == ("zebu",)
    assert b"zebu" not in sidecar.read_bytes()
    apply_change(plan_removal(photo, "run-2"))
    assert read_photo(photo).machine == ("yak",)
    apply_change(plan_removal(photo, "run-1"))
    assert not sidecar.exists()


@pytest.mark.parametrize("foreign", [False, True])
def test_a_flat_keyword_stays_that_another_tag_needs(foreign: bool, photo: Path, sidecar: Path) -> None:
    add(photo, "Places|Berlin", "Ships|Berlin", "yak")
    if foreign:
        disturb(sidecar)
    reject(photo, "Ships|Berlin")
    facts = facts_of(sidecar.read_bytes())
    assert sorted(facts[KEYWORDS[0]]) == ["Berlin", "yak"]
    assert sorted(facts[KEYWORDS[1]]) == ["Places|Berlin", "yak"]
    apply_change(plan_removal(photo, "run-1"))
    assert not sidecar.exists()


@pytest.mark.parametrize("foreign", [False, True])
def test_a_keyword_that_a_person_gave_stays(foreign: bool, photo: Path, sidecar: Path) -> None:
    sidecar.write_bytes(PROGRAMS["digiKam"])
    add(photo, "holiday", "yak")
    if foreign:
        disturb(sidecar)
    assert reject(photo, "holiday", "yak") == ("yak",)
    assert "holiday" in read_photo(photo).tags
    assert "holiday" in facts_of(sidecar.read_bytes())[KEYWORDS[0]]


@pytest.mark.parametrize("foreign", [False, True])
def test_a_keyword_in_the_photo_stays(foreign: bool, photo: Path, sidecar: Path) -> None:
    add(photo, "holiday", "yak")
    Image.new("RGB", (8, 6)).save(photo, xmp=PROGRAMS["digiKam"])  # a person gave it inside the photo since
    inside = photo.read_bytes()
    if foreign:
        disturb(sidecar)
    reject(photo, "holiday")
    assert photo.read_bytes() == inside
    assert "holiday" in read_photo(photo).tags
    assert "holiday" not in read_photo(photo).machine
    assert "yak" in read_photo(photo).machine
