"""Random sidecars through write, foreign edit, write and undo.

``TAGMIX_SIDECARS=10000 pytest tests/metadata/test_random_sidecars.py`` runs the full number.
"""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tagmix.metadata.write import Addition, RegionTag, apply_change, plan_addition, plan_removal
from tests.metadata.random_sidecars import (
    KEYWORDS,
    TAGS,
    Facts,
    Maker,
    facts_of,
    keyword,
    qualified,
    rewritten,
    with_keyword,
    without_keyword,
)

HOW_MANY = int(os.environ.get("TAGMIX_SIDECARS", "80"))
PARTS = 4
OURS = qualified("Iptc4xmpExt:ImageRegion"), "{urn:tagmix:xmp:1.0/}Runs", qualified("mwg-rs:Regions")
SQUARE = ((((0.1, 0.1), (0.6, 0.1), (0.6, 0.5)),),)


def addition(rng: random.Random, run: str) -> Addition:
    tags = tuple((tag, rng.random()) for tag in rng.sample(TAGS, rng.randint(1, 4)))
    regions = tuple(RegionTag(tag, SQUARE, (0.1, 0.1, 0.5, 0.4), p) for tag, p in tags if rng.random() < 0.5)
    return Addition(tags, regions, run, "model 1")


def write(photo: Path, rng: random.Random, run: str) -> tuple[str, ...]:
    change = plan_addition(photo, addition(rng, run), regions=rng.choice(["iptc", "iptc", "mwg", "none"]))
    apply_change(change)
    return change.added


def undo(photo: Path, run: str | None) -> None:
    apply_change(plan_removal(photo, run))


def others(facts: Facts) -> Facts:
    names = {qualified(field) for field in KEYWORDS}
    return {name: values for name, values in facts.items() if values and name not in names | set(OURS)}


def levels(tags: list[str]) -> set[str]:
    return {level for tag in tags for level in tag.split("|")}


def edited(raw: bytes, rng: random.Random, human: dict[str, list[str]], ours: tuple[str, ...]) -> bytes:
    """Return the sidecar after another program, or a human in it, and note the human's keywords."""
    kind = rng.choice(["rewritten", "added", "removed", "added and rewritten"])
    if kind == "removed" and ours:
        for field in fields_of(human, ours[0]):  # the human's own keyword of the same last level goes, too
            human[field].remove(keyword(field, ours[0]))
        return without_keyword(raw, ours[0])
    if kind.startswith("added"):
        tag = rng.choice(["Trips|Rome", "holiday", "Trips|Berlin"])
        fields = rng.sample(list(KEYWORDS), rng.randint(1, 3))
        there = facts_of(raw)
        for field in fields:  # a keyword that is there already leaves no trace of the human
            if keyword(field, tag) not in there.get(qualified(field), []):
                human[field].append(keyword(field, tag))
        raw = with_keyword(raw, tag, fields)
    return raw if kind == "added" else rewritten(raw, rng)


def fields_of(human: dict[str, list[str]], tag: str) -> list[str]:
    return [field for field in KEYWORDS if keyword(field, tag) in human[field]]


@pytest.mark.parametrize("part", range(PARTS))
def test_no_value_of_others_is_lost_and_what_is_not_ours_keeps_its_bytes(part: int, tmp_path: Path) -> None:
    folder = tmp_path
    photo = folder / "photo.jpg"
    photo.write_bytes(JPEG)
    sidecar = folder / "photo.jpg.xmp"
    for number in range(part, HOW_MANY, PARTS):
        rng = random.Random(number)
        maker = Maker(rng)
        sidecar.write_bytes(maker.raw)
        through(photo, sidecar, maker, rng)


def through(photo: Path, sidecar: Path, maker: Maker, rng: random.Random) -> None:
    first = write(photo, rng, "first")
    second = write(photo, rng, "second")
    written = sidecar.read_bytes()
    if rng.random() < 0.5:
        undo(photo, "first")
        undo(photo, "second")
    else:
        undo(photo, None)
    assert sidecar.read_bytes() == maker.raw
    sidecar.write_bytes(written)
    human = {field: list(maker.keywords.get(field, ())) for field in KEYWORDS}
    foreign = edited(written, rng, human, tuple(dict.fromkeys(first + second)))
    sidecar.write_bytes(foreign)
    third = write(photo, rng, "third")
    undo(photo, "third")
    assert sidecar.read_bytes() == foreign
    write_again(photo, rng)
    undo(photo, "first")
    check(facts_of(sidecar.read_bytes()), facts_of(foreign), human)
    undo(photo, None)
    final = facts_of(sidecar.read_bytes())
    check(final, facts_of(foreign), human)
    assert not final.get(OURS[1])
    nothing_of_ours(final, human, maker, {*first, *second, *third})


def write_again(photo: Path, rng: random.Random) -> None:
    write(photo, rng, "fourth")


def check(now: Facts, foreign: Facts, human: dict[str, list[str]]) -> None:
    """Raise if a value of others is missing."""
    for name, values in others(foreign).items():
        assert now.get(name) == values
    for field, values in human.items():
        missing = Counter(dict.fromkeys(values, 1)) - Counter(now.get(qualified(field), []))
        assert not missing, (field, missing)
    regions = [one for one in foreign.get(OURS[0], []) if "persons" in one]
    assert [one for one in now.get(OURS[0], []) if "persons" in one] == regions
    assert ("Ann" in repr(now.get(OURS[2]))) == ("Ann" in repr(foreign.get(OURS[2])))


def nothing_of_ours(final: Facts, human: dict[str, list[str]], maker: Maker, ours: set[str]) -> None:
    """Raise if a tag is left that only tagmix wrote."""
    # Also of what a human removed: the union may have copied it into other fields before
    known = {field: human[field] + maker.keywords.get(field, []) for field in KEYWORDS}
    swapped = [value.translate(str.maketrans("/|", "|/")) for value in known["digiKam:TagsList"]]
    tags = swapped + known["lr:hierarchicalSubject"] + known["dc:subject"]
    for field in KEYWORDS:
        for tag in ours:
            if tag not in tags and not {tag.split("|")[-1]} & levels(tags):
                assert keyword(field, tag) not in final.get(qualified(field), []), (field, tag)
    left = repr(final.get(OURS[0])) + repr(final.get(OURS[2]))
    assert "tagmix:" not in left.replace("urn:tagmix:xmp", "")


JPEG = bytes.fromhex(
    "ffd8ffe000104a46494600010100000100010000ffdb004300"
    + "01" * 64
    + "ffc0000b080001000101011100ffc40014000100000000000000000000000000000000ffc40014100100000000000000000000"
    "000000000000ffda0008010100003f003fffd9"
)
