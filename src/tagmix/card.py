"""What a model was trained on: the facts that ``tagmix info`` shows, kept in the model's file.

The name of the album's folder is kept, its path is not. A file may come from a stranger: every value is
checked, and nothing here decides what the model predicts.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tagmix import __version__
from tagmix.bags import Bags
from tagmix.datasets import Album
from tagmix.errors import printable

MOST_STEPS = 1000  # the oldest updates are dropped beyond
LONGEST = 200  # characters of a text
MOST = 10**12
DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Step:
    """A training or an update: its date, the tagmix that did it, and how much it learnt from.

    ``kind`` is "train" or "update", ``pictures`` how many it read (an update: new or corrected ones),
    ``note`` one line for people.
    """

    kind: str
    date: str
    version: str
    pictures: int
    note: str = ""

    def __post_init__(self) -> None:
        _check_text(kind=self.kind, version=self.version, note=self.note)
        _check_counts(pictures=self.pictures)
        if self.kind not in ("train", "update") or not DATE.fullmatch(self.date):
            raise ValueError(f"a step must be a train or an update with a date, got {self.kind!r:.60}")


@dataclass(frozen=True)
class Card:
    """What a model was trained on.

    ``tagged`` of the ``pictures`` have a tag that is learnt; ``unreadable`` ones are not among them.
    ``counts`` is the number of pictures per tag, in the order of the model's ``tag_names_``. ``steps`` is the
    history, the training first.
    """

    album: str
    format: str
    pictures: int
    tagged: int
    regions: int
    unreadable: int
    counts: tuple[int, ...]
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        _check_text(album=self.album, format=self.format)
        numbers = {name: getattr(self, name) for name in ("pictures", "tagged", "regions", "unreadable")}
        _check_counts(**numbers, counts=max(self.counts, default=0))
        _check_counts(**{f"tag {i}": count for i, count in enumerate(self.counts)})
        if (
            not 1 <= len(self.steps) <= MOST_STEPS
            or not max(self.counts, default=0) <= self.tagged <= self.pictures
        ):
            raise ValueError(f"a card must have 1 to {MOST_STEPS} steps, and no part larger than the whole")

    def updated(self, step: Step, bags: Bags | None = None) -> "Card":
        """Return the card after an update; ``bags`` are all pictures that the model knows by now."""
        first, *others = (*self.steps, step)
        kept = (first, *others[-(MOST_STEPS - 1) :])
        return replace(self, steps=kept, **({} if bags is None else _facts(bags)))

    def plain(self) -> dict[str, Any]:
        """Return the values that a file holds."""
        return asdict(self)

    @classmethod
    def of(cls, kept: Any) -> "Card":
        """Return the card of what ``plain`` gave, every value checked: the file is not trusted."""
        steps = tuple(Step(**step) for step in kept["steps"])
        return cls(**{**kept, "counts": tuple(kept["counts"]), "steps": steps})


def card_of(album: Album, bags: Bags, unreadable: int = 0, note: str = "") -> Card:
    """Return the card of a training today on an album, described as these bags."""
    step = Step("train", today(), __version__, len(bags), _short(note))
    name = album.root.name or album.root.resolve().name
    return Card(_short(name), _short(album.format), unreadable=unreadable, steps=(step,), **_facts(bags))


def _facts(bags: Bags) -> dict[str, Any]:
    counts = np.asarray(bags.captions.sum(axis=0)).ravel()
    tagged = int((np.diff(bags.captions.indptr) > 0).sum())
    return {
        "pictures": len(bags),
        "tagged": tagged,
        "regions": bags.n_regions,
        "counts": tuple(int(count) for count in counts),
    }


def today() -> str:
    """Return today's date (UTC), or that of ``SOURCE_DATE_EPOCH``, for files to be the same again."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdecimal() else datetime.now(UTC)
    return now.date().isoformat()


def _short(text: str) -> str:
    return printable(text)[:LONGEST]


def _check_text(**texts: Any) -> None:
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > LONGEST or text != printable(text):
            raise ValueError(f"{name} must be a line of at most {LONGEST} characters, got {text!r:.60}")


def _check_counts(**numbers: Any) -> None:
    for name, number in numbers.items():
        if type(number) is not int or not 0 <= number <= MOST:
            raise ValueError(f"{name} must be a whole number from 0, got {number!r:.60}")


def check_counts(card: Card | None, tag_names: Sequence[str]) -> None:
    """Refuse a card with counts of other tags than the model's."""
    if card is not None and len(card.counts) != len(tag_names):
        raise ValueError(f"a card must count the model's {len(tag_names)} tags, got {len(card.counts)}")
