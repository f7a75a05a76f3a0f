"""Describe the pictures of an album and split them into training and test parts."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Ints
from tagmix.bags import Bags
from tagmix.comparison.parts import DataPart, DataSet, Places, save_parts, saved
from tagmix.comparison.region_truth import NO_TAG, UNKNOWN_TAG, PictureTruth, picture_truth, see
from tagmix.datasets import Album, Item
from tagmix.errors import AlbumError, ImageError, TagmixError
from tagmix.evaluation.folds import Fold, picture_folds
from tagmix.evaluation.regions import NONE, UNKNOWN
from tagmix.images.describe import Describer
from tagmix.images.process_pool import Failure, map_files, read_content
from tagmix.images.quantise import VERSION

Progress = Callable[[str, int, int], None]
Truths = Mapping[str, PictureTruth]
# Part of every fingerprint: raise it when the same pictures would be split or named differently.
FORM = 2


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
    """Describe an album, split by its own "train" and "test" marks if it has them, else into folds.

    Vocabularies are learnt from the training pictures of each part. With several ``seeds``, an album with its
    own split is described once per seed, each time with other patches and other words.
    """
    # A single seed is left out of the fingerprint, so that older descriptions remain valid.
    mark = _fingerprint(album, describer, n_folds, seed, *([seeds] if seeds > 1 else []))
    if (known := saved(folder, name, mark)) is not None:
        return known
    album = replace(album, items=tuple(item for item in album if item.tags))
    folds = folds_of(album, n_folds, seed)
    tested = sorted({int(i) for fold in folds for i in fold.test})
    truths = _truths(replace(album, items=tuple(album[i] for i in tested)), describer, progress)
    parts, problems = [], list(album.problems)
    for shift, fold in ((shift, fold) for fold in folds for shift in range(seeds if len(folds) == 1 else 1)):
        train = replace(album, items=tuple(album[int(i)] for i in fold.train))
        bags, unreadable = _described(describer, train, album, shift, progress)
        problems += [line for line in unreadable if line not in problems]
        parts.append(_part(bags, album, fold, truths))
    return save_parts(folder, name, parts, mark, problems)


def _described(
    describer: Describer, train: Album, album: Album, seed_shift: int, progress: Progress | None
) -> tuple[Bags, list[str]]:
    """Return an album described with the vocabularies of its training pictures, and unreadable pictures.

    All calls that describe pictures are here.
    """
    own = describer.with_(seed=describer.config.seed + seed_shift).fit(train, progress=progress)
    found = own.transform(album, progress=progress)
    return found.bags, [str(problem) for problem in found.problems]


def without_folders(album: Album, *folders: Path) -> Album:
    """Return the album without the pictures below these folders, such as figures of an earlier run."""
    own = [folder.resolve() for folder in folders]
    kept = (item for item in album if not any(item.image.is_relative_to(folder) for folder in own))
    return replace(album, items=tuple(kept))


def folds_of(album: Album, n_folds: int, seed: int) -> list[Fold]:
    """Return the album's own split as one fold, or ``n_folds`` folds that keep copies of a file together."""
    split = np.array([item.split or "" for item in album])
    if (split == "train").any() and (split == "test").any():
        return [Fold(np.flatnonzero(split == "train"), np.flatnonzero(split == "test"))]
    if len(album) < 2 * n_folds:
        raise AlbumError(
            f"an album must have at least {2 * n_folds} pictures with tags for {n_folds} folds, got "
            f"{len(album)}: tag more pictures, or use fewer folds"
        )
    return picture_folds(len(album), n_folds, seed=seed, groups=[_content(item) for item in album])


def _content(item: Item) -> str:
    """Return the digest of a picture's file, by which copies of it are grouped."""
    try:
        return hashlib.sha256(read_content(item.image)).hexdigest()
    except ImageError:
        return str(item.image)


