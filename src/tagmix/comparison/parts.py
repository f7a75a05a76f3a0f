"""Data sets as training and test parts, stored in files so that every task reads the same bags."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Ints
from tagmix.bags import Bags
from tagmix.errors import TagmixError
from tagmix.evaluation.regions import NONE
from tagmix.files import load, save
from tagmix.storage import read, read_limited, write, write_atomic

MAX_ABOUT_BYTES = 2**26  # of about.json, which has one line for every picture set aside


class Places(NamedTuple):
    """Where the tags of the test pictures lie, as matrices of 0 and 1.

    ``pairs``, pictures × tags: which tags have an area. Regions × tags: ``inside``, most of the region lies
    in an area of the tag; ``near``, its middle lies in one or next to it.
    """

    pairs: Counts
    inside: Counts
    near: Counts

    def select_tags(self, columns: Ints) -> "Places":
        """Return the places of these tags."""
        return Places(*(csr_array(matrix[:, columns]) for matrix in self))

    def select_pictures(self, pictures: Ints, regions: Any) -> "Places":
        """Return the places in these pictures, which have these regions."""
        return Places(
            *(csr_array(m[rows]) for m, rows in zip(self, (pictures, regions, regions), strict=True))
        )


class DataPart(NamedTuple):
    """Training and test bags, and the column of each test region's tag: ``NONE``, or ``UNKNOWN`` (−1).

    ``places`` is None where no area of a tag is known.
    """

    train: Bags
    test: Bags
    truth: Ints
    places: Places | None = None

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
        write(home / f"truth-{number}.tagmix", "truth", {}, _truth_arrays(part), scratch=True)
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
    arrays = read(home / f"truth-{number}.tagmix", "truth").arrays
    truth = arrays.get("truth", np.empty(0))
    fits = isinstance(train, Bags) and isinstance(test, Bags) and truth.dtype == np.int64
    fits = fits and truth.shape == (test.n_regions,)
    if not fits or (truth.size and not NONE <= truth.min() <= truth.max() < test.n_tags):
        raise _damaged(home, number)
    if not arrays.keys() & {*Places._fields}:
        return DataPart(train, test, truth)
    shapes = [(n, test.n_tags) for n in (len(test), test.n_regions, test.n_regions)]
    found = [_matrix(arrays.get(key), shape) for key, shape in zip(Places._fields, shapes, strict=True)]
    places = [matrix for matrix in found if matrix is not None]
    if len(places) < len(found):
        raise _damaged(home, number)
    return DataPart(train, test, truth, Places(*places))


def _truth_arrays(part: DataPart) -> dict[str, Any]:
    """Return the truth and the places, as two rows of numbers each: row and column."""
    places = {} if part.places is None else part.places._asdict()
    pairs = {name: np.stack(matrix.nonzero()).astype(np.int64) for name, matrix in places.items()}
    return {"truth": part.truth, **pairs}


def _matrix(pairs: Any, shape: tuple[int, int]) -> Counts | None:
    """Return a matrix of 0 and 1 from its rows and columns; None if they do not fit."""
    if pairs is None or pairs.dtype != np.int64 or pairs.ndim != 2 or len(pairs) != 2:
        return None
    if pairs.size and (pairs.min() < 0 or (pairs.max(axis=1) >= shape).any()):
        return None
    return csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=shape)


def _damaged(home: Path, number: int) -> TagmixError:
    return TagmixError(
        f"{str(home)!r} must hold bags and the column of each region's tag, part {number} does not: "
        "delete that folder and run again"
    )
