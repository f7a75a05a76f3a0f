"""What a catalogue teaches an album: present names of tags, tags above, and verdicts of humans.

Nothing that only a machine says is taught: readers of albums leave out what tagmix wrote, and of the
catalogue only verdicts of humans are added to what the photos themselves have.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tagmix.bags import Bags
from tagmix.catalogue import Catalogue
from tagmix.datasets import Album, Item
from tagmix.tag_names import ancestors


class Taught(NamedTuple):
    """An album as its catalogue knows it.

    ``rejected`` has the tags that humans denied, by the file of the photo; ``renamed`` counts tags with
    another name, ``confirmed`` tags that humans added, and ``photos`` those that the catalogue knows.
    """

    album: Album
    rejected: Mapping[Path, frozenset[str]]
    photos: int
    renamed: int
    confirmed: int


class _Names:
    """The present names of tags, and the tags above them that their names do not say."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._tags = catalogue.tags
        self._parents = {one.tag: one.parents for one in catalogue.tags.describe() if one.parents}
        self._known: dict[str, str] = {}

    def now(self, tag: str) -> str:
        """Return the present name of a tag; that of one which the catalogue does not know is its own."""
        if tag not in self._known:
            self._known[tag] = self._tags.resolve(tag, exact=True) or tag
        return self._known[tag]

    def renamed(self) -> int:
        """Return how many tags had another name."""
        return sum(tag != name for tag, name in self._known.items())

    def with_above(self, tags: Iterable[str]) -> tuple[str, ...]:
        """Return tags with those above them, but for levels of their own names."""
        found = dict.fromkeys(tags)
        waiting = list(found)
        while waiting:
            above = [one for one in self._parents.get(waiting.pop(), ()) if one not in found]
            found.update(dict.fromkeys(above))
            waiting += above
        implied = {above for tag in found for above in ancestors(tag)}
        return tuple(tag for tag in found if tag not in implied)


def taught(album: Album, catalogue: Catalogue) -> Taught:
    """Return an album with the names and verdicts of a catalogue; photos it does not know keep their tags."""
    names, rejected = _Names(catalogue), {}
    items, photos, confirmed = [], 0, 0
    for item in album:
        yes, no, is_known = _said(item, catalogue)
        photos += is_known
        own = dict.fromkeys(map(names.now, item.tags))
        confirmed += len(yes - own.keys())
        kept = [tag for tag in (*own, *sorted(yes - own.keys())) if tag not in no]
        items.append(replace(item, tags=tuple(tag for tag in names.with_above(kept) if tag not in no)))
        if no:
            rejected[item.image] = no
    return Taught(replace(album, items=tuple(items)), rejected, photos, names.renamed(), confirmed)


def _said(item: Item, catalogue: Catalogue) -> tuple[set[str], frozenset[str], bool]:
    """Return tags that a human says a photo has, those it has not, and whether the photo is known."""
    root = catalogue.root
    place = item.image.relative_to(root).as_posix() if item.image.is_relative_to(root) else None
    photo = None if place is None else catalogue.photos.at(place)
    if photo is None:
        return set(), frozenset(), False
    human = catalogue.verdicts.by_source(photo)["human"]
    yes = {tag for tag, answer in human.items() if answer == "yes"}
    return yes, frozenset(human.keys() - yes), True


def with_rejected(bags: Bags, images: Iterable[Path], rejected: Mapping[Path, frozenset[str]]) -> Bags:
    """Return bags with the tags that humans denied, and all tags below these, as rejected.

    ``images`` are the files of the pictures, in order.
    """
    if not rejected or bags.tags is None or bags.tag_names is None:
        return bags
    names, given = bags.tag_names, bags.tags
    denied = []
    for row, image in enumerate(images):
        no = rejected.get(image, frozenset())
        has = {names[column] for column in given[[row]].indices} if no else set()
        denied.append([tag for tag in names if tag not in has and no & {tag, *ancestors(tag)}] if no else [])
    return bags.with_tags(given, names, rejected=denied) if any(denied) else bags
