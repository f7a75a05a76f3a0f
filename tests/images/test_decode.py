"""Every kind of picture file gives the pixels one sees; every broken one gives one line."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from tagmix.errors import ImageError
from tagmix.images import decode as module
from tagmix.images.decode import decode, decode_labels, size_of

# No two corners alike, and not square: a wrong turn shows.
PIXELS = np.array(
    [[[250, 0, 0], [0, 250, 0], [0, 0, 250]], [[250, 250, 0], [90, 90, 90], [0, 0, 0]]], np.uint8
)
BIG = PIXELS.repeat(16, axis=0).repeat(16, axis=1)  # blocks of JPEG's size: its loss stays small


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


@pytest.mark.parametrize("form", ["PNG", "TIFF", "BMP", "GIF"])
def test_lossless_formats_give_the_very_pixels(form):
    assert np.array_equal(decode(encoded(Image.fromarray(PIXELS), form)), PIXELS)


def test_webp_without_loss_gives_the_very_pixels():
    assert np.array_equal(decode(encoded(Image.fromarray(PIXELS), "WEBP", lossless=True)), PIXELS)


@pytest.mark.parametrize("options", [{}, {"progressive": True}])
def test_jpeg_gives_nearly_the_pixels(options):
    result = decode(encoded(Image.fromarray(BIG), "JPEG", quality=95, subsampling=0, **options))
    assert result.dtype == np.uint8
    assert np.abs(result.astype(int) - BIG).max() <= 6


def test_heic_is_read():
    import pillow_heif as heif  # noqa: PLC0415 (slow to import)

    buffer = io.BytesIO()
    heif.from_pillow(Image.fromarray(BIG)).save(buffer, quality=95, chroma=444)
    result = decode(buffer.getvalue())
    assert result.shape == BIG.shape
    assert np.abs(result.astype(int) - BIG).mean() <= 4


def test_heic_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    assert "pillow-heif: install it again" in one_line(b"\0\0\0\x18ftypheic" + bytes(50))


# what a viewer does to the stored pixels, by the EXIF standard's own words
UPRIGHT = {
    1: lambda p: p,
    2: lambda p: p[:, ::-1],
    3: lambda p: p[::-1, ::-1],
    4: lambda p: p[::-1],
    5: lambda p: p.swapaxes(0, 1),
    6: lambda p: np.rot90(p, -1),
    7: lambda p: np.rot90(p, 2).swapaxes(0, 1),
    8: np.rot90,
}


@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP", "JPEG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_is_turned_upright(form, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"lossless": True}}.get(form, {})
    data = encoded(Image.fromarray(BIG), form, exif=exif, **options)
    wanted = UPRIGHT[orientation](BIG)
    result = decode(data)
    assert result.shape == wanted.shape
    assert np.abs(result.astype(int) - wanted).max() <= (6 if form == "JPEG" else 0)
    assert size_of(data) == wanted.shape[:2]
    assert decode(data, max_side=24).shape[:2] == tuple(side // 2 for side in wanted.shape[:2])


def test_a_damaged_exif_block_does_not_cost_the_picture():
    data = encoded(Image.fromarray(PIXELS), "PNG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")
    assert np.array_equal(decode(data), PIXELS)


GREY = np.array([[0, 100, 255]], np.uint8)


def as_rgb(grey):
    return np.repeat(np.asarray(grey, np.uint8)[..., None], 3, axis=2)


def test_greyscale_and_one_bit_pictures_become_grey_rgb():
    assert np.array_equal(decode(encoded(Image.fromarray(GREY), "PNG")), as_rgb(GREY))
    bits = Image.fromarray(np.array([[0, 255, 255]], np.uint8)).convert("1")
    for form in ("PNG", "TIFF", "BMP"):
        assert np.array_equal(decode(encoded(bits, form)), as_rgb([[0, 255, 255]]))


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bit_grey_keeps_its_upper_eight_bits(form):
    deep = np.array([[0, 255, 256, 100 * 257, 65535]], np.uint16)
    assert np.array_equal(decode(encoded(Image.fromarray(deep), form)), as_rgb([[0, 0, 1, 100, 255]]))


def test_sixteen_bit_colour_keeps_its_upper_eight_bits():
    row = b"\0" + struct.pack(">6H", 0xFF12, 0x0034, 0x8056, 0x0000, 0x00FF, 0x0100)
    data = png(2, 1, chunk(b"IDAT", zlib.compress(row)), depth=16, colour=2)
    assert decode(data).tolist() == [[[255, 0, 128], [0, 0, 1]]]


def test_the_transparent_grey_of_a_sixteen_bit_picture_is_white():
    row = b"\0" + struct.pack(">2H", 0x1234, 0x4000)
    data = png(2, 1, chunk(b"tRNS", b"\x12\x34"), chunk(b"IDAT", zlib.compress(row)), depth=16)
    assert decode(data).tolist() == [[[255] * 3, [64] * 3]]


@pytest.mark.parametrize("form", ["PNG", "WEBP", "TIFF"])
def test_alpha_is_laid_on_white(form):
    clear = Image.fromarray(np.array([[[200, 0, 0, 0], [200, 0, 0, 255], [200, 0, 0, 51]]], np.uint8))
    options = {"lossless": True, "exact": True} if form == "WEBP" else {}
    # a fifth of the colour, four fifths of white
    assert decode(encoded(clear, form, **options)).tolist() == [[[255] * 3, [200, 0, 0], [244, 204, 204]]]


def test_grey_with_alpha_is_laid_on_white():
    clear = Image.fromarray(np.array([[[10, 0], [10, 255]]], np.uint8))
    assert clear.mode == "LA"
    assert decode(encoded(clear, "PNG")).tolist() == [[[255] * 3, [10] * 3]]


@pytest.mark.parametrize("form", ["PNG", "GIF"])
def test_a_palette_gives_its_colours_and_its_clear_entry_white(form):
    indexed = Image.new("P", (3, 1))
    indexed.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    indexed.putdata([0, 1, 2])
    assert decode(encoded(indexed, form)).tolist() == [[[10, 20, 30], [40, 50, 60], [70, 80, 90]]]
    assert decode(encoded(indexed, form, transparency=1)).tolist() == [
        [[10, 20, 30], [255] * 3, [70, 80, 90]]
    ]


def test_the_clear_colour_of_an_rgb_png_is_white():
    row = b"\0" + bytes([1, 2, 3, 9, 9, 9])
    data = png(2, 1, chunk(b"tRNS", b"\0\1\0\2\0\3"), chunk(b"IDAT", zlib.compress(row)), colour=2)
    assert decode(data).tolist() == [[[255] * 3, [9, 9, 9]]]


@pytest.mark.parametrize("form", ["JPEG", "TIFF"])
def test_cmyk_becomes_rgb(form):
    inks = Image.new("CMYK", (16, 16), (0, 255, 255, 0))  # magenta and yellow in full: red
    result = decode(encoded(inks, form))
    assert result.shape == (16, 16, 3)
    assert np.abs(result.astype(int) - [255, 0, 0]).max() <= 3


def test_ycck_jpeg_becomes_rgb():
    # Pillow writes plain CMYK; with the marker's transform set to 2 the same bytes mean YCCK. Adobe stores
    # inks inverted, so that the luma and the two colours stored are those of the inks: 179, 171, 0 is no
    # cyan, and magenta and yellow in full. That is red.
    inks = tuple(255 - stored for stored in (179, 171, 0, 255))
    data = encoded(Image.new("CMYK", (16, 16), inks), "JPEG", quality=100)
    at = data.index(b"Adobe\0") + 11
    assert data[at] == 0
    turned = data[:at] + b"\2" + data[at + 1 :]
    assert np.abs(decode(turned).astype(int) - [255, 0, 0]).max() <= 4


@pytest.mark.parametrize("form", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_an_animation_comes_the_first_frame(form):
    frames = [Image.new("RGB", (4, 3), colour) for colour in ("red", "blue")]
    options = {"lossless": True} if form == "WEBP" else {}
    data = encoded(frames[0], form, save_all=True, append_images=frames[1:], **options)
    with Image.open(io.BytesIO(data)) as check:
        assert check.n_frames == 2
    assert np.array_equal(decode(data), np.broadcast_to(np.uint8([255, 0, 0]), (3, 4, 3)))


def test_a_colour_profile_is_left_alone():
    from PIL import ImageCms  # noqa: PLC0415

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    assert np.array_equal(decode(encoded(Image.fromarray(PIXELS), "PNG", icc_profile=profile)), PIXELS)


def test_max_side_shrinks_and_never_enlarges():
    data = encoded(Image.fromarray(BIG.repeat(8, 0).repeat(8, 1)), "JPEG", quality=95)
    small = decode(data, max_side=48)
    assert small.shape == (32, 48, 3)
    middles = small[8::16, 8::16].astype(int)
    assert np.abs(middles - PIXELS).max() <= 8
    assert decode(data, max_side=10_000).shape == (256, 384, 3)
    assert decode(encoded(Image.new("RGB", (1000, 1)), "PNG"), max_side=10).shape == (1, 10, 3)
    assert "max_side" in one_line(data, max_side=0)


def test_max_side_decodes_jpeg_small_in_the_first_place(monkeypatch):
    sizes = []
    monkeypatch.setattr(module, "_rgb", lambda image: sizes.append(image.size) or image)
    decode(encoded(Image.new("RGB", (1600, 800)), "JPEG"), max_side=200)
    assert sizes == [(200, 100)]


# --- labels and descriptions


def test_a_label_mask_gives_numbers_not_colours():
    indexed = Image.new("P", (3, 1))
    indexed.putpalette([9, 9, 9, 8, 8, 8, 7, 7, 7])
    indexed.putdata([0, 2, 1])
    assert decode_labels(encoded(indexed, "PNG")).tolist() == [[0, 2, 1]]
    deep = np.array([[0, 300, 65535]], np.uint16)
    assert decode_labels(encoded(Image.fromarray(deep), "PNG")).tolist() == deep.tolist()
    with pytest.raises(ImageError, match="label mask"):
        decode_labels(encoded(Image.new("RGB", (2, 2)), "PNG"))
