"""Every reader of albums passes the same checks; a reader without a maker of examples fails here."""

import os
import runpy
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from tagmix.datasets import READERS, open_album
from tagmix.errors import AlbumError
from tagmix.images.decode import decode

SHARED = runpy.run_path(str(Path(__file__).parents[1] / "datasets" / "makers.py"))
MAKERS, GOOD, Entry = SHARED["MAKERS"], SHARED["GOOD"], SHARED["Entry"]
plain, windows, pictures, picture, watched = (
    SHARED[name] for name in ("plain", "windows", "pictures", "picture", "watched")
)

every = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
STATING = {name: maker for name, maker in MAKERS.items() if maker.states_paths}
stating = pytest.mark.parametrize("maker", STATING.values(), ids=STATING.keys())


def made(maker, folder, entries, to_bytes=plain, *, draw=None):
    """Write an album (with the pictures of ``draw``, by default all) and read it."""
    pictures(folder, entries if draw is None else draw, maker.prefix)
    return READERS[maker.format](maker.make(folder, entries, to_bytes))


def summary(album):
    return {item.id.rpartition("/")[2]: sorted(item.tags) for item in album}


def expected(maker, entries):
    def tags(entry):
        return [word for tag in entry.tags for word in (tag.split() if maker.splits_words else [tag])]

    return {entry.image: sorted(tags(entry)) for entry in entries}


def test_every_reader_has_a_maker():
    assert {maker.format for maker in MAKERS.values()} == set(READERS)


@every
def test_a_sound_album_is_read_whole(maker, tmp_path):
    album = made(maker, tmp_path, GOOD)
    assert album.problems == ()
    assert summary(album) == expected(maker, GOOD)
    root = tmp_path.resolve()
    assert album.root == root
    for item in album:
        assert item.image.is_absolute()
        assert item.image == root / item.id
        assert decode(item.image).shape == (8, 12, 3)


@every
def test_the_format_is_found_without_being_named(maker, tmp_path):
    pictures(tmp_path, GOOD, maker.prefix)
    path = maker.make(tmp_path, GOOD)
    assert open_album(path) == READERS[maker.format](path) == open_album(f"{maker.format}:{path}")


@every
def test_windows_line_ends_and_a_byte_order_mark_change_nothing(maker, tmp_path):
    one, other = made(maker, tmp_path / "a", GOOD), made(maker, tmp_path / "b", GOOD, windows)
    assert other.problems == ()
    assert [(item.id, item.tags, item.split, item.regions) for item in other] == [
        (item.id, item.tags, item.split, item.regions) for item in one
    ]


@every
@pytest.mark.parametrize("stored", ["NFC", "NFD"])
def test_accents_are_composed_in_tags_and_found_in_names(maker, tmp_path, stored):
    decomposed = unicodedata.normalize("NFD", "café")
    drawn = [Entry(unicodedata.normalize(stored, "été.jpg"))]
    said = [Entry("été.jpg", (decomposed, "café"))]
    if not maker.states_paths:
        said = [Entry(drawn[0].image, said[0].tags)]
    album = made(maker, tmp_path, said, draw=drawn)
    assert album.problems == ()
    assert [item.tags for item in album] == [("café",)]


@every
def test_an_empty_caption_leaves_the_picture_and_no_tag(maker, tmp_path):
    album = made(maker, tmp_path, [GOOD[0], Entry("z.jpg", ("",))])
    assert summary(album) == expected(maker, [GOOD[0]]) | {"z.jpg": []}
    assert len(album.problems) == 1


@stating
def test_a_missing_picture_is_set_aside(maker, tmp_path):
    album = made(maker, tmp_path, GOOD, draw=GOOD[1:])
    assert summary(album) == expected(maker, GOOD[1:])
    assert len(album.problems) == 1
    assert "a.jpg" in album.problems[0]


@stating
def test_of_two_entries_for_one_picture_the_first_counts(maker, tmp_path):
    twice = [Entry("a.jpg", ("first",)), Entry("a.jpg", ("second",))]
    album = made(maker, tmp_path, twice)
    assert [item.tags for item in album] == [("first",)]
    assert len(album.problems) == 1 or maker.format == "corel5k"  # there both files say it
    assert "twice" in album.problems[0]


ESCAPES = ["../out/x.jpg", "..\\out\\x.jpg", "a/../../out/x.jpg", "link/x.jpg", "link.jpg", "C:\\out\\x.jpg"]
IMPOSSIBLE = ["x" * 300 + ".jpg", "/".join("y" * 3000) + ".jpg", "con\x01.jpg"]


