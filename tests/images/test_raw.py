"""Raw files: the largest preview is decoded, upright, and whatever a stranger changes ends in one line."""

import contextlib
import io
import struct
import time
import tracemalloc
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.images.raws import LONG, RAWS, SHORT, TURNED, TiffFile, box, cr3, jpeg, nef, number

from tagmix.errors import ImageError
from tagmix.images.decode import decode, orientation_of, size_of
from tagmix.images.orientation import combined, inverse, upright
from tagmix.images.raw import find_preview


@pytest.mark.parametrize("kind", RAWS)
def test_the_largest_preview_is_decoded_upright(kind):
    sideways = TURNED[kind] >= 5
    shape = (48, 32) if sideways else (32, 48)
    assert decode(RAWS[kind]).shape == (*shape, 3)
    assert size_of(RAWS[kind]) == shape
    assert orientation_of(RAWS[kind]) == TURNED[kind]


@pytest.mark.parametrize("kind", RAWS)
def test_a_raw_file_is_known_by_its_content_whatever_its_name(tmp_path, kind):
    (tmp_path / "photo.tif").write_bytes(RAWS[kind])
    assert decode(tmp_path / "photo.tif").shape[2] == 3
    found = find_preview(io.BytesIO(RAWS[kind]))
    assert found.content.startswith(b"\xff\xd8\xff")


