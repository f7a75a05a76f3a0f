"""The record of one task: a JSON file with its rankings, metrics, settings and provenance."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from tagmix.arrays import Counts, Ints
from tagmix.comparison.levels import Level
from tagmix.errors import TagmixError
from tagmix.evaluation.blocks import Parts
from tagmix.evaluation.probabilities import Bins, Selection, selection_parts
from tagmix.storage import read_limited, write_atomic

FORMAT = 3
KINDS = {"chosen": dict, "seconds": dict, "metrics": dict, "provenance": dict, "tried": list, "n_train": int}
LONGEST = 40  # stored tags of each picture's ranking: the paper's curves end there
BINS = 10  # of equal width, of probabilities
MAX_BYTES = 2**28  # of a file: 100,000 pictures take 20 MB


# The gain and the weight of each test picture in further metrics, by name.
Terms: TypeAlias = dict[str, list[list[float]]]


class RecordError(TagmixError, ValueError):
    """A record is damaged, or was written by another version."""


@dataclass(frozen=True)
class Task:
    """One method on one part of one data set, at one point of a curve.

    ``point`` is the place on a curve, such as {"tags": 100}; empty for the whole data. ``views`` are the
    available views of regions and of whole pictures, of which a method gets those it can read; ``part`` is
    the number of the fold or of the seed.
    """

    data: str
    method: str
    views: tuple[str, ...]
    part: int = 0
    point: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name of its file.

        >>> Task("corel5k", "EMM_d", ("sift", "colour"), point={"tags": 100}).name
        'corel5k--sift+colour--tags=100--EMM_d--0'
        """
        point = ",".join(f"{key}={value}" for key, value in self.point.items())
        parts = (self.data, "+".join(self.views), point or "all", self.method, str(self.part))
        return "--".join(re.sub(r"[^\w+=,.]", "_", part) for part in parts)


@dataclass(frozen=True)
class RegionRanks:
    """Regions with a known tag, or none: their picture, and the rank of that tag, from 1.

    ``captioned`` is 0 for regions of pictures without a caption.
    """

    picture: list[int]
    free: list[int]
    captioned: list[int]

    def parts(self, k: int, captioned: bool) -> Parts:
        """Return the terms of each picture in the share of regions whose tag is among the k best.

        >>> RegionRanks([0, 0, 1], [1, 3, 2], [1, 1, 1]).parts(2, captioned=False).gain.tolist()
        [1.0, 1.0]
        """
        place = np.asarray(self.captioned if captioned else self.free)
        picture = np.asarray(self.picture, dtype=np.int64)
        n = int(picture.max(initial=-1)) + 1
        gain, weight = (
            np.bincount(picture, own, minlength=n) for own in ((place > 0) & (place <= k), place > 0)
        )
        return Parts(gain.astype(np.float64), weight.astype(np.float64))


@dataclass(frozen=True)
class Probabilities:
    """The calibration of a method's probabilities, and the tags that it selects by them.

    ``pairs``, ``said`` and ``right`` have one value per bin: the number of pairs (picture, tag), the sum of
    their probabilities, and how many are true. ``shown`` has the numbers of the selected tags of each
    picture; ``levels`` those of ``LEVELS`` that the method reaches.
    """

    pairs: list[int]
    said: list[float]
    right: list[int]
    shown: list[list[int]]
    levels: list[Level] = field(default_factory=list)

    @property
    def bins(self) -> Bins:
        """Return the bins as arrays."""
        return Bins(*(np.asarray(row, dtype=np.float64) for row in (self.pairs, self.said, self.right)))


