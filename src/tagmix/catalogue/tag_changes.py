"""Changes of tags: renamed, merged, put below others, given synonyms; what was said moves with them."""

from typing import NamedTuple

from tagmix.catalogue.labels import HUMAN
from tagmix.catalogue.places import place_text
from tagmix.catalogue.store import Row
from tagmix.catalogue.tag_list import TagList
from tagmix.catalogue.tags import checked_name
from tagmix.errors import CatalogueError
from tagmix.tag_names import SEPARATOR, last_level

# More conflicts than this are counted and not listed.
MOST_LISTED = 1000


class Merged(NamedTuple):
    """What a merge did: how many photos changed, and where humans contradict each other.

    A conflict is (place, tag): a human had said yes to one of the tags and no to the other. There the verdict
    of the tag that stays holds.
    """

    photos: int
    conflicts: tuple[tuple[str, str], ...]


class LibraryTags(TagList):
    """The tags of a catalogue, and their changes, each in one transaction."""

    def rename(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        """Give a tag another name, or another place among the levels; return old and new names.

        The tags below it by name follow. Old names stay as synonyms, because files still contain them.
        """
        with self._store.writing():
            tag, name = self._tags.number(old), checked_name(new)
            before = self._tags.name_of(tag)
            if name.startswith(before + SEPARATOR):
                raise CatalogueError(f"{before!r} cannot be below itself: give it a new tag above.")
            some = self._by_name(tag, before)
            renamed = [(one, was, checked_name(name + was[len(before) :])) for one, was in some]
            for one, _, becomes in renamed:
                self._check_free(becomes, one)
            self._touch(tag)
            for one, _, becomes in renamed:
                self._store.write("UPDATE tag SET name = ? WHERE id = ?", (becomes, one))
                self._tags.add_name(becomes, one)
            for one, _, becomes in renamed:
                self._tags.link_above(one, becomes)
            return tuple((was, becomes) for _, was, becomes in renamed)

    def _by_name(self, tag: int, name: str) -> list[tuple[int, str]]:
        start = name + SEPARATOR
        named = zip(self._tags.below(tag), self._tags.names(self._tags.below(tag)), strict=True)
        return [(tag, name), *((one, was) for one, was in named if was.startswith(start))]

    def _check_free(self, name: str, tag: int) -> None:
        found = self._tags.number_if_any(name)
        if found not in (None, tag):
            raise CatalogueError(f"there is a tag or synonym {name!r} already: merge the two.")

    def _touch(self, *tags: int) -> None:
        for tag in tags:
            for photo in self._labels.photos(tag, -tag):
                self._labels.touch(photo)

    def merge(self, one: str, into: str) -> Merged:
        """Make one tag of two: what was said of ``one`` is said of ``into``, whose synonym it becomes.

        Of the same photo and source "yes" goes before "no", but humans' verdicts of ``into`` stay. Tags below
        ``one`` go below ``into``, and are merged with those of the same name.
        """
        with self._store.writing():
            lost, kept = self._tags.number(one), self._tags.number(into)
            if lost == kept:
                raise CatalogueError(f"{one!r} and {into!r} are the same tag already: name two.")
            if lost in self._tags.above(kept):
                raise CatalogueError(f"{one!r} is above {into!r}: merge {into!r} into {one!r} instead.")
            self._touch(lost, kept)
            name = self._tags.name_of(lost)
            conflicts, photos = self._move_verdicts(lost, kept)
            below = self._by_name(lost, name)[1:]
            children = [pair for pair in below if SEPARATOR not in pair[1][len(name) + 1 :]]
            self._retire(lost, kept)
            for child, _ in children:
                more = self._move_below(child, kept)
                conflicts, photos = [*conflicts, *more.conflicts], photos + more.photos
            return Merged(photos, tuple(conflicts[:MOST_LISTED]))

    def _move_below(self, child: int, parent: int) -> Merged:
        name = self._tags.name_of(child)
        wanted = checked_name(self._tags.name_of(parent) + SEPARATOR + last_level(name))
        if self._tags.number_if_any(wanted) in (None, child):
            self.rename(name, wanted)
            return Merged(0, ())
        return self.merge(name, wanted)

    def _move_verdicts(self, lost: int, kept: int) -> tuple[list[tuple[str, str]], int]:
        conflicts, photos = [], self._labels.photos(lost, -lost)
        moved = 0
        for photo in photos:
            rows = self._store.rows(
                "SELECT source, value, date FROM said WHERE photo = ? AND tag = ?", (photo, lost)
            )
            if any([self._say(photo, kept, row) for row in rows]):
                conflicts.append((self._place(photo), self._tags.name_of(kept)))
            moved += bool(rows) or self._has_guess(photo, lost)
            self._move_guesses(photo, lost, kept)
            self._store.write("DELETE FROM said WHERE photo = ? AND tag = ?", (photo, lost))
        self._store.write("UPDATE region_said SET tag = ? WHERE tag = ?", (kept, lost))
        return conflicts, moved

    def _has_guess(self, photo: int, tag: int) -> bool:
        return bool(self._store.one("SELECT 1 FROM guess WHERE photo = ? AND tag = ?", (photo, tag)))

    def _say(self, photo: int, tag: int, row: Row) -> bool:
        """Move a verdict; return whether two humans' verdicts contradict each other."""
        source, value, _ = row
        sql = "SELECT value FROM said WHERE photo = ? AND tag = ? AND source = ?"
        there = self._store.one(sql, (photo, tag, source))
        if there is None or (source != HUMAN and value > there[0]):
            self._store.write("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?, ?)", (photo, tag, *row))
        return there is not None and source == HUMAN and there[0] != value

    def _move_guesses(self, photo: int, lost: int, kept: int) -> None:
        sql = "SELECT run, value, probability FROM guess WHERE photo = ? AND tag = ?"
        for run, value, probability in self._store.rows(sql, (photo, lost)):
            row = self._store.one(sql + " AND run = ?", (photo, kept, run))
            if row is None or (value, probability or 0) > (row[1], row[2] or 0):
                values = (photo, kept, run, value, probability)
                self._store.write("INSERT OR REPLACE INTO guess VALUES (?, ?, ?, ?, ?)", values)
        self._store.write("DELETE FROM guess WHERE photo = ? AND tag = ?", (photo, lost))

    def _place(self, photo: int) -> str:
        row = self._store.one("SELECT place FROM photo WHERE id = ?", (photo,))
        return place_text(row[0]) if row else ""

    def _retire(self, lost: int, kept: int) -> None:
        sql = "SELECT child, parent FROM parent WHERE by_name = 0 AND ? IN (child, parent)"
        links = self._store.rows(sql, (lost,))
        self._store.write("DELETE FROM parent WHERE child = ? OR (parent = ? AND by_name = 0)", (lost, lost))
        self._store.write("UPDATE name SET tag = ? WHERE tag = ?", (kept, lost))
        self._store.write("UPDATE tag SET name = NULL, merged = ? WHERE id = ?", (kept, lost))
        self._store.write("UPDATE tag SET merged = ? WHERE merged = ?", (kept, lost))
        self._tags.forget()
        for link in links:
            child, parent = (kept if one == lost else one for one in link)
            if child != parent and child not in self._tags.above(parent):
                self._link(child, parent)

    def _link(self, child: int, parent: int) -> None:
        self._store.write("INSERT OR IGNORE INTO parent VALUES (?, ?, 0)", (child, parent))
        self._tags.forget()

    def put_below(self, tag: str, parent: str) -> None:
        """Put a tag below another without another name; the tag above is made if there is none."""
        with self._store.writing():
            child, above = self._tags.number(tag), self._tags.add(parent, exact=False)
            if child == above or child in self._tags.above(above):
                raise CatalogueError(f"{parent!r} is {tag!r} or below it: name a tag above.")
            self._touch(child)
            self._link(child, above)

    def take_from(self, tag: str, parent: str) -> None:
        """Take a tag from below another, where it was put by ``put_below``."""
        with self._store.writing():
            child, above = self._tags.number(tag), self._tags.number(parent)
            row = self._store.one("SELECT by_name FROM parent WHERE child = ? AND parent = ?", (child, above))
            if row is None or row[0]:
                why = "by its name: rename it" if row else "not: tagmix tags lists what is"
                raise CatalogueError(f"{tag!r} is below {parent!r} {why}.")
            self._touch(child)
            self._store.write("DELETE FROM parent WHERE child = ? AND parent = ?", (child, above))
            self._tags.forget()

    def add_synonym(self, name: str, tag: str) -> None:
        """Let another name stand for a tag, in searches and in keywords of files."""
        with self._store.writing():
            canonical, number = checked_name(name), self._tags.number(tag)
            self._check_free(canonical, number)
            if canonical != self._tags.name_of(number):
                self._tags.add_name(canonical, number)

    def remove_synonym(self, name: str) -> None:
        """Let a name no longer stand for a tag; one of its own stays."""
        with self._store.writing():
            canonical = checked_name(name)
            tag = self._tags.number_if_any(canonical)
            if tag is None or self._tags.name_of(tag) == canonical:
                raise CatalogueError(f"{canonical!r} is no synonym: tagmix tags lists them.")
            self._store.write("DELETE FROM name WHERE name = ?", (canonical,))
