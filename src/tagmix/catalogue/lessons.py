"""What may be learnt from: verdicts of humans and of files' metadata, never a machine's own."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tagmix.catalogue.labels import BY_HUMAN, BY_METADATA, PRESENT, Labels, holds
from tagmix.catalogue.store import Store
from tagmix.catalogue.tags import Tags
from tagmix.catalogue.values import PhotoId


class Lesson(NamedTuple):
    """What is known of a photo: tags it has, with those above them, and tags it does not have.

    Any other tag is unknown, not absent.
    """

    photo: PhotoId
    yes: tuple[str, ...]
    no: tuple[str, ...]


class Lessons:
    """A view of the verdicts for learning."""

    def __init__(self, store: Store, labels: Labels, tags: Tags) -> None:
        self._store, self._labels, self._tags = store, labels, tags

    def of(self, photos: Iterable[PhotoId], *, above: bool = True) -> Iterator[Lesson]:
        """Yield what is known of each photo, in their order.

        Tags have their present names; ``above`` adds the tags above a "yes", so that a tag learns from those
        below it. A human's verdict goes before the metadata's.
        """
        every = list(photos)
        for start in range(0, len(every), 500):
            yield from self._some(every[start : start + 500], above)

    def _some(self, photos: list[PhotoId], above: bool) -> list[Lesson]:
        stands: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        names: dict[int, str] = {}
        with self._store.reading():
            marks = ", ".join("?" * len(photos))
            sql = f"""SELECT photo, said.tag, name, source, value FROM said JOIN tag ON tag.id = said.tag
                WHERE photo IN ({marks}) ORDER BY source"""
            for photo, tag, name, source, value in self._store.rows(sql, photos):
                stands[photo][tag] = (source, value)
                names[tag] = name
            lessons = []
            for photo in photos:
                known = stands[photo]
                plain = {tag: value for tag, (_, value) in known.items()}
                held = holds(known, self._tags) if above else plain
                names.update((tag, self._tags.name_of(tag)) for tag in held if tag not in names)
                yes, no = (sorted(names[tag] for tag in held if held[tag] == value) for value in (1, 0))
                lessons.append(Lesson(photo, tuple(yes), tuple(no)))
        return lessons

    def photos(self) -> list[PhotoId]:
        """Return the photos, not missing, of which a human or metadata says anything."""
        with self._store.reading():
            mask = self._labels.mask(PRESENT)
            mask &= self._labels.mask(BY_HUMAN) | self._labels.mask(BY_METADATA)
        return [PhotoId(int(photo)) for photo in np.flatnonzero(mask)]
