"""Sidecars of strangers that claim to be ours: undo takes out no more than what they name."""

import base64
import shutil
import time
from pathlib import Path

import pytest
from PIL import Image

from tagmix.metadata import unwinding
from tagmix.metadata.names import TAGMIX
from tagmix.metadata.provenance import BLANK_SEAL
from tagmix.metadata.read import read_photo
from tagmix.metadata.splice import digest
from tagmix.metadata.write import Addition, apply_change, plan_addition, plan_removal
from tests.metadata.photos import xmp

FORMERS = {
    "nothing": xmp().encode(),
    "other bytes": b"#!/bin/sh\nexit\n",
    "other tags": xmp(dc_subject=("hers",)).encode(),
}
HEAD = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.jpg"
    Image.new("RGB", (8, 6)).save(path)
    return path


def forged(former: bytes, created: bool) -> bytes:
    """Return a sidecar with a rating, the tags mine and boat, and a valid record of boat alone."""

    def made(undo: str, seal: str) -> str:
        return f"""{HEAD}<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
            xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="5" xmlns:tagmix="{TAGMIX}">
            <dc:subject><rdf:Bag><rdf:li>mine</rdf:li><rdf:li>boat</rdf:li></rdf:Bag></dc:subject>
            <tagmix:Runs><rdf:Seq><rdf:li rdf:parseType="Resource"><tagmix:Run>run-1</tagmix:Run>
            <tagmix:Tags><rdf:Bag><rdf:li rdf:parseType="Resource"><tagmix:Tag>boat</tagmix:Tag></rdf:li>
            </rdf:Bag></tagmix:Tags><tagmix:WroteSubject><rdf:Bag><rdf:li>boat</rdf:li></rdf:Bag></tagmix:WroteSubject>
            <tagmix:Created>{created}</tagmix:Created><tagmix:Before>{digest(former)}</tagmix:Before>
            <tagmix:Undo>{undo}</tagmix:Undo><tagmix:Seal>{seal}</tagmix:Seal></rdf:li></rdf:Seq></tagmix:Runs>
            </rdf:Description></rdf:RDF></x:xmpmeta>"""

    text = base64.b64encode(former).decode()
    length = len(made(f"00000000+00000000={text}", BLANK_SEAL).encode())
    undo = f"00000000+{length:08}={text}"
    return made(undo, digest(made(undo, BLANK_SEAL).encode())).encode()


@pytest.mark.parametrize("created", [True, False])
@pytest.mark.parametrize("former", FORMERS)
def test_a_forged_record_cannot_take_or_bring_more_than_it_names(
    former: str, created: bool, photo: Path
) -> None:
    sidecar = photo.with_name("photo.jpg.xmp")
    sidecar.write_bytes(forged(FORMERS[former], created))
    change = plan_removal(photo, None)
    assert change.removed == ("boat",)
    apply_change(change)
    assert read_photo(photo).tags == ("mine",)
    assert b'Rating="5"' in sidecar.read_bytes()
    assert b"hers" not in sidecar.read_bytes()


def test_keywords_that_a_copied_sidecar_brought_to_another_photo_stay(photo: Path) -> None:
    other = photo.with_name("other.jpg")
    shutil.copy(photo, other)
    Image.new("RGB", (8, 6)).save(photo, xmp=xmp(dc_subject=("hers",)).encode())
    apply_change(plan_addition(photo, Addition((("boat", 0.5),), (), "run-1", "model-1")))
    shutil.copy(f"{photo}.xmp", f"{other}.xmp")
    assert read_photo(other).tags == ("hers",)
    for one in (photo, other):
        apply_change(plan_removal(one, "run-1"))
    assert read_photo(other).tags == ("hers",)
    assert not Path(f"{photo}.xmp").exists()


def test_many_runs_are_undone_within_a_limit_of_work(photo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        addition = Addition(((f"tag {number}", 0.5),), (), f"run-{number}", "model-1")
        apply_change(plan_addition(photo, addition))
    whole = plan_removal(photo, None)
    assert whole.after is None
    monkeypatch.setattr(unwinding, "MOST_READ", 3 * len(whole.before or b""))
    real, read = unwinding.parse_xmp, []
    monkeypatch.setattr(unwinding, "parse_xmp", lambda *given: read.append(given) or real(*given))
    since = time.monotonic()
    assert plan_removal(photo, None).after is None  # entry by entry, and the file is empty then
    assert len(read) < 8
    assert time.monotonic() - since < 20
