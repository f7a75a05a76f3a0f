"""Panels of a group's figures: accuracy against the number of tags shown, of pictures and of regions."""

from collections.abc import Sequence

from tagmix.report.comparison.charts import Drawing, Panel, Trace, line_styles
from tagmix.report.comparison.intervals import FEWER, intervals
from tagmix.report.comparison.names import in_order, strong
from tagmix.report.comparison.samples import Group, Samples

REGION_PLACES = 10


def drawing(group: Group, panels: Sequence[Panel]) -> Drawing:
    """Return panels of a group as one figure."""
    names = [trace.method for panel in panels for trace in panel.traces]
    return Drawing(panels, line_styles(names, strong(group)))


def ranking_panel(group: Group) -> Panel:
    """Return top-k accuracy against k, for all stored k."""
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
        "tags shown per picture, k",
        "Top-k accuracy",
        ceiling=ceiling,
        by=group.k - 1,
    )


def region_samples(group: Group) -> Samples:
    """Return the methods that rank the tags of labelled regions."""
    return {name: sample for name, sample in group.whole.items() if sample.knows_regions}


def region_panels(samples: Samples) -> list[Panel]:
    """Return the share of regions whose tag is among the k best, with the caption given and without."""
    n_tags = min((len(r.tag_names) for s in samples.values() for r in s.records), default=1)
    steps = range(1, min(REGION_PLACES, n_tags) + 1)
    panels = []
    for captioned, title in ((True, "caption given"), (False, "no caption")):
        traces = [
            Trace(name, list(steps), intervals([samples[name].regions(k, captioned) for k in steps], FEWER))
            for name in in_order(samples)
        ]
        panels.append(Panel(traces, "tags shown per region, k", "share of regions right", title, by=0))
    return panels
