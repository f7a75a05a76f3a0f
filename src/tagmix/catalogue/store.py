"""One connection to the file: transactions, and SQLite's errors in one line each."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tagmix.errors import CatalogueError, printable

Row: TypeAlias = tuple[Any, ...]

# Seconds to wait for another process: its transactions are short.
PATIENCE = 20.0

DAMAGED = "is damaged: put it aside and restore a copy, or start a new one; it was not changed"
# What SQLite's primary result codes mean to a person.
REASONS = {
    sqlite3.SQLITE_BUSY: "is locked by another program: close that, or try again",
    sqlite3.SQLITE_LOCKED: "is locked by another program: close that, or try again",
    sqlite3.SQLITE_READONLY: "or its folder is read-only: change its permissions, or copy it elsewhere",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that its folder exists and is writable",
    sqlite3.SQLITE_PERM: "cannot be opened: check its permissions",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full: free some space and repeat; nothing is lost",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk and the space left",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
    sqlite3.SQLITE_CONSTRAINT: "contradicts itself: run tagmix doctor",
}


def refusal(path: Path, reason: str) -> CatalogueError:
    """Return the error that says why a catalogue is not used."""
    return CatalogueError(f"the catalogue {printable(repr(str(path)))} {reason}.")


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise CatalogueError in one line for any error of SQLite."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes damaged text in its message
        raise refusal(path, DAMAGED) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None or code & 0xFF not in REASONS:
            if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
                raise  # a mistake of ours
            reason = f"cannot be used ({printable(error)}): run tagmix doctor"
            raise refusal(path, reason) from error
        raise refusal(path, REASONS[code & 0xFF]) from error


class Store:
    """The rows of one catalogue; changes happen in transactions.

    ``before_commit`` is called in each transaction before it ends, ``after_rollback`` when all of it was
    taken back, ``forget`` whenever rows may have changed otherwise: also by another process, or by a block of
    a transaction that was taken back.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection
        self.before_commit: list[Callable[[], None]] = []
        self.after_rollback: list[Callable[[], None]] = []
        self.forget: list[Callable[[], None]] = []
        self._depth = 0
        self._seen: int | None = None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""
        with translated(self.path):
            return self._connection.execute(sql, values).fetchall()

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """Return the first row of a query, or None."""
        with translated(self.path):
            found: Row | None = self._connection.execute(sql, values).fetchone()
        return found

    def write(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Change rows inside a transaction; return the number of the new row, if there is one."""
        self._check_writing()
        with translated(self.path):
            return self._connection.execute(sql, values).lastrowid or 0

    def write_all(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Change many rows inside a transaction."""
        self._check_writing()
        with translated(self.path):
            self._connection.executemany(sql, values)

    def _check_writing(self) -> None:
        # SQLite may have ended the transaction itself, on a full disk: what follows must not stand alone
        if not self._depth or not self._connection.in_transaction:
            raise RuntimeError("write outside a transaction: use Store.writing()")

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Make all changes of the block, or none; a block inside another one is made with that."""
        if self._depth:
            with self._inside():
                yield
            return
        with translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            self._refresh()
            yield
            for finish in self.before_commit:
                finish()
            with translated(self.path):
                self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._depth = 0

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        # What a failed block did is taken back, so that its caller may catch the error and go on
        self._depth += 1
        name = f"inside{self._depth}"
        try:
            self.write(f"SAVEPOINT {name}")
            yield
            self.write(f"RELEASE {name}")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute(f"ROLLBACK TO {name}")
            self._forget()
            raise
        finally:
            self._depth -= 1

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the file in several queries, whatever other processes write meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        with translated(self.path):
            self._connection.execute("BEGIN")
        try:
            self._refresh()
            yield
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _refresh(self) -> None:
        (version,) = self.one("PRAGMA data_version") or (0,)
        if version != self._seen:
            self._forget()
        self._seen = version

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # SQLite may have done so itself
            self._connection.execute("ROLLBACK")
        for clear in (*self.after_rollback, *self.forget):
            clear()

    def _forget(self) -> None:
        for clear in self.forget:
            clear()

    def close(self) -> None:
        """Close the file; the last one to close it empties its journal."""
        with translated(self.path):
            self._connection.close()
