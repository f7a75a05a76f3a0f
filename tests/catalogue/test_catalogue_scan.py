"""A scan recognises what happened to files since the last one, reading only those that changed."""

import os

from tagmix.catalogue import open_catalogue
from tagmix.catalogue.scan import CHUNK


def scan(library, below=""):
    places = sorted(p.relative_to(library.root).as_posix() for p in library.root.rglob("*") if p.is_file())
    return {
        (one.place, getattr(one, "change", "unreadable"))
        for one in library.catalogue.scan(places, below=below)
    }


def test_a_second_scan_reads_no_file(library, monkeypatch):
    for number in range(5):
        library.put(f"{number}.jpg", b"%d" % number)
    assert scan(library) == {(f"{n}.jpg", "new") for n in range(5)}
    monkeypatch.setattr("tagmix.catalogue.scan.file_digest", None)
    assert scan(library) == {(f"{n}.jpg", "same") for n in range(5)}


def test_a_scan_tells_moved_edited_copied_missing_and_new_files_apart(library):
    for name in "abcd":
        library.put(f"{name}.jpg", name.encode())
    scan(library)
    os.renames(library.root / "a.jpg", library.root / "sub" / "a.jpg")
    library.put("b.jpg", b"edited")
    library.put("copy of c.jpg", b"c")
    (library.root / "d.jpg").unlink()
    library.put("e.jpg", b"e")
    assert scan(library) == {
        ("sub/a.jpg", "moved"),
        ("b.jpg", "edited"),
        ("c.jpg", "same"),
        ("copy of c.jpg", "copied"),
        ("d.jpg", "missing"),
        ("e.jpg", "new"),
    }
    assert ("sub/a.jpg", "same") in scan(library)


def test_a_moved_folder_keeps_all_its_verdicts(library):
    places = [f"old/{n}.jpg" for n in range(30)]
    photos = [library.photo(place) for place in places]
    for photo in photos:
        library.catalogue.verdicts.set(photo, "sea", "yes")
    os.rename(library.root / "old", library.root / "new")
    assert {change for _, change in scan(library)} == {"moved"}
    assert [library.catalogue.photos.at(f"new/{n}.jpg") for n in range(30)] == photos


def test_a_scan_of_a_folder_misses_nothing_elsewhere(library):
    library.put("a/1.jpg", b"1")
    library.put("ab/2.jpg", b"2")
    scan(library)
    assert list(library.catalogue.scan([], below="a")) == []  # the file is there, only not listed
    for path in ("a/1.jpg", "ab/2.jpg"):
        (library.root / path).unlink()
    assert [one.place for one in library.catalogue.scan([], below="a")] == ["a/1.jpg"]


def test_a_file_that_cannot_be_read_is_named_and_the_scan_goes_on(library):
    library.put("a.jpg", b"a")
    os.mkfifo(library.root / "pipe.jpg")
    noted = list(library.catalogue.scan(["a.jpg", "gone.jpg", "pipe.jpg"]))
    assert [getattr(one, "change", "unreadable") for one in noted] == ["new", "unreadable", "unreadable"]


def test_a_scan_that_is_stopped_keeps_what_it_has_yielded(library):
    for number in range(CHUNK + 10):
        library.put(f"{number:04}.jpg", b"%d" % number)
    places = sorted(path.name for path in library.root.iterdir())
    scan = library.catalogue.scan(places, below="")
    next(scan)
    # No transaction is open meanwhile: another connection may write
    with open_catalogue(library.path, library.root) as other:
        other.verdicts.set(other.photos.at("0000.jpg"), "sea", "yes")
    scan.close()
    assert library.again().photos.count() == CHUNK
