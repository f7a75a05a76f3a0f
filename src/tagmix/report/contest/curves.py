"""From the samples of a group to the panels of its figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagmix.report.contest.data import Group, Sample, Samples, is_number
from tagmix.report.contest.figures import Drawing, Panel, Trace, looks
from tagmix.report.contest.names import CONTEXT, in_order, strong, top_k
from tagmix.report.contest.numbers import FEWER, interval, intervals

REGION_PLACES = 10
AXES = {"tags": "number of tags", "pictures": "training pictures"}
Points = list[tuple[Any, Samples]]


def drawing(group: Group, panels: Sequence[Panel]) -> Drawing:
    """Return panels of a group as one figure."""
    names = [trace.method for panel in panels for trace in panel.traces]
    return Drawing(panels, looks(names, strong(group)))


def ranking_panel(group: Group) -> Panel:
    """Return Top-k accuracy against k, for as many k as were kept."""
    traces = []
    for name in in_order(group.whole):
        sample = group.whole[name]
        steps = range(1, sample.longest + 1)
        traces.append(Trace(name, list(steps), intervals([sample.parts(k) for k in steps], FEWER)))
    first = group.whole[group.order[0]]
    steps = range(1, first.longest + 1)
    ceiling = (list(steps), [first.ceiling(k) for k in steps])
    return Panel(
        traces,
        "tags shown for each picture, k",
        "Top-k accuracy",
        ceiling=ceiling,
        by=group.k - 1,
    )


def points_panel(points: Points, name: str) -> Panel | None:
    """Return Top-k accuracy against the points of a curve; None if they are no numbers or too few."""
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
    """Return the points of one of the paper's curves, which ends with all tags or all training pictures."""
    points = group.curves.get(name, [])
    whole = reference(group, points)
    if not whole or not all(is_number(value) for value, _ in points):
        return points
    sizes = [len(r.tag_names) if name == "tags" else r.n_train for s in whole.values() for r in s.records]
    return [*points, (int(np.mean(sizes)), whole)] if np.mean(sizes) > points[-1][0] else points


def reference(group: Group, points: Points) -> Samples:
    """Return the methods of a curve on the whole data, with the settings that they chose."""
    names = {name for _, samples in points for name in samples}
    return {name: _like(sample, points) for name, sample in group.whole.items() if name in names}


def _like(sample: Sample, points: Points) -> Sample:
    """Return the sample with the parts that the curve has, or its end would be of other pictures."""
    parts = {r.task.part for _, samples in points for s in samples.values() for r in s.records}
    return Sample(sample.method, tuple(r for r in sample.records if r.task.part in parts) or sample.records)


def region_samples(group: Group) -> Samples:
    """Return the methods that rank tags for regions whose tag is known."""
    return {name: sample for name, sample in group.whole.items() if sample.knows_regions}


def region_panels(samples: Samples) -> list[Panel]:
    """Return the share of regions whose tag is among the k best, with the caption given and without."""
    n_tags = min((len(r.tag_names) for s in samples.values() for r in s.records), default=1)
    steps = range(1, min(REGION_PLACES, n_tags) + 1)
    panels = []
    for told, title in ((True, "caption given"), (False, "no caption")):
        traces = [
            Trace(name, list(steps), intervals([samples[name].regions(k, told) for k in steps], FEWER))
            for name in in_order(samples)
        ]
        panels.append(Panel(traces, "tags shown for each region, k", "share of regions right", title, by=0))
    return panels


def figure_2(group: Group) -> dict[str, Panel]:
    """Return the panels of the paper's Figure 2 of which there is anything."""
    made = {"": ranking_panel(group)} if group.whole else {}
    for name in ("tags", "pictures"):
        panel = points_panel(curve_points(group, name), name)
        made |= {name: panel} if panel else {}
    return made


def other_curves(group: Group) -> dict[str, Points]:
    """Return the curves beyond those of the paper, but for those that the table of ablations has."""
    return {
        name: points
        for name, points in group.curves.items()
        if name not in AXES and any(samples.keys() != {CONTEXT} for _, samples in points)
    }
