"""Data sets as parts to learn from and to test on, kept in files so that every task reads the same."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Ints
from tagmix.bags import Bags
from tagmix.datasets import Album, Item
from tagmix.errors import AlbumError, ImageError, TagmixError
from tagmix.evaluation.folds import Fold, picture_folds
from tagmix.experiments.region_truth import region_tags, see
from tagmix.files import load, save
from tagmix.images.describe import Describer
from tagmix.images.process_pool import Failure, map_files, read_content
from tagmix.images.quantise import VERSION
from tagmix.storage import read, read_limited, write, write_atomic

Progress = Callable[[str, int, int], None]
# Part of every mark: raise it when the same pictures would be parted or named otherwise.
FORM = 1
MOST = 2**26  # bytes of the file that says what a data set is: a line for every picture set aside


class Part(NamedTuple):
    """Bags to learn from and to test on, and the tag of each test region (its column; −1 is unknown)."""

    train: Bags
    test: Bags
    truth: Ints

    @property
    def knows_regions(self) -> bool:
        """Return whether any region's tag is known."""
        return bool((self.truth >= 0).any())


class DataSet(NamedTuple):
    """A prepared data set: its name, its views and how many parts lie in its folder.

    ``views`` are those of regions, then those of whole pictures. Parts that are ``repeated`` test the same
    pictures, described by another seed each; others are folds.
    """

    name: str
    views: tuple[str, ...]
    n_parts: int
    n_train: int
    n_tags: int
    knows_regions: bool
    problems: tuple[str, ...]
    repeated: bool = False


def save_parts(folder: Path, name: str, parts: Sequence[Part], mark: str, problems: Sequence[str]) -> DataSet:
    """Write the parts, and last of all what they are: a broken run leaves no data set behind."""
    home = folder / name
    home.mkdir(parents=True, exist_ok=True)
    (home / "about.json").unlink(missing_ok=True)  # what it speaks of is about to change
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


def _data_set(name: str, parts: Iterable[Part], problems: Sequence[str]) -> DataSet:
    """Return what the parts are; only one of them is in memory at a time."""
    facts = [(_views(p.train), len(p.train), p.train.n_tags, p.knows_regions, p.test.ids) for p in parts]
    views, n_train, n_tags, _, _ = facts[0]
    knows_regions = any(fact[3] for fact in facts)
    repeated = len(facts) > 1 and len({fact[4] for fact in facts}) == 1
    return DataSet(name, views, len(facts), n_train, n_tags, knows_regions, tuple(problems), repeated)


def _views(bags: Bags) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*bags.views, *bags.pictures]))


