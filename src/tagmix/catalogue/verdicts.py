"""Verdicts of pairs (photo, tag), kept by source: what one source says never overwrites another's.

A human's verdict goes before that of the metadata, and that before the machine's, of whose runs the latest
counts. To withdraw one ("unknown") lets the next hold again. Nothing is inferred from absence.
"""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tagmix.catalogue.labels import HUMAN, METADATA, Labels
from tagmix.catalogue.store import Row, Store
from tagmix.catalogue.tags import Tags
from tagmix.catalogue.values import Answer, Origin, PhotoId, Verdict
from tagmix.errors import CatalogueError, ParameterError
from tagmix.tag_names import is_usable, normal_name

SOURCES: dict[str, int] = {"human": HUMAN, "metadata": METADATA}
ORIGINS: dict[int, Origin] = {HUMAN: "human", METADATA: "metadata"}
VALUES: dict[str, int | None] = {"yes": 1, "no": 0, "unknown": None}
ANSWERS: tuple[Answer, Answer] = ("no", "yes")


class Found(NamedTuple):
    """What a reading of a file's metadata changed: tags that are new in it, and those that vanished."""

    added: tuple[str, ...]
    withdrawn: tuple[str, ...]


class Verdicts:
    """The verdicts of a catalogue."""

    def __init__(self, store: Store, labels: Labels, tags: Tags) -> None:
        self._store, self._labels, self._tags = store, labels, tags

    def set(self, photo: PhotoId, tag: str, answer: Answer, *, by: Origin = "human") -> None:
        """Record the verdict of a human or of a file's metadata; "unknown" withdraws it.

        The tag is made if there is none of this name. Those of the machine belong to a run: ``Runs.guess``.
        """
        if by not in SOURCES or answer not in VALUES:
            raise ParameterError(
                f"a verdict must be yes, no or unknown by human or metadata, got {answer!r:.20} by "
                f"{by!r:.20}: runs record those of the machine."
            )
        with self._store.writing():
            self._check_photo(photo)
            number = self._tags.add(tag, exact=by == "metadata")
            self._labels.touch(photo)
            self.put(photo, number, SOURCES[by], VALUES[answer], int(time.time()))

    def put(self, photo: int, tag: int, source: int, value: int | None, date: int) -> None:
        """Write one verdict by numbers; the caller announces the change to the labels."""
        if value is None:
            sql = "DELETE FROM said WHERE photo = ? AND tag = ? AND source = ?"
            self._store.write(sql, (photo, tag, source))
        else:
            sql = """INSERT INTO said VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
                SET value = excluded.value, date = excluded.date WHERE value != excluded.value"""
            self._store.write(sql, (photo, tag, source, value, date))

    def _check_photo(self, photo: int) -> None:
        if self._store.one("SELECT 1 FROM photo WHERE id = ?", (photo,)) is None:
            raise CatalogueError(f"there is no photo of number {photo}: scan the folder.")

    def found(self, photo: PhotoId, tags: Iterable[str]) -> Found:
        """Record the tags that the metadata of a photo holds now; those that vanished are withdrawn.

        A keyword that vanished says nothing: its verdict becomes unknown, never "no". Names that no tag may
        have are left out.
        """
        usable = [name for tag in tags if is_usable(name := normal_name(tag))]
        with self._store.writing():
            self._check_photo(photo)
            sql = "SELECT tag FROM said WHERE photo = ? AND source = ? AND value = 1"
            before = {tag for (tag,) in self._store.rows(sql, (photo, METADATA))}
            now = {self._tags.add(name) for name in usable}
            if now != before:
                self._labels.touch(photo)
            for tag in before - now:
                self.put(photo, tag, METADATA, None, 0)
            for tag in now - before:
                self.put(photo, tag, METADATA, 1, int(time.time()))
            names = self._tags.names
            return Found(tuple(sorted(names(now - before))), tuple(sorted(names(before - now))))

    def of(self, photo: PhotoId) -> tuple[Verdict, ...]:
        """Return what holds of each tag of which anything is said of this photo, in the order of names."""
        with self._store.reading():
            guesses: dict[int, Row] = {}
            sql = """SELECT guess.tag, tag.name, value, run, probability, run.started FROM guess
                JOIN tag ON tag.id = guess.tag JOIN run ON run.id = run WHERE photo = ? ORDER BY run"""
            guesses.update((row[0], row[1:]) for row in self._store.rows(sql, (photo,)))
            sql = """SELECT said.tag, tag.name, source, value, date FROM said
                JOIN tag ON tag.id = said.tag WHERE photo = ? ORDER BY source"""
            said = {row[0]: row[1:] for row in self._store.rows(sql, (photo,))}
        verdicts = [_verdict(said.get(tag), guesses.get(tag)) for tag in guesses.keys() | said.keys()]
        return tuple(sorted(verdicts))

    def get(self, photo: PhotoId, tag: str) -> Answer:
        """Return what holds of one pair; a tag or pair of which nothing is said is unknown."""
        name = self._tags.resolve(tag)
        return next((one.answer for one in self.of(photo) if one.tag == name), "unknown")

    def by_source(self, photo: PhotoId) -> Mapping[Origin, Mapping[str, Answer]]:
        """Return what each source says of a photo, of the machine its latest runs."""
        said: dict[Origin, dict[str, Answer]] = {"human": {}, "metadata": {}, "machine": {}}
        sql = "SELECT name, source, value FROM said JOIN tag ON tag.id = said.tag WHERE photo = ?"
        for name, source, value in self._store.rows(sql, (photo,)):
            said[ORIGINS[source]][name] = ANSWERS[value]
        sql = "SELECT name, value FROM guess JOIN tag ON tag.id = guess.tag WHERE photo = ? ORDER BY run"
        for name, value in self._store.rows(sql, (photo,)):
            said["machine"][name] = ANSWERS[value]
        return said


def _verdict(said: Row | None, guess: Row | None) -> Verdict:
    run, probability = (guess[2], guess[3]) if guess else (None, None)
    if said is None:
        assert guess is not None
        return Verdict(guess[0], ANSWERS[guess[1]], "machine", guess[4], False, run, probability)
    name, source, value, date = said
    confirmed = source == HUMAN and guess is not None and guess[1] == value
    return Verdict(name, ANSWERS[value], ORIGINS[source], date, confirmed, run, probability)