@stating
@pytest.mark.parametrize("path", [*ESCAPES, *IMPOSSIBLE, "ABSOLUTE"])
def test_a_path_out_of_the_album_is_never_followed(maker, tmp_path, path):
    outside, folder = tmp_path / "out" / "x.jpg", tmp_path / "album"
    picture(outside)
    pictures(folder, GOOD[:1], maker.prefix)
    (folder / maker.prefix / "link").symlink_to(outside.parent)
    (folder / maker.prefix / "link.jpg").symlink_to(outside)
    if path == "ABSOLUTE":
        path = str(outside)
    if maker.format in ("voc", "labelme"):
        path = path.replace("\x01", "\x7f")  # XML has no way to write the other
    entries = [GOOD[0], Entry(path, ("secret",))]
    target = maker.make(folder, entries)
    with watched() as opened:
        album = READERS[maker.format](target)
    assert list(summary(album)) == ["a.jpg"]
    assert any(album.problems)
    ours = [Path(os.path.realpath(name)) for name, _, _ in opened if name.startswith(str(tmp_path))]
    assert ours
    assert all(name.is_relative_to(folder.resolve()) for name in ours)


def test_photos_and_sidecars_that_are_links_out_of_the_folder_are_not_read(tmp_path):
    outside, folder = tmp_path / "out", tmp_path / "album"
    picture(outside / "x.jpg")
    (outside / "x.txt").write_text("secret")
    picture(folder / "a.jpg")
    (folder / "a.txt").symlink_to(outside / "x.txt")
    (folder / "b.jpg").symlink_to(outside / "x.jpg")
    (folder / "sub").symlink_to(outside)
    with watched() as opened:
        album = READERS["folder"](folder)
    assert summary(album) == {"a.jpg": []}
    assert len(album.problems) == 2
    assert not any(os.path.realpath(name).startswith(str(outside)) for name, _, _ in opened)


@every
def test_something_else_under_the_formats_name_is_refused_in_one_line(maker, tmp_path):
    target = maker.make(tmp_path, GOOD) if maker.states_paths else tmp_path
    for file in tmp_path.rglob("*"):
        if file.is_file():
            file.write_bytes(bytes(range(256)) * 4)
    if maker.format == "voc":  # each annotation stands alone: an album of none, with a problem each
        album = READERS["voc"](target)
        assert len(album) == 0
        assert len(album.problems) == len(GOOD) + 1
        return
    with pytest.raises(AlbumError) as caught:
        READERS[maker.format](target)
    assert "\n" not in str(caught.value)


@every
def test_an_album_that_is_not_there_is_refused(maker, tmp_path):
    with pytest.raises(AlbumError):
        READERS[maker.format](tmp_path / "nowhere")


WITH_REGIONS = {name: maker for name, maker in MAKERS.items() if maker.has_regions}


@pytest.mark.parametrize("maker", WITH_REGIONS.values(), ids=WITH_REGIONS.keys())
def test_regions_are_where_they_were_drawn_and_cut_at_the_border(maker, tmp_path):
    outside = [Entry("a.jpg", ("boat",), (8, 5, 100, 100)), Entry("b.jpg", ("boat",), (-50, -50, 53, 52))]
    album = made(maker, tmp_path, outside)
    assert album.problems == ()
    right, left = (album.region_truth(item, (8, 12)) for item in album)
    assert right.names == left.names == ("", "boat")
    # a polygon takes in the pixels its edge runs through, a box ends before them
    edge = int(maker.format == "labelme")
    assert np.argwhere(right.labels).min(axis=0).tolist() == [5, 8]
    assert right.labels[5:, 8:].all()
    assert np.argwhere(left.labels).max(axis=0).tolist() == [1 + edge, 2 + edge]


@pytest.mark.parametrize("maker", WITH_REGIONS.values(), ids=WITH_REGIONS.keys())
@pytest.mark.parametrize("box", [(1, 1, float("nan"), 2), (0, 0, 1e9, 3), (3, 3, float("inf"), 1)])
def test_an_impossible_region_is_set_aside_and_its_picture_kept(maker, tmp_path, box):
    album = made(maker, tmp_path, [Entry("a.jpg", ("boat",), box), GOOD[1]])
    assert [item.id.rpartition("/")[2] for item in album] == ["a.jpg", "b.png"]
    assert album[0].regions == ()
    assert len(album.problems) == 1
