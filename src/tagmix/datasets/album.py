"""Albums: pictures with their tags and, optionally, the regions that the tags mean."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import overload

from tagmix.datasets import truth
from tagmix.datasets.items import Item, Notes, Runs, TrueRegion
from tagmix.errors import AlbumError
from tagmix.tag_names import ancestors, normal_name

__all__ = ["Album", "Item", "Runs", "TrueRegion"]


@dataclass(frozen=True)
class Album:
    """Pictures with tags and true regions, in file order; a slice of an album is an album.

    ``problems`` has one line per entry that was skipped while reading. ``format`` is the name of
    the reader that ``open_album`` used.
    ``problems`` has one line per entry that was skipped while reading, ``notes`` counts what a folder of
    photos holds beside them.

    >>> album = Album((Item(Path("/a/1.jpg"), ("sky", "sea")), Item(Path("/a/2.jpg"), ("sky",))), Path("/a"))
    >>> album
    Album(2 pictures, 2 tags, 0 problems)
    >>> album.tag_counts()
    {'sky': 2, 'sea': 1}
    >>> album.keep_tags(min_count=2)[0].tags
    ('sky',)
    """

    items: tuple[Item, ...]
    root: Path
    mask_labels: dict[int, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    format: str = field(default="", compare=False)
    notes: Notes = field(default=Notes(), compare=False)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "Album": ...
    def __getitem__(self, index: int | slice) -> "Item | Album":
        if isinstance(index, slice):
            return replace(self, items=self.items[index])
        return self.items[index]

    def __repr__(self) -> str:
        tags = len(self.tag_counts())
        return f"Album({len(self):,} pictures, {tags:,} tags, {len(self.problems):,} problems)"

    def tag_counts(self) -> dict[str, int]:
        """Return the number of pictures per tag, most frequent first, ties by name."""
        counts = Counter(tag for item in self.items for tag in item.tags)
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    def split(self, name: str) -> "Album":
        """Return the pictures of one part, such as "train"; raise AlbumError if there are none."""
        chosen = tuple(item for item in self.items if item.split == name)
        if not chosen:
            known = sorted({item.split for item in self.items if item.split is not None})
            expected = f"must be one of {known}" if known else "must not be given for an album without parts"
            raise AlbumError(f"split {expected}, got {name!r}: choose another, or none")
        return replace(self, items=chosen)

    def without(self, name: str) -> "Album":
        """Return all pictures except those of one part, such as "test"."""
        return replace(self, items=tuple(item for item in self.items if item.split != name))

    def keep_tags(self, min_count: int = 4) -> "Album":
        """Return the album with only the tags of at least ``min_count`` pictures; all pictures stay.

        The paper keeps tags that occur more than three times. A tag with levels counts for those above it,
        too, and where it is too rare itself the nearest frequent one takes its place. Regions are unchanged:
        they are the truth for evaluation.
        """
        counts = self.with_parents().tag_counts()
        kept = {tag for tag, count in counts.items() if count >= min_count}
        return self._retagged(
            lambda tag: next((one for one in (tag, *reversed(ancestors(tag))) if one in kept), "")
        )

    def with_parents(self) -> "Album":
        """Return the album with all tags above a tag beside it: "Places|Rome" is also "Places".

        >>> Album((Item(Path("/a.jpg"), ("Places|Rome", "sea")),), Path("/")).with_parents()[0].tags
        ('Places', 'Places|Rome', 'sea')
        """
        items = (
            replace(
                item, tags=tuple(dict.fromkeys(one for tag in item.tags for one in (*ancestors(tag), tag)))
            )
            for item in self.items
        )
        return replace(self, items=tuple(items))

    def renamed(self, names: Mapping[str, str]) -> "Album":
        """Return the album with other names for tags, all at once; tags below a renamed one go with it.

        Two tags with the same new name become one (synonyms). An empty name removes a tag. New names are
        brought into normal form. Regions are renamed, too.

        >>> album = Album((Item(Path("/a.jpg"), ("Orte|Rom", "Meer")),), Path("/"))
        >>> album.renamed({"Orte": "Places", "Meer": "sea"})[0].tags
        ('Places|Rom', 'sea')
        """
        known = {normal_name(tag): normal_name(name) for tag, name in names.items()}

        def new(tag: str) -> str:
            above = next((one for one in (tag, *reversed(ancestors(tag))) if one in known), None)
            if above is None:
                return tag
            return known[above] + tag[len(above) :] if known[above] else ""

        regions = (
            tuple(replace(one, tag=new(one.tag)) for one in item.regions if new(one.tag))
            for item in self.items
        )
        items = tuple(replace(item, regions=own) for item, own in zip(self.items, regions, strict=True))
        return replace(self, items=items)._retagged(new)

    def _retagged(self, new: Callable[[str], str]) -> "Album":
        """Return the album with a new name for each tag; tags with an empty one are left out.

        What is a level above another tag of the picture is left out: that tag implies it.
        """
        items = []
        for item in self.items:
            tags = dict.fromkeys(name for tag in item.tags if (name := new(tag)))
            implied = {above for tag in tags for above in ancestors(tag)} - set(item.tags)
            items.append(replace(item, tags=tuple(tag for tag in tags if tag not in implied)))
        return replace(self, items=tuple(items))

    def mask_of(self, item: Item, shape: tuple[int, ...]) -> truth.Labels:
        """Return the mask at the height and width of a decoded picture; 0 for values without a name."""
        return truth.mask_of(item, self.mask_labels, shape)

    def region_truth(self, item: Item, shape: tuple[int, ...]) -> truth.RegionTruth:
        """Return a label per pixel for a decoded picture of this shape, and the names of the labels."""
        return truth.region_truth(item, self.mask_labels, shape)

    def areas(self, item: Item, shape: tuple[int, ...]) -> list[truth.Area]:
        """Return where each tag lies in a decoded picture of this shape, smaller boxes first."""
        return truth.areas(item, self.mask_labels, shape)
