"""Embedding through exiftool: only when asked for, only in JPEGs, and back again."""

import os
from pathlib import Path

import pytest
from PIL import Image

from tagmix.errors import MetadataError
from tagmix.metadata import embed
from tagmix.metadata.embed import apply_embedding, plan_embedding, plan_unembedding
from tagmix.metadata.write import Addition, RegionTag
from tests.metadata.exiftool import exiftool, fields
from tests.metadata.programs import PROGRAMS

RING = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
REGION = RegionTag("Things|boat", ((RING,),), (0, 0, 1, 1), 0.5)
BOAT = Addition((("Things|boat", 0.5),), (REGION,), "run-1", "m")
NIGHT = Addition((("night", 0.5),), (), "run-2", "m")
NAMES = ["photo.jpg", "-photo.jpg", "%d%f.jpg", "two\nlines.jpg", "a b '$x';.jpg", "@.jpg"]


def photo_of(folder: Path, name: str = "photo.jpg", program: str | None = None) -> Path:
    path = folder / name
    packet = {} if program is None else {"xmp": PROGRAMS[program]}
    Image.new("RGB", (40, 30), "blue").save(path, comment=b"kept", **packet)
    return path


@pytest.mark.parametrize("program", [None, "digiKam", "Lightroom", "Immich", "IMatch"])
def test_what_is_embedded_is_read_and_comes_out_again(program: str | None, tmp_path: Path) -> None:
    path = photo_of(tmp_path, program=program)
    original = fields(path)
    before = path.read_bytes()
    path.chmod(0o640)
    for addition in (BOAT, NIGHT):
        apply_embedding(plan_embedding(path, addition))
    found = fields(path)
    assert {"boat", "night"} <= set(found["XMP-dc:Subject"])
    assert {"Things|boat", "night"} <= set(found["XMP-lr:HierarchicalSubject"])
    assert len(found["XMP-tagmix:Runs"]) == 2
    apply_embedding(plan_unembedding(path, "run-1"))
    assert b"boat" not in path.read_bytes()
    change = plan_unembedding(path, None)
    assert change.removed == ("night",)
    apply_embedding(change)
    if program == "Lightroom":  # exiftool wraps a packet without a wrapper, as the standard wants it
        after = fields(path)
        assert all(after[name] == value for name, value in original.items())
    else:
        assert path.read_bytes() == before
    assert b"night" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["photo.jpg"]


def test_a_packet_that_exiftool_would_change_is_refused(tmp_path: Path) -> None:
    exiftool("-ver")
    path = photo_of(tmp_path, program="darktable")  # a sidecar, with a declaration that no packet may have
    before = path.read_bytes()
    with pytest.raises(MetadataError, match="would not be the same"):
        apply_embedding(plan_embedding(path, NIGHT))
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", NAMES)
def test_names_of_photos_are_never_options_or_codes(name: str, tmp_path: Path) -> None:
    exiftool("-ver")
    path = photo_of(tmp_path, name)
    apply_embedding(plan_embedding(path, NIGHT))
    assert b">night<" in path.read_bytes()
    assert os.listdir(tmp_path) == [name]


def test_a_plan_and_an_empty_change_touch_nothing(tmp_path: Path) -> None:
    path = photo_of(tmp_path)
    before = path.stat()
    plan_embedding(path, BOAT)
    apply_embedding(plan_unembedding(path, None))
    assert path.stat() == before


def test_keywords_of_the_iptc_block_come_along(tmp_path: Path) -> None:
    path = photo_of(tmp_path)
    exiftool("-overwrite_original", "-IPTC:Keywords=sea", path)
    apply_embedding(plan_embedding(path, NIGHT))
    assert fields(path)["XMP-dc:Subject"] == ["sea", "night"]


def test_other_formats_links_and_changed_photos_are_refused(tmp_path: Path) -> None:
    exiftool("-ver")
    png = tmp_path / "photo.png"
    Image.new("RGB", (4, 3)).save(png)
    with pytest.raises(MetadataError, match="must be a JPEG"):
        plan_embedding(png, NIGHT)
    path = photo_of(tmp_path)
    link = tmp_path / "link.jpg"
    link.symlink_to(path)
    with pytest.raises(MetadataError, match="it is a link"):
        plan_embedding(link, NIGHT)
    change = plan_embedding(path, NIGHT)
    content = path.read_bytes() + b"more"
    path.write_bytes(content)
    with pytest.raises(MetadataError, match="changed by another program"):
        apply_embedding(change)
    assert path.read_bytes() == content
    path.chmod(0o444)
    with pytest.raises(MetadataError, match="it is read-only"):
        plan_embedding(path, NIGHT)


def test_without_exiftool_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = photo_of(tmp_path)
    monkeypatch.setattr(embed.shutil, "which", lambda _: None)
    with pytest.raises(MetadataError, match="needs exiftool"):
        apply_embedding(plan_embedding(path, NIGHT))


def test_a_copy_with_other_pixels_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exiftool("-ver")
    path = photo_of(tmp_path)
    before = path.read_bytes()
    copy = embed._copy
    monkeypatch.setattr(embed, "_copy", lambda change, raw: copy(change, raw.replace(b"kept", b"lost")))
    with pytest.raises(MetadataError, match="would not be the same"):
        apply_embedding(plan_embedding(path, NIGHT))
    assert path.read_bytes() == before


def test_many_regions_are_left_to_a_sidecar(tmp_path: Path) -> None:
    region = RegionTag("sea", ((RING * 600,),), (0, 0, 1, 1), 0.5)
    with pytest.raises(MetadataError, match="leave regions to a sidecar"):
        plan_embedding(photo_of(tmp_path), Addition((("sea", 0.5),), (region,), "run", "m"))