def test_a_preview_that_is_larger_in_bytes_and_smaller_in_pixels_is_not_taken():
    noise = np.random.default_rng(0).integers(0, 255, (20, 30, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG", quality=100)
    assert len(buffer.getvalue()) > len(jpeg(48, 32))
    assert size_of(nef(small=(48, 32), large=buffer.getvalue())) == (48, 32)


def test_a_given_orientation_replaces_that_of_the_file():
    for orientation in range(1, 9):
        assert np.array_equal(decode(nef(orientation=orientation)), decode(nef(), orientation=orientation))
        sideways = orientation >= 5
        assert size_of(nef(), orientation=orientation) == ((48, 32) if sideways else (32, 48))


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("own", [None, 1, 2, 3, 4, 5, 6, 7, 8])
def test_every_kind_of_picture_turns_as_given_whatever_its_own_word(form, own):
    pixels = np.random.default_rng(1).integers(0, 255, (4, 6, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    exif = Image.Exif()
    if own is not None:
        exif[0x112] = own
    buffer = io.BytesIO()
    options = {"WEBP": {"lossless": True}, "JPEG": {"quality": 95, "subsampling": 0}}.get(form, {})
    Image.fromarray(pixels).save(buffer, form, exif=exif, **options)
    for given_one in range(1, 9):
        expected = np.asarray(upright(Image.fromarray(pixels), given_one)).astype(int)
        turned = decode(buffer.getvalue(), orientation=given_one).astype(int)
        assert turned.shape == expected.shape
        assert np.abs(turned - expected).mean() < 12
        assert size_of(buffer.getvalue(), orientation=given_one) == expected.shape[:2]
    assert orientation_of(buffer.getvalue()) == (own or 1)
    assert orientation_of(buffer.getvalue(), 7) == 7


def test_orientations_are_a_group():
    for one in range(1, 9):
        assert combined(one, inverse(one)) == combined(inverse(one), one) == 1
        assert combined(one, 1) == combined(1, one) == one
    corners = Image.fromarray(np.arange(6, dtype=np.uint8).reshape(2, 3))
    for one in range(1, 9):
        for other in range(1, 9):
            step_by_step = np.asarray(upright(upright(corners, one), other))
            assert np.array_equal(step_by_step, np.asarray(upright(corners, combined(one, other))))


def test_a_heic_file_is_not_turned_twice_by_a_copy_of_its_own_orientation():
    from pillow_heif import register_heif_opener  # noqa: PLC0415 (slow to import)

    register_heif_opener()
    pixels = np.zeros((64, 96, 3), dtype=np.uint8)
    pixels[:, :48] = 255
    exif = Image.Exif()
    exif[0x112] = 6
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "HEIF", exif=exif, quality=90)
    own = decode(buffer.getvalue())
    assert np.array_equal(decode(buffer.getvalue(), orientation=6), own)
    assert orientation_of(buffer.getvalue()) == orientation_of(buffer.getvalue(), 6) == 1
    assert decode(buffer.getvalue(), orientation=3).shape[:2] == own.shape[1::-1]


def test_plain_tiffs_are_no_raw_files():
    buffer = io.BytesIO()
    Image.new("RGB", (9, 7)).save(buffer, "TIFF")
    assert find_preview(buffer) is None
    assert decode(buffer.getvalue()).shape == (7, 9, 3)


def test_a_raw_file_without_a_preview_is_refused_in_one_line():
    file = TiffFile()
    sensor = file.done(file.directory({0x103: number(32767, SHORT), 0x106: number(32803, SHORT)}))
    cut = RAWS["raf"][:200]
    lossless = jpeg(48, 32).replace(b"\xff\xc0", b"\xff\xc3", 1)
    other = TiffFile()
    only = {0xC612: number(1), 0x201: number(other.add(lossless)), 0x202: number(len(lossless))}
    for content in (sensor, cut, other.done(other.directory(only)), box(b"ftyp", b"crx \0\0\0\1")):
        with pytest.raises(ImageError, match="must have a JPEG preview inside") as caught:
            decode(content)
        assert "\n" not in str(caught.value)


def test_a_preview_with_too_many_pixels_is_refused():
    frame = jpeg(48, 32).replace(struct.pack(">HH", 32, 48), struct.pack(">HH", 60_000, 60_000))
    file = TiffFile()
    main = {0xC612: number(1), 0x201: number(file.add(frame)), 0x202: number(len(frame))}
    with pytest.raises(ImageError, match="pixels"):
        decode(file.done(file.directory(main)))


def circle():
    """Return a file whose directories follow each other in a circle, and lead to a thousand others."""
    file = TiffFile()
    below = [file.directory({0x106: number(32803, SHORT), 0x14A: number(8)}) for _ in range(1000)]
    main = file.directory({0xC612: number(1), 0x14A: (LONG, tuple(below))}, following=8)
    return file.done(main)


def test_circles_and_floods_of_directories_end_soon():
    boxes = box(b"ftyp", b"crx \0\0\0\1") + box(b"moov", b"") * 100_000
    deep = b""
    for _ in range(3000):
        deep = box(b"moov", deep)
    segments = b"\xff\xd8" + b"\xff\xe0\x00\x02" * 500_000
    file = TiffFile()
    long = {0xC612: number(1), 0x201: number(file.add(segments)), 0x202: number(len(segments))}
    start = time.monotonic()
    for content in (circle(), boxes, box(b"ftyp", b"crx \0\0\0\1") + deep, file.done(file.directory(long))):
        with pytest.raises(ImageError):
            decode(content)
    assert time.monotonic() - start < 2


def test_a_length_that_lies_allocates_nothing(tmp_path):
    file = TiffFile()
    path = tmp_path / "a.nef"
    path.write_bytes(
        file.done(file.directory({0xC612: number(1), 0x201: number(8), 0x202: number(2**32 - 1)}))
    )
    tracemalloc.start()
    with pytest.raises(ImageError):
        decode(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


class OneLine(Exception):
    pass


@contextlib.contextmanager
def one_line_at_most():
    """Turn an ImageError of one line into OneLine."""
    try:
        yield
    except ImageError as error:
        if "\n" not in str(error):
            raise OneLine from error
        raise


@pytest.mark.parametrize("kind", RAWS)
@settings(derandomize=True, deadline=timedelta(seconds=10), max_examples=60)
@given(edits=st.lists(st.tuples(st.floats(0, 0.3), st.integers(0, 8), st.binary(max_size=6)), min_size=1))
def test_a_changed_raw_file_is_decoded_or_refused(kind, edits):
    data = RAWS[kind]
    for share, length, piece in edits:
        at = int(share * len(data))
        data = data[:at] + piece + data[at + length :]
    with contextlib.suppress(OneLine), one_line_at_most():
        assert decode(data).ndim == 3


def test_a_cr3_without_an_orientation_is_upright():
    assert orientation_of(cr3(orientation=0)) == 1
