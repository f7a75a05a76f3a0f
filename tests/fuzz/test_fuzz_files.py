"""Whatever a stranger changes in a file, reading ends in a result or one of our errors, and stays at home."""

import io
import os
import runpy
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tagmix.datasets import READERS
from tagmix.datasets.mulan import read_mulan
from tagmix.errors import AlbumError, BagsError, ImageError, TagmixError
from tagmix.images.decode import decode, decode_labels, size_of
from tagmix.metadata.embedded import embedded

SHARED = runpy.run_path(str(Path(__file__).parents[1] / "datasets" / "makers.py"))
MAKERS, GOOD, pictures, watched = (SHARED[name] for name in ("MAKERS", "GOOD", "pictures", "watched"))

# No hang: a whole reading of three pictures takes milliseconds, so seconds mean that something blew up
quick = settings(derandomize=True, deadline=timedelta(seconds=10), max_examples=60)

FRAGMENTS = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"../",
    b"/etc/passwd",
    b"C:\\",
    b"[" * 3000,
    b"{" * 3000,
    b"1e999",
    b"NaN",
]
FRAGMENTS += [
    b"-1",
    b"9" * 5000,
    b'"\\ud800"',
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b"<a>" * 200,
    b"null",
]
FRAGMENTS += [b"\r\n", b'"', b"'", b",", b"{}", b"[]", b"\xc3", b"\x1c\x02\x19\xff\xff"]
changes = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 12), st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=6))
    ),
    min_size=1,
    max_size=4,
)


def changed(data, edits):
    """Cut out and put in bytes at shares of the length."""
    for share, length, piece in edits:
        at = int(share * len(data))
        data = data[:at] + piece + data[at + length :]
    return data


def one_line(error):
    assert "\n" not in str(error)
    assert str(error)


def listing(folder):
    return {str(path): path.stat().st_size for path in sorted(Path(folder).rglob("*"))}


def read_at_home(read, target, folder):
    """Read an album or fail in one line; see that nothing is written, and nothing read outside."""
    before = listing(folder)
    with watched() as opened:
        try:
            result = read(target)
        except TagmixError as error:
            assert isinstance(error, AlbumError | BagsError)  # noqa: PT017 (a result is the other right answer)
            one_line(error)
            result = None
    home = os.path.realpath(folder)
    python = os.path.dirname(os.__file__)  # which loads its codecs when they are first needed
    for name, mode, flags in opened:
        if name.startswith(python):
            continue
        assert os.path.realpath(name).startswith(home), name
        assert not (flags & (os.O_WRONLY | os.O_RDWR)), (name, mode)
    assert listing(folder) == before
    return result


@pytest.mark.parametrize("name", MAKERS)
@quick
@given(which=st.integers(0, 50), edits=changes)
def test_a_changed_album_is_read_or_refused(name, which, edits):
    maker = MAKERS[name]
    with tempfile.TemporaryDirectory() as folder:
        pictures(Path(folder), GOOD, maker.prefix)
        target = maker.make(Path(folder), GOOD)
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        notes = [path for path in files if path.suffix not in (".jpg", ".png")]
        victim = notes[which % len(notes)]
        victim.write_bytes(changed(victim.read_bytes(), edits))
        album = read_at_home(READERS[maker.format], target, folder)
        if album is not None:
            check_album(album, Path(folder))


def check_album(album, folder):
    assert all("\n" not in problem for problem in album.problems)
    for item in album:
        assert item.image.resolve().is_relative_to(folder.resolve())
        assert all(tag and tag == " ".join(tag.split()) for tag in item.tags)
        assert len(set(item.tags)) == len(item.tags)
        truth = album.region_truth(item, (8, 12))
        assert truth.labels.max() < len(truth.names)


@pytest.mark.parametrize("name", MAKERS)
@quick
@given(data=st.binary(max_size=200))
def test_random_bytes_as_album_are_read_or_refused(name, data):
    maker = MAKERS[name]
    with tempfile.TemporaryDirectory() as folder:
        target = maker.make(Path(folder), GOOD)
        for path in Path(folder).rglob("*"):
            if path.is_file():
                path.write_bytes(data)
        album = read_at_home(READERS[maker.format], target, folder)
        assert album is None or len(album) == 0


ARFF = b"""@relation x
@attribute 'a b' numeric
@attribute word {0,1}
@attribute sky {0,1}
@attribute sea {0,1}
@data
1.5,1,0,1
{0 2, 2 1}
"""
LABELS = (
    b'<labels xmlns="http://mulan.sourceforge.net/labels"><label name="sky"/><label name="sea"/></labels>'
)


@quick
@given(edits=changes, in_xml=st.booleans())
def test_a_changed_mulan_set_is_read_or_refused(edits, in_xml):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.arff"
        file.write_bytes(ARFF if in_xml else changed(ARFF, edits))
        file.with_suffix(".xml").write_bytes(changed(LABELS, edits) if in_xml else LABELS)
        bags = read_at_home(read_mulan, file, folder)
        assert bags is None or bags.n_regions == len(bags)


def encoded(form, **options):
    pixels = np.random.default_rng(1).integers(0, 255, (9, 13, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    extra = {} if form in ("BMP", "GIF") else {"exif": exif}
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, form, **extra, **options)
    return buffer.getvalue()


SAMPLES = {form: encoded(form) for form in ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP")}
SAMPLES["LZW"] = encoded("TIFF", compression="tiff_lzw")
SAMPLES["CMYK"] = SAMPLES["JPEG"].replace(b"JFIF", b"JFJF")


def decoded_or_refused(data):
    for function in (decode, size_of, embedded, decode_labels):
        try:
            result = function(data)
        except ImageError as error:
            one_line(error)
        else:
            assert function is not decode or (result.ndim == 3 and result.dtype == np.uint8)


@pytest.mark.parametrize("name", SAMPLES)
@settings(quick, max_examples=120)
@given(edits=changes)
def test_a_changed_picture_is_decoded_or_refused(name, edits):
    decoded_or_refused(changed(SAMPLES[name], edits))


@settings(quick, max_examples=150)
@given(
    st.sampled_from(
        [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF\x20\0\0\0WEBPVP8 ", b"II*\0", b"GIF89a", b"BM"]
    ),
    st.binary(max_size=120),
)
def test_random_bytes_are_decoded_or_refused(head, data):
    decoded_or_refused(head + data)