def saved(folder: Path, name: str, mark: str) -> DataSet | None:
    """Return the data set that was prepared before from the same pictures in the same way, if it is whole."""
    try:
        about = json.loads(read_limited(folder / name / "about.json", MOST))
        if about["mark"] != mark:
            return None
        parts = (load_part(folder, name, number) for number in range(about["n_parts"]))
        return _data_set(name, parts, [str(line) for line in about["problems"]])
    except (TagmixError, OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def load_part(folder: Path, name: str, number: int) -> Part:
    """Return one part of a prepared data set; TagmixError if it is damaged."""
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
    return Part(train, test, truth)


def prepare_album(
    folder: Path,
    name: str,
    album: Album,
    describer: Describer,
    *,
    n_folds: int = 5,
    seed: int = 0,
    seeds: int = 1,
    progress: Progress | None = None,
) -> DataSet:
    """Describe an album: by its own "train" and "test" parts if it has them, else by folds.

    The words of each part are learnt from its training pictures alone. With several ``seeds``, an album with
    parts of its own is described that often, each time by other patches and other words.
    """
    # One seed leaves no trace, so that what was described before there were seeds still fits.
    mark = _mark(album, describer, n_folds, seed, *([seeds] if seeds > 1 else []))
    if (known := saved(folder, name, mark)) is not None:
        return known
    album = replace(album, items=tuple(item for item in album if item.tags))
    folds = folds_of(album, n_folds, seed)
    true_tags = _true_tags(album, describer, progress)
    parts, problems = [], list(album.problems)
    for more, fold in ((more, fold) for fold in folds for more in range(seeds if len(folds) == 1 else 1)):
        own = describer.with_(seed=describer.config.seed + more)
        train = replace(album, items=tuple(album[int(i)] for i in fold.train))
        found = own.fit(train, progress=progress).transform(album, progress=progress)
        problems += [line for line in map(str, found.problems) if line not in problems]
        parts.append(_part(found.bags, album, fold, true_tags))
    return save_parts(folder, name, parts, mark, problems)


def folds_of(album: Album, n_folds: int, seed: int) -> list[Fold]:
    """Return the album's own split as one fold, or so many folds; copies of a picture stay together."""
    split = np.array([item.split or "" for item in album])
    if (split == "train").any() and (split == "test").any():
        return [Fold(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    if len(album) < 2 * n_folds:
        raise AlbumError(
            f"an album must have at least {2 * n_folds} pictures with tags for {n_folds} folds, got "
            f"{len(album)}: tag more pictures, or ask for fewer folds"
        )
    return picture_folds(len(album), n_folds, seed=seed, groups=[_content(item) for item in album])


def _content(item: Item) -> str:
    """Return a print of a picture's file, so that copies of it are not learnt here and recognised there."""
    try:
        return hashlib.sha256(read_content(item.image)).hexdigest()
    except ImageError:
        return str(item.image)


def _part(bags: Bags, album: Album, fold: Fold, true_tags: dict[str, list[str]]) -> Part:
    """Return train and test bags with one set of tags, without pictures that could not be read."""
    row = {place: number for number, place in enumerate(bags.ids)}

    def rows(numbers: Ints) -> Ints:
        places = (str(album[int(i)].image) for i in numbers)
        return np.array([row[place] for place in places if place in row], dtype=np.int64)

    train, test = rows(fold.train), rows(fold.test)
    if not len(train) or not len(test):
        raise TagmixError("pictures to learn from and to test on are needed, got none that can be read")
    column = {tag: number for number, tag in enumerate(bags.tag_names or ())}
    truth = [column.get(tag, -1) for i in test for tag in _regions_of(bags, int(i), true_tags)]
    return Part(bags[train], bags[test], np.array(truth, dtype=np.int64))


def _regions_of(bags: Bags, picture: int, true_tags: dict[str, list[str]]) -> list[str]:
    n_regions = int(bags.offsets[picture + 1] - bags.offsets[picture])
    known = true_tags.get(bags.ids[picture], [])
    return known if len(known) == n_regions else [""] * n_regions


class _Truth:
    """Finds the tags of a picture's regions; a picture that cannot be read has none."""

    def __init__(self, album: Album, describer: Describer) -> None:
        self.album, self.config = replace(album, items=()), describer.config

    def __call__(self, item: Item) -> list[str]:
        try:
            return region_tags(self.album, item, see(item.image, self.config))
        except (TagmixError, OSError):
            return []


def _true_tags(album: Album, describer: Describer, progress: Progress | None) -> dict[str, list[str]]:
    """Return the tags of the regions of every picture that has masks or boxes."""
    items = [item for item in album if item.mask is not None or item.regions]
    found: dict[str, list[str]] = {}
    for done, (number, tags) in enumerate(map_files(_Truth(album, describer), items, describer.n_jobs)):
        if not isinstance(tags, Failure):
            found[str(items[number].image)] = tags
        if progress is not None:
            progress("truth", done + 1, len(items))
    return found


def _mark(album: Album, describer: Describer, *more: Any) -> str:
    """Return a print of the pictures, their tags and regions, and the way they are described."""
    how = (FORM, VERSION, describer.config, album.mask_labels, *more)
    digest = hashlib.sha256(repr(how).encode(errors="surrogatepass"))
    for item in album:
        facts = (str(item.image), item.tags, item.split, item.regions, _stamp(item.image), _stamp(item.mask))
        digest.update(repr(facts).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _stamp(path: Path | None) -> tuple[int, int] | None:
    """Return size and time of a file, by which a change is noticed."""
    if path is None or not path.is_file():
        return None
    status = path.stat()
    return status.st_size, status.st_mtime_ns
