"""Tags of a catalogue: names, synonyms and the tags above them."""

from collections.abc import Collection, Iterable

from tagmix.catalogue.store import Store
from tagmix.errors import CatalogueError, printable
from tagmix.tag_names import SEPARATOR, ancestors, is_usable, last_level, normal_name


def folded(name: str) -> str:
    """Return a name without capitals, as people type it.

    >>> folded("Places|Berlin")
    'places|berlin'
    """
    return normal_name(name.casefold())


def checked_name(name: str) -> str:
    """Return the canonical form of a tag's name, or raise CatalogueError."""
    canonical = normal_name(name)
    if not is_usable(canonical):
        raise CatalogueError(
            f"a tag must be a name of at most 16 levels of at most 200 characters, got "
            f"{printable(repr(name)):.60}: shorten it."
        )
    return canonical


class Tags:
    """The tags of a catalogue. A name leads to one tag: its own name, or that of a synonym."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._above: dict[int, tuple[int, ...]] = {}
        store.forget.append(self._above.clear)

    def resolve(self, name: str, *, exact: bool = False) -> str | None:
        """Return the tag that a name stands for, as ``LibraryTags.resolve``."""
        tag = self._find(checked_name(name), exact)
        return None if tag is None else self.name_of(tag)

    def number_if_any(self, name: str) -> int | None:
        """Return the number of the tag with exactly this name or synonym, or None."""
        return self._find(normal_name(name), exact=True)

    def number(self, name: str, *, exact: bool = False) -> int:
        """Return the number of the tag that a name stands for, or raise CatalogueError."""
        tag = self._find(checked_name(name), exact)
        if tag is not None:
            return tag
        several = self.meant_by(name)
        shown = ", ".join(repr(self.name_of(one)) for one in several[:3])
        way = f"it may be {shown}" if several else "tagmix tags lists all"
        raise CatalogueError(f"there is no tag {printable(repr(name)):.100}: {way}.")

    def _find(self, canonical: str, exact: bool) -> int | None:
        row = self._store.one("SELECT tag FROM name WHERE name = ?", (canonical,))
        if row is not None or exact:
            return row[0] if row else None
        key = folded(canonical)
        for column in ("folded", "last"):
            rows = self._store.rows(f"SELECT DISTINCT tag FROM name WHERE {column} = ? LIMIT 2", (key,))
            if rows:
                return rows[0][0] if len(rows) == 1 else None
        return None

    def meant_by(self, name: str) -> list[int]:
        """Return all tags with this name, synonym or last level, whatever its capitals."""
        key = folded(name)
        sql = "SELECT tag FROM name WHERE folded = ? UNION ALL SELECT tag FROM name WHERE last = ?"
        return list(dict.fromkeys(tag for (tag,) in self._store.rows(sql, (key, key))))

    def add(self, name: str, *, exact: bool = True) -> int:
        """Return the number of a tag, made with the tags above it if there is none of this name."""
        canonical = checked_name(name)
        found = self._find(canonical, exact)
        return self._make(canonical) if found is None else found

    def _make(self, canonical: str) -> int:
        upper, bar, last = canonical.rpartition(SEPARATOR)
        proper = self.name_of(self.add(upper)) + bar + last if upper else canonical
        if proper != canonical and is_usable(proper):
            # A level above was renamed or merged: the keyword of the file stands for the tag below that
            tag = self.add(proper)
            self.add_name(canonical, tag)
            return tag
        tag = self._store.write("INSERT INTO tag (name) VALUES (?)", (canonical,))
        self.add_name(canonical, tag)
        self.link_above(tag, canonical)
        return tag

    def add_name(self, name: str, tag: int) -> None:
        """Let a name stand for a tag."""
        values = (name, tag, folded(name), folded(last_level(name)))
        self._store.write("INSERT OR REPLACE INTO name VALUES (?, ?, ?, ?)", values)

    def link_above(self, tag: int, canonical: str) -> None:
        """Put a tag below the tag that its name says."""
        self._store.write("DELETE FROM parent WHERE child = ? AND by_name = 1", (tag,))
        above = ancestors(canonical)
        if above:
            parent = self.add(above[-1])
            # The name of a level may be a synonym of the tag itself
            if parent != tag and tag not in self.above(parent):
                self._store.write("INSERT OR REPLACE INTO parent VALUES (?, ?, 1)", (tag, parent))
        self.forget()

    def forget(self) -> None:
        """Forget which tags are above others: that changed."""
        self._above.clear()

    def standing_for(self, tags: Collection[str], names: Iterable[str]) -> frozenset[str]:
        """Return those of the names that stand for one of some tags."""
        found = set()
        for name in names:
            number = self.number_if_any(name)
            if (name if number is None else self.name_of(number)) in tags:
                found.add(name)
        return frozenset(found)

    def name_of(self, tag: int) -> str:
        """Return the name of a tag by its number."""
        row = self._store.one("SELECT name FROM tag WHERE id = ?", (tag,))
        if row is None or row[0] is None:
            raise CatalogueError(f"there is no tag of number {tag}: it was merged into another.")
        return str(row[0])

    def above(self, tag: int) -> tuple[int, ...]:
        """Return the numbers of all tags above a tag."""
        if tag not in self._above:
            sql = """WITH RECURSIVE up(tag) AS (
                SELECT parent FROM parent WHERE child = ?
                UNION SELECT parent FROM parent JOIN up ON child = up.tag
            ) SELECT tag FROM up"""
            self._above[tag] = tuple(one for (one,) in self._store.rows(sql, (tag,)))
        return self._above[tag]

    def below(self, tag: int) -> tuple[int, ...]:
        """Return the numbers of all tags below a tag."""
        sql = """WITH RECURSIVE down(tag) AS (
            SELECT child FROM parent WHERE parent = ?
            UNION SELECT child FROM parent JOIN down ON parent = down.tag
        ) SELECT tag FROM down"""
        return tuple(one for (one,) in self._store.rows(sql, (tag,)))

    def names(self, tags: Iterable[int]) -> tuple[str, ...]:
        """Return the names of tags by their numbers."""
        return tuple(map(self.name_of, tags))

    def all_names(self) -> tuple[str, ...]:
        """Return the names of all tags and their synonyms."""
        return tuple(str(name) for (name,) in self._store.rows("SELECT name FROM name"))

    def all(self) -> tuple[str, ...]:
        """Return all tags in the order of their names."""
        rows = self._store.rows("SELECT name FROM tag WHERE name IS NOT NULL ORDER BY name")
        return tuple(str(name) for (name,) in rows)
