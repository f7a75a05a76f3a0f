"""Pictures that are too large, cut, empty or no pictures are refused in one line and leave no trace."""

import gc
import io
import os
import struct
import threading
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile, PngImagePlugin

from tagmix.errors import ImageError
from tagmix.images.decode import decode

PIXELS = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)


def encoded(image, form, **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *chunks, depth=8, colour=0):
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + chunk(b"IEND", b"")


def one_line(source, **options):
    with pytest.raises(ImageError) as caught:
        decode(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_picture_above_the_limit_is_refused_before_it_is_decoded():
    promise = png(20_000, 6_000)  # 120 megapixels, and not one of them is there
    assert "100,000,000" in one_line(promise)
    assert "20,000 × 6,000" in one_line(promise)
    assert "11 pixels" in one_line(encoded(Image.new("L", (4, 3)), "PNG"), max_pixels=11)
    assert decode(encoded(Image.new("L", (4, 3)), "PNG"), max_pixels=12).shape == (3, 4, 3)


def test_a_bomb_of_four_gigapixels_is_refused():
    assert "far more" in one_line(png(65_000, 65_000))


def test_pictures_between_pillows_limit_and_ours_are_read(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 8)
    assert decode(encoded(Image.new("L", (4, 3)), "PNG")).shape == (3, 4, 3)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_truncated_file_is_refused(form, share):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8))
    data = encoded(noise, form)
    decode(data)
    one_line(data[: int(len(data) * share)])


def test_truncated_files_stay_refused_for_everybody():
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_a_picture_without_pixels_is_refused():
    one_line(png(0, 5))
    gif = bytearray(encoded(Image.new("L", (1, 1)), "GIF"))
    gif[6:10] = bytes(4)
    at = gif.index(b",") + 5
    gif[at : at + 4] = bytes(4)
    one_line(bytes(gif))


def test_a_text_bomb_in_a_png_is_refused():
    bomb = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(PngImagePlugin.MAX_TEXT_CHUNK * 3)))
    pixel = chunk(b"IDAT", zlib.compress(b"\0\0"))
    decode(png(1, 1, pixel))
    assert "too large" in one_line(png(1, 1, bomb, pixel))


@pytest.mark.parametrize("data", [b"", b"\0", b"GIF89a", b"<svg></svg>", b"%PDF-1.7", b"P6 1 1 255 abc"])
def test_what_is_no_picture_of_the_listed_formats_is_refused(data):
    one_line(data)


def test_formats_that_pillow_knows_and_we_do_not_list_are_refused():
    for form in ("PPM", "TGA", "ICO", "EPS"):
        assert "JPEG, PNG" in one_line(encoded(Image.new("RGB", (16, 16)), form))


def test_thirty_two_bit_grey_is_refused():
    assert "32 bits" in one_line(encoded(Image.fromarray(np.zeros((2, 2), np.float32)), "TIFF"))


def test_files_are_named_and_closed(tmp_path):
    path = tmp_path / "so\nso.jpg"
    path.write_bytes(b"nothing")
    assert "so\\nso.jpg" in one_line(path)
    assert "nothing under that name" in one_line(tmp_path / "gone.png")
    assert "plain file" in one_line(tmp_path)
    assert "possible name" in one_line("a\0b")
    path.write_bytes(encoded(Image.fromarray(PIXELS), "TIFF"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        for _ in range(3):
            assert np.array_equal(decode(str(path)), PIXELS)
        after = len(os.listdir("/proc/self/fd")) if before else 0
        gc.collect()
    assert after == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in folders are a Unix thing")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "p.jpg")
    assert "plain file" in one_line(tmp_path / "p.jpg")


def test_warnings_of_the_codecs_stay_inside_and_the_filters_come_back():
    twelve = encoded(
        Image.fromarray(PIXELS), "PNG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\3\0\0\xff\xff\0\0\0\0"
    )
    filters = list(warnings.filters)
    gate, failures = threading.Barrier(4), []

    def work():
        gate.wait()
        for _ in range(20):
            try:
                decode(twelve)
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert warnings.filters == filters
