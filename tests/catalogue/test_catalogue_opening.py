"""Only files that are ours and sound are opened; anything else is refused in one line and not changed."""

import os
import random
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from tagmix.catalogue import known_libraries, open_catalogue, opening, place_of, schema
from tagmix.errors import CatalogueError


def refused(path, root, reason):
    """Check that opening is refused in one short line, and that the file stays as it was."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(CatalogueError, match=reason) as caught:
        open_catalogue(path, root)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
    assert before is None or path.read_bytes() == before
    return str(caught.value)


def is_refused(path, root):
    """Return whether opening is refused, in one line and without a change of the file."""
    before = path.read_bytes()
    try:
        open_catalogue(path, root).close()
    except CatalogueError as error:
        return str(error).isprintable() and path.read_bytes() == before
    return False


def filled(library, photos=120):
    """Return the bytes of a catalogue with many pages, closed."""
    with library.catalogue.batch():
        run = library.catalogue.runs.begin("tag", "model")
        for n in range(photos):
            photo = library.catalogue.photos.note(f"folder/{n:05}.jpg", n.to_bytes(32, "big"), n, n).id
            library.catalogue.verdicts.found(photo, [f"tag {n % 40}", f"Level|tag {n % 7}"])
            library.catalogue.runs.guess(run, photo, {f"guess {n % 30}": 0.5})
    library.catalogue.close()
    content = library.path.read_bytes()
    library.catalogue = open_catalogue(library.path, library.root)
    return content


@pytest.mark.parametrize(
    "content", [b"", b"no database at all", b"SQLite format 3\0", b"\xff\xd8\xff\xe0" * 5000]
)
def test_a_file_that_is_no_database_is_refused(library, tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    refused(path, library.root, "is no catalogue, or damaged")
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith("other")) == ["other"]


def test_a_database_of_another_program_is_refused(library, tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE photo (id)")
    other.close()
    refused(path, library.root, "of another program")


def test_what_is_no_file_is_refused(library, tmp_path):
    refused(tmp_path, library.root, "not a regular one")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", library.root, "not a regular one")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    refused(tmp_path / "link", library.root, "not a regular one")
    refused(tmp_path / "pipe" / "below.sqlite", library.root, "cannot be made")


def test_a_catalogue_of_a_newer_version_is_refused(library):
    library.catalogue.close()
    with sqlite3.connect(library.path) as newer:
        newer.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
        newer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    newer.close()
    refused(library.path, library.root, "use a newer tagmix")
    with sqlite3.connect(library.path) as newer:
        newer.execute(f"PRAGMA user_version = {schema.VERSION}")
    newer.close()
    library.again()


def test_a_damaged_catalogue_is_refused_or_read_rightly(library, tmp_path):
    content, random_bytes = filled(library), random.Random(0)
    path, refusals = tmp_path / "damaged.sqlite", 0
    pages = len(content) // 4096
    damages = [lambda page: bytes(4096), lambda page: random_bytes.randbytes(4096)]
    for page in range(pages):
        for damage in damages:
            broken = bytearray(content)
            broken[page * 4096 : (page + 1) * 4096] = damage(page)
            path.write_bytes(broken)
            refusals += is_refused(path, library.root)
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
    # A page of a table that is not checked on opening may pass: two empty tables and their indexes
    assert refusals >= 2 * (pages - 6)


def test_a_truncated_catalogue_is_refused(library, tmp_path):
    content, path = filled(library), tmp_path / "short.sqlite"
    for size in (50, 100, 4095, 4096, 10_000, len(content) // 2, len(content) - 4096, len(content) - 1):
        path.write_bytes(content[:size])
        refused(path, library.root, "damaged")


def test_damaged_text_in_the_words_of_sqlite_is_refused_in_one_line(library, tmp_path):
    content, path = filled(library), tmp_path / "damaged.sqlite"
    name = b"CREATE TABLE entry"
    path.write_bytes(content.replace(name, name[:-6] + b"\xa9\xff\x80\x80\x80\x80"))
    refused(path, library.root, "damaged")


def test_damage_that_opening_does_not_see_is_found_by_the_full_check(library):
    library.photo("a.jpg")
    store = library.catalogue._store
    with library.catalogue.batch():
        store.write("PRAGMA ignore_check_constraints = ON")
        store.write("UPDATE photo SET digest = x'00'")
    store.rows("PRAGMA ignore_check_constraints = OFF")
    assert any("photo" in line for line in library.catalogue.check())
    with library.catalogue.batch():
        store.write("UPDATE photo SET digest = zeroblob(32)")


def test_wrong_labels_are_mended(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, "sea", "yes")
    with library.catalogue.batch():
        library.catalogue._store.write("DELETE FROM label")
    assert len(library.catalogue.search("sea")) == 0
    assert library.catalogue.mend() == 1
    assert len(library.catalogue.search("sea")) == 1
    with library.catalogue.batch():
        library.catalogue._store.write("UPDATE label SET members = x'ffff'")
    with pytest.raises(CatalogueError, match="tagmix doctor"):
        library.catalogue.search("sea")
    assert library.catalogue.mend() == 1


def test_a_torn_journal_loses_the_last_transactions_and_nothing_else(library, tmp_path):
    photos = [library.photo(f"{n}.jpg") for n in range(20)]
    for photo in photos:
        with library.catalogue.batch():
            library.catalogue.verdicts.set(photo, "one", "yes")
            library.catalogue.verdicts.set(photo, "two", "no")
    journal = library.path.with_name(library.path.name + "-wal").read_bytes()
    path = tmp_path / "after.sqlite"
    counts = []
    for size in [*random.Random(1).sample(range(len(journal)), 12), len(journal)]:
        shutil.copy(library.path, path)
        path.with_name(path.name + "-wal").write_bytes(journal[:size])
        with open_catalogue(path, library.root) as torn:
            assert torn.check() == ()
            assert torn.mend() == 0
            counts.append(len(torn.search("source:human")))
            assert all(len(torn.verdicts.of(photo.id)) in (0, 2) for photo in torn.photos.all())
    assert counts[-1] == 20
    assert min(counts) < 20


def test_a_locked_catalogue_is_refused_in_one_line(library, monkeypatch):
    photo = library.photo("a.jpg")
    monkeypatch.setattr(opening, "PATIENCE", 0.05)
    other = library.again()
    with open_catalogue(library.path, library.root) as holder, holder.batch():
        with pytest.raises(CatalogueError, match="locked by another program"):
            other.verdicts.set(photo, "sea", "yes")
        assert len(other.search("")) == 1  # reading goes on
    other.verdicts.set(photo, "sea", "yes")


def test_a_catalogue_that_cannot_be_written_is_refused_in_one_line(library):
    photo = library.photo("a.jpg")
    library.catalogue._store.rows("PRAGMA query_only = ON")
    with pytest.raises(CatalogueError, match="read-only"):
        library.catalogue.verdicts.set(photo, "sea", "yes")
    library.catalogue._store.rows("PRAGMA query_only = OFF")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_catalogue_in_a_read_only_folder_is_refused_in_one_line(library):
    library.catalogue.close()
    os.chmod(library.path, 0o400)
    os.chmod(library.path.parent, 0o500)
    try:
        refused(library.path, library.root, "read-only|cannot be opened")
        refused(library.path.with_name("new.sqlite"), library.root, "cannot be made")
    finally:
        os.chmod(library.path.parent, 0o700)
        os.chmod(library.path, 0o600)
        library.again()


@pytest.mark.skipif(sys.platform != "linux", reason="a folder of the kernel")
def test_a_catalogue_in_a_folder_that_takes_no_files_is_refused_in_one_line(library):
    refused(Path("/proc/tagmix/catalogue.sqlite"), library.root, "cannot be made")


def test_a_full_disk_keeps_everything_that_was_recorded(library):
    photo = library.photo("a.jpg")
    library.catalogue.verdicts.set(photo, "sea", "yes")
    store = library.catalogue._store
    (pages,) = store.one("PRAGMA page_count")
    store.rows(f"PRAGMA max_page_count = {pages}")

    def fill():
        with library.catalogue.batch():
            for n in range(500):
                library.catalogue.verdicts.set(photo, f"tag {n}", "yes")

    with pytest.raises(CatalogueError, match="the disk is full"):
        fill()
    assert library.answers(photo) == {"sea": ("human", "yes")}
    store.rows("PRAGMA max_page_count = 1000000")
    library.catalogue.verdicts.set(photo, "sky", "yes")
    assert len(library.answers(photo)) == 2


def test_a_new_catalogue_is_whole_without_its_journal(library, tmp_path, monkeypatch):
    real, others = opening._migrate, []

    def migrate(store):
        real(store)
        ((_, _, file),) = store.rows("PRAGMA database_list")
        others.append(
            sqlite3.connect(file)
        )  # keeps SQLite from merging a journal at the end, as a full disk does
        others[-1].execute("SELECT * FROM sqlite_schema").fetchall()

    monkeypatch.setattr(opening, "_migrate", migrate)
    opening._create(tmp_path / "new.sqlite")
    monkeypatch.undo()
    with open_catalogue(tmp_path / "new.sqlite", library.root) as made:
        assert made.check() == ()
    others[0].close()


def test_two_that_make_the_same_catalogue_share_it(library, tmp_path, monkeypatch):
    path, publish = tmp_path / "new.sqlite", opening._publish

    def late(temporary, target):
        open_catalogue(path, library.root).close() if not path.exists() else None
        publish(temporary, target)

    monkeypatch.setattr(opening, "_publish", lambda t, p: (monkeypatch.undo(), late(t, p)))
    open_catalogue(path, library.root).close()
    assert [one.name for one in tmp_path.iterdir() if "tmp" in one.name] == []


def test_each_migration_is_made_once_and_whole(library, monkeypatch):
    library.photo("a.jpg")
    library.catalogue.close()
    bad = ("CREATE TABLE extra (id)", "CREATE TABLE photo (id)")
    monkeypatch.setattr(opening, "MIGRATIONS", (*schema.MIGRATIONS, bad))
    monkeypatch.setattr(opening, "VERSION", schema.VERSION + 1)
    with pytest.raises(CatalogueError, match="already exists"):
        open_catalogue(library.path, library.root)
    good = ("CREATE TABLE extra (id)",)
    monkeypatch.setattr(opening, "MIGRATIONS", (*schema.MIGRATIONS, good))
    for _ in range(2):
        with open_catalogue(library.path, library.root) as catalogue:
            assert catalogue.photos.count() == 1
            assert catalogue._store.one("SELECT count(*) FROM extra") == (0,)
    with sqlite3.connect(library.path) as back:
        back.execute(f"PRAGMA user_version = {schema.VERSION}")
        back.execute("DROP TABLE extra")
    back.close()
    monkeypatch.undo()
    library.again()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of XDG")
def test_a_library_is_the_nearest_folder_with_a_catalogue(home, tmp_path):
    photos = tmp_path / "My Photos"
    (photos / "2019" / "sea").mkdir(parents=True)
    path = place_of(photos)
    assert path.parent == home / "tagmix" / "catalogues"
    assert path.name.startswith("my-photos-")
    assert place_of(photos / "2019") != path
    open_catalogue(path, photos).close()
    assert place_of(photos / "2019" / "sea") == place_of(photos) == path
    with open_catalogue(path, photos / "2019") as catalogue:
        assert catalogue.root == photos
    open_catalogue(place_of(photos / "2019", None), photos / "2019").close()
    assert place_of(tmp_path, tmp_path / "x.sqlite") == tmp_path / "x.sqlite"


@pytest.mark.parametrize("name", ["a'b\"c", "日本", "..x", "-rf", "x" * 200, os.fsdecode(b"caf\xe9"), "a\nb"])
def test_the_name_of_any_folder_makes_a_plain_name_of_a_file(home, tmp_path, name):
    (tmp_path / name).mkdir()
    path = place_of(tmp_path / name)
    assert path.name.isascii()
    assert len(path.name) < 80
    assert set(path.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    open_catalogue(path, tmp_path / name).close()
    assert place_of(tmp_path / name) == path


def test_a_library_that_moved_is_noticed_and_taken_over(home, tmp_path):
    (tmp_path / "old").mkdir()
    path = place_of(tmp_path / "old")
    (tmp_path / "old" / "a.jpg").write_bytes(b"1")
    with open_catalogue(path, tmp_path / "old") as catalogue:
        list(catalogue.scan(["a.jpg"]))
    os.rename(tmp_path / "old", tmp_path / "new")
    with pytest.raises(CatalogueError, match="--moved"):
        open_catalogue(path, tmp_path / "new")
    with pytest.raises(CatalogueError, match=r"photos of .*old.*--moved"):
        open_catalogue(place_of(tmp_path / "new"), tmp_path / "new")
    assert known_libraries() == ((tmp_path / "old", path),)
    with open_catalogue(path, tmp_path / "new", moved=True) as catalogue:
        assert catalogue.photos.at("a.jpg")
    assert place_of(tmp_path / "new") == path


def test_a_new_library_beside_a_lost_one_of_another_name_is_new(home, tmp_path):
    (tmp_path / "old").mkdir()
    open_catalogue(place_of(tmp_path / "old"), tmp_path / "old").close()
    os.rmdir(tmp_path / "old")
    (tmp_path / "other").mkdir()
    open_catalogue(place_of(tmp_path / "other"), tmp_path / "other").close()


def test_a_folder_that_is_not_there_makes_no_library(home, tmp_path):
    with pytest.raises(CatalogueError, match="is no folder"):
        open_catalogue(place_of(tmp_path / "nothing"), tmp_path / "nothing")
    assert not list(home.rglob("*.sqlite"))
