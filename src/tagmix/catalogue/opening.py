"""Open and create catalogue files: only those that are ours and sound are touched."""

import contextlib
import os
import secrets
import sqlite3
import struct
from pathlib import Path

from tagmix.catalogue.schema import APPLICATION_ID, MIGRATIONS, VERSION
from tagmix.catalogue.store import DAMAGED, PATIENCE, Store, refusal, translated
from tagmix.errors import CatalogueError

MAGIC = b"SQLite format 3\0"
HEADER = 100

# Tables that are checked on every opening. The others are large, or hold nothing that steers a write;
# Catalogue.check() reads all.
CHECKED = ("fact", "photo", "tag", "name", "parent", "run", "entry", "said", "guess", "label")


def open_store(path: Path) -> Store:
    """Return the store of an existing file, or of a new one; CatalogueError if it is not ours or damaged."""
    if not os.path.lexists(path):
        _create(path)
    _check_header(path)
    with translated(path):
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        store = Store(path, connection)
        with translated(path):
            _set_up(connection)
        _check_version(store)
        _check_tables(store)
        _migrate(store)
    except BaseException:
        connection.close()
        raise
    return store


def _check_header(path: Path) -> None:
    # Before SQLite sees the file: it would write into one that it takes for a database.
    try:
        if not path.is_file():
            raise refusal(path, "must be a file, but is not a regular one: name another")
        with path.open("rb") as stream:
            head = stream.read(HEADER)
    except OSError as error:
        raise refusal(path, f"cannot be read ({error.strerror}): check its permissions") from error
    if not head.startswith(MAGIC) or len(head) < HEADER:
        raise refusal(path, "is no catalogue, or damaged: name another file; it was not changed")
    if _is_short(path, head):
        raise refusal(path, DAMAGED)
    if struct.unpack_from(">I", head, 68)[0] != APPLICATION_ID:
        raise refusal(path, "is a database of another program: name another file; it was not changed")


def _is_short(path: Path, head: bytes) -> bool:
    # Pages may be in the journal alone, if there is one
    journal = path.with_name(path.name + "-wal")
    (page,), (pages,) = struct.unpack_from(">H", head, 16), struct.unpack_from(">I", head, 28)
    known = head[24:28] == head[92:96]  # else the number of pages is out of date
    return known and not journal.exists() and path.stat().st_size < (page if page > 1 else 65536) * pages


def _set_up(connection: sqlite3.Connection, journal: str = "WAL") -> None:
    # FULL: a commit is on the disk when it returns. With NORMAL a power cut could take back the note
    # "planned" of a sidecar that is already written, and undo would not know of it.
    for pragma in (
        "foreign_keys = ON",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "synchronous = FULL",
        "fullfsync = ON",  # macOS: its plain fsync does not reach the disk
        "checkpoint_fullfsync = ON",
        f"journal_mode = {journal}",
    ):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _version(store: Store) -> int:
    row = store.one("PRAGMA user_version")
    return int(row[0]) if row else 0


def _check_version(store: Store) -> None:
    version = _version(store)
    if not 0 <= version <= VERSION:
        raise refusal(
            store.path,
            f"is of version {version}, and this tagmix reads up to {VERSION}: use a newer tagmix; "
            "it was not changed",
        )


def _check_tables(store: Store) -> None:
    known = {name for (name,) in store.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in CHECKED:
        if _version(store) == VERSION and table not in known:
            raise refusal(store.path, DAMAGED)
        if table in known and store.rows(f"PRAGMA quick_check('{table}')") != [("ok",)]:
            raise refusal(store.path, DAMAGED)


def _migrate(store: Store) -> None:
    while _version(store) < VERSION:
        with store.writing():
            version = _version(store)  # another process may have been faster
            if version >= VERSION:
                return
            for statement in MIGRATIONS[version]:
                store.write(statement)
            store.write(f"PRAGMA user_version = {version + 1}")


def _create(path: Path) -> None:
    # Under another name first, so that nobody ever sees half a catalogue
    temporary = path.with_name(f".tagmix-{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch(exist_ok=False)
        with translated(path), contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as new:
            new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            # On a full disk a journal of the other kind stays unmerged, without a word, when it is closed
            _set_up(new, journal="DELETE")
            _migrate(Store(path, new))
        _publish(temporary, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise refusal(path, f"cannot be made ({reason}): check the folder, or name another file") from error
    finally:
        for name in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                temporary.with_name(temporary.name + name).unlink()


def _publish(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return  # another process made it in this moment
    except OSError:  # a file system without links
        if not os.path.lexists(path):
            os.rename(temporary, path)


def check_all(store: Store, most: int = 10) -> tuple[str, ...]:
    """Return what is wrong with a file, one line each: every page, index and reference is read."""
    try:
        rows = store.rows(f"PRAGMA integrity_check({most})")
        broken = store.rows("PRAGMA foreign_key_check")
    except CatalogueError as error:
        return (str(error),)
    found = [str(text).replace("\n", " ") for (text,) in rows if text != "ok"]
    found += [f"a row of {table} refers to a missing row of {other}" for table, _, other, _ in broken[:most]]
    return tuple(found)