def _part(bags: Bags, album: Album, fold: Fold, truths: Truths) -> DataPart:
    """Return train and test bags that share their tags, without pictures that could not be read."""
    row = {place: number for number, place in enumerate(bags.ids)}

    def rows(numbers: Ints) -> Ints:
        places = (str(album[int(i)].image) for i in numbers)
        return np.array([row[place] for place in places if place in row], dtype=np.int64)

    train, test = rows(fold.train), rows(fold.test)
    if not len(train) or not len(test):
        raise TagmixError(
            f"training and test pictures must be readable, got {len(train)} and {len(test)}: check the files"
        )
    tested = bags[test]
    known = [_truth_of(tested, i, truths) for i in range(len(tested))]
    column = {tag: number for number, tag in enumerate(bags.tag_names or ())}
    truth = [NONE if tag is NO_TAG else column.get(tag, UNKNOWN) for one in known for tag in one.tags]
    return DataPart(bags[train], tested, np.array(truth, dtype=np.int64), _places(tested, known, column))


def _truth_of(bags: Bags, picture: int, truths: Truths) -> PictureTruth:
    """Return the truth about a picture; that of no region is known where their numbers differ."""
    n_regions = int(bags.offsets[picture + 1] - bags.offsets[picture])
    known = truths.get(bags.ids[picture])
    if known is not None and len(known.tags) == n_regions:
        return known
    return PictureTruth([UNKNOWN_TAG] * n_regions, [], [], [])


def _places(bags: Bags, known: Sequence[PictureTruth], column: Mapping[str, int]) -> Places | None:
    """Return where the tags lie; None if that is not known of any picture."""
    if not any(one.placed for one in known):
        return None
    starts = bags.offsets.tolist()
    found = (
        [(i, tag) for i, one in enumerate(known) for tag in one.placed],
        [
            (start + region, tag)
            for start, one in zip(starts, known, strict=False)
            for region, tag in one.inside
        ],
        [
            (start + region, tag)
            for start, one in zip(starts, known, strict=False)
            for region, tag in one.near
        ],
    )

    def matrix(pairs: Sequence[tuple[int, str]], n_rows: int) -> Counts:
        kept = [(row, column[tag]) for row, tag in pairs if tag in column]
        where = np.array(kept, dtype=np.int64).reshape(-1, 2).T
        return csr_array((np.ones(len(kept)), (where[0], where[1])), shape=(n_rows, len(column)))

    sizes = (len(bags), bags.n_regions, bags.n_regions)
    return Places(*(matrix(pairs, n) for pairs, n in zip(found, sizes, strict=True)))


class _Truth:
    """Finds the truth about a picture's regions; None for an unreadable picture."""

    def __init__(self, album: Album, describer: Describer) -> None:
        self.album, self.config = replace(album, items=()), describer.config

    def __call__(self, item: Item) -> PictureTruth | None:
        try:
            return picture_truth(self.album, item, see(item.image, self.config))
        except (TagmixError, OSError):
            return None


def _truths(album: Album, describer: Describer, progress: Progress | None) -> Truths:
    """Return the truth about every picture of the album that has a mask or boxes."""
    items = [item for item in album if item.mask is not None or item.regions]
    found: dict[str, PictureTruth] = {}
    for done, (number, truth) in enumerate(map_files(_Truth(album, describer), items, describer.n_jobs)):
        if truth is not None and not isinstance(truth, Failure):
            found[str(items[number].image)] = truth
        if progress is not None:
            progress("truth", done + 1, len(items))
    return found


def _fingerprint(album: Album, describer: Describer, *more: Any) -> str:
    """Return a digest of the pictures, their tags and regions, and how they are described."""
    how = (FORM, VERSION, describer.config, album.mask_labels, *more)
    digest = hashlib.sha256(repr(how).encode(errors="surrogatepass"))
    for item in album:
        facts = (str(item.image), item.tags, item.split, item.regions, _stamp(item.image), _stamp(item.mask))
        digest.update(repr(facts).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _stamp(path: Path | None) -> tuple[int, int] | None:
    """Return size and modification time of a file, by which changes are detected."""
    if path is None or not path.is_file():
        return None
    status = path.stat()
    return status.st_size, status.st_mtime_ns
