"""The tags of a library: listed with who says so, changed, and those that may mean the same."""

import contextlib
from collections.abc import Callable
from typing import Literal, NamedTuple, NoReturn, TypeAlias

from tagmix.catalogue import Catalogue
from tagmix.tag_names import SEPARATOR

Kind: TypeAlias = Literal["rename", "merge", "synonym add", "synonym remove", "parent set", "parent remove"]


class TagLine(NamedTuple):
    """A tag with the numbers of its photos: all, with those of tags below it; and by who says so."""

    tag: str
    photos: int
    human: int
    metadata: int
    machine: int
    synonyms: tuple[str, ...]
    parents: tuple[str, ...]


class Pair(NamedTuple):
    """Two tags that may mean the same; the first, mostly the rarer one, would be merged into the other."""

    rarer: str
    rarer_photos: int
    tag: str
    photos: int
    reason: str


class Change(NamedTuple):
    """A change of tags: its kind, the tag, and the other name, if it needs one."""

    kind: Kind
    tag: str
    other: str


class Changed(NamedTuple):
    """What a change did, in lines; conflicts (place, tag); photos whose files keep an old name."""

    lines: tuple[str, ...]
    conflicts: tuple[tuple[str, str], ...] = ()
    in_files: int = 0


class _TakenBackError(Exception):
    """Ends a transaction that is not to be made."""


def listed(catalogue: Catalogue) -> list[TagLine]:
    """Return the tags of a catalogue, those of most photos first."""
    sources = catalogue.tags.by_source()
    lines = [
        TagLine(one.tag, one.photos, *sources.get(one.tag, (0, 0, 0)), one.synonyms, one.parents)
        for one in catalogue.tags.describe()
    ]
    return sorted(lines, key=lambda one: (-one.photos, one.tag))


def similar(catalogue: Catalogue) -> list[Pair]:
    """Return the pairs of tags that may mean the same, those of most photos first.

    ``rarer`` is the one to merge into ``tag``: that of fewer photos, but never a tag with levels into a flat
    one, because its levels would be lost.
    """
    counts = catalogue.tags.counts()
    pairs = []
    for one in catalogue.tags.alike():
        rarer, tag = sorted((one.one, one.other), key=lambda name: (SEPARATOR in name, counts.get(name, 0)))
        pairs.append(Pair(rarer, counts.get(rarer, 0), tag, counts.get(tag, 0), one.reason))
    return sorted(pairs, key=lambda pair: (-pair.rarer_photos, pair.rarer, pair.tag))


def change_tags(catalogue: Catalogue, change: Change, *, dry_run: bool = False) -> Changed:
    """Change tags in the catalogue, in one transaction; return what was done.

    ``dry_run`` makes the change and takes it back, so that what it says is what would happen.
    """
    done = Changed(())
    with contextlib.suppress(_TakenBackError), catalogue.batch():
        done = CHANGES[change.kind](catalogue, change.tag, change.other)
        if dry_run:
            _take_back()
    return done


def _take_back() -> NoReturn:
    raise _TakenBackError


def _rename(catalogue: Catalogue, old: str, new: str) -> Changed:
    in_files = catalogue.tags.in_files(old)
    renamed = catalogue.tags.rename(old, new)
    lines = tuple(f"{was!r} is now {becomes!r}" for was, becomes in renamed)
    return Changed(lines, in_files=in_files)


def _merge(catalogue: Catalogue, tag: str, into: str) -> Changed:
    in_files = catalogue.tags.in_files(tag)
    done = catalogue.tags.merge(tag, into)
    name = catalogue.tags.resolve(into) or into
    photos = "1 photo" if done.photos == 1 else f"{done.photos:,} photos"
    return Changed((f"{tag!r} is now {name!r}, on {photos}",), done.conflicts, in_files)


def _add_synonym(catalogue: Catalogue, name: str, tag: str) -> Changed:
    catalogue.tags.add_synonym(name, tag)
    return Changed((f"{name!r} stands for {catalogue.tags.resolve(tag)!r}",))


def _remove_synonym(catalogue: Catalogue, name: str, _: str) -> Changed:
    catalogue.tags.remove_synonym(name)
    return Changed((f"{name!r} stands for no tag",))


def _set_parent(catalogue: Catalogue, tag: str, above: str) -> Changed:
    catalogue.tags.put_below(tag, above)
    return Changed((f"{catalogue.tags.resolve(tag)!r} is below {catalogue.tags.resolve(above)!r}",))


def _remove_parent(catalogue: Catalogue, tag: str, above: str) -> Changed:
    catalogue.tags.take_from(tag, above)
    return Changed((f"{catalogue.tags.resolve(tag)!r} is no longer below {catalogue.tags.resolve(above)!r}",))


CHANGES: dict[str, Callable[[Catalogue, str, str], Changed]] = {
    "rename": _rename,
    "merge": _merge,
    "synonym add": _add_synonym,
    "synonym remove": _remove_synonym,
    "parent set": _set_parent,
    "parent remove": _remove_parent,
}
