"""Group the records of a comparison by the pictures that were tested.

A *sample* is one method at one point of a curve, with the pictures of all its parts (folds). Parts that
tested the same pictures are repetitions with another seed: each picture has their mean. A *group* is a data
set with one choice of views.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats
from tagmix.comparison.records import LONGEST, Record
from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.metrics import default_k
from tagmix.evaluation.probabilities import Bins, Selection
from tagmix.evaluation.significance import Interval, t_interval
from tagmix.report.comparison.intervals import Unit, joined
from tagmix.report.comparison.titles import album_title


class _Counts(NamedTuple):
    """Per picture: right tags among the k best, the most that are possible, and tags given."""

    hits: Floats
    best: Floats
    given: Floats


@dataclass(frozen=True, eq=False)
class MethodSample:
    """One method at one point: one record per part, and per draw where training sets were drawn.

    A picture that was tested with several draws or seeds counts once, with its mean.
    """

    method: str
    records: tuple[Record, ...]

    @cached_property
    def units(self) -> dict[Unit, list[Record]]:
        """The records that tested the same pictures, under the first part that did."""
        first: dict[tuple[str, ...], int] = {}
        found: dict[Unit, list[Record]] = {}
        for record in sorted(self.records, key=lambda r: r.task.part):
            ids = tuple(record.ids)
            found.setdefault((first.setdefault(ids, record.task.part), ids), []).append(record)
        return found

    @cached_property
    def n_seeds(self) -> int:
        """The number of seeds with which the same pictures were tested."""
        return max(len({record.task.part for record in own}) for own in self.units.values())

    @cached_property
    def read(self) -> list[str]:
        """The views that the method read, if it could not read all of its group; else empty."""
        read = self.records[0].provenance.get("read")
        return [str(view) for view in read] if isinstance(read, list) else []

    @cached_property
    def longest(self) -> int:
        """The length of the shortest ranking."""
        return min(len(record.top[0]) for record in self.records)

    @cached_property
    def k(self) -> int:
        """The number of tags shown per picture, as in the metrics of its records."""
        return min(self.longest, *(default_k(len(record.tag_names)) for record in self.records))

    @cached_property
    def _counts(self) -> dict[Unit, _Counts]:
        return {unit: _averaged(records, self.longest) for unit, records in self.units.items()}

    def parts(self, k: int | None = None) -> dict[Unit, Parts]:
        """Return the terms of the pictures of each part in the top-k accuracy."""
        k = min(k or self.k, self.longest)
        return {u: Parts(2 * c.hits[:, k - 1], c.given + k) for u, c in self._counts.items()}

    def perfect(self, k: int | None = None) -> dict[Unit, Parts]:
        """Return the same terms for perfect rankings."""
        k = min(k or self.k, self.longest)
        return {u: Parts(2 * c.best[:, k - 1], c.given + k) for u, c in self._counts.items()}

    def first(self) -> float:
        """Return P@1, the share of pictures whose first tag is right."""
        parts = [Parts(c.hits[:, 0], np.ones(len(c.hits))) for c in self._counts.values()]
        return quotient(joined(parts))

    def regions(self, k: int, captioned: bool) -> dict[Unit, Parts]:
        """Return the terms of the pictures of each part in the share of regions that are right."""
        return {unit: _region_parts(records, k, captioned) for unit, records in self.units.items()}

    @cached_property
    def knows_regions(self) -> bool:
        """Whether all records have regions with a known tag."""
        return all(record.regions and record.regions.picture for record in self.records)

    @cached_property
    def knows_probabilities(self) -> bool:
        """Whether all records have probabilities."""
        return all(record.probabilities for record in self.records)

    @cached_property
    def bins(self) -> Bins:
        """The reliability bins of all records."""
        return Bins(*np.sum([r.probabilities.bins for r in self.records if r.probabilities], axis=0))

    @cached_property
    def selection(self) -> dict[Unit, Selection]:
        """The terms of the pictures of each part in the metrics of selected tags."""
        return {unit: _selection(records) for unit, records in self.units.items()}

    def always(self) -> tuple[float, float]:
        """Return precision and recall with k tags for every picture."""
        counts = self._counts.values()
        hits = sum(float(own.hits[:, self.k - 1].sum()) for own in counts)
        shown = float(sum(self.k * len(own.hits) for own in counts))
        given = sum(float(own.given.sum()) for own in counts)
        return hits / shown, hits / given if given else float("nan")

    def score(self, k: int | None = None) -> float:
        """Return the top-k accuracy of all parts together."""
        return quotient(joined(list(self.parts(k).values())))

    def ceiling(self, k: int | None = None) -> float:
        """Return the top-k accuracy of a perfect ranking of the same pictures."""
        return quotient(joined(list(self.perfect(k).values())))

    def over_folds(self, parts: Mapping[Unit, Parts]) -> Interval | None:
        """Return mean and t interval over parts, widened for what they share; None if there is only one."""
        if len(parts) < 2:
            return None
        share = float(np.mean([len(r.ids) / r.n_train for r in self.records if r.n_train] or [0.0]))
        return t_interval([quotient(part) for part in parts.values()], test_share=share)

    def over_seeds(self) -> list[float]:
        """Return the top-k accuracy of each seed, if there are several; else nothing."""
        if self.n_seeds < 2:
            return []
        parts = sorted({record.task.part for record in self.records})
        alone = [
            MethodSample(self.method, tuple(r for r in self.records if r.task.part == part)) for part in parts
        ]
        return [sample.score() for sample in alone]

    def metric(self, name: str) -> float | None:
        """Return the mean over the records of a stored metric; None if one lacks it."""
        values = [record.metrics.get(name) for record in self.records]
        known = [float(value) for value in values if isinstance(value, int | float)]
        return float(np.mean(known)) if len(known) == len(values) else None


def _averaged(records: Sequence[Record], longest: int) -> _Counts:
    """Return the mean counts of records of the same pictures."""
    hits = sum(np.cumsum(hit_matrix(record)[:, :longest], axis=1) for record in records)
    given = [np.array([len(own) for own in record.captions], dtype=np.float64) for record in records]
    steps = np.arange(1.0, longest + 1)
    best = sum(np.minimum(own[:, None], steps) for own in given)
    n = len(records)
    return _Counts(np.asarray(hits) / n, np.asarray(best) / n, np.sum(given, axis=0) / n)


def hit_matrix(record: Record) -> Any:
    """Return which of the tags ranked first are right, pictures × places.

    Tags are looked up by number: a dense matrix takes a gigabyte for thousands of pictures and tags.
    """
    rows = np.repeat(np.arange(len(record.captions)), [len(own) for own in record.captions])
    own = np.array([tag for caption in record.captions for tag in caption], dtype=np.int64)
    top = np.asarray(record.top, dtype=np.int64).reshape(len(record.ids), -1)[:, :LONGEST]
    n_tags = len(record.tag_names)
    return np.isin(np.arange(len(top))[:, None] * n_tags + top, rows * n_tags + own)


def _region_parts(records: Sequence[Record], k: int, captioned: bool) -> Parts:
    n = len(records[0].ids)
    total = Parts(np.zeros(n), np.zeros(n))
    for record in records:
        if record.regions:
            new = record.regions.parts(k, captioned)
            total.gain[: len(new.gain)] += new.gain[:n]
            total.weight[: len(new.weight)] += new.weight[:n]
    return Parts(total.gain / len(records), total.weight / len(records))


def _selection(records: Sequence[Record]) -> Selection:
    """Return the summed terms of records of the same pictures."""
    return Selection(
        *(Parts(*sums) for sums in np.sum([np.array(record.selection) for record in records], axis=0))
    )


Samples = dict[str, MethodSample]


@dataclass(frozen=True, eq=False)
class Group:
    """One data set with one choice of views: the whole, and the curves by name with their points."""

    data: str
    views: tuple[str, ...]
    title: str
    whole: Samples
    curves: dict[str, list[tuple[Any, Samples]]]

    @cached_property
    def order(self) -> list[str]:
        """The methods of the whole, best first."""
        return sorted(self.whole, key=lambda m: -np.nan_to_num(self.whole[m].score(), nan=-1.0))

    @cached_property
    def methods(self) -> set[str]:
        """The methods of the whole and of the curves."""
        points = [samples for points in self.curves.values() for _, samples in points]
        return {name for samples in (self.whole, *points) for name in samples}

    @cached_property
    def k(self) -> int:
        """The number of tags shown per picture."""
        return min(sample.k for sample in self.whole.values())

    @cached_property
    def n_tested(self) -> int:
        """The number of pictures that the best method was tested on."""
        return sum(len(ids) for _, ids in self.whole[self.order[0]].units)

    @cached_property
    def n_seeds(self) -> int:
        """The largest number of seeds of a method."""
        return max((sample.n_seeds for sample in self.whole.values()), default=1)

    @cached_property
    def records(self) -> list[Record]:
        """All records of the whole."""
        return [record for sample in self.whole.values() for record in sample.records]


def groups(
    records: Iterable[Record], title_of: Callable[[str, tuple[str, ...]], str] = album_title
) -> list[Group]:
    """Return the groups in the order of their data sets, few views first; empty tests are left out."""
    by_group: dict[tuple[str, tuple[str, ...]], list[Record]] = {}
    for record in records:
        if record.ids and record.top[0]:
            by_group.setdefault((record.task.data, record.task.views), []).append(record)
    names = list(dict.fromkeys(data for data, _ in by_group))
    ordered = sorted(by_group, key=lambda key: (names.index(key[0]), len(key[1])))
    return [_group(data, views, title_of(data, views), by_group[data, views]) for data, views in ordered]


def _group(data: str, views: tuple[str, ...], title: str, records: Sequence[Record]) -> Group:
    curves: dict[str, dict[str, tuple[Any, list[Record]]]] = {}
    for record in records:
        point = {key: value for key, value in record.task.point.items() if key != "draw"}
        name = ", ".join(point)
        value = next(iter(point.values())) if len(point) == 1 else _listed(point)
        place = curves.setdefault(name, {}).setdefault(json.dumps(value, default=str), (value, []))
        place[1].append(record)
    ordered = {
        name: sorted(((value, _samples(own)) for value, own in points.values()), key=lambda p: _rank(p[0]))
        for name, points in curves.items()
    }
    whole = ordered.pop("", [])
    return Group(data, views, title, whole[0][1] if whole else {}, ordered)


def _samples(records: Sequence[Record]) -> Samples:
    by_method: dict[str, list[Record]] = {}
    for record in records:
        by_method.setdefault(record.task.method, []).append(record)
    return {method: MethodSample(method, tuple(own)) for method, own in by_method.items()}


def _listed(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items())


def is_number(value: Any) -> bool:
    """Return whether a point has a place on an axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _rank(value: Any) -> tuple[bool, float, str]:
    return (not is_number(value), float(value) if is_number(value) else 0.0, str(value))
