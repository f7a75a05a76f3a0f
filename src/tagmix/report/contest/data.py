"""Put the records of a contest together: which methods were tested on the same pictures.

A *sample* is one method at one point of a curve, with the pictures of all its parts (folds) together. Parts
that tested the same pictures are not folds but repetitions with another seed: each picture has the mean of
them. A *group* is a data set with one choice of views.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tagmix.arrays import Floats
from tagmix.evaluation.blocks import Parts, quotient
from tagmix.evaluation.probabilities import Bins, Worth
from tagmix.evaluation.significance import Interval, t_interval
from tagmix.experiments.records import LONGEST, Record
from tagmix.experiments.run import shown
from tagmix.report.contest.numbers import Unit, joined


class _Counts(NamedTuple):
    """For each picture: right tags among the k best, the most there could be, and tags given."""

    hits: Floats
    best: Floats
    given: Floats


@dataclass(frozen=True, eq=False)
class Sample:
    """One method at one point: its records, a part each (and a draw each, where training sets were drawn).

    A picture that was tested once for each of several draws or seeds is one picture, with what it gained on
    average.
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
        """How often the same pictures were tested with words of another seed."""
        return max(len({record.task.part for record in own}) for own in self.units.values())

    @cached_property
    def read(self) -> list[str]:
        """The views that the method read, where it could not read all of its group; else nothing."""
        told = self.records[0].provenance.get("read")
        return [str(view) for view in told] if isinstance(told, list) else []

    @cached_property
    def longest(self) -> int:
        """How many tags all rankings have."""
        return min(len(record.top[0]) for record in self.records)

    @cached_property
    def k(self) -> int:
        """How many tags of a picture count, as in the metrics of its records."""
        return min(self.longest, *(shown(len(record.tag_names)) for record in self.records))

    @cached_property
    def _counts(self) -> dict[Unit, _Counts]:
        return {unit: _averaged(records, self.longest) for unit, records in self.units.items()}

    def parts(self, k: int | None = None) -> dict[Unit, Parts]:
        """Return what the pictures of each part add to the top-k accuracy."""
        k = min(k or self.k, self.longest)
        return {u: Parts(2 * c.hits[:, k - 1], c.given + k) for u, c in self._counts.items()}

    def perfect(self, k: int | None = None) -> dict[Unit, Parts]:
        """Return what they would add if every ranking were perfect."""
        k = min(k or self.k, self.longest)
        return {u: Parts(2 * c.best[:, k - 1], c.given + k) for u, c in self._counts.items()}

    def first(self) -> float:
        """Return P@1, the share of pictures whose first tag is right."""
        parts = [Parts(c.hits[:, 0], np.ones(len(c.hits))) for c in self._counts.values()]
        return quotient(joined(parts))

    def regions(self, k: int, captioned: bool) -> dict[Unit, Parts]:
        """Return what the pictures of each part add to the share of regions named rightly."""
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
        """What was said and what is true of the pairs of all records, which know probabilities."""
        return Bins(*np.sum([r.probabilities.bins for r in self.records if r.probabilities], axis=0))

    @cached_property
    def worth(self) -> dict[Unit, Worth]:
        """What the pictures of each part add to measures of the tags that were thought worth showing."""
        return {unit: _worth(records) for unit, records in self.units.items()}

    def always(self) -> tuple[float, float]:
        """Return precision and recall if every picture is shown as many tags as count."""
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
        """Return the top-k accuracy of each seed, where there are several; else nothing."""
        if self.n_seeds < 2:
            return []
        parts = sorted({record.task.part for record in self.records})
        alone = [Sample(self.method, tuple(r for r in self.records if r.task.part == part)) for part in parts]
        return [sample.score() for sample in alone]

    def metric(self, name: str) -> float | None:
        """Return the mean over the records of a metric they were saved with; None if one lacks it."""
        values = [record.metrics.get(name) for record in self.records]
        known = [float(value) for value in values if isinstance(value, int | float)]
        return float(np.mean(known)) if len(known) == len(values) else None


def _averaged(records: Sequence[Record], longest: int) -> _Counts:
    """Return the mean counts of records of the same pictures, so that each of these weighs the same."""
    hits = sum(np.cumsum(hit_matrix(record)[:, :longest], axis=1) for record in records)
    given = [np.array([len(own) for own in record.captions], dtype=np.float64) for record in records]
    steps = np.arange(1.0, longest + 1)
    best = sum(np.minimum(own[:, None], steps) for own in given)
    n = len(records)
    return _Counts(np.asarray(hits) / n, np.asarray(best) / n, np.sum(given, axis=0) / n)


def hit_matrix(record: Record) -> Any:
    """Return which of the tags ranked first are right, pictures × places.

    Tags are looked up by number: pictures × all tags would be a gigabyte for thousands of each.
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


def _worth(records: Sequence[Record]) -> Worth:
    """Return what records of the same pictures add, added up."""
    return Worth(*(Parts(*sums) for sums in np.sum([np.array(record.worth) for record in records], axis=0)))


Samples = dict[str, Sample]


@dataclass(frozen=True, eq=False)
class Group:
    """One data set with one choice of views: the whole, and the curves by name with their points."""

    data: str
    views: tuple[str, ...]
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
        """How many tags of a picture of the whole count."""
        return min(sample.k for sample in self.whole.values())

    @cached_property
    def n_tested(self) -> int:
        """How many pictures the best method was tested on."""
        return sum(len(ids) for _, ids in self.whole[self.order[0]].units)

    @cached_property
    def n_seeds(self) -> int:
        """How many seeds of words the methods of the whole were measured with, at most."""
        return max((sample.n_seeds for sample in self.whole.values()), default=1)

    @cached_property
    def records(self) -> list[Record]:
        """All records of the whole."""
        return [record for sample in self.whole.values() for record in sample.records]


def groups(records: Iterable[Record]) -> list[Group]:
    """Return the groups in the order in which data sets came, few words first; empty tests are left out."""
    by_group: dict[tuple[str, tuple[str, ...]], list[Record]] = {}
    for record in records:
        if record.ids and record.top[0]:
            by_group.setdefault((record.task.data, record.task.views), []).append(record)
    names = list(dict.fromkeys(data for data, _ in by_group))
    ordered = sorted(by_group, key=lambda key: (names.index(key[0]), len(key[1])))
    return [_group(data, views, by_group[data, views]) for data, views in ordered]


def _group(data: str, views: tuple[str, ...], records: Sequence[Record]) -> Group:
    curves: dict[str, dict[str, tuple[Any, list[Record]]]] = {}
    for record in records:
        point = {key: value for key, value in record.task.point.items() if key != "draw"}
        name = ", ".join(point)
        value = next(iter(point.values())) if len(point) == 1 else _told(point)
        place = curves.setdefault(name, {}).setdefault(json.dumps(value, default=str), (value, []))
        place[1].append(record)
    ordered = {
        name: sorted(((value, _samples(own)) for value, own in points.values()), key=lambda p: _rank(p[0]))
        for name, points in curves.items()
    }
    whole = ordered.pop("", [])
    return Group(data, views, whole[0][1] if whole else {}, ordered)


def _samples(records: Sequence[Record]) -> Samples:
    by_method: dict[str, list[Record]] = {}
    for record in records:
        by_method.setdefault(record.task.method, []).append(record)
    return {method: Sample(method, tuple(own)) for method, own in by_method.items()}


def _told(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in point.items())


def is_number(value: Any) -> bool:
    """Return whether a point can stand on an axis."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _rank(value: Any) -> tuple[bool, float, str]:
    return (not is_number(value), float(value) if is_number(value) else 0.0, str(value))
