"""Keywords and orientation of photos: every field, both places, and whatever strangers write into them."""

import os
import struct
import subprocess
import tracemalloc
import unicodedata
import zlib
from pathlib import Path

import pytest

from tagmix.metadata.embedded import embedded
from tagmix.metadata.read import read_photo
from tagmix.metadata.sidecars import raw_of, sidecar_of
from tagmix.metadata.write import Addition, apply_change, plan_addition
from tagmix.metadata.xmp import MOST_BYTES
from tests.metadata.photos import SPACES, bag, dataset, exif, holding, photo, picture, resource, segment, xmp

CATEGORIES = (
    '<Categories><Category Assigned="0">Places<Category Assigned="1">Rome</Category></Category>'
    '<Category Assigned="1">sea</Category><Category Assigned="0">sky</Category></Categories>'
)
FIELDS = {
    "dc_subject": (("sea", "Golden Gate"), ("sea", "Golden Gate")),
    "lr_hierarchicalSubject": (("Places|Germany|Berlin", "AC/DC"), ("Places|Germany|Berlin", "AC/DC")),
    "digiKam_TagsList": (("Places/Germany", "Music/AC|DC"), ("Places|Germany", "Music|AC/DC")),
    "MicrosoftPhoto_LastKeywordXMP": (("Places/Germany", "sea"), ("Places|Germany", "sea")),
    "MicrosoftPhoto_LastKeywordIPTC": (("sea",), ("sea",)),
    "mediapro_CatalogSets": (("Trips|2020",), ("Trips|2020",)),
    "acdsee_keywords": (("sea",), ("sea",)),
    "acdsee_categories": (CATEGORIES, ("Places|Rome", "sea")),
}


def tags_of(folder: Path, packet: str) -> tuple[str, ...]:
    path = photo(folder / "a.jpg")
    (folder / "a.jpg.xmp").write_text(packet, encoding="utf-8")
    found = read_photo(path)
    assert found.problems == ()
    return found.tags


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_keywords_is_read(tmp_path: Path, field: str) -> None:
    written, expected = FIELDS[field]
    assert tags_of(tmp_path, xmp(**{field: written})) == expected


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_xmp_is_read_inside_every_kind_of_picture(tmp_path: Path, form: str) -> None:
    path = photo(tmp_path / "a", holding(form, xmp(dc_subject=("sea", "été"))))
    assert read_photo(path).tags == ("sea", "été")


def test_xmp_inside_heic_is_read(tmp_path: Path) -> None:
    heif = pytest.importorskip("pillow_heif")
    del heif
    from pillow_heif import register_heif_opener  # noqa: PLC0415 (only where it is installed)

    register_heif_opener()
    content = picture("HEIF", (64, 64), xmp=xmp(dc_subject=("sea",)).encode())
    assert read_photo(photo(tmp_path / "a.heic", content)).tags == ("sea",)


def test_xmp_behind_the_pixels_of_a_png_is_read(tmp_path: Path) -> None:
    body = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(xmp(dc_subject=("late",)).encode())
    chunk = struct.pack(">I", len(body)) + b"iTXt" + body + struct.pack(">I", zlib.crc32(b"iTXt" + body))
    plain = picture("PNG")
    assert read_photo(photo(tmp_path / "a.png", plain[:-12] + chunk + plain[-12:])).tags == ("late",)


def test_extended_xmp_is_put_together_from_its_segments(tmp_path: Path) -> None:
    name = b"A" * 32
    rest = xmp(dc_subject=tuple(f"tag {n}" for n in range(20))).encode()
    main = xmp(dc_subject=("main",)).replace(
        "<rdf:Description", f'<rdf:Description xmlns:n="n" n:HasExtendedXMP="{name.decode()}"', 1
    )
    pieces = [
        segment(
            0xE1,
            b"http://ns.adobe.com/xmp/extension/\0"
            + name
            + struct.pack(">II", len(rest), at)
            + rest[at : at + 300],
        )
        for at in range(0, len(rest), 300)
    ]
    plain = picture()
    first = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + main.encode())
    whole = photo(tmp_path / "a.jpg", plain[:2] + first + b"".join(reversed(pieces)) + plain[2:])
    assert read_photo(whole).tags == ("main", *(f"tag {n}" for n in range(20)))
    cut = photo(tmp_path / "b.jpg", plain[:2] + first + b"".join(pieces[1:]) + plain[2:])
    assert read_photo(cut).tags == ("main",)


