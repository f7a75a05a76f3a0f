"""Photos are recognised by content and place."""

import os

import pytest

from tagmix.errors import CatalogueError


def test_a_photo_that_is_noted_again_is_the_same(library):
    photo = library.photo("a.jpg")
    assert library.note("a.jpg") == (photo, "a.jpg", "same", None)


def test_a_renamed_photo_keeps_its_verdicts(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, "sea", "yes")
    (library.root / "sub").mkdir()
    os.rename(library.root / "a.jpg", library.root / "sub" / "b.jpg")
    assert library.note("sub/b.jpg") == (photo, "sub/b.jpg", "moved", "a.jpg")
    assert library.answers(photo) == {"sea": ("human", "yes")}
    assert library.catalogue.photos.at("a.jpg") is None


def test_an_edited_photo_keeps_its_verdicts(library):
    photo = library.photo("a.jpg")
    library.put("a.jpg", b"brighter")
    assert library.note("a.jpg") == (photo, "a.jpg", "edited", "a.jpg")


def test_a_copy_is_a_photo_of_its_own_without_verdicts(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, "sea", "yes")
    library.put("copy.jpg", b"a.jpg")
    noted = library.note("copy.jpg")
    assert noted[1:] == ("copy.jpg", "copied", "a.jpg")
    assert noted.id != photo
    assert library.answers(noted.id) == {}


def test_photos_that_change_names_in_a_ring_keep_their_verdicts(library):
    photos = [library.photo(f"{name}.jpg") for name in "abc"]
    contents = [(library.root / f"{name}.jpg").read_bytes() for name in "abc"]
    for name, content in zip("bca", contents, strict=True):
        library.put(f"{name}.jpg", content)
    assert [library.note(f"{name}.jpg").id for name in "bca"] == photos
    assert [library.catalogue.photos.get(photo).missing for photo in photos] == [False] * 3


def test_the_copy_made_before_an_edit_is_the_copy(library):
    photo = library.photo("a.jpg")
    library.put("a-original.jpg", b"a.jpg")
    library.put("a.jpg", b"edited after the copy was made")
    assert library.note("a-original.jpg").change == "copied"
    assert library.note("a.jpg") == (photo, "a.jpg", "edited", "a.jpg")


def test_a_copy_over_another_photo_inherits_nothing_from_it(library):
    first, second = library.photo("a.jpg"), library.photo("b.jpg")
    library.catalogue.verdicts.set(first, "sea", "yes")
    library.put("a.jpg", b"b.jpg")
    noted = library.note("a.jpg")
    assert noted.change == "copied"
    assert noted.id not in (first, second)
    assert library.catalogue.photos.get(first).missing
    assert library.answers(first) == {"sea": ("human", "yes")}


def test_a_missing_photo_comes_back_with_its_verdicts(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, "sea", "no")
    library.catalogue.photos.miss([photo])
    assert library.catalogue.photos.get(photo).missing
    assert [one.id for one in library.catalogue.photos.all(missing=True)] == [photo]
    assert library.note("a.jpg") == (photo, "a.jpg", "back", "a.jpg")
    assert library.answers(photo) == {"sea": ("human", "no")}


def test_another_photo_at_the_place_of_a_missing_one_is_new(library):
    photo = library.photo("DSC0001.jpg")
    library.catalogue.photos.miss([photo])
    library.put("DSC0001.jpg", b"the counter of the camera began again")
    noted = library.note("DSC0001.jpg")
    assert (noted.change, noted.id != photo) == ("new", True)


def test_of_two_copies_each_moves_with_its_name(library):
    photos = [library.photo(name, b"twin") for name in ("a.jpg", "b.jpg")]
    os.renames(library.root / "a.jpg", library.root / "sub" / "a.jpg")
    os.renames(library.root / "b.jpg", library.root / "sub" / "b.jpg")
    assert [library.note(f"sub/{name}").id for name in ("b.jpg", "a.jpg")] == photos[::-1]


@pytest.mark.parametrize(
    "name", [os.fsdecode(b"caf\xe9.jpg"), "a'b\"c;--.jpg", "new\nline.jpg", "e\u0301.jpg", "x" * 200 + ".jpg"]
)
def test_any_name_of_a_file_survives(library, name):
    photo = library.photo(name, b"any")
    library.again()
    assert library.catalogue.photos.at(name) == photo
    assert [one.place for one in library.catalogue.photos.all()] == [name]


@pytest.mark.parametrize(
    "place", ["", "/etc/passwd", "../a.jpg", "a/../b.jpg", "./a", "a//b", "a\0b", "\ud800"]
)
def test_a_place_outside_the_library_is_refused_in_one_line(library, place):
    with pytest.raises(CatalogueError, match="relative to the library's folder") as caught:
        library.catalogue.photos.note(place, b"x" * 32, 1, 1)
    assert str(caught.value).isprintable()


def test_times_beyond_64_bits_are_kept_at_the_limit(library):
    noted = library.catalogue.photos.note("a.jpg", b"x" * 32, 1, 2**70)
    assert library.catalogue.photos.get(noted.id).mtime_ns == 2**63 - 1


def test_of_several_copies_that_were_gone_each_comes_back_as_itself(library):
    photos = {place: library.photo(place, b"the same") for place in ("x/a.jpg", "x/b.jpg", "y/c.jpg")}
    library.catalogue.photos.miss(photos.values())
    for place in photos:
        (library.root / place).unlink()
    for place in ("y/c.jpg", "x/b.jpg"):
        library.put(place, b"the same")
        noted = library.note(place)
        assert (noted.id, noted.change) == (photos[place], "back")
    library.put("z/a.jpg", b"the same")
    noted = library.note("z/a.jpg")
    assert (noted.id, noted.change) == (photos["x/a.jpg"], "moved")
