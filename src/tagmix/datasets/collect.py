"""Collect the entries of an album: all readers use this class, so all formats are checked the same way."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tagmix.datasets.album import Album
from tagmix.datasets.items import Item, TrueRegion
from tagmix.datasets.paths import existing, shown
from tagmix.datasets.shapes import region
from tagmix.errors import AlbumError
from tagmix.tag_names import normal_name, normal_names

MAX_PROBLEMS = 1000  # for people to read, not a copy of a broken file


class Collector:
    """Collect records in the native form; skip invalid ones with one line each.

    A record has ``image`` (a path below the root) and optionally ``tags``, ``split``, ``mask``, ``regions``.
    A record without its picture is skipped; an invalid region, mask or tag is skipped and the rest kept.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._items: dict[str, Item] = {}
        self._problems: list[str] = []
        self._uncounted = 0

    def problem(self, where: str, what: object) -> None:
        """Record one skipped entry or part of it."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(" ".join(f"{where}: {what}".split()))
        else:
            self._uncounted += 1

    @contextlib.contextmanager
    def setting_aside(self, where: str) -> Iterator[None]:
        """Turn an AlbumError in this block into a problem."""
        try:
            yield
        except AlbumError as error:
            self.problem(where, error)

    def add(self, where: str, record: Any) -> None:
        """Add one record, or record the problem."""
        with self.setting_aside(where):
            if not isinstance(record, Mapping):
                raise AlbumError(f"an entry must be an object with an image, got {shown(record)}")
            image = existing(self.root, record.get("image"))
            identity = image.relative_to(self.root).as_posix()
            if identity in self._items:
                raise AlbumError(f"{shown(identity)} occurs twice: the first entry is used")
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
        """Return the tags of an entry; if it has none, those of its regions."""
        if tags is None:
            return normal_names(region.tag for region in regions)
        if not isinstance(tags, list | tuple):
            self.problem(where, f"tags must be a list of texts, got {shown(tags)}; skipped")
            return ()
        texts = [tag for tag in tags if isinstance(tag, str) and normal_name(tag)]
        if len(texts) < len(tags):
            bad = next(tag for tag in tags if not (isinstance(tag, str) and normal_name(tag)))
            self.problem(where, f"a tag must be a text that is not empty, got {shown(bad)}; skipped")
        kept = normal_names(texts)
        if len(kept) < len(set(map(normal_name, texts))):
            self.problem(where, "a tag is too long; skipped")
        return kept

    def _regions(self, where: str, records: Any) -> Iterator[TrueRegion]:
        if records is not None and not isinstance(records, list | tuple):
            self.problem(where, f"regions must be a list, got {shown(records)}; skipped")
            return
        for record in records or ():
            with self.setting_aside(where):
                yield region(record)

    def _split(self, where: str, split: Any) -> str | None:
        if split is None or (isinstance(split, str) and normal_name(split)):
            return None if split is None else normal_name(split)
        self.problem(where, f"split must be a text, got {shown(split)}; skipped")
        return None

    @property
    def has_masks(self) -> bool:
        """Return whether any picture so far has a mask."""
        return any(item.mask is not None for item in self._items.values())

    def _mask(self, where: str, mask: Any) -> Path | None:
        if mask is not None:
            with self.setting_aside(where):
                return existing(self.root, mask)
        return None

    def album(self, mask_labels: dict[int, str] | None = None) -> Album:
        """Return the collected album."""
        more = [f"and {self._uncounted:,} more"] if self._uncounted else []
        return Album(tuple(self._items.values()), self.root, mask_labels or {}, (*self._problems, *more))