def test_iptc_is_read_in_jpeg_tiff_and_png(tmp_path: Path) -> None:
    block = dataset(1, 90, b"\x1b%G") + dataset(2, 25, "été".encode()) + dataset(2, 25, b"sea")
    plain = picture()
    jpeg = plain[:2] + segment(0xED, b"Photoshop 3.0\0" + resource(block)) + plain[2:]
    digits = f"\niptc\n{len(block):8}\n{resource(block).hex()}\n".encode()
    body = b"Raw profile type iptc\0\0" + zlib.compress(digits)
    chunk = struct.pack(">I", len(body)) + b"zTXt" + body + struct.pack(">I", zlib.crc32(b"zTXt" + body))
    png = picture("PNG")
    kinds = {
        "a.jpg": jpeg,
        "a.tif": picture("TIFF", tiffinfo={33723: block}),
        "b.tif": picture("TIFF", tiffinfo={34377: resource(block)}),
        "a.png": png[:-12] + chunk + png[-12:],
    }
    for name, content in kinds.items():
        assert read_photo(photo(tmp_path / name, content)).tags == ("été", "sea"), name


def test_exiftools_own_writing_is_read(tmp_path: Path) -> None:
    for name in ("a.jpg", "a.png", "a.tif"):
        path = photo(tmp_path / name, picture({"jpg": "JPEG", "png": "PNG", "tif": "TIFF"}[name[2:]]))
        fields = ["-Orientation#=8", "-IPTC:Keywords=iptc", "-XMP-dc:Subject=Berlin"]
        fields += ["-XMP-lr:HierarchicalSubject=Places|Berlin", f"-XMP-acdsee:Categories={CATEGORIES}"]
        call = ["exiftool", "-q", "-q", "-m", "-overwrite_original", *fields, str(path)]
        subprocess.run(call, check=True)
        found = read_photo(path)
        assert set(found.tags) == {"iptc", "Places|Berlin", "Places|Rome", "sea"}, name
        assert found.orientation == 8


def test_plain_names_that_are_levels_of_a_tag_are_absorbed_by_it(tmp_path: Path) -> None:
    packet = xmp(
        dc_subject=("Berlin", "Germany", "sea", "Places/Germany/Berlin"),
        lr_hierarchicalSubject=("Places", "Places|Germany", "Places|Germany|Berlin", "sea"),
        digiKam_TagsList=("Places/Germany/Berlin", "sea"),
        MicrosoftPhoto_LastKeywordXMP=("Places/Germany/Berlin", "sea"),
    )
    assert tags_of(tmp_path, packet) == ("sea", "Places|Germany|Berlin")


def test_tags_that_programs_write_for_themselves_are_stopped(tmp_path: Path) -> None:
    packet = xmp(
        dc_subject=("darktable", "changed", "format", "rw2", "sea", "geo:lat=52.5"),
        lr_hierarchicalSubject=("darktable|changed", "format|rw2", "sea", "People|Unknown", "People|Ann"),
        digiKam_TagsList=("_Digikam_Internal_Tags_/Color Label None",),
    )
    assert tags_of(tmp_path, packet) == ("sea", "People|Ann")
    found = read_photo(tmp_path / "a.jpg")
    assert "darktable|changed" in found.stopped
    assert read_photo(tmp_path / "a.jpg", stop=["sea"]).stopped == ("sea",)