@dataclass(frozen=True)
class Record:
    """The result of a task.

    ``captions`` and ``top`` are tag numbers of each test picture: its own, and the first ``LONGEST`` of its
    ranking. ``chosen`` are the settings found inside the training part, ``tried`` all settings that were
    tried with their cross-validated accuracy; ``metrics`` those of ``METRICS`` that are defined, at
    ``default_k`` tags. ``probabilities`` is None for a method without them. ``terms`` are those of further
    metrics (``comparison.terms``).
    """

    task: Task
    chosen: dict[str, Any]
    tried: list[dict[str, Any]]
    seconds: dict[str, float]
    n_train: int
    tag_names: list[str]
    ids: list[str]
    captions: list[list[int]]
    top: list[list[int]]
    metrics: dict[str, float]
    regions: RegionRanks | None
    provenance: dict[str, Any]
    probabilities: Probabilities | None = None
    terms: Terms = field(default_factory=dict)

    @property
    def truth(self) -> Counts:
        """Return the captions, pictures × tags of 0 and 1."""
        return _matrix(self.captions, len(self.tag_names))

    @property
    def selection(self) -> Selection | None:
        """Return the terms of each picture in the metrics of selected tags; None without probabilities."""
        if self.probabilities is None:
            return None
        return selection_parts(self.truth, _matrix(self.probabilities.shown, len(self.tag_names)))

    def picture_parts(self, k: int = 5) -> Parts:
        """Return the terms of each picture in the top-k accuracy, for k up to ``LONGEST``."""
        best: Ints = np.asarray(self.top, dtype=np.int64)[:, :k]
        hits = np.take_along_axis(self.truth.toarray(), best, axis=1).sum(axis=1)
        given = np.array([len(own) for own in self.captions])
        return Parts(2.0 * hits, (given + best.shape[1]).astype(np.float64))

    def parts(self, name: str) -> Parts | None:
        """Return the terms of each picture in a metric of ``terms``; None if it is not defined."""
        return Parts(*map(np.asarray, self.terms[name])) if name in self.terms else None

    def save(self, folder: Path) -> None:
        """Write the record atomically."""
        folder.mkdir(parents=True, exist_ok=True)
        fields = {f"format {FORMAT}": True, **asdict(self)}
        text = json.dumps(fields, separators=(",", ":"), allow_nan=False)
        write_atomic(folder / f"{self.task.name}.json", text.encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a record; RecordError if it is damaged."""
        try:
            fields = json.loads(read_limited(path, MAX_BYTES), parse_float=_number, parse_constant=_number)
            fields.pop(f"format {FORMAT}")
            task = fields.pop("task")
            regions = fields.pop("regions")
            said = fields.pop("probabilities", None)
            _check_types(fields, task)
            made = cls(
                task=Task(**{**task, "views": tuple(task["views"])}),
                regions=None if regions is None else RegionRanks(**regions),
                probabilities=None if said is None else _probabilities(said),
                **fields,
            )
            _check_numbers(made)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RecordError(
                f"{str(path)!r} must be a record of this version, got {error!r:.80}: delete it and run again"
            ) from error
        return made


def _matrix(rows: list[list[int]], n_tags: int) -> Counts:
    """Return tag numbers of pictures as pictures × tags of 0 and 1."""
    of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    columns = np.array([tag for row in rows for tag in row], dtype=np.int64)
    return csr_array((np.ones(len(columns)), (of, columns)), shape=(len(rows), n_tags))


def _probabilities(said: dict[str, Any]) -> Probabilities:
    return Probabilities(**{**said, "levels": [Level(**level) for level in said.get("levels", [])]})


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # also 1e999
        raise ValueError(f"{text:.20} is not a finite number")
    return number


def _check_types(fields: dict[str, Any], task: dict[str, Any]) -> None:
    """Raise ValueError unless every field has its type."""
    sound = all(type(fields[name]) is kind for name, kind in KINDS.items())
    sound = sound and all(_is_list_of(str, names) for names in (fields["tag_names"], fields["ids"]))
    sound = sound and all(type(task[name]) is kind for name, kind in (("part", int), ("point", dict)))
    sound = sound and _is_list_of(str, [task["data"], task["method"]]) and _is_list_of(str, task["views"])
    sound = sound and all(
        type(value) in (int, float) and abs(value) < 1e300  # a whole number may have any length
        for value in (*fields["seconds"].values(), *fields["metrics"].values())
    )
    sound = sound and _is_list_of(dict, fields["tried"])
    if not sound:
        raise ValueError("names, numbers or settings have the wrong type")


def _is_list_of(kind: type, values: Any) -> bool:
    return type(values) is list and all(type(value) is kind for value in values)


def _check_numbers(record: Record) -> None:
    """Raise ValueError unless the fields fit together."""
    n_tags, n = len(record.tag_names), len(record.captions)
    if not 0 < n == len(record.top) == len(record.ids):
        raise ValueError("captions, rankings and names do not fit together")
    if not _are_tags((*record.captions, *record.top), n_tags):
        raise ValueError("tags must be different numbers of tag_names")
    if any(len(row) != min(LONGEST, n_tags) for row in record.top):
        raise ValueError(f"rankings must have all tags, or {LONGEST}")
    if record.regions is not None:
        _check_regions(record.regions, n, n_tags)
    if record.probabilities is not None and not _fits(record.probabilities, record):
        raise ValueError("probabilities do not fit together")
    if type(record.terms) is not dict or not all(_are_terms(own, n) for own in record.terms.values()):
        raise ValueError("terms must be a gain and a weight per picture")


def _check_regions(regions: RegionRanks, n_pictures: int, n_tags: int) -> None:
    """Raise ValueError unless there is a region, and all have a picture and ranks; none has a rank too."""
    picture, *places = regions.picture, regions.free, regions.captioned
    fit = all(
        len(place) == len(picture) > 0 and _are_numbers(place, first, n_tags + 2)
        for first, place in zip((1, 0), places, strict=True)
    )
    if not fit or not _are_numbers(picture, 0, n_pictures):
        raise ValueError("regions do not fit together")


def _are_terms(columns: Any, n_pictures: int) -> bool:
    """Return whether these are two columns of numbers that are not negative, one per picture."""
    return (
        type(columns) is list
        and len(columns) == 2
        and all(_is_list_of(float, own) and len(own) == n_pictures and min(own) >= 0 for own in columns)
    )


def _fits(own: Probabilities, record: Record) -> bool:
    """Return whether the bins hold every pair and every true tag, and the selected tags exist."""
    n_pairs = len(record.captions) * len(record.tag_names)
    given = sum(len(caption) for caption in record.captions)
    if not (_are_numbers(own.pairs, 0, n_pairs + 1) and _are_numbers(own.right, 0, given + 1)):
        return False
    if not _is_list_of(float, own.said) or {len(own.pairs), len(own.said), len(own.right)} != {BINS}:
        return False
    bins = zip(range(BINS), own.pairs, own.said, own.right, strict=True)
    # A sum of many probabilities is rounded
    inside = all(
        right <= n and (i - 1e-6) * n <= BINS * said <= (i + 1 + 1e-6) * n for i, n, said, right in bins
    )
    inside = inside and all(level.fits(len(record.captions), given) for level in own.levels)
    whole = (sum(own.pairs), sum(own.right), len(own.shown)) == (n_pairs, given, len(record.captions))
    return inside and whole and _are_tags(own.shown, len(record.tag_names))


def _are_tags(rows: Sequence[Any], n_tags: int) -> bool:
    return all(_are_numbers(row, 0, n_tags) and len(set(row)) == len(row) for row in rows)


def _are_numbers(values: Any, first: int, end: int) -> bool:
    return _is_list_of(int, values) and (not values or first <= min(values) <= max(values) < end)
