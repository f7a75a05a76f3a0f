"""Collect the entries of an album: every reader ends here, so that every format is checked the same way."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tagmix.datasets.album import Album
from tagmix.datasets.items import Item, TrueRegion
from tagmix.datasets.paths import existing, shown
from tagmix.datasets.shapes import region
from tagmix.datasets.tags import keyword, keywords
from tagmix.errors import AlbumError

MAX_PROBLEMS = 1000  # a list to read, not a second copy of a broken file


class Collector:
    """Gather records of the native form; set broken ones aside with one line each and go on.

    A record has ``image`` (a path below the root) and may have ``tags``, ``split``, ``mask``, ``regions``.
    Without an image there is no entry; a bad region, mask or tag is left out and the rest kept.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._items: dict[str, Item] = {}
        self._problems: list[str] = []
        self._uncounted = 0

    def problem(self, where: str, what: object) -> None:
        """Note one thing set aside."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(" ".join(f"{where}: {what}".split()))
        else:
            self._uncounted += 1

    @contextlib.contextmanager
    def setting_aside(self, where: str) -> Iterator[None]:
        """Turn an AlbumError inside into a problem."""
        try:
            yield
        except AlbumError as error:
            self.problem(where, error)

    def add(self, where: str, record: Any) -> None:
        """Take in one record, or note why not."""
        with self.setting_aside(where):
            if not isinstance(record, Mapping):
                raise AlbumError(f"an entry must be an object with an image, got {shown(record)}")
            image = existing(self.root, record.get("image"))
            identity = image.relative_to(self.root).as_posix()
            if identity in self._items:
                raise AlbumError(f"{shown(identity)} is there twice: the first entry counts")
            regions = tuple(self._regions(where, record.get("regions")))
            self._items[identity] = Item(
                image,
                self._tags(where, record.get("tags"), regions),
                self._split(where, record.get("split")),
                self._mask(where, record.get("mask")),
                regions,
                identity,
            )

    def _tags(self, where: str, tags: Any, regions: Iterable[TrueRegion]) -> tuple[str, ...]:
        """Return the tags an entry states; where it states none, those of its regions."""
        if tags is None:
            return keywords(region.tag for region in regions)
        if not isinstance(tags, list | tuple):
            self.problem(where, f"tags must be a list of texts, got {shown(tags)}; left out")
            return ()
        texts = [tag for tag in tags if isinstance(tag, str) and keyword(tag)]
        if len(texts) < len(tags):
            bad = next(tag for tag in tags if not (isinstance(tag, str) and keyword(tag)))
            self.problem(where, f"a tag must be a text that is not empty, got {shown(bad)}; left out")
        kept = keywords(texts)
        if len(kept) < len(set(map(keyword, texts))):
            self.problem(where, "a tag is longer than tags are; left out")
        return kept

    def _regions(self, where: str, records: Any) -> Iterator[TrueRegion]:
        if records is not None and not isinstance(records, list | tuple):
            self.problem(where, f"regions must be a list, got {shown(records)}; left out")
            return
        for record in records or ():
            with self.setting_aside(where):
                yield region(record)

    def _split(self, where: str, split: Any) -> str | None:
        if split is None or (isinstance(split, str) and keyword(split)):
            return None if split is None else keyword(split)
        self.problem(where, f"split must be a text, got {shown(split)}; left out")
        return None

    @property
    def has_masks(self) -> bool:
        """Whether any picture so far has a mask."""
        return any(item.mask is not None for item in self._items.values())

    def _mask(self, where: str, mask: Any) -> Path | None:
        if mask is not None:
            with self.setting_aside(where):
                return existing(self.root, mask)
        return None

    def album(self, mask_labels: dict[int, str] | None = None) -> Album:
        """Return what was gathered."""
        more = [f"and {self._uncounted:,} more"] if self._uncounted else []
        return Album(tuple(self._items.values()), self.root, mask_labels or {}, (*self._problems, *more))