def test_the_sidecar_with_the_whole_name_is_used_first(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg", holding("JPEG", xmp(dc_subject=("inside",))))
    (tmp_path / "a.xmp").write_text(xmp(dc_subject=("short",)))
    assert read_photo(path).tags == ("inside", "short")
    (tmp_path / "a.jpg.xmp").write_text(xmp(dc_subject=("long",)))
    assert read_photo(path).tags == ("inside", "long")
    assert read_photo(path).sidecar == tmp_path / "a.jpg.xmp"


def test_a_short_sidecar_belongs_to_the_raw_file_of_a_pair(tmp_path: Path) -> None:
    jpeg, raw = photo(tmp_path / "a.jpg"), photo(tmp_path / "a.NEF")
    (tmp_path / "a.xmp").write_text(xmp(dc_subject=("x",)))
    assert (sidecar_of(jpeg), sidecar_of(raw)) == (None, tmp_path / "a.xmp")
    assert (raw_of(jpeg), raw_of(raw)) == (raw, None)


@pytest.mark.parametrize("own", [None, 1, 3, 6])
def test_the_sidecars_orientation_wins(tmp_path: Path, own: int | None) -> None:
    content = picture() if own is None else picture(exif=exif(own))
    path = photo(tmp_path / "a.jpg", content)
    assert (read_photo(path).orientation, read_photo(path).turned) == (own or 1, None)
    (tmp_path / "a.jpg.xmp").write_text(xmp(orientation=8))
    assert (read_photo(path).orientation, read_photo(path).turned) == (8, 8)
    (tmp_path / "a.jpg.xmp").write_text(xmp(orientation=9))
    assert read_photo(path).orientation == (own or 1)


def test_names_of_any_script_keep_their_case_and_lose_what_cannot_be_shown(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Zürich")
    packet = xmp(dc_subject=(decomposed, "東京", "Berlin", "berlin", " a \n b ", "\u202egnp", "न्यू यॉर्क"))
    assert tags_of(tmp_path, packet) == ("Zürich", "東京", "Berlin", "berlin", "a b", "gnp", "न्यू यॉर्क")


BAD = {
    "no XML": b"sea, sky",
    "cut off": xmp(dc_subject=("sea",)).encode()[:-30],
    "a DOCTYPE": b'<!DOCTYPE a [<!ENTITY b "sea">]><a>&b;</a>',
    "invalid UTF-8": xmp(dc_subject=("sea",)).encode().replace(b"sea", b"s\xffa"),
    "half a surrogate": xmp(dc_subject=("sea",)).encode().replace(b"sea", b"\xed\xa0\x80"),
    "a control": xmp(dc_subject=("sea",)).encode().replace(b"sea", b"&#1;"),
    "too many levels": b"<a>" * 200 + b"</a>" * 200,
    "empty": b"",
    "too large": b"x" * (MOST_BYTES + 1),
    "bad categories": xmp(acdsee_categories="<Categories><Category").encode(),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("place", ["sidecar", "inside"])
def test_damage_is_one_line_and_the_rest_is_read(tmp_path: Path, kind: str, place: str) -> None:
    block = segment(0xED, b"Photoshop 3.0\0" + resource(dataset(2, 25, b"sky")))
    plain = picture("WEBP", xmp=BAD[kind]) if place == "inside" else picture()
    path = photo(tmp_path / "a.jpg", plain if place == "inside" else plain[:2] + block + plain[2:])
    if place == "sidecar":
        (tmp_path / "a.xmp").write_bytes(BAD[kind])
    found = read_photo(path)
    assert found.tags == (() if place == "inside" else ("sky",))
    silent = place == "inside" and kind == "empty"
    assert len(found.problems) == (0 if silent else 1)
    assert all("\n" not in line and len(line) < 300 for line in found.problems)


def test_utf_16_is_read(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg")
    (tmp_path / "a.xmp").write_bytes(xmp(dc_subject=("été",)).encode("utf-16"))
    assert read_photo(path).tags == ("été",)


def test_thousands_of_keywords_and_endless_names_are_left_out(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg")
    many = [f"tag {n}" for n in range(5000)]
    (tmp_path / "a.xmp").write_text(xmp(dc_subject=("x" * 10_000, "y" * 500, *many)))
    found = read_photo(path)
    assert len(found.tags) == 999
    assert len(found.problems) == 3


@pytest.mark.parametrize("place", ["a.xmp", "inside"])
def test_memory_for_any_packet_is_bounded(tmp_path: Path, place: str) -> None:
    worst = xmp(dc_subject="?").replace("?", bag(*(f"{n:060}" for n in range(49_000))))
    large = xmp(dc_subject="?").replace("?", bag("x" * (16 * 2**20)))
    for packet in (worst, large):
        path = photo(tmp_path / "a.jpg", picture("WEBP", xmp=packet.encode()) if place == "inside" else None)
        if place != "inside":
            (tmp_path / place).write_text(packet)
        tracemalloc.start()
        try:
            found = read_photo(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found.problems
        assert peak < 64 * 2**20


def test_a_packed_packet_is_unpacked_up_to_the_limit(tmp_path: Path) -> None:
    body = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(b" " * 2**27)
    chunk = struct.pack(">I", len(body)) + b"iTXt" + body + struct.pack(">I", zlib.crc32(b"iTXt" + body))
    plain = picture("PNG")
    (packet,) = embedded(plain[:33] + chunk + plain[33:]).xmp or (b"",)
    assert len(packet) <= MOST_BYTES + 1


@pytest.mark.parametrize("kind", ["zTXt", "iTXt"])
def test_of_many_packed_chunks_few_are_unpacked(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, damaged = b"Raw profile type iptc\0\0", zlib.compress(b" " * 2**16)[:10] + b"\xff" * 50
    body = name + damaged if kind == "zTXt" else b"XML:com.adobe.xmp\0\1\0\0\0" + damaged
    packed = kind.encode() + body
    chunk = struct.pack(">I", len(body)) + packed + struct.pack(">I", zlib.crc32(packed))
    plain, real, unpacked = picture("PNG"), zlib.decompressobj, []
    monkeypatch.setattr(zlib, "decompressobj", lambda: unpacked.append(1) or real())
    assert embedded(plain[:33] + chunk * 1000 + plain[33:]).xmp == ()
    assert 0 < len(unpacked) < 10


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are a Unix thing")
def test_pipes_links_and_folders_are_not_waited_for(tmp_path: Path) -> None:
    root = tmp_path / "root"
    path = photo(root / "a.jpg")
    secret = tmp_path / "secret.xmp"
    secret.write_text(xmp(dc_subject=("secret",)))
    (root / "a.xmp").symlink_to(secret)
    assert read_photo(path, within=root).tags == ()
    assert "leads out" in read_photo(path, within=root).problems[0]
    assert read_photo(path).tags == ("secret",)
    (root / "a.xmp").unlink()
    os.mkfifo(root / "a.xmp")
    assert "plain file" in read_photo(path).problems[0]
    (root / "a.jpg.xmp").mkdir()
    assert "plain file" in read_photo(path).problems[0]
    os.mkfifo(root / "pipe.jpg")
    assert read_photo(root / "pipe.jpg").tags == ()
    assert read_photo(root / "gone.jpg").tags == ()
    assert read_photo(Path("a\0b")).tags == ()


def test_what_tagmix_wrote_is_told_apart_and_never_a_tag(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg", holding("JPEG", xmp(dc_subject=("inside",))))
    (tmp_path / "a.jpg.xmp").write_text(xmp(dc_subject=("sea", "Berlin")))
    addition = Addition((("sky", 0.9), ("Places|Germany", 0.8), ("sea", 0.7)), (), run="r1", model="m1")
    apply_change(plan_addition(path, addition))
    found = read_photo(path)
    assert (set(found.tags), set(found.machine)) == ({"inside", "sea", "Berlin"}, {"sky", "Places|Germany"})
    sidecar = tmp_path / "a.jpg.xmp"
    copied = xmp(mediapro_CatalogSets=("Places|Germany", "mine"), MicrosoftPhoto_LastKeywordXMP=("sky",))
    body = copied[copied.index("<mediapro") : copied.index("</rdf:Description>")]
    spaces = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
    text = sidecar.read_text()
    more = f"<rdf:Description{spaces}>{body}</rdf:Description></rdf:RDF>"
    sidecar.write_text(text.replace("</rdf:RDF>", more))
    assert set(read_photo(path).tags) == {"inside", "sea", "Berlin", "mine"}
    assert set(read_photo(path).machine) == {"sky", "Places|Germany"}
