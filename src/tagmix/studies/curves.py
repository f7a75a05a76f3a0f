"""Curves over tags, training pictures and settings: the points at which data or settings were varied."""

from typing import Any

import numpy as np

from tagmix.report.comparison.charts import Panel, Trace
from tagmix.report.comparison.intervals import FEWER, interval
from tagmix.report.comparison.names import CONTEXT, in_order, top_k
from tagmix.report.comparison.samples import Group, MethodSample, Samples, is_number

AXES = {"tags": "number of tags", "pictures": "training pictures"}
Points = list[tuple[Any, Samples]]


def points_panel(points: Points, name: str) -> Panel | None:
    """Return top-k accuracy against the points of a curve; None if they are not numbers or too few."""
    if len(points) < (2 if name in AXES else 3) or not all(is_number(value) for value, _ in points):
        return None
    methods = in_order({found for _, samples in points for found in samples})
    traces = []
    for own in methods:
        known = [(float(value), samples[own]) for value, samples in points if own in samples]
        traces.append(Trace(own, [x for x, _ in known], [interval(s.parts(), FEWER) for _, s in known]))
    log = min(float(value) for value, _ in points) > 0 and float(points[-1][0]) / float(points[0][0]) > 5
    return Panel(traces, AXES.get(name, name), top_k(samples for _, samples in points), log=log, bars=True)


def curve_points(group: Group, name: str) -> Points:
    """Return the points of one of the paper's curves; the last has all tags or all training pictures."""
    points = group.curves.get(name, [])
    whole = reference(group, points)
    if not whole or not all(is_number(value) for value, _ in points):
        return points
    sizes = [len(r.tag_names) if name == "tags" else r.n_train for s in whole.values() for r in s.records]
    return [*points, (int(np.mean(sizes)), whole)] if np.mean(sizes) > points[-1][0] else points


def reference(group: Group, points: Points) -> Samples:
    """Return the methods of a curve on the whole data, with the settings that were chosen."""
    names = {name for _, samples in points for name in samples}
    return {name: _like(sample, points) for name, sample in group.whole.items() if name in names}


def _like(sample: MethodSample, points: Points) -> MethodSample:
    """Return the sample with the parts of the curve only, so that both are of the same pictures."""
    parts = {r.task.part for _, samples in points for s in samples.values() for r in s.records}
    return MethodSample(
        sample.method, tuple(r for r in sample.records if r.task.part in parts) or sample.records
    )


def other_curves(group: Group) -> dict[str, Points]:
    """Return the curves that are neither the paper's nor in the table of the ablation."""
    return {
        name: points
        for name, points in group.curves.items()
        if name not in AXES and any(samples.keys() != {CONTEXT} for _, samples in points)
    }
