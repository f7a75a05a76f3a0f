"""Data sets as training and test parts, stored in files so that every task reads the same bags."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tagmix.arrays import Ints
from tagmix.bags import Bags
from tagmix.errors import TagmixError
from tagmix.files import load, save
from tagmix.storage import read, read_limited, write, write_atomic

MAX_ABOUT_BYTES = 2**26  # of about.json, which has one line for every picture set aside


class DataPart(NamedTuple):
    """Training and test bags, and the column of each test region's tag (−1 if unknown)."""

    train: Bags
    test: Bags
    truth: Ints

    @property
    def knows_regions(self) -> bool:
        """Return whether any region's tag is known."""
        return bool((self.truth >= 0).any())


class DataSet(NamedTuple):
    """A prepared data set: its name, its views and the number of parts in its folder.

    ``views`` are those of regions, then those of whole pictures. ``repeated`` parts test the same pictures,
    each described with another seed; other parts are folds.
    """

    name: str
    views: tuple[str, ...]
    n_parts: int
    n_train: int
    n_tags: int
    knows_regions: bool
    problems: tuple[str, ...]
    repeated: bool = False


def save_parts(
    folder: Path, name: str, parts: Sequence[DataPart], mark: str, problems: Sequence[str]
) -> DataSet:
    """Write the parts, then about.json: an interrupted run leaves no valid data set."""
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    (home / "about.json").unlink(missing_ok=True)
    for old in home.glob("*.tagmix"):
        if re.fullmatch(r"(train|test|truth)-\d+", old.stem):
            old.unlink()
    for number, part in enumerate(parts):
        save(part.train, home / f"train-{number}.tagmix")
        save(part.test, home / f"test-{number}.tagmix")
        write(home / f"truth-{number}.tagmix", "truth", {}, {"truth": part.truth}, scratch=True)
    about = {"mark": mark, "n_parts": len(parts), "problems": list(problems)}
    write_atomic(home / "about.json", json.dumps(about).encode())
    return _data_set(name, parts, problems)


def _data_set(name: str, parts: Iterable[DataPart], problems: Sequence[str]) -> DataSet:
    """Return the summary of the parts, reading one at a time."""
    facts = [(_views(p.train), len(p.train), p.train.n_tags, p.knows_regions, p.test.ids) for p in parts]
    views, n_train, n_tags, _, _ = facts[0]
    knows_regions = any(fact[3] for fact in facts)
    repeated = len(facts) > 1 and len({fact[4] for fact in facts}) == 1
    return DataSet(name, views, len(facts), n_train, n_tags, knows_regions, tuple(problems), repeated)


def _views(bags: Bags) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*bags.views, *bags.pictures]))


def saved(folder: Path, name: str, mark: str) -> DataSet | None:
    """Return the stored data set if it is complete and has the same fingerprint; else None."""
    try:
        about = json.loads(read_limited(folder / name / "about.json", MAX_ABOUT_BYTES))
        if about["mark"] != mark:
            return None
        parts = (load_part(folder, name, number) for number in range(about["n_parts"]))
        return _data_set(name, parts, [str(line) for line in about["problems"]])
    except (TagmixError, OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def load_part(folder: Path, name: str, number: int) -> DataPart:
    """Return one part of a stored data set; TagmixError if it is damaged."""
    home = folder / name
    train, test = (load(home / f"{side}-{number}.tagmix") for side in ("train", "test"))
    truth = read(home / f"truth-{number}.tagmix", "truth").arrays.get("truth", np.empty(0))
    fits = isinstance(train, Bags) and isinstance(test, Bags) and truth.dtype == np.int64
    fits = fits and truth.shape == (test.n_regions,)
    if not fits or (truth.size and not -1 <= truth.min() <= truth.max() < test.n_tags):
        raise TagmixError(
            f"{str(home)!r} must hold bags and the column of each region's tag, part {number} does not: "
            "delete that folder and run again"
        )
    return DataPart(train, test, truth)
