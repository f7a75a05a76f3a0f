"""Runs of the machine: begun, written photo by photo, finished, and undone.

To be harmless when killed at any moment, a photo is written in this order: ``plan`` (in the catalogue), the
sidecar with its provenance, ``wrote``. After a kill an entry is still "planned", and the provenance in the
sidecar says whether it was written. Undoing goes the same way: ``begin_undo``, per photo the sidecar and
then ``removed``, ``finish_undo``.
"""

import json
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from tagmix.catalogue.labels import HUMAN, Labels
from tagmix.catalogue.places import place_text
from tagmix.catalogue.processes import is_alive, this_process
from tagmix.catalogue.store import Row, Store
from tagmix.catalogue.tags import Tags
from tagmix.catalogue.values import Entry, EntryState, PhotoId, Run
from tagmix.errors import CatalogueError, printable

_COLUMNS = "id, name, kind, model, arguments, started, finished, state, process"
_RUN_COLUMNS = ", ".join(f"run.{column}" for column in _COLUMNS.split(", "))


class Runs:
    """The runs of a catalogue."""

    def __init__(self, store: Store, labels: Labels, tags: Tags) -> None:
        self._store, self._labels, self._tags = store, labels, tags

    def begin(
        self, kind: str, model: str, arguments: Mapping[str, Any] | None = None, *, name: str | None = None
    ) -> Run:
        """Record that a run begins, with its kind ("tag"), the id of its model and its arguments.

        ``name`` takes up a run that only sidecars know, after the loss of a catalogue.
        """
        started = int(time.time())
        name = name or time.strftime("%Y%m%d-%H%M%S-", time.gmtime(started)) + secrets.token_hex(4)
        text = json.dumps(dict(arguments or {}), default=str)
        with self._store.writing():
            if self._store.one("SELECT 1 FROM run WHERE name = ?", (name,)):
                raise CatalogueError(f"there is a run {printable(repr(name)):.80} already: continue that.")
            sql = """INSERT INTO run (name, kind, model, arguments, started, state, process)
                VALUES (?, ?, ?, ?, ?, 'running', ?)"""
            number = self._store.write(sql, (name, kind, model, text, started, this_process()))
            return self.get(number)

    def resume(self, run: Run) -> Run:
        """Take up an interrupted run in this process; CatalogueError if it goes on in another, or is over."""
        with self._store.writing():
            now = self.get(run.id)
            if now.state not in ("interrupted", "undoing") or self._is_worked_on(run.id):
                raise CatalogueError(f"run {run.id} cannot be continued, it is {now.state}: begin a new one.")
            self._store.write("UPDATE run SET process = ? WHERE id = ?", (this_process(), run.id))
            return self.get(run.id)

    def _is_worked_on(self, run: int) -> bool:
        row = self._store.one("SELECT process FROM run WHERE id = ?", (run,))
        return row is not None and row[0] != this_process() and is_alive(row[0])

    def guess(
        self, run: Run, photo: PhotoId, tags: Mapping[str, float | None], *, no: Iterable[str] = ()
    ) -> None:
        """Record what the machine says of a photo: tags with probabilities, and tags it rules out."""
        with self._store.writing():
            self._check_running(run)
            self._guess(run, photo, tags, no)
            self._enter(run, photo, "guessed", ())

    def plan(
        self, run: Run, photo: PhotoId, tags: Mapping[str, float | None], added: Iterable[str] | None = None
    ) -> None:
        """Record what the machine says of a photo and what is about to be added to its sidecar.

        ``added`` are the tags that the photo does not have yet, all if None: these alone are undone.
        """
        with self._store.writing():
            self._check_running(run)
            self._guess(run, photo, tags, ())
            sql = "SELECT tags FROM entry WHERE run = ? AND photo = ?"
            earlier = self._store.one(
                sql, (run.id, photo)
            )  # what was added stays ours if it is planned again
            every = (*(_parsed(earlier[0]) if earlier else ()), *(tags if added is None else added))
            self._enter(run, photo, "planned", tuple(dict.fromkeys(every)))

    def _guess(self, run: Run, photo: int, tags: Mapping[str, float | None], no: Iterable[str]) -> None:
        if self._store.one("SELECT 1 FROM photo WHERE id = ?", (photo,)) is None:
            raise CatalogueError(f"there is no photo of number {photo}: scan the folder.")
        self._labels.touch(photo)
        self._store.write("DELETE FROM guess WHERE photo = ? AND run = ?", (photo, run.id))
        rows: list[Row] = [(photo, self._tags.add(tag), run.id, 0, None) for tag in no]
        rows += [(photo, self._tags.add(tag), run.id, 1, share) for tag, share in tags.items()]
        self._store.write_all("INSERT OR REPLACE INTO guess VALUES (?, ?, ?, ?, ?)", rows)

    def _enter(self, run: Run, photo: int, state: EntryState, tags: tuple[str, ...]) -> None:
        sql = "INSERT OR REPLACE INTO entry SELECT ?, id, ?, ?, digest FROM photo WHERE id = ?"
        self._store.write(sql, (run.id, state, json.dumps(tags), photo))

    def done(self, photo: PhotoId, kind: str) -> tuple[tuple[Run, EntryState], ...]:
        """Return the runs with this photo as its file is now, but those that are undone, the latest first."""
        sql = f"""SELECT {_RUN_COLUMNS}, entry.state FROM entry JOIN run ON run.id = entry.run
            JOIN photo ON photo.id = entry.photo AND photo.digest = entry.digest
            WHERE entry.photo = ? AND kind = ? AND run.state IN ('running', 'finished')
            ORDER BY run.id DESC"""
        return tuple((_run(row[:-1]), row[-1]) for row in self._store.rows(sql, (photo, kind)))

    def _check_running(self, run: Run) -> None:
        state = self.get(run.id).state
        if state != "running":
            raise CatalogueError(f"run {run.id} is {state}, nothing can be added to it: begin a new one.")

    def wrote(self, run: Run, photo: PhotoId, added: Iterable[str] | None = None) -> None:
        """Record that the sidecar of a planned photo is written; ``added`` corrects what was planned."""
        with self._store.writing():
            entry = self._entry(run, photo)
            tags = entry.tags if added is None else tuple(added)
            self._enter(run, photo, "written", tags)

    def drop(self, run: Run, photo: PhotoId) -> None:
        """Take a planned photo out of a run: its sidecar could not be written."""
        with self._store.writing():
            if self._entry(run, photo).state in ("planned", "guessed"):
                self._forget_guesses(run, photo)
                self._store.write("DELETE FROM entry WHERE run = ? AND photo = ?", (run.id, photo))

    def _forget_guesses(self, run: Run, photo: int) -> None:
        self._labels.touch(photo)
        self._store.write("DELETE FROM guess WHERE photo = ? AND run = ?", (photo, run.id))
        self._store.write("DELETE FROM regions WHERE photo = ? AND run = ?", (photo, run.id))

    def finish(self, run: Run) -> Run:
        """Record that a run is complete."""
        with self._store.writing():
            self._check_running(run)
            sql = "UPDATE run SET state = 'finished', finished = ? WHERE id = ?"
            self._store.write(sql, (int(time.time()), run.id))
            return self.get(run.id)

    def get(self, run: int | str) -> Run:
        """Return a run by its number or name, or raise CatalogueError."""
        by_number = isinstance(run, int) or run.isdecimal()
        # What a shell passes on need not be valid text
        name = str(run).encode(errors="replace").decode()
        column, value = ("id", min(int(run), 2**63 - 1)) if by_number else ("name", name)
        row = self._store.one(f"SELECT {_COLUMNS} FROM run WHERE {column} = ?", (value,))
        if row is None:
            raise CatalogueError(f"there is no run {printable(repr(run)):.80}: tagmix runs lists them.")
        return _run(row)

    def all(self, *, kind: str | None = None) -> tuple[Run, ...]:
        """Return all runs, the latest first."""
        rows = self._store.rows(f"SELECT {_COLUMNS} FROM run ORDER BY id DESC")
        return tuple(run for run in map(_run, rows) if kind in (None, run.kind))

    def entries(self, run: Run, *, state: EntryState | None = None) -> Iterator[Entry]:
        """Yield the photos of a run in the order in which they were first noted."""
        last = 0
        sql = """SELECT photo, place, state, tags, gone IS NOT NULL FROM entry JOIN photo ON photo.id = photo
            WHERE run = ? AND photo > ? ORDER BY photo LIMIT 500"""
        while rows := self._store.rows(sql, (run.id, last)):
            for row in rows:
                if state in (None, row[2]):
                    yield self._entry_of(row)
            last = rows[-1][0]

    def counts(self, run: Run) -> tuple[int, int]:
        """Return the number of photos of a run and the number of tags that it added."""
        rows = self._store.rows("SELECT tags FROM entry WHERE run = ?", (run.id,))
        return len(rows), sum(len(_parsed(tags)) for (tags,) in rows)

    def entry(self, run: Run, photo: PhotoId) -> Entry | None:
        """Return what a run did with a photo, or None."""
        row = self._store.one("SELECT 1 FROM entry WHERE run = ? AND photo = ?", (run.id, photo))
        return None if row is None else self._entry(run, photo)

    def _entry(self, run: Run, photo: int) -> Entry:
        sql = """SELECT photo, place, state, tags, gone IS NOT NULL FROM entry JOIN photo ON photo.id = photo
            WHERE run = ? AND photo = ?"""
        row = self._store.one(sql, (run.id, photo))
        if row is None:
            raise CatalogueError(f"photo {photo} is not part of run {run.id}: plan it first.")
        return self._entry_of(row)

    def _entry_of(self, row: Row) -> Entry:
        tags = tuple(_parsed(row[3]))
        sql = "SELECT tag FROM said WHERE photo = ? AND source = ? AND value = 1"
        confirmed = {tag for (tag,) in self._store.rows(sql, (row[0], HUMAN))}
        kept = tuple(tag for tag in tags if self._tags.number_if_any(tag) in confirmed)
        return Entry(row[0], place_text(row[1]), row[2], tags, kept, bool(row[4]))

    def rejected(self) -> tuple[PhotoId, ...]:
        """Return the photos for whose sidecars runs still own tags that a human rejected since."""
        sql = """SELECT entry.photo, tags, name FROM entry JOIN said ON said.photo = entry.photo
            JOIN tag ON tag.id = said.tag
            WHERE state = 'written' AND tags != '[]' AND source = ? AND value = 0 ORDER BY entry.photo"""
        found = ((row[0], _parsed(row[1]), row[2]) for row in self._store.rows(sql, (HUMAN,)))
        return tuple(dict.fromkeys(photo for photo, tags, no in found if self._tags.standing_for({no}, tags)))

    def disown(self, photo: PhotoId, rejected: Collection[str]) -> None:
        """Record that the sidecar of a photo has none of these tags of runs any more."""
        with self._store.writing():
            sql = "SELECT run, tags FROM entry WHERE photo = ? AND state = 'written'"
            for run, text in self._store.rows(sql, (photo,)):
                gone = self._tags.standing_for(rejected, tags := _parsed(text))
                left = json.dumps([tag for tag in tags if tag not in gone])
                sql = "UPDATE entry SET tags = ? WHERE run = ? AND photo = ?"
                self._store.write(sql, (left, run, photo))

    def adopt(self, name: str, model: str, photo: PhotoId, tags: Mapping[str, float | None]) -> None:
        """Record what a sidecar says that a run wrote, if the catalogue does not know: it may have been lost.

        A run that is undone stays so.
        """
        with self._store.writing():
            known = self._store.one(f"SELECT {_COLUMNS} FROM run WHERE name = ?", (name,))
            run = _run(known) if known else self._adopted(name, model)
            if run.state != "undone" and self.entry(run, photo) is None:
                self._guess(run, photo, tags, ())
                self._enter(run, photo, "written", tuple(tags))

    def _adopted(self, name: str, model: str) -> Run:
        run = self.begin("tag", model, {"adopted": True}, name=name)
        return self.finish(run)

    def forget(self, photo: PhotoId) -> None:
        """Record that the sidecar of a photo holds nothing of any run any more; empty runs are undone."""
        with self._store.writing():
            sql = "SELECT run FROM entry WHERE photo = ? AND state != 'removed'"
            runs = [self.get(run) for (run,) in self._store.rows(sql, (photo,))]
            for run in runs:
                self._forget_guesses(run, photo)
                self._enter(run, photo, "removed", self._entry(run, photo).tags)
                left = "SELECT 1 FROM entry WHERE run = ? AND state != 'removed'"
                if run.state != "running" and self._store.one(left, (run.id,)) is None:
                    self._store.write("UPDATE run SET state = 'undone' WHERE id = ?", (run.id,))

    def begin_undo(self, run: Run) -> Run:
        """Record that a run is being undone: resumed after a kill by the same call."""
        with self._store.writing():
            if self.get(run.id).state == "undone":
                raise CatalogueError(f"run {run.id} is undone already: tagmix runs lists the others.")
            if self._is_worked_on(run.id) and self.get(run.id).state != "finished":
                raise CatalogueError(f"run {run.id} is going on in another process: stop that first.")
            sql = "UPDATE run SET state = 'undoing', process = ? WHERE id = ?"
            self._store.write(sql, (this_process(), run.id))
            return self.get(run.id)

    def removed(self, run: Run, photo: PhotoId) -> None:
        """Record that a sidecar holds nothing of this run any more but what a human confirmed."""
        with self._store.writing():
            if self.get(run.id).state != "undoing":
                raise CatalogueError(f"run {run.id} is not being undone: begin that first.")
            tags = self._entry(run, photo).tags
            self._forget_guesses(run, photo)
            self._enter(run, photo, "removed", tags)

    def finish_undo(self, run: Run) -> Run:
        """Record that a run is undone; entries that are left, as of photos that are missing, go with it."""
        sql = "SELECT photo FROM entry WHERE run = ? AND state != 'removed' ORDER BY photo LIMIT 500"
        while left := self._store.rows(sql, (run.id,)):
            with self._store.writing():  # not all in one: others wait
                for (photo,) in left:
                    self.removed(run, photo)
        with self._store.writing():
            sql = "UPDATE run SET state = 'undone', finished = ? WHERE id = ?"
            self._store.write(sql, (int(time.time()), run.id))
            return self.get(run.id)

    def undo(self, run: Run) -> Run:
        """Undo a run in the catalogue alone; return it. What an earlier run said holds again."""
        self.begin_undo(run)
        return self.finish_undo(run)


def _run(row: Row) -> Run:
    number, name, kind, model, arguments, started, finished, state, process = row
    if state == "running" and not is_alive(process):
        state = "interrupted"
    return Run(number, name, kind, model, _parsed(arguments), started, finished, state)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise CatalogueError(
            "the catalogue is damaged where it says what a run did: put it aside and restore a copy."
        ) from error
